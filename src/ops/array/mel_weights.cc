// The matrix that turns a spectrum into mel bands.
#include "ops/bodies/scalars.h"

namespace pliant::ops {
namespace {

// The spectrum's bins of the edges of the bands: equal steps of the mel scale.
Tensor edges_of(DefineContext& c, Dim bands, Dim length) {
  const double decade = 2.302585092994045684;  // log 10
  auto f64 = [](Scalar s) { return expr::make_cast(DType::F64, s); };
  auto to_mel = [&](Scalar hertz) { return unary(UnaryOp::Log, hertz / 700 + 1) / decade * 2595; };
  return c.te().map("edges", {bands + 2}, [&](const Index& i) {
    const Scalar low = to_mel(f64((*c.in(1))({}))), high = to_mel(f64((*c.in(2))({})));
    const Scalar step = (high - low) / number(DType::F64, bands + 2), mel = number(DType::F64, i[0]) * step + low;
    const Scalar hertz = (make_binary(BinaryOp::Pow, constant_like(mel, 10), mel / 2595) - 1) * 700;
    return unary(UnaryOp::Floor, number(DType::F64, length + 1) * hertz / f64((*c.in(0))({})));
  });
}

Tensors compute(DefineContext& c) {
  const Dim bands = c.attr().as_dim("bands"), length = c.attr().as_dim("dft_length");
  for (size_t k = 0; k < 3; ++k)
    if (c.in(k)->rank() != 0) return c.fail("shape-mismatch", "the rate and the edges must be single numbers");
  TRY(c.require_less_equal(c.dim(1), bands, "the least number of mel bands and the number of bands"));
  TRY(c.require_less_equal(c.dim(1), length, "the least number of samples and the length of the transform"));
  const DType to = c.attr().as_dtype("to");
  const Tensor edges = edges_of(c, bands, length);
  return std::vector{c.te().map("mel", {expr::floordiv(length, 2) + 1, bands}, [&](const Index& i) {
    const Scalar left = (*edges)({i[1]}), middle = (*edges)({i[1] + 1}), right = (*edges)({i[1] + 2});
    const Scalar bin = number(DType::F64, i[0]), one = constant_like(bin, 1);
    const Scalar is_steep = same_value(left, middle), at_middle = same_value(bin, middle);
    const Scalar rising = expr::make_select(is_steep, one, (bin - left) / (middle - left));
    const Scalar falling = (right - bin) / maximum(right - middle, one);
    const Scalar inside = expr::logical_and(greater_equal(bin, left), less_than(bin, middle));
    // At the middle both sides meet; without a falling side the rising one includes it.
    const Scalar ends = expr::logical_and(at_middle, greater_equal(middle, right));
    const Scalar before = logical_or(expr::make_select(is_steep, at_middle, inside), ends);
    const Scalar after = expr::logical_and(greater_equal(bin, middle), less_than(bin, right));
    const Scalar v = expr::make_select(after, falling, expr::make_select(before, rising, constant_like(bin, 0)));
    return expr::make_cast(to, v);
  })};
}

}  // namespace

OpDef op_array_mel_weights() {
  return {
      .name = "array.mel_weights",
      .doc = "Triangular weights [dft_length / 2 + 1, bands] of mel bands, given samples a second and two edges in hertz.",
      .attrs = {required_attr("bands", AttrKind::Dim, "the bands"),
                required_attr("dft_length", AttrKind::Dim, "samples of the transform"),
                attr("to", DType::F32, "the element type")},
      .min_inputs = 3,
      .max_inputs = 3,
      .compute = compute,
      .samples = {"i64[]@8000..9000 f32[]@0..100 f32[]@3000..4000 bands=8 dft_length=16",
                  "i64[]@8000..9000 f32[]@0..100 f32[]@3000..4000 B=4 N=32 bands=B dft_length=N to=f64"}};
}

}  // namespace pliant::ops
