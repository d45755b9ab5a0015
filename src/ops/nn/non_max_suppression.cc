// Boxes that remain when those that overlap a better one are dropped.
#include <algorithm>

#include "ops/evaluate/reference.h"

namespace pliant::ops {
namespace {

// Inputs: boxes [batch, n, 4], scores [batch, classes, n], max_output?, iou_threshold?, score_threshold?.
Result<std::vector<TensorType>> infer_types(DefineContext& c) {
  const te::Tensor &boxes = c.in(0), &scores = c.in(1);
  if (boxes->dtype != DType::F32 || scores->dtype != DType::F32)
    return c.fail("type-mismatch", "boxes and scores must be f32");
  if (boxes->rank() != 3 || scores->rank() != 3) return c.fail("shape-mismatch", "boxes and scores must have rank 3");
  TRY(c.require_equal(boxes->shape[2], c.dim(4), "the numbers of a box"));
  TRY(c.require_equal(boxes->shape[0], scores->shape[0], "the batches of boxes and scores"));
  TRY(c.require_equal(boxes->shape[1], scores->shape[2], "the boxes and their scores"));
  Dim n = c.fresh_dim("selected", scores->shape[0] * scores->shape[1] * scores->shape[2]);
  return std::vector{TensorType{DType::I64, {n, c.dim(3)}}};
}

struct Box {
  double y0, x0, y1, x1;
};

Box read_box(const te::ArrayView& a, int64_t at, bool by_centre) {
  auto v = [&](int64_t k) { return static_cast<double>(number_at(a, at * 4 + k)); };
  if (by_centre) return {v(1) - v(3) / 2, v(0) - v(2) / 2, v(1) + v(3) / 2, v(0) + v(2) / 2};
  return {std::min(v(0), v(2)), std::min(v(1), v(3)), std::max(v(0), v(2)), std::max(v(1), v(3))};
}

double overlap(const Box& a, const Box& b) {
  double height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0), width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  if (height <= 0 || width <= 0) return 0;
  double both = height * width, area_a = (a.y1 - a.y0) * (a.x1 - a.x0), area_b = (b.y1 - b.y0) * (b.x1 - b.x0);
  return area_a <= 0 || area_b <= 0 ? 0 : both / (area_a + area_b - both);
}

Arrays reference(const Attrs& attrs, const std::vector<te::ArrayView>& in) {
  const te::ArrayView &boxes = in[0], &scores = in[1];
  auto single = [&](size_t k) { return k < in.size() && in[k].data != nullptr && count_of(in[k].shape) > 0; };
  int64_t most = single(2) ? static_cast<int64_t>(number_at(in[2], 0)) : 0;
  double iou = single(3) ? static_cast<double>(number_at(in[3], 0)) : 0;
  bool by_centre = AttrReader{attrs}.as_bool("center_point_box");
  int64_t classes = scores.shape[1], n = scores.shape[2];
  std::vector<int64_t> found;
  for (int64_t b = 0; b < scores.shape[0]; ++b)
    for (int64_t k = 0; k < classes; ++k) {
      std::vector<std::pair<double, int64_t>> order;
      for (int64_t i = 0; i < n; ++i) {
        double s = static_cast<double>(number_at(scores, (b * classes + k) * n + i));
        if (!single(4) || s > static_cast<double>(number_at(in[4], 0))) order.emplace_back(s, i);
      }
      std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& c) { return a.first > c.first; });
      std::vector<Box> kept;
      for (const auto& [score, i] : order) {
        if (static_cast<int64_t>(kept.size()) >= most) break;
        Box box = read_box(boxes, b * n + i, by_centre);
        if (std::any_of(kept.begin(), kept.end(), [&](const Box& other) { return overlap(box, other) > iou; })) continue;
        kept.push_back(box);
        found.insert(found.end(), {b, k, i});
      }
    }
  te::Array out = make_array(DType::I64, {static_cast<int64_t>(found.size()) / 3, 3});
  for (size_t i = 0; i < found.size(); ++i) set_i64(out, static_cast<int64_t>(i), found[i]);
  return std::vector{std::move(out)};
}

std::vector<Dim> ints(DefineContext& c) { return {flag(c.ctx(), c.attr().as_bool("center_point_box"))}; }

}  // namespace

OpDef op_nn_non_max_suppression() {
  return {.name = "nn.non_max_suppression",
          .doc =
              "For each batch and class, boxes by falling score that overlap no better one by more than the threshold: rows "
              "(batch, class, box).",
          .attrs = {attr("center_point_box", false, "boxes are centre and size, not two corners")},
          .min_inputs = 2,
          .max_inputs = 5,
          .kernel = {infer_types, reference, "non_max_suppression", ints},
          .samples = {"f32[B,N,4] f32[B,C,N] i64[1]@3..4 f32[1]@0.3..0.6 f32[1]@-2..-1 B=1 N=6 C=2",
                      "f32[B,N,4]@0..1 f32[B,C,N] i64[]@2..3 B=2 N=4 C=1 center_point_box=true"}};
}

}  // namespace pliant::ops
