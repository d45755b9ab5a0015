#include "passes/rules/match.h"

#include <algorithm>
#include <cmath>

#include "passes/rewrite/constants.h"

namespace pliant::passes {

const Node* def_of(const Rewriter& s, ValueId v, const char* op) {
  const Node* n = v == kNoValue ? nullptr : s.def(v);
  return n != nullptr && n->op == op ? n : nullptr;
}

const Node* only_def_of(const Rewriter& s, ValueId v, const char* op) {
  return v != kNoValue && s.used_once(v) ? def_of(s, v, op) : nullptr;
}

std::optional<double> number_of(const Rewriter& s, ValueId v) {
  ConstantPtr c = s.constant(v);
  return c ? uniform_value(*c) : std::nullopt;
}

bool is_near(double a, double b) { return std::abs(a - b) <= 1e-6 * std::max(std::abs(a), std::abs(b)); }

bool is_number(const Rewriter& s, ValueId v, double number) {
  auto n = number_of(s, v);
  return n && (*n == number || is_near(*n, number));
}

bool is_float_tensor(const Rewriter& s, ValueId v) {
  const TensorType* t = s.tensor(v);
  return t != nullptr && is_float(t->dtype);
}

LocPtr fused_loc(std::initializer_list<const Node*> nodes) {
  std::vector<LocPtr> locs;
  for (const Node* n : nodes) {
    if (n != nullptr) locs.push_back(n->loc);
  }
  return Loc::make_fused(locs);
}

namespace {

// A constant of more elements than the product would broadcast it, so it counts as a number only with one.
std::optional<double> single_number(const Rewriter& s, ValueId v) {
  ConstantPtr c = s.constant(v);
  return c && element_count(*c) == 1 ? uniform_value(*c) : std::nullopt;
}

void add_node(const Rewriter& s, const Node& n, Product& p);

void add_factor(const Rewriter& s, ValueId v, Product& p) {
  if (auto number = single_number(s, v)) {
    p.number *= *number;
    return;
  }
  const Node* n = s.def(v);
  if (n != nullptr && s.used_once(v) && (n->op == "math.mul" || (n->op == "math.div" && single_number(s, n->inputs[1])))) {
    add_node(s, *n, p);
  } else {
    p.factors.push_back(v);
  }
}

void add_node(const Rewriter& s, const Node& n, Product& p) {
  p.locs.push_back(n.loc);
  add_factor(s, n.inputs[0], p);
  if (n.op == "math.div")
    p.number /= *single_number(s, n.inputs[1]);
  else
    add_factor(s, n.inputs[1], p);
}

}  // namespace

Product product_of(const Rewriter& s, const Node& n) {
  Product p;
  add_node(s, n, p);
  std::sort(p.factors.begin(), p.factors.end());
  return p;
}

Product product_of(const Rewriter& s, ValueId v) {
  Product p;
  add_factor(s, v, p);
  std::sort(p.factors.begin(), p.factors.end());
  return p;
}

std::optional<ValueId> other_than(const Rewriter& s, const Node& n, double number) {
  if (is_number(s, n.inputs[1], number)) return n.inputs[0];
  if (is_number(s, n.inputs[0], number)) return n.inputs[1];
  return std::nullopt;
}

}  // namespace pliant::passes
