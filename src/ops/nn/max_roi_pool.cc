// The largest elements of the bins of regions.
#include "ops/elementwise.h"

namespace pliant::ops {
namespace {

// Rows of rois: batch index, x0, y0, x1, y1.
Tensors compute(DefineContext& c) {
  const Tensor &x = c.in(0), &rois = c.in(1);
  TRY(require_domain(c, 0, kFloats));
  TRY(c.require_same_dtype(0, 1));
  const std::vector<int64_t>& pooled = c.attr().as_ints("pooled");
  if (x->rank() != 4 || rois->rank() != 2)
    return c.fail("shape-mismatch", "the input must have rank 4 and the regions rank 2");
  TRY(c.require_equal(rois->shape[1], c.dim(5), "the numbers of a region"));
  if (pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1)
    return c.fail("bad-attribute", "pooled must be two positive sizes");
  double scale = c.attr().as_float("spatial_scale");
  auto roi = [&](Dim r, int64_t k) { return expr::make_cast(DType::F32, (*rois)({r, c.dim(k)})); };
  Tensor batch =
      c.te().map("batch", {rois->shape[0]}, [&](const Index& i) { return expr::make_cast(DType::I64, roi(i[0], 0)); });
  c.check_index(batch, x->shape[0], "the batch");
  // Half away from zero, as C's round has it.
  auto corner = [&](Dim r, int64_t k) {
    return expr::value(expr::make_cast(DType::I64, unary(UnaryOp::Floor, roi(r, k) * scale + 0.5)));
  };
  auto bin = [&](Dim r, int64_t axis, Dim o) {
    Dim begin = corner(r, axis == 0 ? 2 : 1), end = corner(r, axis == 0 ? 4 : 3),
        bins = c.dim(pooled[static_cast<size_t>(axis)]);
    Dim size = expr::max(end - begin + 1, c.dim(1));
    return std::pair(begin + expr::floordiv(o * size, bins), begin + expr::ceildiv((o + 1) * size, bins));
  };
  std::vector<Dim> shape{rois->shape[0], x->shape[1], c.dim(pooled[0]), c.dim(pooled[1])};
  Tensor best =
      c.te().reduce("best", shape, {x->shape[2], x->shape[3]}, te::Combiner::Max, [&](const Index& o, const Index& p) {
        auto [top, bottom] = bin(o[0], 0, o[2]);
        auto [left, right] = bin(o[0], 1, o[3]);
        Scalar inside = expr::logical_and(expr::logical_and(expr::less_equal(top, p[0]), expr::less(p[0], bottom)),
                                          expr::logical_and(expr::less_equal(left, p[1]), expr::less(p[1], right)));
        Scalar v = (*x)({expr::value((*batch)({o[0]})), o[1], p[0], p[1]});
        return expr::make_select(inside, v, expr::make_lowest(c.ctx(), x->dtype));
      });
  return std::vector{c.te().map("y", shape, [&](const Index& i) {
    Scalar v = (*best)(i);
    return expr::make_select(same_value(v, expr::make_lowest(c.ctx(), x->dtype)), constant_like(v, 0), v);
  })};
}

}  // namespace

OpDef op_nn_max_roi_pool() {
  return {.name = "nn.max_roi_pool",
          .doc = "The largest element of each bin of each region; empty bins give 0.",
          .attrs = {required_attr("pooled", AttrKind::Ints, "bins along height and width"),
                    attr("spatial_scale", 1.0, "from the regions' coordinates to the input's")},
          .min_inputs = 2,
          .max_inputs = 2,
          .compute = compute,
          .samples = {"f32[1,C,H,W] f32[R,5]@0..0.9 C=2 H=4 W=5 R=2 pooled=[2,2] spatial_scale=4.0"}};
}

}  // namespace pliant::ops
