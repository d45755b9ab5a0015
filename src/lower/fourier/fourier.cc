// The sum over n of x[n] * exp(-2 pi i k n / length), for all k, one row a task: points are read, weighted as the sum says,
// by the first step; the last ones go through the epilogue. Real samples of an even number are transformed as half as many
// complex points and taken apart at the end. Where the length is a constant and the tables are small they are constants;
// otherwise kernels before make them, once for all rows.
#include "lower/fourier/fourier.h"

#include "lower/fourier/row.h"
#include "lower/temporaries.h"

namespace pliant::lower {

using loop::ForKind;
using loop::StmtPtr;

namespace {

constexpr int64_t kMostConstantPoints = 1 << 15;  // longer tables would make artifacts large

// The value that was widened to f64 for the sum, where there is one; the transform is as good in the type itself.
Scalar narrow(Scalar s) {
  if (s->kind == expr::ScalarKind::Cast && s->args[0]->dtype == DType::F32) return s->args[0];
  return s;
}

std::optional<FourierSum> match(const Problem& p, const StageList& list, size_t root) {
  const te::TensorDef& t = *list.stages[root].tensor;
  if (t.combiner != te::Combiner::Sum || t.reduce_index.size() != 1 || t.accumulate != DType::F64 || t.dtype != DType::F64)
    return std::nullopt;
  auto term = expr::as_fourier_term(list.stages[root].body, t.reduce_index[0], t.reduce_extent[0]);
  if (!term) return std::nullopt;
  FourierSum f{root, {}, *term, 0, {}, DType::F64};
  const auto bin = term->bin.as_symbol();
  for (size_t i = 0; i < t.index.size(); ++i) {
    if (bin && t.index[i] == *bin) f.bin = t.index[i];
    const Dim index = p.ctx.symbol_dim(t.index[i]);
    if (term->is_real && t.shape[i].is_const(2) && term->is_real == expr::equal(index, p.ctx.constant(0)))
      f.part = t.index[i];
  }
  if (f.bin == 0 || (term->is_real && !f.part)) return std::nullopt;
  const Scalar re = narrow(term->re), im = term->im ? narrow(term->im) : re;
  for (Scalar s : {re, im})
    if (expr::uses_symbol(s, f.bin) || (f.part && expr::uses_symbol(s, *f.part))) return std::nullopt;
  if (re->dtype == DType::F32 && im->dtype == DType::F32) {
    f.work = DType::F32;
    f.term.re = re;
    if (term->im) f.term.im = im;
  }
  auto epilogue = make_epilogue(p.ctx, list, root);
  if (!epilogue || epilogue->outputs.empty()) return std::nullopt;
  f.epilogue = *epilogue;
  return f;
}

}  // namespace

std::optional<FourierSum> find_fourier(const Problem& p, const StageList& list) {
  const auto root = last_reduction(p.ctx, list);
  return root ? match(p, list, *root) : std::nullopt;
}

StmtPtr FourierLowering::with_steps(loop::BufferId tables, const WithSteps& body) {
  std::vector<loop::Buffer> buffers{loop::make_buffer(ctx_, "z", sum_.work, {most() * 4}, loop::Scope::Scratch)};
  std::optional<loop::BufferId> state;
  if (!is_known()) state = buffers.emplace_back(make_local(ctx_, "state", DType::I64, 2)).id;
  return loop::make_allocs(buffers, with([&](const FourierPlan& plan) {
                             return body(FourierSteps(ctx_, p_.target, sum_.work, plan, buffers[0].id, tables), plan, state);
                           }));
}

LoweredKernel FourierLowering::plan_kernel() {
  KernelBuilder builder(ctx_, p_.name + "_plan", p_.loc);
  Signature signature(p_, list_, builder, temporaries_);
  signature.add_write(plan_);
  return finish("fourier plan", builder, signature, {}, make_plan(ctx_, plan_->id, samples_, pairs_), ctx_.constant(64));
}

LoweredKernel FourierLowering::table_kernel() {
  KernelBuilder builder(ctx_, p_.name + "_tables", p_.loc);
  Signature signature(p_, list_, builder, temporaries_);
  if (plan_) signature.add_read(plan_->id);
  signature.add_write(tables_);
  const TableGrid grid =
      make_tables(ctx_, p_.target, sum_.work, tables_->id, samples_, most(), [&](const auto& body) { return with(body); });
  return finish("fourier table", builder, signature, {grid.chunks}, grid.body, most() * kWorkOfPoint);
}

LoweredKernel FourierLowering::filter_kernel() {
  KernelBuilder builder(ctx_, p_.name + "_filter", p_.loc);
  Signature signature(p_, list_, builder, temporaries_);
  if (plan_) signature.add_read(plan_->id);
  signature.add_write(tables_);
  StmtPtr body = with_steps(tables_->id, [&](const FourierSteps& s, const FourierPlan& plan, const auto& state) {
    return choose(
        plan[PlanField::Convolves], 1,
        [&] {
          const Dim length = plan[PlanField::Length], size = plan[PlanField::Size], zero = ctx_.constant(0);
          const Scalar nothing = expr::make_const(ctx_, sum_.work, 0);
          auto turned = [&](Dim n) { return conj(s.table(plan.chirp(), length, n)); };
          std::vector<StmtPtr> seq{s.meet_pages()};
          seq.push_back(s.over(length, [&](Dim n) { return s.put(zero, n, turned(n)); }));
          seq.push_back(s.over(size - length, [&](Dim n) { return s.put(zero, length + n, {nothing, nothing}); }));
          const Dim mirrored = length - 1;
          seq.push_back(s.over(mirrored, [&](Dim n) { return s.put(zero, size - mirrored + n, turned(mirrored - n)); }));
          if (state) seq.push_back(s.start(*state, ctx_.constant(1)));
          seq.push_back(s.rest(state));
          const Scalar scale = expr::make_const(ctx_, sum_.work, 1) / expr::make_cast(sum_.work, expr::make_index(size));
          seq.push_back(s.with_result(state, [&](Dim half) {
            return s.over(size, [&](Dim n) {
              const Complex c = s.at(half, n);
              return loop::make_block({loop::make_store(tables_->id, {plan.filter() + n}, c.re * scale),
                                       loop::make_store(tables_->id, {plan.filter() + size + n}, c.im * scale)});
            });
          }));
          return loop::make_block(std::move(seq));
        },
        [&] { return loop::make_block({}); });
  });
  return finish("fourier filter", builder, signature, {}, std::move(body), most() * kWorkOfPoint);
}

Result<LoweredNode> FourierLowering::lower() {
  LoweredNode out;
  TRY(lower_stages_before(p_, list_, sum_.root, temporaries_, out));
  graph::ConstantPtr constant;
  if (is_known() && most().const_value() <= kMostConstantPoints) {
    constant = constant_tables(known_plan(), sum_.work);
  } else {
    Dim elements = most() * 4 + samples_ * 4 + 4;
    if (is_known()) {
      elements = known_plan().elements();
    } else {
      plan_ = p_.te.input("plan", DType::I64, {ctx_.constant(kPlanFields)});
      list_.add(plan_);
      add_temporary(plan_, temporaries_, out);
    }
    tables_ = p_.te.input("tables", sum_.work, {elements});
    list_.add(tables_);
    add_temporary(tables_, temporaries_, out);
    if (plan_) out.kernels.push_back(plan_kernel());
    out.kernels.push_back(table_kernel());
    if (!is_known() || known_plan()[PlanField::Convolves].is_const(1)) out.kernels.push_back(filter_kernel());
  }
  out.kernels.push_back(TRY(row_kernel(std::move(constant))));
  return out;
}

Result<LoweredNode> lower_fourier(const Problem& p, const StageList& list, const FourierSum& sum) {
  return FourierLowering(p, list, sum).lower();
}

}  // namespace pliant::lower
