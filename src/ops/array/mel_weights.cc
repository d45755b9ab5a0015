// The matrix that turns a spectrum into mel bands.
#include <cmath>

#include "ops/scalars.h"

namespace pliant::ops {
namespace {

// The spectrum's bin for each edge of the bands: equal steps of the mel scale.
std::vector<int64_t> edges(int64_t bins, int64_t dft_length, int64_t sample_rate, double lower, double upper) {
  auto to_mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  double low = to_mel(lower), step = (to_mel(upper) - low) / static_cast<double>(bins + 2);
  std::vector<int64_t> out;
  for (int64_t k = 0; k < bins + 2; ++k) {
    double hertz = 700 * (std::pow(10.0, (static_cast<double>(k) * step + low) / 2595) - 1);
    out.push_back(
        static_cast<int64_t>(std::floor(static_cast<double>(dft_length + 1) * hertz / static_cast<double>(sample_rate))));
  }
  return out;
}

Tensors compute(DefineContext& c) {
  AttrReader a = c.attr();
  int64_t bins = a.as_int("bins"), length = a.as_int("dft_length"), rate = a.as_int("sample_rate");
  if (bins < 1 || length < 1 || rate < 1)
    return c.fail("bad-attribute", "bins, dft_length and sample_rate must be positive");
  std::vector<int64_t> edge = edges(bins, length, rate, a.as_float("lower"), a.as_float("upper"));
  DType to = a.as_dtype("to");
  return std::vector{c.te().map("mel", {c.dim(length / 2 + 1), c.dim(bins)}, [&](const Index& i) {
    auto number_f64 = [&](double v) { return expr::make_const(c.ctx(), DType::F64, v); };
    Scalar out = number_f64(0), bin = number(DType::F64, i[0]);
    for (int64_t k = bins - 1; k >= 0; --k) {
      size_t at = static_cast<size_t>(k);
      double left = static_cast<double>(edge[at]), middle = static_cast<double>(edge[at + 1]),
             right = static_cast<double>(edge[at + 2]);
      Scalar rising = left == middle ? number_f64(1) : (bin - left) / (middle - left),
             falling = (right - bin) / std::max(right - middle, 1.0);
      Scalar before = left == middle
                          ? same_value(bin, number_f64(middle))
                          : expr::logical_and(greater_equal(bin, number_f64(left)), less_than(bin, number_f64(middle)));
      Scalar after = expr::logical_and(greater_equal(bin, number_f64(middle)), less_than(bin, number_f64(right)));
      // At the middle both sides meet; without a falling side the rising one includes it.
      if (right <= middle) before = logical_or(before, same_value(bin, number_f64(middle)));
      Scalar v = expr::make_select(after, falling, expr::make_select(before, rising, number_f64(0)));
      out = k == bins - 1 ? v : expr::make_select(expr::equal(i[1], c.dim(k)), v, out);
    }
    return expr::make_cast(to, out);
  })};
}

}  // namespace

OpDef op_array_mel_weights() {
  return {.name = "array.mel_weights",
          .doc = "Triangular weights [dft_length / 2 + 1, bins] of mel bands between two frequencies.",
          .attrs = {required_attr("bins", AttrKind::Int, "the bands"),
                    required_attr("dft_length", AttrKind::Int, "samples of the transform"),
                    required_attr("sample_rate", AttrKind::Int, "samples a second"),
                    required_attr("lower", AttrKind::Float, "hertz"), required_attr("upper", AttrKind::Float, "hertz"),
                    attr("to", DType::F32, "the element type")},
          .min_inputs = 0,
          .max_inputs = 0,
          .compute = compute,
          .samples = {"bins=8 dft_length=16 sample_rate=8192 lower=0 upper=4096",
                      "bins=4 dft_length=32 sample_rate=8000 lower=100 upper=3000 to=f64"}};
}

}  // namespace pliant::ops
