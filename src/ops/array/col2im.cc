// Columns of blocks added up to an image: the transpose of taking blocks apart.
#include "ops/bodies/window/window.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kNumbers));
  const Tensor& x = c.in(0);
  AttrReader a = c.attr();
  const std::vector<Dim>&image = a.as_dims("image"), &block = a.as_dims("block");
  size_t n = image.size();
  std::vector<int64_t> strides = TRY(read_steps(c, "strides", n, kMostFactor)),
                       dilations = TRY(read_steps(c, "dilations", n));
  std::vector<Dim> pads = a.as_dims("pads");
  if (pads.empty()) pads.assign(2 * n, c.dim(0));
  if (x->rank() != 3) return c.fail("shape-mismatch", "the columns must have rank 3 but have " + std::to_string(x->rank()));
  if (block.size() != n || pads.size() != 2 * n)
    return c.fail("bad-attribute", "block and pads do not fit " + std::to_string(n) + " spatial axes");
  TRY(check_extents(c, block, dilations, pads));
  Dim area = expr::product(c.ctx(), block), channels = expr::floordiv(x->shape[1], area), columns = c.dim(1);
  TRY(c.require_equal(channels * area, x->shape[1], "whole blocks and the columns' rows"));
  std::vector<Dim> steps, shape{x->shape[0], channels};
  for (size_t k = 0; k < n; ++k) {
    steps.push_back(expr::floordiv(image[k] + pads[k] + pads[n + k] - (block[k] - 1) * dilations[k] - 1, strides[k]) + 1);
    columns = columns * steps[k];
    shape.push_back(image[k]);
  }
  TRY(c.require_equal(columns, x->shape[2], "the blocks of the image and the columns"));
  DType work = wide(x->dtype);
  Tensor sum = c.te().reduce("image", shape, block, te::Combiner::Sum, [&](const Index& o, const Index& r) {
    Dim row = o[1], column = c.dim(0);
    Scalar exists;
    for (size_t k = 0; k < n; ++k) {
      Dim at = o[k + 2] + pads[k] - r[k] * dilations[k], step = expr::floordiv(at, strides[k]);
      row = row * block[k] + r[k];
      column = column * steps[k] + step;
      Scalar good = expr::logical_and(expr::less_equal(c.dim(0), step), expr::less(step, steps[k]));
      if (strides[k] != 1) good = expr::logical_and(expr::equal(expr::mod(at, strides[k]), c.dim(0)), good);
      exists = exists ? expr::logical_and(exists, good) : good;
    }
    Scalar v = expr::make_cast(work, (*x)({o[0], row, column}));
    return exists ? expr::make_select(exists, v, constant_like(v, 0)) : v;
  });
  if (work == x->dtype) return std::vector{sum};
  return std::vector{c.te().map("y", shape, [&](const Index& i) { return expr::make_cast(x->dtype, (*sum)(i)); })};
}

}  // namespace

OpDef op_array_col2im() {
  return {.name = "array.col2im",
          .doc = "Columns of blocks laid over each other and added up to an image.",
          .attrs = {required_attr("image", AttrKind::Dims, "spatial sizes"),
                    required_attr("block", AttrKind::Dims, "the block's sizes"),
                    attr("strides", std::vector<int64_t>{}, "empty: all 1"),
                    attr("dilations", std::vector<int64_t>{}, "empty: all 1"),
                    attr("pads", std::vector<Dim>{}, "begins, then ends; empty: none")},
          .compute = compute,
          .samples = {"f32[B,5,5] B=2 image=[5,5] block=[1,5]", "f32[B,8,6] B=1 image=[3,4] block=[2,2]",
                      "f32[B,9,4] B=1 image=[5,5] block=[3,3] strides=[2,2]",
                      "f32[B,4,L] B=1 L=16 image=[6,6] block=[2,2] dilations=[2,2]"}};
}

}  // namespace pliant::ops
