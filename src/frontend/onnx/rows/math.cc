// Elementwise arithmetic, comparison, logic and conversion.
#include <algorithm>
#include <limits>

#include "frontend/onnx/fold.h"
#include "frontend/onnx/rows/direct.h"

namespace pliant::frontend::onnx {
namespace {

// Any number of inputs, combined from the left; one input is passed on.
template <OpName op>
Result<Values> variadic(Conversion& c) {
  ValueId total = c.in(0);
  for (size_t i = 1; i < c.input_count(); ++i) total = TRY(c.append(op.text, {}, {total, c.in(i)}));
  return Values{total};
}

Result<Values> mean(Conversion& c) {
  Values total = TRY(variadic<"math.add">(c));
  if (c.input_count() == 1) return total;
  return Values{TRY(c.append("math.div", {}, {total[0], c.scalar(c.dtype(0), static_cast<double>(c.input_count()))}))};
}

// A quotient or remainder. Divisors of integers that are constants are asked for zeros now.
Result<Values> division(Conversion& c, const std::string& op, Attrs attrs) {
  const bool floats = is_float(c.dtype(1));
  const Known* k = c.known(1);
  const auto divisors = k != nullptr && !floats ? k->ints() : std::nullopt;
  const bool nonzero = divisors && std::find(divisors->begin(), divisors->end(), 0) == divisors->end();
  if (nonzero) attrs.set("nonzero", true);
  return Values{TRY(c.append(op, std::move(attrs), c.all_inputs()))};
}

Result<Values> div(Conversion& c) { return division(c, "math.div", {}); }
Result<Values> mod(Conversion& c) { return division(c, "math.mod", Attrs{{"fmod", c.bool_attr("fmod", false)}}); }

Result<Values> bit_shift(Conversion& c) {
  std::string direction = c.string_attr("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return c.fail("wrong-attribute", "direction must be LEFT or RIGHT, not '" + direction + "'");
  return Values{TRY(c.append(direction == "LEFT" ? "math.shl" : "math.shr", {}, c.all_inputs()))};
}

// Bounds were attributes before opset 11: floats, by default the least and the largest of f32.
Result<Values> clip_by_attributes(Conversion& c) {
  constexpr double most = std::numeric_limits<float>::max();
  if (!is_float(c.dtype(0))) return c.fail("wrong-type", "before opset 11 the clipped values must be floats");
  ValueId lo = c.scalar(c.dtype(0), c.float_attr("min", -most)), hi = c.scalar(c.dtype(0), c.float_attr("max", most));
  return Values{TRY(c.append("math.clip", {}, {c.in(0), lo, hi}))};
}

// The largest finite value of a float type.
double largest(DType t) {
  switch (t) {
    case DType::F16: return 65504;
    case DType::BF16: return 0x1.fep127;
    case DType::F64: return std::numeric_limits<double>::max();
    default: return std::numeric_limits<float>::max();
  }
}

// A bound that is absent is the least or the largest finite value of the type, which integers cannot pass.
Result<Values> clip(Conversion& c) {
  const bool floats = is_float(c.dtype(0));
  Values inputs = {c.in(0)};
  for (size_t i : {1, 2}) {
    inputs.push_back(c.in(i));
    // Exporters write bounds of shape [1] too.
    if (c.has(i) && c.rank(i) == 1 && c.shape(i)[0].is_const(1)) inputs.back() = TRY(c.reshape(inputs.back(), {}));
    if (!c.has(i) && floats) inputs.back() = c.scalar(c.dtype(0), i == 1 ? -largest(c.dtype(0)) : largest(c.dtype(0)));
  }
  if (!floats && !c.has(1) && !c.has(2)) return Values{c.in(0)};
  return Values{TRY(c.append("math.clip", {}, inputs))};
}

Result<Values> cast(Conversion& c) {
  DType to = TRY(c.dtype_attr("to", DType::F32));
  return Values{TRY(c.cast(c.in(0), to))};
}

Result<Values> cast_like(Conversion& c) { return Values{TRY(c.cast(c.in(0), c.dtype(1)))}; }

Result<Values> bit_cast(Conversion& c) {
  DType to = TRY(c.dtype_attr("to", DType::F32));
  return Values{TRY(c.append("math.bitcast", Attrs{{"to", to}}, {c.in(0)}))};
}

Result<Values> is_inf(Conversion& c) {
  Attrs attrs{{"positive", c.bool_attr("detect_positive", true)}, {"negative", c.bool_attr("detect_negative", true)}};
  return Values{TRY(c.append("math.is_inf", attrs, {c.in(0)}))};
}

template <OpName op>
Folded fold_variadic(Conversion& c) {
  return fold_chain(c, op.text);
}

}  // namespace

Rows math_rows() {
  return {
      {"Abs", 6, 1, &direct<"math.abs">, 0, &fold<"math.abs">},
      {"Neg", 6, 1, &direct<"math.neg">, 0, &fold<"math.neg">},
      {"Sign", 9, 1, &direct<"math.sign">, 0, &fold<"math.sign">},
      {"Exp", 6, 1, &direct<"math.exp">},
      {"Log", 6, 1, &direct<"math.log">},
      {"Sqrt", 6, 1, &direct<"math.sqrt">, 0, &fold<"math.sqrt">},
      {"Reciprocal", 6, 1, &direct<"math.recip">},
      {"Sin", 7, 1, &direct<"math.sin">},
      {"Cos", 7, 1, &direct<"math.cos">},
      {"Tan", 7, 1, &direct<"math.tan">},
      {"Asin", 7, 1, &direct<"math.asin">},
      {"Acos", 7, 1, &direct<"math.acos">},
      {"Atan", 7, 1, &direct<"math.atan">},
      {"Sinh", 9, 1, &direct<"math.sinh">},
      {"Cosh", 9, 1, &direct<"math.cosh">},
      {"Tanh", 6, 1, &direct<"math.tanh">},
      {"Asinh", 9, 1, &direct<"math.asinh">},
      {"Acosh", 9, 1, &direct<"math.acosh">},
      {"Atanh", 9, 1, &direct<"math.atanh">},
      {"Erf", 9, 1, &direct<"math.erf">},
      {"Sigmoid", 6, 1, &direct<"math.sigmoid">},
      {"Floor", 6, 1, &direct<"math.floor">, 0, &fold<"math.floor">},
      {"Ceil", 6, 1, &direct<"math.ceil">, 0, &fold<"math.ceil">},
      {"Round", 11, 1, &direct<"math.round">, 0, &fold<"math.round">},
      {"Not", 1, 1, &direct<"math.not">, 0, &fold<"math.not">},
      {"BitwiseNot", 18, 1, &direct<"math.bit_not">},
      {"IsNaN", 9, 1, &direct<"math.is_nan">},
      {"IsInf", 10, 1, &is_inf},
      {"Add", 7, 2, &direct<"math.add">, 0, &fold<"math.add">},
      {"Sub", 7, 2, &direct<"math.sub">, 0, &fold<"math.sub">},
      {"Mul", 7, 2, &direct<"math.mul">, 0, &fold<"math.mul">},
      {"Div", 7, 2, &div, 0, &fold_div},
      {"Mod", 10, 2, &mod, 0, &fold_mod},
      {"Pow", 7, 2, &direct<"math.pow">, 0, &fold<"math.pow">},
      {"Max", 6, 1, &variadic<"math.max">, 0, &fold_variadic<"math.max">},
      {"Min", 6, 1, &variadic<"math.min">, 0, &fold_variadic<"math.min">},
      {"Sum", 6, 1, &variadic<"math.add">, 0, &fold_variadic<"math.add">},
      {"Mean", 6, 1, &mean},
      {"And", 7, 2, &direct<"math.and">, 0, &fold<"math.and">},
      {"Or", 7, 2, &direct<"math.or">, 0, &fold<"math.or">},
      {"Xor", 7, 2, &direct<"math.xor">, 0, &fold<"math.xor">},
      {"BitwiseAnd", 18, 2, &direct<"math.bit_and">},
      {"BitwiseOr", 18, 2, &direct<"math.bit_or">},
      {"BitwiseXor", 18, 2, &direct<"math.bit_xor">},
      {"BitShift", 11, 2, &bit_shift},
      {"Equal", 7, 2, &direct<"math.eq">, 0, &fold<"math.eq">},
      {"Less", 7, 2, &direct<"math.lt">, 0, &fold<"math.lt">},
      {"LessOrEqual", 12, 2, &direct<"math.le">, 0, &fold<"math.le">},
      {"Greater", 7, 2, &direct<"math.gt">, 0, &fold<"math.gt">},
      {"GreaterOrEqual", 12, 2, &direct<"math.ge">, 0, &fold<"math.ge">},
      {"Where", 9, 3, &direct<"math.where">, 0, &fold<"math.where">},
      {"Clip", 6, 1, &clip_by_attributes},
      {"Clip", 11, 1, &clip, 0, &fold_clip},
      {"Cast", 6, 1, &cast, 0, &fold_cast},
      {"CastLike", 15, 2, &cast_like, 0, &fold_cast_like},
      {"BitCast", 26, 1, &bit_cast},
  };
}

}  // namespace pliant::frontend::onnx
