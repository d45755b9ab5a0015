// Sampling positions of an affine map.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  const Tensor& theta = c.in(0);
  const std::vector<Dim>& size = c.attr().as_dims("size");
  if (size.size() != 4 && size.size() != 5) return c.fail("bad-attribute", "the size of an affine grid has 4 or 5 numbers");
  size_t n = size.size() - 2;
  if (theta->rank() != 3) return c.fail("shape-mismatch", "theta must have rank 3");
  TRY(c.require_equal(theta->shape[0], size[0], "theta and the batch"));
  TRY(c.require_equal(theta->shape[1], c.dim(static_cast<int64_t>(n)), "rows of theta"));
  TRY(c.require_equal(theta->shape[2], c.dim(static_cast<int64_t>(n) + 1), "columns of theta"));
  bool corners = c.attr().as_bool("align_corners");
  DType work = wide(theta->dtype);
  std::vector<Dim> shape{size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.push_back(c.dim(static_cast<int64_t>(n)));
  // The middle of each pixel along an axis.
  std::vector<Tensor> middles;
  for (size_t axis = 1; axis <= n; ++axis)
    middles.push_back(c.te().map("middles", {size[axis + 1]}, [&](const Index& i) {
      Scalar p = number(work, i[0]), extent = number(work, size[axis + 1]);
      return corners ? p * 2.0 / (extent - 1) - 1 : (p * 2.0 + 1) / extent - 1;
    }));
  return std::vector{c.te().map("grid", shape, [&](const Index& i) {
    Scalar sum = expr::make_cast(work, (*theta)({i[0], i.back(), c.dim(static_cast<int64_t>(n))}));
    // Column k of theta goes with the k-th coordinate from the innermost axis.
    for (size_t k = 0; k < n; ++k) {
      size_t axis = n - k;
      const Scalar at = (*middles[axis - 1])({i[axis]});
      sum = sum + expr::make_cast(work, (*theta)({i[0], i.back(), c.dim(static_cast<int64_t>(k))})) * at;
    }
    return expr::make_cast(theta->dtype, sum);
  })};
}

}  // namespace

OpDef op_array_affine_grid() {
  return {.name = "array.affine_grid",
          .doc = "Positions in [-1, 1] (x, y and z last) at which an affine map of an image samples it.",
          .attrs = {required_attr("size", AttrKind::Dims, "batch, channels and spatial sizes of the image"),
                    attr("align_corners", false, "-1 and 1 are the middles of the outer pixels")},
          .compute = compute,
          .samples = {"f32[B,2,3] B=2 H=3 W=4 size=[B,1,H,W]", "f32[B,3,4] B=1 size=[B,1,2,3,2] align_corners=true"}};
}

}  // namespace pliant::ops
