// Fourier transforms and windows.
#include "frontend/onnx/rows/direct.h"
#include "ops/bodies/scalars.h"

namespace pliant::frontend::onnx {
namespace {

// The axis was an attribute in opset 17 and is an input since 20. Where only the run knows it, the axes before and behind it
// become one each.
Result<Values> dft(Conversion& c) {
  Dim axis = c.num(c.opset < 20 ? c.int_attr("axis", 1) : -2);
  if (c.has(2)) axis = TRY(c.dim(2, "the axis"));
  Attrs attrs{{"inverse", c.bool_attr("inverse", false)}, {"onesided", c.bool_attr("onesided", false)}};
  if (c.has(1)) attrs.set("length", TRY(c.dim(1, "the length")));
  if (axis.is_const()) {
    attrs.set("axis", axis.const_value());
    return Values{TRY(c.append("nn.dft", std::move(attrs), {c.in(0)}))};
  }
  if (c.rank(0) < 2) return c.fail("shape-mismatch", "a transform needs an axis and one of parts");
  const graph::Shape shape = c.shape(0);
  const size_t axes = shape.size() - 1;
  std::vector<Dim> is;  // 1 for the transformed axis, else 0
  Dim found = c.num(0), outer = c.num(0), size = c.num(0), inner = c.num(0);
  for (size_t k = 0; k < axes; ++k) {
    is.push_back(ops::is_axis(axis, static_cast<int64_t>(k), c.rank(0), c.ctx()));
    found = found + is[k];
    Dim before = is[k], behind = is[k];
    for (size_t j = 0; j < axes; ++j) {
      if (j < k) before = before * shape[j];
      if (j > k) behind = behind * shape[j];
    }
    outer = outer + before;
    size = size + is[k] * shape[k];
    inner = inner + behind;
  }
  c.require_equal(found, c.num(1), "axes that are transformed and one");
  // Symbols of their own: polynomials over the choices would grow with each use.
  std::vector<Dim> merged =
      TRY(c.read_dims(TRY(c.from_dims({outer, size, inner})), "the axes around the transformed one", 0));
  merged.push_back(shape.back());
  const ValueId x = TRY(c.reshape(c.in(0), merged));
  attrs.set("axis", int64_t{1});
  const ValueId y = TRY(c.append("nn.dft", std::move(attrs), {x}));
  const graph::Shape made = c.type_of(y).shape;
  std::vector<Dim> result;
  for (size_t k = 0; k < axes; ++k) result.push_back(is[k] * made[1] + (1 - is[k]) * shape[k]);
  result = TRY(c.read_dims(TRY(c.from_dims(result)), "the transformed shape", 0));
  result.push_back(made.back());
  return Values{TRY(c.reshape(y, result))};
}

Result<Values> stft(Conversion& c) {
  Attrs attrs{{"frame_step", TRY(c.dim(1, "the frame step"))}, {"onesided", c.bool_attr("onesided", true)}};
  if (c.has(3)) {
    attrs.set("frame_length", TRY(c.dim(3, "the frame length")));
  } else if (c.has(2) && c.rank(2) == 1) {
    attrs.set("frame_length", c.shape(2)[0]);
  } else {
    return c.fail("missing-input", "either a window or a frame length is needed");
  }
  return Values{TRY(c.append("nn.stft", std::move(attrs), {c.in(0), c.in(2)}))};
}

Result<Values> window(Conversion& c, const char* kind) {
  DType to = TRY(c.dtype_attr("output_datatype", DType::F32));
  Attrs attrs{{"kind", std::string(kind)},
              {"size", TRY(c.dim(0, "the size"))},
              {"periodic", c.bool_attr("periodic", true)},
              {"to", to}};
  return Values{TRY(c.append("array.window", std::move(attrs), {}))};
}
Result<Values> hann(Conversion& c) { return window(c, "hann"); }
Result<Values> hamming(Conversion& c) { return window(c, "hamming"); }
Result<Values> blackman(Conversion& c) { return window(c, "blackman"); }

Result<Values> mel_weights(Conversion& c) {
  Attrs attrs{{"bands", TRY(c.dim(0, "the number of bins"))},
              {"dft_length", TRY(c.dim(1, "the length"))},
              {"to", TRY(c.dtype_attr("output_datatype", DType::F32))}};
  Values numbers;
  for (size_t k = 2; k < 5; ++k)
    numbers.push_back(
        TRY(c.reshape(TRY(c.one_element(c.in(k), "the sample rate or an edge has {a} elements, not one")), {})));
  return Values{TRY(c.append("array.mel_weights", std::move(attrs), numbers))};
}

}  // namespace

Rows signal_rows() {
  return {
      {"DFT", 17, 1, &dft, kFrom1},
      {"STFT", 17, 2, &stft, shape_input(1) | shape_input(3)},
      {"HannWindow", 17, 1, &hann, shape_input(0)},
      {"HammingWindow", 17, 1, &hamming, shape_input(0)},
      {"BlackmanWindow", 17, 1, &blackman, shape_input(0)},
      {"MelWeightMatrix", 17, 5, &mel_weights, shape_input(0) | shape_input(1)},
  };
}

}  // namespace pliant::frontend::onnx
