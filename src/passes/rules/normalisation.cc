// Layer normalisation and softmax that models write out.
#include <algorithm>

#include "passes/rewrite/known.h"
#include "passes/rules/match.h"
#include "passes/rules/rule.h"

namespace pliant::passes {
namespace {

// The first of the last axes that the node reduces with keepdims; nothing when it reduces others.
std::optional<int64_t> trailing_axis(const Rewriter& s, const Node& reduction) {
  if (!ops::attrs_of(reduction).as_bool("keepdims")) return std::nullopt;
  auto rank = static_cast<int64_t>(s.tensor(reduction.inputs[0])->shape.size());
  std::vector<int64_t> axes = known_ints(reduction.attrs, "axes").value_or(std::vector<int64_t>{});
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  for (size_t k = 0; k < axes.size(); ++k) {
    if (axes[k] != rank - static_cast<int64_t>(axes.size() - k)) return std::nullopt;
  }
  return axes.empty() ? std::nullopt : std::optional(axes[0]);
}

struct Centred {
  ValueId x;
  int64_t axis;
  const Node* sub;
};
// x - mean(x)
std::optional<Centred> centred(const Rewriter& s, ValueId v) {
  const Node* sub = def_of(s, v, "math.sub");
  const Node* mean = sub != nullptr ? def_of(s, sub->inputs[1], "reduce.mean") : nullptr;
  if (mean == nullptr || mean->inputs[0] != sub->inputs[0]) return std::nullopt;
  auto axis = trailing_axis(s, *mean);
  if (!axis) return std::nullopt;
  return Centred{sub->inputs[0], *axis, sub};
}

// mean(d²) + epsilon, where d is that of `c`.
std::optional<double> variance_epsilon(const Rewriter& s, ValueId v, const Centred& c) {
  const Node* sum = def_of(s, v, "math.add");
  if (sum == nullptr) return std::nullopt;
  for (size_t k : {size_t{0}, size_t{1}}) {
    const Node* mean = def_of(s, sum->inputs[k], "reduce.mean");
    auto epsilon = number_of(s, sum->inputs[1 - k]);
    if (mean == nullptr || !epsilon || trailing_axis(s, *mean) != c.axis) continue;
    const Node* square = s.def(mean->inputs[0]);
    if (square == nullptr) continue;
    bool is_square = square->op == "math.mul" ? square->inputs[0] == square->inputs[1]
                                              : square->op == "math.pow" && is_number(s, square->inputs[1], 2);
    if (!is_square) continue;
    auto again = centred(s, square->inputs[0]);
    if (again && again->x == c.x && again->axis == c.axis) return epsilon;
  }
  return std::nullopt;
}

Result<std::optional<ValueId>> make_layer_norm(Rewriter& s, const Node& n, const Centred& c, double epsilon) {
  if (s.tensor(c.x)->dtype != DType::F32 || !(s.type(c.x) == s.type(n.outputs[0]))) return no_match();
  auto rank = static_cast<int64_t>(s.tensor(c.x)->shape.size());
  return std::optional(
      TRY(s.make("nn.layer_norm", {{"axis", c.axis - rank}, {"epsilon", epsilon}}, {c.x}, fused_loc({c.sub, &n}))));
}

// (x - mean) / sqrt(variance + epsilon)
RuleResult layer_norm_divided(Rewriter& s, const Node& n) {
  auto c = centred(s, n.inputs[0]);
  const Node* root = c ? def_of(s, n.inputs[1], "math.sqrt") : nullptr;
  auto epsilon = root != nullptr ? variance_epsilon(s, root->inputs[0], *c) : std::nullopt;
  if (!epsilon) return no_match();
  return make_layer_norm(s, n, *c, *epsilon);
}

// The argument of 1 / sqrt(…).
std::optional<ValueId> inverse_root(const Rewriter& s, ValueId v) {
  if (const Node* r = def_of(s, v, "math.rsqrt")) return r->inputs[0];
  ValueId root = kNoValue;
  if (const Node* r = def_of(s, v, "math.recip")) root = r->inputs[0];
  if (const Node* d = def_of(s, v, "math.div"); d != nullptr && is_number(s, d->inputs[0], 1)) root = d->inputs[1];
  const Node* sqrt = def_of(s, root, "math.sqrt");
  return sqrt != nullptr ? std::optional(sqrt->inputs[0]) : std::nullopt;
}

// (x - mean) * 1 / sqrt(variance + epsilon)
RuleResult layer_norm_multiplied(Rewriter& s, const Node& n) {
  for (size_t k : {size_t{0}, size_t{1}}) {
    auto c = centred(s, n.inputs[k]);
    auto variance = c ? inverse_root(s, n.inputs[1 - k]) : std::nullopt;
    auto epsilon = variance ? variance_epsilon(s, *variance, *c) : std::nullopt;
    if (epsilon) return make_layer_norm(s, n, *c, *epsilon);
  }
  return no_match();
}

// A scale or a bias after a layer norm that has none yet; it has the sizes of the normalised axes.
Result<std::optional<ValueId>> absorb(Rewriter& s, const Node& n, size_t slot) {
  for (size_t k : {size_t{0}, size_t{1}}) {
    const Node* norm = only_def_of(s, n.inputs[k], "nn.layer_norm");
    ValueId other = n.inputs[1 - k];
    const TensorType* t = s.tensor(other);
    if (norm == nullptr || norm->outputs.size() != 1 || norm->inputs.size() != slot || t == nullptr ||
        t->dtype != DType::F32)
      continue;
    const Shape& x = s.tensor(norm->inputs[0])->shape;
    int64_t axis = ops::attrs_of(*norm).as_int("axis");
    size_t first = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.size()) : axis);
    if (!std::equal(x.begin() + static_cast<std::ptrdiff_t>(first), x.end(), t->shape.begin(), t->shape.end())) continue;
    std::vector<ValueId> inputs = norm->inputs;
    inputs.push_back(other);
    return std::optional(TRY(s.make("nn.layer_norm", norm->attrs, std::move(inputs), fused_loc({norm, &n}))));
  }
  return no_match();
}
RuleResult layer_norm_scale(Rewriter& s, const Node& n) { return absorb(s, n, 1); }
RuleResult layer_norm_bias(Rewriter& s, const Node& n) { return absorb(s, n, 2); }

// exp(x - max(x)) / sum(exp(x - max(x))) along one axis
RuleResult softmax(Rewriter& s, const Node& n) {
  const Node* sum = def_of(s, n.inputs[1], "reduce.sum");
  const Node* exp = sum != nullptr && sum->inputs[0] == n.inputs[0] ? def_of(s, n.inputs[0], "math.exp") : nullptr;
  const Node* sub = exp != nullptr ? def_of(s, exp->inputs[0], "math.sub") : nullptr;
  const Node* max = sub != nullptr ? def_of(s, sub->inputs[1], "reduce.max") : nullptr;
  if (max == nullptr || max->inputs[0] != sub->inputs[0] || !(s.type(sub->inputs[0]) == s.type(n.outputs[0])))
    return no_match();
  auto rank = static_cast<int64_t>(s.tensor(sub->inputs[0])->shape.size());
  auto axes = known_ints(sum->attrs, "axes"), max_axes = known_ints(max->attrs, "axes");
  auto from_front = [&](int64_t axis) { return axis < 0 ? axis + rank : axis; };
  if (!axes || !max_axes || axes->size() != 1 || max_axes->size() != 1 ||
      from_front((*axes)[0]) != from_front((*max_axes)[0]))
    return no_match();
  if (!ops::attrs_of(*sum).as_bool("keepdims") || !ops::attrs_of(*max).as_bool("keepdims")) return no_match();
  return std::optional(TRY(s.make("nn.softmax", {{"axis", (*axes)[0]}}, {sub->inputs[0]}, fused_loc({sub, exp, &n}))));
}

}  // namespace

std::vector<Rule> normalisation_rules() {
  return {{"layer-norm", "math.div", layer_norm_divided},
          {"layer-norm", "math.mul", layer_norm_multiplied},
          {"layer-norm-scale", "math.mul", layer_norm_scale},
          {"layer-norm-bias", "math.add", layer_norm_bias},
          {"softmax", "math.div", softmax}};
}

}  // namespace pliant::passes
