#include "ops/bodies/reduction.h"

namespace pliant::ops {

Result<ReducedAxes> reduced_axes(DefineContext& c, const std::vector<Dim>& shape, const std::vector<int64_t>& axes) {
  ReducedAxes out;
  out.is_reduced.assign(shape.size(), false);
  for (int64_t a : axes) {
    size_t k = TRY(c.axis(a, shape.size()));
    if (out.is_reduced[k]) return c.fail("bad-attribute", "axis " + std::to_string(a) + " is reduced twice");
    out.is_reduced[k] = true;
  }
  for (size_t k = 0; k < shape.size(); ++k) {
    out.kept.push_back(out.is_reduced[k] ? c.dim(1) : shape[k]);
    if (out.is_reduced[k]) out.extent.push_back(shape[k]);
  }
  out.axis_count = axes.size();
  out.count = expr::product(c.ctx(), out.extent);
  return out;
}

Result<ReducedAxes> reduced_axes_from_dims(DefineContext& c, const std::vector<Dim>& shape, const std::vector<Dim>& axes) {
  std::vector<int64_t> known;
  for (Dim a : axes)
    if (a.is_const()) known.push_back(a.const_value());
  if (known.size() == axes.size()) return reduced_axes(c, shape, known);
  int64_t rank = static_cast<int64_t>(shape.size());
  ReducedAxes out;
  out.is_reduced.assign(shape.size(), true);
  out.axis_count = axes.size();
  for (Dim a : axes) {
    TRY(c.require_less_equal(c.dim(-rank), a, "the least axis and an axis to reduce"));
    TRY(c.require_less_equal(a, c.dim(rank - 1), "an axis to reduce and the last axis"));
  }
  Dim reduced = c.dim(0);
  for (int64_t k = 0; k < rank; ++k) {
    Dim mask = c.dim(0), size = shape[static_cast<size_t>(k)];
    for (Dim a : axes) mask = mask + is_axis(a, k, rank, c.ctx());
    if (axes.size() > 1) mask = expr::min(mask, c.dim(1));
    out.mask.push_back(mask);
    out.kept.push_back(size + mask * (1 - size));
    out.extent.push_back(mask * (size - 1) + 1);
    reduced = reduced + mask;
  }
  if (axes.size() > 1)
    TRY(c.require_equal(reduced, c.dim(static_cast<int64_t>(axes.size())), "axes to reduce that differ and axes"));
  out.count = expr::product(c.ctx(), out.extent);
  return out;
}

Index full_index(const ReducedAxes& axes, const Index& outer, const Index& inner) {
  Index at(outer.size());
  size_t r = 0;
  for (size_t k = 0; k < outer.size(); ++k) {
    at[k] = axes.is_reduced[k] ? inner[r++] : outer[k];
    if (!axes.mask.empty()) at[k] = outer[k] + at[k];
  }
  return at;
}

Index kept_index(const ReducedAxes& axes, const Index& i, expr::Context& ctx) {
  Index at(i.size());
  for (size_t k = 0; k < i.size(); ++k)
    at[k] = !axes.mask.empty() ? i[k] * (1 - axes.mask[k]) : axes.is_reduced[k] ? ctx.constant(0) : i[k];
  return at;
}

Tensor reduce_kept(DefineContext& c, std::string name, const ReducedAxes& axes, te::Combiner combiner,
                   const std::function<Scalar(const Index&)>& body) {
  if (axes.extent.empty()) return c.te().map(std::move(name), axes.kept, body);
  return c.te().reduce(std::move(name), axes.kept, axes.extent, combiner,
                       [&](const Index& outer, const Index& inner) { return body(full_index(axes, outer, inner)); });
}

namespace {

// The kept shape without its reduced axes where these are known at run time only: place j of the result is the axis that has
// j axes before it that stay.
Tensor drop_masked(DefineContext& c, const ReducedAxes& axes, const Tensor& kept,
                   const std::function<Scalar(Scalar)>& post) {
  size_t rank = axes.mask.size(), left = rank - std::min(rank, axes.axis_count);
  std::vector<std::vector<Dim>> stands(rank, std::vector<Dim>(left));  // 1 where axis k stands at place j
  Dim before = c.dim(0);
  std::vector<Dim> shape(left, c.dim(0));
  for (size_t k = 0; k < rank; ++k) {
    for (size_t j = 0; j < left; ++j) {
      stands[k][j] = equals(before, static_cast<int64_t>(j), c.ctx()) * (1 - axes.mask[k]);
      shape[j] = shape[j] + stands[k][j] * axes.kept[k];
    }
    before = before + 1 - axes.mask[k];
  }
  return c.te().map("y", shape, [&](const Index& i) {
    Index at(rank, c.dim(0));
    for (size_t k = 0; k < rank; ++k)
      for (size_t j = 0; j < left; ++j) at[k] = at[k] + i[j] * stands[k][j];
    Scalar v = (*kept)(at);
    return post ? post(v) : v;
  });
}

}  // namespace

Tensor finish_reduction(DefineContext& c, const ReducedAxes& axes, const Tensor& kept, bool keepdims,
                        const std::function<Scalar(Scalar)>& post) {
  if (keepdims && !post) return kept;
  if (!keepdims && !axes.mask.empty()) return drop_masked(c, axes, kept, post);
  std::vector<Dim> shape;
  for (size_t k = 0; k < axes.kept.size(); ++k)
    if (keepdims || !axes.is_reduced[k]) shape.push_back(axes.kept[k]);
  return c.te().map("y", std::move(shape), [&](const Index& i) {
    Index at;
    size_t n = 0;
    for (size_t k = 0; k < axes.kept.size(); ++k) {
      if (keepdims)
        at.push_back(i[k]);
      else
        at.push_back(axes.is_reduced[k] ? c.dim(0) : i[n++]);
    }
    Scalar v = (*kept)(at);
    return post ? post(v) : v;
  });
}

namespace {

Tensors compute(DefineContext& c, const ReduceSpec& spec) {
  TRY(require_domain(c, 0, spec.domain));
  const Tensor& x = c.in(0);
  ReducedAxes axes = TRY(reduced_axes_from_dims(c, x->shape, c.attr().as_dims("axes")));
  bool keepdims = c.attr().as_bool("keepdims");
  bool bools = x->dtype == DType::Bool;
  te::Combiner combiner = !bools                               ? spec.combiner
                          : spec.combiner == te::Combiner::Max ? te::Combiner::Or
                          : spec.combiner == te::Combiner::Min ? te::Combiner::And
                                                               : spec.combiner;
  DType work = spec.work ? spec.work(x->dtype) : x->dtype;
  auto body = [&](const Index& full) {
    Scalar v = expr::make_cast(work, (*x)(full));
    return spec.pre ? spec.pre(v) : v;
  };
  std::function<Scalar(Scalar)> post;
  if (spec.post) {
    post = [&](Scalar v) { return expr::make_cast(x->dtype, spec.post(v, number(v.dtype(), axes.count))); };
  } else if (work != x->dtype) {
    post = [&](Scalar v) { return expr::make_cast(x->dtype, v); };
  }
  if (keepdims || axes.extent.empty() || post || !axes.mask.empty())
    return std::vector{finish_reduction(c, axes, reduce_kept(c, "sum", axes, combiner, body), keepdims, post)};
  // Nothing is left to do on the result: the reduction itself has the final shape.
  std::vector<Dim> shape;
  for (size_t k = 0; k < axes.kept.size(); ++k)
    if (!axes.is_reduced[k]) shape.push_back(axes.kept[k]);
  return std::vector{
      c.te().reduce("y", std::move(shape), axes.extent, combiner, [&](const Index& outer, const Index& inner) {
        Index full;
        size_t o = 0, r = 0;
        for (bool reduced : axes.is_reduced) full.push_back(reduced ? inner[r++] : outer[o++]);
        return body(full);
      })};
}

Tensors compute_arg(DefineContext& c, te::Combiner combiner) {
  TRY(require_domain(c, 0, kNumbers));
  const Tensor& x = c.in(0);
  size_t axis = TRY(c.axis(c.attr().as_int("axis"), x->rank()));
  bool keepdims = c.attr().as_bool("keepdims");
  std::vector<Dim> shape = x->shape;
  // Of no results none needs an element.
  shape[axis] = c.dim(1);
  TRY(c.require_less_equal(expr::min(expr::product(c.ctx(), shape), c.dim(1)), x->shape[axis],
                           "the least size of an axis whose best place is asked for and the size"));
  if (!keepdims) shape.erase(shape.begin() + static_cast<ptrdiff_t>(axis));
  return std::vector{c.te().reduce("y", std::move(shape), {x->shape[axis]}, combiner, [&](const Index& i, const Index& r) {
    Index at = i;
    if (keepdims)
      at[axis] = r[0];
    else
      at.insert(at.begin() + static_cast<ptrdiff_t>(axis), r[0]);
    return (*x)(at);
  })};
}

}  // namespace

std::vector<AttrSpec> reduce_attrs() {
  return {required_attr("axes", AttrKind::Dims, "the axes to reduce; may be known at run time only"),
          attr("keepdims", true, "reduced axes stay with size 1")};
}

OpDef make_reduce_op(ReduceSpec spec) {
  OpDef d;
  d.name = "reduce." + spec.name;
  d.doc = spec.doc;
  d.attrs = reduce_attrs();
  unsigned domain = spec.domain;
  d.compute = [spec = std::move(spec)](DefineContext& c) { return compute(c, spec); };
  if (in_domain(DType::F32, domain))
    d.samples = {"f32[M,N] M=3 N=4 axes=[1]",
                 "f32[A,B,C] A=2 B=3 C=2 axes=[0,-1] keepdims=false",
                 "f16[M,N] M=2 N=9 axes=[-1] keepdims=false",
                 "f64[M] M=5 axes=[0]",
                 "f32[M] M=4 axes=[]",
                 "f32[M,N] M=3 N=4 A=1 axes=[A]",
                 "f32[M,N,3] M=2 N=4 A=-1 B=1 axes=[A,B] keepdims=false"};
  if (in_domain(DType::I32, domain)) d.samples.push_back("i32[M,N] M=2 N=3 axes=[0]");
  if (in_domain(DType::Bool, domain)) d.samples.push_back("bool[M,N] M=2 N=3 axes=[1]");
  return d;
}

OpDef make_arg_op(std::string name, std::string doc, te::Combiner first, te::Combiner last) {
  return {
      .name = std::move(name),
      .doc = std::move(doc),
      .attrs = {attr("axis", 0, "the axis to search"), attr("keepdims", true, "the axis stays with size 1"),
                attr("select_last", false, "the last of equals, not the first")},
      .compute = [first, last](DefineContext& c) { return compute_arg(c, c.attr().as_bool("select_last") ? last : first); },
      .samples = {"f32[M,N] M=3 N=5 axis=1", "i32[M,N] M=3 N=4 axis=0 keepdims=false select_last=true",
                  "f16[M] M=6 axis=-1"}};
}

}  // namespace pliant::ops
