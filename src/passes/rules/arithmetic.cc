#include <algorithm>
#include <cmath>

#include "passes/rewrite/constants.h"
#include "passes/rewrite/known.h"
#include "passes/rules/match.h"
#include "passes/rules/rule.h"

namespace pliant::passes {
namespace {

// The operand, where it has the result's type: a constant of a larger shape would broadcast it.
RuleResult operand(Rewriter& s, const Node& n, std::optional<ValueId> v) {
  return v && s.type(*v) == s.type(n.outputs[0]) ? v : no_match();
}
std::optional<ValueId> exactly(const Rewriter& s, ValueId constant, double number, ValueId other) {
  auto value = number_of(s, constant);
  return value && *value == number ? std::optional(other) : std::nullopt;
}

// The sign of a zero is not kept.
RuleResult add_zero(Rewriter& s, const Node& n) {
  auto v = exactly(s, n.inputs[1], 0, n.inputs[0]);
  return operand(s, n, v ? v : exactly(s, n.inputs[0], 0, n.inputs[1]));
}
RuleResult subtract_zero(Rewriter& s, const Node& n) { return operand(s, n, exactly(s, n.inputs[1], 0, n.inputs[0])); }
RuleResult times_one(Rewriter& s, const Node& n) {
  auto v = exactly(s, n.inputs[1], 1, n.inputs[0]);
  return operand(s, n, v ? v : exactly(s, n.inputs[0], 1, n.inputs[1]));
}
RuleResult divide_by_one(Rewriter& s, const Node& n) { return operand(s, n, exactly(s, n.inputs[1], 1, n.inputs[0])); }

// f(f(x)) = x
RuleResult own_inverse(Rewriter& s, const Node& n) {
  const Node* inner = def_of(s, n.inputs[0], n.op.c_str());
  return inner != nullptr ? std::optional(inner->inputs[0]) : std::nullopt;
}
// f(f(x)) = f(x)
RuleResult idempotent(Rewriter& s, const Node& n) {
  return def_of(s, n.inputs[0], n.op.c_str()) != nullptr ? std::optional(n.inputs[0]) : std::nullopt;
}

// The constant operand of a commutative node, and the other one.
struct WithConstant {
  ValueId value, constant;
};
std::optional<WithConstant> with_constant(const Rewriter& s, const Node& n) {
  if (s.constant(n.inputs[1])) return WithConstant{n.inputs[0], n.inputs[1]};
  if (s.constant(n.inputs[0])) return WithConstant{n.inputs[1], n.inputs[0]};
  return std::nullopt;
}

// (x ∘ a) ∘ b = x ∘ (a ∘ b). Sums of floats would round differently by more than an ulp, so only integers are added so;
// products keep their relative error as long as nothing overflows or vanishes.
RuleResult constant_chain(Rewriter& s, const Node& n) {
  auto outer = with_constant(s, n);
  if (!outer) return no_match();
  const Node* below = only_def_of(s, outer->value, n.op.c_str());
  auto inner = below != nullptr ? with_constant(s, *below) : std::nullopt;
  if (!inner) return no_match();
  DType t = s.tensor(n.outputs[0])->dtype;
  if (is_float(t)) {
    if (n.op != "math.mul" || (t != DType::F32 && t != DType::F64)) return no_match();
    for (ValueId c : {inner->constant, outer->constant}) {
      for (double v : to_doubles(*s.constant(c))) {
        double size = std::abs(v);
        if (size != 0 && !(size >= 1e-12 && size <= 1e12)) return no_match();
      }
    }
  }
  LocPtr loc = fused_loc({below, &n});
  ValueId folded = TRY(s.make(n.op, {}, {inner->constant, outer->constant}, loc));
  return std::optional(TRY(s.make(n.op, {}, {inner->value, folded}, loc)));
}

// Dividing by a power of two is multiplying by its inverse.
RuleResult divide_by_power_of_two(Rewriter& s, const Node& n) {
  if (!is_float_tensor(s, n.outputs[0])) return no_match();
  ConstantPtr c = s.constant(n.inputs[1]);
  auto divisor = c ? uniform_value(*c) : std::nullopt;
  int exponent = 0;
  if (!divisor || std::abs(std::frexp(*divisor, &exponent)) != 0.5 || std::abs(exponent) > 12) return no_match();
  std::vector<double> inverse(static_cast<size_t>(element_count(*c)), 1 / *divisor);
  ValueId factor = s.make_const(from_doubles(c->dtype, c->shape, inverse), n.loc);
  return std::optional(TRY(s.make("math.mul", {}, {n.inputs[0], factor}, n.loc)));
}

bool has_zero(const ConstantData& c) {
  const auto size = static_cast<size_t>(byte_size(c.dtype));
  const auto is_zero = [&](size_t at) {
    return std::all_of(c.data + at, c.data + at + size, [](std::byte b) { return b == std::byte{0}; });
  };
  for (size_t at = 0; at < c.bytes; at += size)
    if (is_zero(at)) return true;
  return false;
}

// Sizes, or other integers over them, that are at least 1.
bool are_positive_dims(Rewriter& s, ValueId v) {
  const Node* n = s.def(v);
  while (n != nullptr && (n->op == "array.reshape" || n->op == "array.expand")) n = s.def(n->inputs[0]);
  if (n == nullptr || n->op != "array.from_dims") return false;
  const std::vector<Dim> values = dims_of(n->attrs, "values", s.ctx());
  return std::all_of(values.begin(), values.end(), [&](Dim d) { return s.ctx().proves_less_equal(s.ctx().constant(1), d); });
}

// Divisors of integers of which none can be 0 are not asked.
RuleResult sure_division(Rewriter& s, const Node& n) {
  if (is_float_tensor(s, n.outputs[0]) || ops::attrs_of(n).as_bool("nonzero")) return no_match();
  ConstantPtr c = s.constant(n.inputs[1]);
  if (c ? has_zero(*c) : !are_positive_dims(s, n.inputs[1])) return no_match();
  graph::Attrs attrs = n.attrs;
  attrs.set("nonzero", true);
  return std::optional(TRY(s.make(n.op, std::move(attrs), n.inputs, n.loc)));
}

RuleResult power(Rewriter& s, const Node& n) {
  auto exponent = number_of(s, n.inputs[1]);
  ValueId x = n.inputs[0];
  if (!exponent || !(s.type(x) == s.type(n.outputs[0]))) return no_match();
  if (*exponent == 1) return std::optional(x);
  if (*exponent == 2) return std::optional(TRY(s.make("math.mul", {}, {x, x}, n.loc)));
  if (*exponent == 3) {
    ValueId square = TRY(s.make("math.mul", {}, {x, x}, n.loc));
    return std::optional(TRY(s.make("math.mul", {}, {square, x}, n.loc)));
  }
  if (!is_float_tensor(s, x)) return no_match();
  if (*exponent == 0.5) return std::optional(TRY(s.make("math.sqrt", {}, {x}, n.loc)));
  if (*exponent == -1) return std::optional(TRY(s.make("math.recip", {}, {x}, n.loc)));
  return no_match();
}

}  // namespace

std::vector<Rule> arithmetic_rules() {
  return {{"add-zero", "math.add", add_zero},
          {"subtract-zero", "math.sub", subtract_zero},
          {"times-one", "math.mul", times_one},
          {"divide-by-one", "math.div", divide_by_one},
          {"add-chain", "math.add", constant_chain},
          {"multiply-chain", "math.mul", constant_chain},
          {"divide-by-power-of-two", "math.div", divide_by_power_of_two},
          {"sure-quotient", "math.div", sure_division},
          {"sure-remainder", "math.mod", sure_division},
          {"negate-twice", "math.neg", own_inverse},
          {"not-twice", "math.not", own_inverse},
          {"bit-not-twice", "math.bit_not", own_inverse},
          {"abs-twice", "math.abs", idempotent},
          {"relu-twice", "nn.relu", idempotent},
          {"power", "math.pow", power}};
}

}  // namespace pliant::passes
