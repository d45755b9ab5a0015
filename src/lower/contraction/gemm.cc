// The naive function of a contraction: a nest for the sums, which are an intermediate, and one for the results that follow
// from them.
#include "lower/contraction/gemm.h"

#include <algorithm>

#include "lower/contraction/skinny_gemm.h"
#include "lower/templates/product.h"
#include "lower/version.h"
#include "target/match.h"

namespace pliant::lower {

namespace {

bool is_cast_of_load(Scalar s) {
  return s->kind == expr::ScalarKind::Cast &&
         (s->args[0]->kind == expr::ScalarKind::Load || s->args[0]->kind == expr::ScalarKind::Cast);
}
// One operand below its casts: what is stored, and how the stored value becomes the factor.
Scalar below_casts(Scalar s) {
  while (is_cast_of_load(s)) s = s->args[0];
  return s;
}
Scalar with_casts(Scalar original, Scalar stored) {
  return is_cast_of_load(original) ? expr::make_cast(original->dtype, with_casts(original->args[0], stored)) : stored;
}

class GemmWork {
 public:
  GemmWork(const Problem& p, const StageList& list, const te::TensorDef& sum, const std::vector<te::Tensor>& outputs,
           const Factors& f, Dim least_rows, Dim most_rows, const Temporaries& temporaries)
      : p_(p),
        ctx_(p.ctx),
        sum_(sum),
        outputs_(outputs),
        f_(f),
        builder_(ctx_, most_rows ? p.name + "_few" : p.name, p.loc),
        signature_(p, list, builder_, temporaries) {
    spatial_ = f.outer;
    spatial_.push_back({f.row.var, known_rows(f.row.extent, least_rows, most_rows)});
    spatial_.push_back(f.col);
  }

  Work make(Operand operand) {
    const Scalar source = operand == Operand::Panel ? f_.b : f_.a;
    if (operand != Operand::InPlace) take_operand(operand);
    Factors reads = f_;
    reads.b = operand == Operand::Panel || operand == Operand::Packed ? source : f_.b;
    add_params(signature_, reads, outputs_);
    sums();
    loop::StmtPtr body = nests_.back();
    for (size_t k = buffers_.size(); k-- > 0;) body = loop::make_alloc(buffers_[k], loop::make_block({nests_[k], body}));
    work_.function = builder_.finish(body);
    for (loop::Buffer& param : work_.function.params)
      for (const loop::Buffer& b : laid_out_)
        if (b.id == param.id) param.shape = b.shape, param.strides = b.strides;
    work_.args = signature_.take_args();
    if (operand == Operand::Packed) work_.args.insert(work_.args.begin(), KernelArg{});
    return std::move(work_);
  }

 private:
  // The number of rows, which the predicate of the kernel bounds: between constants that say so.
  Dim known_rows(Dim rows, Dim least, Dim most) const {
    const auto highest = most ? const_upper(ctx_, most) : std::nullopt;
    return highest ? max(ctx_.constant(ctx_.range(least).lo), min(ctx_.constant(*highest), rows)) : rows;
  }
  std::vector<Loop> fresh(const std::vector<Loop>& loops) {
    std::vector<Loop> out;
    for (const Loop& l : loops) out.push_back({*ctx_.index_symbol(ctx_.info(l.var).name, l.extent).as_symbol(), l.extent});
    return out;
  }
  loop::StmtPtr nest_of(const std::vector<Loop>& loops, LoopRole role, loop::StmtPtr body) {
    for (const Loop& l : loops) work_.loops[l.var] = role;
    return wrap_loops(loops, loop::ForKind::Serial, std::move(body));
  }
  // The nest that computes an intermediate.
  void add_nest(loop::Buffer b, loop::StmtPtr s) {
    b.scope = loop::Scope::Scratch;
    buffers_.push_back(std::move(b));
    nests_.push_back(std::move(s));
  }
  std::vector<Dim> index_of(const std::vector<Loop>& loops) const {
    std::vector<Dim> index;
    for (const Loop& l : loops) index.push_back(ctx_.symbol_dim(l.var));
    return index;
  }
  static std::vector<Dim> extents_of(const std::vector<Loop>& loops) {
    std::vector<Dim> extents;
    for (const Loop& l : loops) extents.push_back(l.extent);
    return extents;
  }
  expr::DimMap map_of(const std::vector<Loop>& from, const std::vector<Loop>& to) const {
    expr::DimMap map;
    for (size_t k = 0; k < from.size(); ++k) map[from[k].var] = ctx_.symbol_dim(to[k].var);
    return map;
  }

  // The second factor has an axis for each loop that it is read in, the columns last: as a constant, as an intermediate, or
  // where it lies with room for panels.
  void take_operand(Operand operand) {
    Nest nest{f_.reduce, {f_.a}, {}};
    if (operand == Operand::Direct) nest.scalars.push_back(f_.b);
    if (operand != Operand::Panel) collapse(ctx_, nest);
    const std::vector<Loop> terms = f_.reduce;
    const Scalar original = operand == Operand::Direct ? nest.scalars[1] : f_.b, stored = below_casts(original);
    f_.a = nest.scalars[0];
    f_.reduce = nest.loops;
    std::vector<Loop> used;
    for (const Loop& l : f_.outer)
      if (expr::uses_symbol(original, l.var)) used.push_back(l);
    std::vector<Loop> axes = used;
    axes.insert(axes.end(), f_.reduce.begin(), f_.reduce.end());
    axes.push_back(f_.col);
    loop::Buffer b{.id = ctx_.fresh_tensor(), .name = "b", .dtype = stored->dtype, .shape = extents_of(axes), .strides = {}};
    if (operand == Operand::Panel) {
      const std::vector<Loop> at = fresh(axes);
      b.name = "panel";
      add_nest(b, nest_of(at, LoopRole::Spatial,
                          loop::make_store(b.id, index_of(at), expr::substitute(stored, map_of(axes, at)))));
    } else if (operand == Operand::Packed) {
      builder_.add_read(b.id, "b", b.dtype, b.shape, true);
      laid_out_.push_back(b);
      work_.lay_out = [&p = p_, stored, used, col = f_.col, terms](const schedule::Repack& r) {
        return pack_constant(p, stored, used, col, terms, r.factor);
      };
    } else {
      b.id = stored->tensor;
      for (const Loop& l : axes) b.strides.push_back(*stride_in(ctx_, stored->index[0], l.var));
      b.shape.back() = ceildiv(f_.col.extent, kWidestPanel) * kWidestPanel;
      laid_out_.push_back(b);
    }
    f_.b = with_casts(original, expr::make_load(ctx_, b.id, stored->dtype, index_of(axes)));
  }

  Scalar term() const {
    switch (f_.step) {
      case Step::Dot2: return target::lane_term(*target::find_instruction("dot2"), f_.a, f_.b);
      case Step::Dot4: return target::lane_term(*target::find_instruction("dot4"), f_.a, f_.b);
      case Step::Product: break;
    }
    return expr::make_cast(sum_.accumulate, f_.a) * expr::make_cast(sum_.accumulate, f_.b);
  }

  // acc = 0, acc += term over the reduction, for each sum; then what follows from the sums.
  void sums() {
    const loop::Buffer acc{
        .id = ctx_.fresh_tensor(), .name = "acc", .dtype = sum_.accumulate, .shape = extents_of(spatial_), .strides = {}};
    const std::vector<Dim> at = index_of(spatial_);
    const loop::StmtPtr zero = loop::make_store(acc.id, at, expr::make_const(ctx_, acc.dtype, 0));
    const loop::StmtPtr add = loop::make_store(acc.id, at, term(), loop::StoreKind::Add);
    add_nest(acc,
             nest_of(spatial_, LoopRole::Spatial, loop::make_block({zero, nest_of(f_.reduce, LoopRole::Reduction, add)})));
    nests_.push_back(results(acc));
  }

  loop::StmtPtr results(const loop::Buffer& acc) {
    std::vector<Loop> loops;
    for (const Loop& l : spatial_) {
      const std::string name = ctx_.info(l.var).name;
      loops.push_back({*ctx_.index_symbol(name.substr(0, name.find('_')), l.extent).as_symbol(), l.extent});
    }
    const expr::DimMap map = map_of(spatial_, loops);
    const Scalar sum = expr::make_cast(sum_.dtype, expr::make_load(ctx_, acc.id, acc.dtype, index_of(loops)));
    std::vector<loop::StmtPtr> stores;
    for (size_t k = 0; k < outputs_.size(); ++k) {
      loop::Buffer out{.id = outputs_[k]->id, .name = {}, .dtype = {}, .shape = {}, .strides = {}};
      const auto at = set_axes(ctx_, out, loops, expr::substitute(f_.offsets[k], map));
      PLIANT_CHECK(at) << "an output of " << p_.name << " is not written in even steps";
      laid_out_.push_back(out);
      const Scalar value = expr::substitute(f_.values[k], map, [&](Scalar l) { return l->tensor == f_.acc ? sum : l; });
      stores.push_back(loop::make_store(out.id, *at, value));
    }
    return nest_of(loops, LoopRole::Spatial, loop::make_block(std::move(stores)));
  }

  const Problem& p_;
  expr::Context& ctx_;
  const te::TensorDef& sum_;
  const std::vector<te::Tensor>& outputs_;
  Factors f_;
  KernelBuilder builder_;
  Signature signature_;
  Work work_;
  std::vector<Loop> spatial_;
  std::vector<loop::Buffer> laid_out_;  // axes of params
  std::vector<loop::StmtPtr> nests_;    // of the intermediates, and of the results
  std::vector<loop::Buffer> buffers_;   // the intermediates
};

}  // namespace

Result<LoweredKernel> lower_gemm(const Problem& p, const StageList& list, const te::TensorDef& sum,
                                 const std::vector<te::Tensor>& outputs, const Factors& f, Operand operand, Dim least_rows,
                                 const Temporaries& temporaries, Dim most_rows) {
  expr::Context& ctx = p.ctx;
  const bool in_place = operand == Operand::InPlace;
  LoweredKernel k =
      TRY(schedule_kernel(p, in_place ? kSkinnyGemm : kGemm,
                          GemmWork(p, list, sum, outputs, f, least_rows, most_rows, temporaries).make(operand)));
  for (loop::Buffer& b : k.function.params)
    for (const te::Tensor& o : outputs)
      if (b.id == o->id) b.shape = {element_count(ctx, o->shape)};
  const Dim one = ctx.constant(1), terms = product_of(ctx, f.reduce);
  k.work = product_of(ctx, f.outer) * f.row.extent * f.col.extent * max(one, terms);
  if (!in_place && leaves_cache(p.target, terms, f.col.extent) && !k.tasks.is_const(1))
    k.work = max(k.work, f.col.extent * terms * kRowsOfOneRead);
  Predicate when{{least_rows, f.row.extent}};
  if (most_rows) when.push_back({f.row.extent, most_rows});
  restrict_to(ctx, k, when);
  return k;
}

}  // namespace pliant::lower
