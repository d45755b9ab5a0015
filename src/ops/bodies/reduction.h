// Reductions over axes.
#pragma once
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

// The axes of a reduction and the shapes that follow.
//
// Axes may be known at run time only. Then each axis has a Dim `mask` that is 1 where it is reduced and 0 elsewhere, every
// axis is among those that the nest reduces, and exactly one of its outer and its inner index is ever above 0: their sum is
// the input's index.
struct ReducedAxes {
  std::vector<bool> is_reduced;  // one an axis of the input; all of them with masks
  std::vector<Dim> mask;         // empty when the axes are known
  std::vector<Dim> kept;         // the shape with reduced axes of size 1
  std::vector<Dim> extent;       // sizes of the reduced axes
  Dim count;                     // their product
  size_t axis_count = 0;         // how many axes are reduced
};
Result<ReducedAxes> reduced_axes(DefineContext& c, const std::vector<Dim>& shape, const std::vector<int64_t>& axes);
Result<ReducedAxes> reduced_axes_from_dims(DefineContext& c, const std::vector<Dim>& shape, const std::vector<Dim>& axes);
// The index of the input at `outer` of the kept shape and `inner` of the reduced axes.
Index full_index(const ReducedAxes& axes, const Index& outer, const Index& inner);
// The index of the kept shape that an index of the input falls to.
Index kept_index(const ReducedAxes& axes, const Index& i, expr::Context& ctx);

// A reduction to the kept shape; the body reads the input at a full index.
Tensor reduce_kept(DefineContext& c, std::string name, const ReducedAxes& axes, te::Combiner combiner,
                   const std::function<Scalar(const Index& full)>& body);
// Without the reduced axes, unless `keepdims`; and a last step on each element.
Tensor finish_reduction(DefineContext& c, const ReducedAxes& axes, const Tensor& kept, bool keepdims,
                        const std::function<Scalar(Scalar)>& post);

// `reduce.<name>`: post(combine(pre(x))) in the type `work` gives for the input's; the result has the input's type.
struct ReduceSpec {
  std::string name, doc;
  te::Combiner combiner = te::Combiner::Sum;
  unsigned domain = kNumbers;
  std::function<DType(DType)> work{};
  std::function<Scalar(Scalar)> pre{};
  std::function<Scalar(Scalar, Scalar count)> post{};
};
OpDef make_reduce_op(ReduceSpec spec);
std::vector<AttrSpec> reduce_attrs();
// `reduce.arg_max` and `reduce.arg_min`.
OpDef make_arg_op(std::string name, std::string doc, te::Combiner first, te::Combiner last);

}  // namespace pliant::ops
