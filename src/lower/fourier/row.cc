// The kernel over rows: points are loaded, transformed, and stored through the epilogue.
#include "lower/fourier/row.h"

#include "lower/movement/register_transpose.h"

namespace pliant::lower {

using loop::ForKind;
using loop::StmtPtr;

Complex FourierLowering::point(Dim n, int64_t packed) const {
  const SymbolId sample = t_.reduce_index[0];
  auto at = [&](Scalar s, Dim place) { return expr::substitute(s, {{sample, place}}); };
  if (packed == 2) return {at(re_, n * 2), at(re_, n * 2 + 1)};
  if (!im_) return {at(re_, n), expr::make_const(ctx_, sum_.work, 0)};
  const Scalar im = at(im_, n);
  return {at(re_, n), sum_.term.inverse ? -im : im};
}

// Neighbouring points are loads of neighbouring elements, or few apart.
bool FourierLowering::is_read_plainly() const {
  constexpr int64_t kFarthest = 4;
  auto is_plain = [&](Scalar s) {
    bool plain = true;
    for_each_scalar(s, [&](Scalar x) { plain = plain && x->kind != expr::ScalarKind::Select; });
    for (Scalar l : expr::loads_of(s)) {
      auto stride = stride_in(ctx_, l->index[0], t_.reduce_index[0]);
      plain = plain && stride && stride->is_const() && std::abs(stride->const_value()) <= kFarthest;
    }
    return plain;
  };
  return is_plain(re_) && (!im_ || is_plain(im_));
}

StmtPtr FourierLowering::load(const FourierSteps& s, const FourierPlan& plan, const std::optional<loop::BufferId>& state,
                              int64_t packed) {
  auto with_start = [&](StmtPtr body, Dim done) {
    return state ? loop::make_block({std::move(body), s.start(*state, done)}) : body;
  };
  const Dim length = plan[PlanField::Length], size = plan[PlanField::Size], zero = ctx_.constant(0);
  return choose(
      plan[PlanField::Convolves], 1,
      [&] {
        const Scalar nothing = expr::make_const(ctx_, sum_.work, 0);
        StmtPtr points =
            s.over(length, [&](Dim n) { return s.put(zero, n, point(n, packed) * s.table(plan.chirp(), length, n)); });
        StmtPtr padding = s.over(size - length, [&](Dim n) { return s.put(zero, length + n, {nothing, nothing}); });
        return with_start(loop::make_block({points, padding}), ctx_.constant(1));
      },
      [&] {
        const Dim first = plan[PlanField::First];
        if (first.is_const() || is_read_plainly())
          return with_start(s.first([&](Dim n) { return point(n, packed); }), first);
        // Read once, not in a step of each radix.
        const Dim other = ctx_.constant(1);
        StmtPtr points = s.over_again(size, false, [&](Dim n) { return s.put(other, n, point(n, packed)); });
        StmtPtr step = s.first([&](Dim n) { return s.at(other, n); });
        return with_start(loop::make_block({points, step}), first);
      });
}

StmtPtr FourierLowering::transform(const FourierSteps& s, const FourierPlan& plan,
                                   const std::optional<loop::BufferId>& state) {
  StmtPtr loaded =
      choose(plan[PlanField::Packed], 2, [&] { return load(s, plan, state, 2); }, [&] { return load(s, plan, state, 1); });
  const Dim convolves = plan[PlanField::Convolves], passes = convolves + 1, length = plan[PlanField::Length];
  if (convolves.is_const(0)) return loop::make_block({loaded, s.rest(state)});
  // The second transform is of the product with the filter, conjugate, which makes it an inverse one.
  StmtPtr multiplied = s.with_result(state, [&](Dim half) {
    return s.over(plan[PlanField::Size], [&](Dim n) {
      return s.move(s.at(half, n) * s.table(plan.filter(), plan[PlanField::Size], n),
                    [&](Complex v) { return s.put(ctx_.constant(0), n, conj(v)); });
    });
  });
  if (state) multiplied = loop::make_block({multiplied, s.start(*state, ctx_.constant(1))});
  StmtPtr all = loop::make_for(ctx_, "pass", passes, ForKind::Serial, [&](Dim pass) {
    return loop::make_block({loop::make_if(expr::equal(pass, ctx_.constant(0)), loaded, multiplied), s.rest(state)});
  });
  StmtPtr turned_back = s.with_result(state, [&](Dim half) {
    return s.over(length, [&](Dim n) {
      return s.move(conj(s.at(half, n)) * s.table(plan.chirp(), length, n), [&](Complex v) { return s.put(half, n, v); });
    });
  });
  return loop::make_block({all, choose(convolves, 1, [&] { return turned_back; }, [&] { return loop::make_block({}); })});
}

StmtPtr FourierLowering::store_at(const expr::DimMap& at, Scalar total) const {
  std::vector<StmtPtr> stores;
  for (size_t k = 0; k < values_.size(); ++k) {
    const Scalar value = expr::substitute(
        values_[k], at, [&](Scalar l) { return l->tensor == total_ ? expr::make_cast(t_.dtype, total) : l; });
    stores.push_back(loop::make_store(sum_.epilogue.outputs[k]->id, {expr::substitute(offsets_[k], at)}, value));
  }
  return loop::make_block(std::move(stores));
}

// Both parts of bins in a row are elements in a row, of everything that is read and written for them.
bool FourierLowering::parts_are_neighbours() const {
  if (!sum_.part) return false;
  Nest nest;
  nest.scalars = values_;
  nest.offsets = offsets_;
  for (Scalar s : values_)
    if (uses_as_value(s, sum_.bin) || uses_as_value(s, *sum_.part)) return false;
  for (Dim d : all_offsets(nest)) {
    auto bin = stride_in(ctx_, d, sum_.bin), part = stride_in(ctx_, d, *sum_.part);
    if (!bin || !part) return false;
    const bool uniform = bin->is_const(0) && part->is_const(0), pair = bin->is_const(2) && part->is_const(1);
    if (!uniform && !pair) return false;
  }
  return true;
}

// The bins of one vector from `first` on: both parts of a bin stand side by side, so the vectors of parts are interleaved.
StmtPtr FourierLowering::store_pairs(Dim first, const std::vector<Dim>& offsets, int64_t lanes, const Values& values) {
  const int64_t both = 2 * lanes;
  std::vector<loop::Buffer> buffers;
  std::vector<StmtPtr> fill, seq;
  const Dim l = ctx_.index_symbol("l", ctx_.constant(lanes));
  const std::vector<Complex> v = values(first + l);
  for (size_t k = 0; k < offsets.size(); ++k) {
    const loop::Buffer apart = make_local(ctx_, "apart", sum_.work, both);
    fill.push_back(loop::make_store(apart.id, {l}, part_of(v[k], 0)));
    fill.push_back(loop::make_store(apart.id, {l + lanes}, part_of(v[k], 1)));
    buffers.push_back(apart);
  }
  seq.push_back(loop::make_for(l, ctx_.constant(lanes), ForKind::Vector, loop::make_block(std::move(fill))));
  for (size_t k = 0; k < offsets.size(); ++k) {
    seq.push_back(loop::make_for(ctx_, "u", both, ForKind::Vector, [&](Dim u) {
      const Scalar part = expr::make_load(ctx_, buffers[k].id, sum_.work, {interleaved(u, 2, lanes)});
      return store_at({{sum_.bin, first + offsets[k]}, {*sum_.part, u}}, part);
    }));
  }
  return loop::make_allocs(buffers, loop::make_block(std::move(seq)));
}

StmtPtr FourierLowering::store_bins(Dim begin, Dim count, const std::vector<Dim>& offsets, const FourierSteps& s,
                                    const Values& values) {
  if (count.is_const(0)) return loop::make_block({});
  auto one_by_one = [&](Dim i) {
    std::vector<StmtPtr> stores;
    const std::vector<Complex> v = values(begin + i);
    for (size_t k = 0; k < offsets.size(); ++k)
      for (int64_t part = 0; part < (sum_.part ? 2 : 1); ++part) {
        expr::DimMap at{{sum_.bin, begin + i + offsets[k]}};
        if (sum_.part) at[*sum_.part] = ctx_.constant(part);
        stores.push_back(store_at(at, part_of(v[k], part)));
      }
    return loop::make_block(std::move(stores));
  };
  if (!parts_are_neighbours()) return s.over_again(count, false, one_by_one);
  return s.over_vectors(
      count, [&](Dim start, int64_t lanes) { return store_pairs(begin + start, offsets, lanes, values); }, one_by_one);
}

// With E and O the transforms of the even and of the odd samples, Z = E + i O: E[k] is half of Z[k] + conj(Z[-k]), i O[k]
// half of the difference, and bins k and k + length are E[k] ± turn(k) * O[k].
StmtPtr FourierLowering::take_pairs_apart(const FourierSteps& s, const FourierPlan& plan, Dim half) {
  const Dim length = plan[PlanField::Length], zero = ctx_.constant(0), one = ctx_.constant(1);
  const Scalar by = expr::make_const(ctx_, sum_.work, 0.5);
  auto apart = [&](Dim k, Dim opposite) {
    const Complex a = s.at(half, k), b = s.at(half, opposite);
    const Complex even{(a.re + b.re) * by, (a.im - b.im) * by}, odd{(a.im + b.im) * by, (b.re - a.re) * by};
    const Complex turned = odd * s.table(plan.halves(), length, k);
    return std::vector<Complex>{even + turned, even - turned};
  };
  // All bins, or those up to the middle one.
  const bool all = t_.shape[bin_axis()] == samples_;
  std::vector<Dim> offsets{zero};
  if (all) offsets.push_back(length);
  StmtPtr first = store_bins(zero, one, {zero, length}, s, [&](Dim) { return apart(zero, zero); });
  StmtPtr others = store_bins(one, length - 1, offsets, s, [&](Dim k) { return apart(k, length - k); });
  return loop::make_block({first, others});
}

StmtPtr FourierLowering::result(const FourierSteps& s, const FourierPlan& plan, Dim half) {
  return choose(
      plan[PlanField::Packed], 2, [&] { return take_pairs_apart(s, plan, half); },
      [&] {
        return store_bins(ctx_.constant(0), t_.shape[bin_axis()], {ctx_.constant(0)}, s,
                          [&](Dim k) { return std::vector<Complex>{s.at(half, k)}; });
      });
}

Result<LoweredKernel> FourierLowering::row_kernel(graph::ConstantPtr constant) {
  KernelBuilder builder(ctx_, p_.name, p_.loc);
  Signature signature(p_, list_, builder, temporaries_);
  const std::vector<te::Tensor>& outputs = sum_.epilogue.outputs;
  re_ = flatten_loads(ctx_, sum_.term.re, list_.shapes);
  if (sum_.term.im) im_ = flatten_loads(ctx_, sum_.term.im, list_.shapes);
  total_ = ctx_.fresh_tensor();
  std::set<expr::TensorId> own{total_};
  for (const te::Tensor& o : outputs) own.insert(o->id);
  signature.add_reads(re_, own);
  signature.add_reads(im_, own);
  for (size_t k = 0; k < outputs.size(); ++k) {
    values_.push_back(flat_epilogue(ctx_, sum_.epilogue.values[k], t_, total_, list_.shapes));
    offsets_.push_back(flat_offset(ctx_, outputs[k]->shape, sum_.epilogue.index[k]));
    signature.add_reads(values_.back(), own);
  }
  expr::TensorId tables = tables_ ? tables_->id : ctx_.fresh_tensor();
  if (constant) {
    signature.add_constant(tables, "tables", std::move(constant));
  } else {
    signature.add_read(tables);
  }
  if (plan_) signature.add_read(plan_->id);
  for (const te::Tensor& o : outputs) signature.add_write(o);

  std::vector<Loop> rows;
  for (size_t i = 0; i < t_.index.size(); ++i)
    if (t_.index[i] != sum_.bin && !(sum_.part && t_.index[i] == *sum_.part)) rows.push_back({t_.index[i], t_.shape[i]});
  StmtPtr body = with_steps(tables, [&](const FourierSteps& s, const FourierPlan& plan, const auto& state) {
    StmtPtr transformed = transform(s, plan, state);
    return loop::make_block(
        {s.meet_pages(), transformed, s.with_result(state, [&](Dim half) { return result(s, plan, half); })});
  });
  // A sum of nothing is zero.
  if (!ctx_.proves_less_equal(ctx_.constant(1), samples_)) {
    const Dim bin = ctx_.symbol_dim(sum_.bin);
    const Scalar zero = expr::make_const(ctx_, sum_.work, 0);
    StmtPtr nothing = store_at({{sum_.bin, bin}}, zero);
    nothing = loop::make_for(sum_.bin, t_.shape[bin_axis()], ForKind::Serial, nothing);
    if (sum_.part) nothing = loop::make_for(*sum_.part, ctx_.constant(2), ForKind::Serial, nothing);
    body = is_known() ? nothing : loop::make_if(expr::less(ctx_.constant(0), samples_), body, nothing);
  }
  const Dim work = product_of(ctx_, rows) * samples_ * kWorkOfPoint;
  return finish("fourier row", builder, signature, rows, std::move(body), work);
}

}  // namespace pliant::lower
