// Random numbers: a fixed sequence for each seed. Without a seed it is 0, so that runs repeat.
#include "frontend/onnx/direct.h"

namespace pliant::frontend::onnx {
namespace {

Result<Values> random(Conversion& c, const std::string& kind, const graph::Shape& shape, DType to, double a, double b) {
  Attrs attrs{{"shape", shape}, {"kind", kind}, {"a", a}, {"b", b}, {"seed", c.float_attr("seed", 0)}, {"to", to}};
  return Values{TRY(c.append("nn.random", std::move(attrs), {}))};
}

graph::Shape shape_attr(Conversion& c) {
  graph::Shape shape;
  for (int64_t d : c.ints_attr("shape", {})) shape.push_back(c.num(d));
  return shape;
}

Result<Values> normal(Conversion& c) {
  DType to = TRY(c.dtype_attr("dtype", DType::F32));
  return random(c, "normal", shape_attr(c), to, c.float_attr("mean", 0), c.float_attr("scale", 1));
}
Result<Values> normal_like(Conversion& c) {
  DType to = TRY(c.dtype_attr("dtype", c.dtype(0)));
  return random(c, "normal", c.shape(0), to, c.float_attr("mean", 0), c.float_attr("scale", 1));
}
Result<Values> uniform(Conversion& c) {
  DType to = TRY(c.dtype_attr("dtype", DType::F32));
  return random(c, "uniform", shape_attr(c), to, c.float_attr("low", 0), c.float_attr("high", 1));
}
Result<Values> uniform_like(Conversion& c) {
  DType to = TRY(c.dtype_attr("dtype", c.dtype(0)));
  return random(c, "uniform", c.shape(0), to, c.float_attr("low", 0), c.float_attr("high", 1));
}

// True with the probability that the input says.
Result<Values> bernoulli(Conversion& c) {
  DType to = TRY(c.dtype_attr("dtype", c.dtype(0)));
  Values draw = TRY(random(c, "uniform", c.shape(0), c.dtype(0), 0, 1));
  ValueId hit = TRY(c.append("math.lt", {}, {draw[0], c.in(0)}));
  return Values{TRY(c.cast(hit, to))};
}

}  // namespace

Rows random_rows() {
  return {
      {"RandomNormal", 1, 0, &normal},   {"RandomNormalLike", 1, 1, &normal_like},
      {"RandomUniform", 1, 0, &uniform}, {"RandomUniformLike", 1, 1, &uniform_like},
      {"Bernoulli", 15, 1, &bernoulli},
  };
}

}  // namespace pliant::frontend::onnx
