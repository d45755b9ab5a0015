#include "frontend/onnx/fold.h"

#include <algorithm>

#include "frontend/core/evaluate.h"

namespace pliant::frontend::onnx {

Folded fold_as(Conversion& c, const std::string& op, const Attrs& attrs, size_t inputs) {
  std::vector<const Known*> known;
  for (size_t i = 0; i < std::min(inputs, c.input_count()); ++i) {
    known.push_back(c.known(i));
    if (c.has(i) && known.back() == nullptr) return std::nullopt;
  }
  return evaluate(c, op, attrs, known);
}

Folded fold_chain(Conversion& c, const std::string& op) {
  if (c.known(0) == nullptr) return std::nullopt;
  Folded out = std::vector<Known>{*c.known(0)};
  for (size_t i = 1; out && i < c.input_count(); ++i) {
    const Known* next = c.known(i);
    out = next != nullptr ? evaluate(c, op, {}, {&out->front(), next}) : std::nullopt;
  }
  return out;
}

// Divisors that may be 0 are asked when the run knows them. One that is 0 is left to the node, which stops the run.
static Folded fold_division(Conversion& c, const std::string& op) {
  Folded out = fold_as(c, op, Attrs{{"nonzero", true}});
  const Known* divisors = c.known(1);
  if (!out || out->front().elements.empty() || is_float(divisors->dtype)) return out;
  for (const Element& e : divisors->elements) {
    if (e.num.is_const() || c.ctx().proves_less_equal(c.num(1), e.num)) continue;
    Dim size = proves_non_negative(e.num, c.ctx()) ? e.num : tight_max(e.num, -e.num, c.ctx());
    c.require_less_equal(c.num(1), size, "integer division by zero");
  }
  return out;
}

Folded fold_div(Conversion& c) { return fold_division(c, "math.div"); }
Folded fold_mod(Conversion& c) { return c.int_attr("fmod", 0) != 0 ? std::nullopt : fold_division(c, "math.mod"); }

Folded fold_cast(Conversion& c) {
  auto to = dtype_of(static_cast<int32_t>(c.int_attr("to", 0)));
  return to ? fold_as(c, "math.cast", Attrs{{"to", *to}}, 1) : std::nullopt;
}
Folded fold_cast_like(Conversion& c) { return fold_as(c, "math.cast", Attrs{{"to", c.dtype(1)}}, 1); }

Folded fold_clip(Conversion& c) {
  if (c.has_attr("min") || c.has_attr("max")) return std::nullopt;
  std::vector<Known> bounds(2);
  std::vector<const Known*> inputs{c.known(0), nullptr, nullptr};
  if (inputs[0] == nullptr) return std::nullopt;
  for (size_t i : {1, 2}) {
    if (!c.has(i)) continue;
    if (c.known(i) == nullptr || c.known(i)->elements.size() != 1) return std::nullopt;
    bounds[i - 1] = *c.known(i);
    bounds[i - 1].shape.clear();
    inputs[i] = &bounds[i - 1];
  }
  return evaluate(c, "math.clip", {}, inputs);
}

// A reduction of a rank-1 tensor over its one axis, which is all that size computations use.
Folded fold_reduce(Conversion& c, const std::string& op) {
  const Known* k = c.known(0);
  if (k == nullptr || k->shape.size() != 1 || is_float(k->dtype)) return std::nullopt;
  AxesArgument axes = axes_argument(c);
  if (!axes.is_known) return std::nullopt;
  bool is_all = !axes.given || axes.given->empty();
  if (is_all && c.int_attr("noop_with_empty_axes", 0) != 0) return std::vector<Known>{*k};
  return evaluate(c, op, Attrs{{"axes", std::vector<int64_t>{0}}, {"keepdims", c.int_attr("keepdims", 1) != 0}}, {k});
}

}  // namespace pliant::frontend::onnx
