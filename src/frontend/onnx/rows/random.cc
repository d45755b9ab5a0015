// Random numbers. A node with a seed draws the same ones each time, a node without one others in every run and iteration.
#include "frontend/onnx/rows/direct.h"

namespace pliant::frontend::onnx {
namespace {

Result<ValueId> random(Conversion& c, const std::string& kind, const graph::Shape& shape, DType to, double a, double b) {
  Attrs attrs{{"shape", shape}, {"kind", kind}, {"a", a}, {"b", b}, {"to", to}};
  if (c.has_attr("seed")) {
    attrs.set("seed", c.float_attr("seed", 0));
    return c.append("nn.random", std::move(attrs), {});
  }
  return c.append("nn.random", std::move(attrs), {TRY(c.append("nn.random_key", {}, {}))});
}

graph::Shape shape_attr(Conversion& c) {
  graph::Shape shape;
  for (int64_t d : c.ints_attr("shape", {})) shape.push_back(c.num(d));
  return shape;
}

Result<Values> normal(Conversion& c) {
  DType to = TRY(c.dtype_attr("dtype", DType::F32));
  return Values{TRY(random(c, "normal", shape_attr(c), to, c.float_attr("mean", 0), c.float_attr("scale", 1)))};
}
Result<Values> normal_like(Conversion& c) {
  DType to = TRY(c.dtype_attr("dtype", c.dtype(0)));
  return Values{TRY(random(c, "normal", c.shape(0), to, c.float_attr("mean", 0), c.float_attr("scale", 1)))};
}
Result<Values> uniform(Conversion& c) {
  DType to = TRY(c.dtype_attr("dtype", DType::F32));
  return Values{TRY(random(c, "uniform", shape_attr(c), to, c.float_attr("low", 0), c.float_attr("high", 1)))};
}
Result<Values> uniform_like(Conversion& c) {
  DType to = TRY(c.dtype_attr("dtype", c.dtype(0)));
  return Values{TRY(random(c, "uniform", c.shape(0), to, c.float_attr("low", 0), c.float_attr("high", 1)))};
}

// True with the probability that the input says.
Result<Values> bernoulli(Conversion& c) {
  DType to = TRY(c.dtype_attr("dtype", c.dtype(0)));
  ValueId draw = TRY(random(c, "uniform", c.shape(0), DType::F32, 0, 1)), p = TRY(c.cast(c.in(0), DType::F32));
  ValueId hit = TRY(c.append("math.lt", {}, {draw, p}));
  return Values{TRY(c.cast(hit, to))};
}

// Classes with the probabilities whose logarithms, up to a sum for each row, the input gives: the first class whose running
// sum of probabilities passes the draw.
Result<Values> multinomial(Conversion& c) {
  DType to = TRY(c.dtype_attr("dtype", DType::I32));
  if (c.rank(0) != 2) return c.fail("wrong-rank", "the input must be a matrix of a row for each draw");
  const int64_t samples = c.int_attr("sample_size", 1);
  if (samples < 0) return c.fail("bad-attribute", "sample_size must not be negative");
  const Dim rows = c.shape(0)[0], classes = c.shape(0)[1];
  c.require_less_equal(c.num(1), classes, "there is no class to draw");
  ValueId x = TRY(c.cast(c.in(0), DType::F64));
  ValueId p = TRY(c.append("nn.softmax", Attrs{{"axis", int64_t{1}}}, {x}));
  ValueId sums = TRY(c.append("array.cumsum", Attrs{{"axis", int64_t{1}}}, {p}));
  sums = TRY(c.reshape(sums, {rows, c.num(1), classes}));
  ValueId draw = TRY(random(c, "uniform", {rows, c.num(samples), c.num(1)}, DType::F64, 0, 1));
  ValueId passed = TRY(c.append("math.le", {}, {sums, draw}));
  passed = TRY(c.cast(passed, DType::I64));
  Attrs last{{"axes", std::vector<int64_t>{2}}, {"keepdims", false}};
  ValueId at = TRY(c.append("reduce.sum", std::move(last), {passed}));
  ValueId most = TRY(c.append("array.from_dims", Attrs{{"values", std::vector<Dim>{classes - 1}}}, {}));
  at = TRY(c.append("math.min", {}, {at, most}));  // where the sum of all falls short of 1 by rounding
  return Values{TRY(c.cast(at, to))};
}

}  // namespace

Rows random_rows() {
  return {
      {"RandomNormal", 1, 0, &normal},   {"RandomNormalLike", 1, 1, &normal_like},
      {"RandomUniform", 1, 0, &uniform}, {"RandomUniformLike", 1, 1, &uniform_like},
      {"Bernoulli", 15, 1, &bernoulli},  {"Multinomial", 7, 1, &multinomial},
  };
}

}  // namespace pliant::frontend::onnx
