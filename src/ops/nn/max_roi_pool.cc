// The largest elements of the bins of regions.
#include "ops/bodies/elementwise.h"
#include "ops/bodies/indices.h"

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
  // Where the bins of each region begin and end along an axis, which all channels share: [region, bin].
  struct Bins {
    Tensor begin, end;
  };
  auto bins_along = [&](int64_t axis) {
    const Dim bins = c.dim(pooled[static_cast<size_t>(axis)]);
    auto table = [&](const char* name, const std::function<Dim(Dim begin, Dim size, Dim bin)>& bound) {
      return c.te().map(name, {rois->shape[0], bins}, [&](const Index& i) {
        Dim begin = corner(i[0], axis == 0 ? 2 : 1), end = corner(i[0], axis == 0 ? 4 : 3);
        return expr::make_index(bound(begin, expr::max(end - begin + 1, c.dim(1)), i[1]));
      });
    };
    return Bins{table("begin", [&](Dim begin, Dim size, Dim bin) { return begin + expr::floordiv(bin * size, bins); }),
                table("end", [&](Dim begin, Dim size, Dim bin) { return begin + expr::ceildiv((bin + 1) * size, bins); })};
  };
  const Bins bins[2] = {bins_along(0), bins_along(1)};
  std::vector<Dim> shape{rois->shape[0], x->shape[1], c.dim(pooled[0]), c.dim(pooled[1])};
  Tensor best =
      c.te().reduce("best", shape, {x->shape[2], x->shape[3]}, te::Combiner::Max, [&](const Index& o, const Index& p) {
        Scalar inside;
        for (size_t k = 0; k < 2; ++k) {
          const Index at{o[0], o[k + 2]};
          const Scalar within = expr::logical_and(expr::less_equal(expr::value((*bins[k].begin)(at)), p[k]),
                                                  expr::less(p[k], expr::value((*bins[k].end)(at))));
          inside = inside ? expr::logical_and(inside, within) : within;
        }
        Scalar v = (*x)({index_from((*batch)({o[0]}), x->shape[0]), o[1], p[0], p[1]});
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
