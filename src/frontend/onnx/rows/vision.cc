// Detection and sampling.
#include "frontend/onnx/rows/direct.h"

namespace pliant::frontend::onnx {
namespace {

// Opset 10 had no half-pixel shift of the input.
Result<Values> roi_align(Conversion& c) {
  std::string coordinate =
      c.opset < 16 ? "output_half_pixel" : c.string_attr("coordinate_transformation_mode", "half_pixel");
  Attrs attrs{{"mode", c.string_attr("mode", "avg")},
              {"height", c.int_attr("output_height", 1)},
              {"width", c.int_attr("output_width", 1)},
              {"sampling_ratio", c.int_attr("sampling_ratio", 0)},
              {"spatial_scale", c.float_attr("spatial_scale", 1)},
              {"coordinate", coordinate}};
  return Values{TRY(c.append("nn.roi_align", std::move(attrs), c.all_inputs()))};
}

// The modes were named bilinear and bicubic before opset 20.
Result<Values> grid_sample(Conversion& c) {
  std::string mode = c.string_attr("mode", "linear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  Attrs attrs{{"mode", mode},
              {"padding", c.string_attr("padding_mode", "zeros")},
              {"align_corners", c.bool_attr("align_corners", false)}};
  return Values{TRY(c.append("nn.grid_sample", std::move(attrs), c.all_inputs()))};
}

// How many axes the image has, as the matrices tell, which have a row for each but batch and channels.
std::optional<int64_t> image_axes(Conversion& c) {
  if (c.rank(0) != 3 || !c.shape(0)[1].is_const()) return std::nullopt;
  return c.shape(0)[1].const_value() + 2;
}

Result<Values> affine_grid(Conversion& c) {
  Attrs attrs{{"size", TRY(c.dims(1, "the size", {.expected = image_axes(c)}))},
              {"align_corners", c.bool_attr("align_corners", false)}};
  return Values{TRY(c.append("array.affine_grid", std::move(attrs), {c.in(0)}))};
}

Result<Values> non_max_suppression(Conversion& c) {
  Attrs attrs{{"center_point_box", c.bool_attr("center_point_box", false)}};
  return Values{TRY(c.append("nn.non_max_suppression", std::move(attrs), c.all_inputs()))};
}

// Small matrices are expanded, which other work is fused with; what is larger, or of a size that the run knows, is
// eliminated.
Result<Values> det(Conversion& c) {
  constexpr int64_t most_expanded = 4;
  const graph::Shape& s = c.shape(0);
  const bool is_small = s.size() < 2 || (s.back().is_const() && s.back().const_value() <= most_expanded);
  if (is_small) return Values{TRY(c.append("array.det", {}, {c.in(0)}))};
  const DType t = c.dtype(0);
  const bool is_half = t == DType::F16 || t == DType::BF16;
  ValueId y = TRY(c.append("array.lu_det", {}, {is_half ? TRY(c.cast(c.in(0), DType::F32)) : c.in(0)}));
  return Values{TRY(c.cast(y, t))};
}

}  // namespace

Rows vision_rows() {
  return {
      {"RoiAlign", 10, 3, &roi_align},
      {"GridSample", 16, 2, &grid_sample},
      {"AffineGrid", 20, 2, &affine_grid, kFrom1},
      {"NonMaxSuppression", 10, 2, &non_max_suppression},
      {"Det", 11, 1, &det},
  };
}

}  // namespace pliant::frontend::onnx
