// Activations that models write out. Each is recognised from its last multiplication, as a set of factors and one number.
#include <algorithm>
#include <cmath>

#include "passes/rules/match.h"
#include "passes/rules/rule.h"

namespace pliant::passes {
namespace {

// For a product of two factors, the pair in both orders: `x` the input, `f` the other.
struct Pair {
  ValueId x, f;
};
std::vector<Pair> pairs_of(const Product& p) {
  if (p.factors.size() != 2) return {};
  return {{p.factors[0], p.factors[1]}, {p.factors[1], p.factors[0]}};
}

// True when `v` is number * x.
bool is_scaled(const Rewriter& s, ValueId v, ValueId x, double number) {
  Product p = product_of(s, v);
  return p.factors == std::vector<ValueId>{x} && is_near(p.number, number);
}

// f = 1 + g, with g of operator `op`.
const Node* one_plus(const Rewriter& s, ValueId f, const char* op) {
  const Node* sum = only_def_of(s, f, "math.add");
  if (sum == nullptr) return nullptr;
  auto g = other_than(s, *sum, 1);
  return g ? only_def_of(s, *g, op) : nullptr;
}

// x + 0.044715 x³
bool is_cubic(const Rewriter& s, ValueId v, ValueId x) {
  const Node* sum = only_def_of(s, v, "math.add");
  if (sum == nullptr) return false;
  for (int k : {0, 1}) {
    if (sum->inputs[static_cast<size_t>(k)] != x) continue;
    Product p = product_of(s, sum->inputs[static_cast<size_t>(1 - k)]);
    if (!is_near(p.number, 0.044715)) continue;
    if (p.factors == std::vector<ValueId>{x, x, x}) return true;
    // x² shared with something else counts as one factor.
    ValueId square = p.factors.size() == 2 ? p.factors[p.factors[0] == x ? 1 : 0] : kNoValue;
    const Node* mul = def_of(s, square, "math.mul");
    if (mul != nullptr && mul->inputs == std::vector<ValueId>{x, x}) return true;
    const Node* pow = p.factors.size() == 1 ? def_of(s, p.factors[0], "math.pow") : nullptr;
    if (pow != nullptr && pow->inputs[0] == x && is_number(s, pow->inputs[1], 3)) return true;
  }
  return false;
}

Result<std::optional<ValueId>> activation(Rewriter& s, const Node& n, const char* op, Attrs attrs, ValueId x,
                                          const Product& p) {
  if (!(s.type(x) == s.type(n.outputs[0]))) return no_match();
  return std::optional(TRY(s.make(op, std::move(attrs), {x}, Loc::make_fused(p.locs))));
}

// x * 0.5 * (1 + erf(x / √2)), and its approximation with tanh.
RuleResult gelu(Rewriter& s, const Node& n) {
  Product p = product_of(s, n);
  if (!is_near(p.number, 0.5)) return no_match();
  for (auto [x, f] : pairs_of(p)) {
    const Node* erf = one_plus(s, f, "math.erf");
    if (erf != nullptr && is_scaled(s, erf->inputs[0], x, std::sqrt(0.5))) return activation(s, n, "nn.gelu", {}, x, p);
    const Node* tanh = one_plus(s, f, "math.tanh");
    if (tanh == nullptr) continue;
    Product inner = product_of(s, tanh->inputs[0]);
    if (inner.factors.size() == 1 && is_near(inner.number, std::sqrt(2 / M_PI)) && is_cubic(s, inner.factors[0], x)) {
      return activation(s, n, "nn.gelu", {{"approximate", std::string("tanh")}}, x, p);
    }
  }
  return no_match();
}

// x * sigmoid(alpha x)
RuleResult silu(Rewriter& s, const Node& n) {
  Product p = product_of(s, n);
  if (p.number != 1) return no_match();
  for (auto [x, f] : pairs_of(p)) {
    const Node* sigmoid = only_def_of(s, f, "math.sigmoid");
    if (sigmoid == nullptr) continue;
    if (sigmoid->inputs[0] == x) return activation(s, n, "nn.silu", {}, x, p);
    Product inner = product_of(s, sigmoid->inputs[0]);
    if (inner.factors == std::vector<ValueId>{x}) return activation(s, n, "nn.silu", {{"alpha", inner.number}}, x, p);
  }
  return no_match();
}

// True when `f` is min(max(x + 3, 0), 6).
bool is_clipped_ramp(const Rewriter& s, ValueId f, ValueId x) {
  const Node* clip = only_def_of(s, f, "math.clip");
  if (clip == nullptr || clip->inputs.size() != 3 || !is_number(s, clip->inputs[1], 0) || !is_number(s, clip->inputs[2], 6))
    return false;
  const Node* sum = only_def_of(s, clip->inputs[0], "math.add");
  return sum != nullptr && other_than(s, *sum, 3) == x;
}

// x * min(max(x + 3, 0), 6) / 6
RuleResult hard_swish(Rewriter& s, const Node& n) {
  Product p = product_of(s, n);
  for (auto [x, f] : pairs_of(p)) {
    if (is_near(p.number, 1.0 / 6) && is_clipped_ramp(s, f, x)) return activation(s, n, "nn.hard_swish", {}, x, p);
    const Node* gate = only_def_of(s, f, "nn.hard_sigmoid");
    if (p.number == 1 && gate != nullptr && gate->inputs[0] == x &&
        is_near(ops::attrs_of(*gate).as_float("alpha"), 1.0 / 6) && is_near(ops::attrs_of(*gate).as_float("beta"), 0.5)) {
      return activation(s, n, "nn.hard_swish", {}, x, p);
    }
  }
  return no_match();
}

// x * tanh(softplus(x))
RuleResult mish(Rewriter& s, const Node& n) {
  Product p = product_of(s, n);
  if (p.number != 1) return no_match();
  for (auto [x, f] : pairs_of(p)) {
    const Node* tanh = only_def_of(s, f, "math.tanh");
    const Node* softplus = tanh != nullptr ? only_def_of(s, tanh->inputs[0], "nn.softplus") : nullptr;
    if (softplus != nullptr && softplus->inputs[0] == x) return activation(s, n, "nn.mish", {}, x, p);
  }
  return no_match();
}

// max(x, 0)
RuleResult relu(Rewriter& s, const Node& n) {
  auto x = other_than(s, n, 0);
  if (!x || !(s.type(*x) == s.type(n.outputs[0])) || !is_float_tensor(s, *x)) return no_match();
  return std::optional(TRY(s.make("nn.relu", {}, {*x}, n.loc)));
}

}  // namespace

std::vector<Rule> activation_rules() {
  // A division by a constant may be the last step.
  return {{"gelu", "math.mul", gelu},
          {"gelu", "math.div", gelu},
          {"silu", "math.mul", silu},
          {"hard-swish", "math.mul", hard_swish},
          {"hard-swish", "math.div", hard_swish},
          {"mish", "math.mul", mish},
          {"relu", "math.max", relu}};
}

}  // namespace pliant::passes
