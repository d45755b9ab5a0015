#include <cmath>

#include "frontend/onnx/fold.h"

namespace pliant::frontend::onnx {
namespace {

Folded one(Known k) { return std::vector<Known>{std::move(k)}; }

bool is_comparison(ElementOp op) { return op >= ElementOp::Equal && op <= ElementOp::GreaterOrEqual; }

std::optional<Known> combine(ElementOp op, const Known& a, const Known& b, expr::Context& ctx) {
  auto shape = broadcast_shapes(a.shape, b.shape);
  if (!shape || a.dtype != b.dtype) return std::nullopt;
  Known x = expand_to(a, *shape), y = expand_to(b, *shape);
  Known out{is_comparison(op) ? DType::Bool : a.dtype, *shape, {}};
  for (size_t i = 0; i < x.elements.size(); ++i) {
    auto e = apply(op, x.elements[i], y.elements[i], a.dtype, ctx);
    if (!e) return std::nullopt;
    out.elements.push_back(*e);
  }
  return out;
}

// Operators with any number of inputs, two for most.
Folded fold_binary(Conversion& c, ElementOp op) {
  const Known* first = c.known(0);
  if (first == nullptr) return std::nullopt;
  Known out = *first;
  for (size_t i = 1; i < c.input_count(); ++i) {
    const Known* next = c.known(i);
    if (next == nullptr) return std::nullopt;
    auto r = combine(op, out, *next, c.ctx());
    if (!r) return std::nullopt;
    out = std::move(*r);
  }
  return one(std::move(out));
}

// Divisors that may be 0 are asked when the run knows them. One that is 0 is left to the node, which stops the run.
Folded fold_division(Conversion& c, ElementOp op) {
  Folded out = fold_binary(c, op);
  const Known* divisors = c.known(1);
  if (!out || out->front().elements.empty() || is_float(divisors->dtype)) return out;
  for (const Element& e : divisors->elements) {
    if (e.num.is_const() || c.ctx().proves_less_equal(c.num(1), e.num)) continue;
    Dim size = proves_non_negative(e.num, c.ctx()) ? e.num : tight_max(e.num, -e.num, c.ctx());
    c.require_less_equal(c.num(1), size, "integer division by zero");
  }
  return out;
}

Folded fold_unary(Conversion& c, ElementOp op) {
  const Known* k = c.known(0);
  if (k == nullptr) return std::nullopt;
  Known out{k->dtype, k->shape, {}};
  for (const Element& e : k->elements) {
    auto r = apply(op, e, k->dtype, c.ctx());
    if (!r) return std::nullopt;
    out.elements.push_back(*r);
  }
  return one(std::move(out));
}

Folded cast_known(Conversion& c, DType to) {
  const Known* k = c.known(0);
  if (k == nullptr) return std::nullopt;
  Known out{to, k->shape, {}};
  for (const Element& e : k->elements) {
    auto r = cast(e, k->dtype, to, c.ctx());
    if (!r) return std::nullopt;
    out.elements.push_back(*r);
  }
  return one(std::move(out));
}

// A reduction of a rank-1 tensor over its one axis, which is all that size computations use.
Folded fold_reduce(Conversion& c, ElementOp op, int64_t start) {
  const Known* k = c.known(0);
  if (k == nullptr || k->shape.size() != 1 || is_float(k->dtype)) return std::nullopt;
  AxesArgument axes = axes_argument(c);
  if (!axes.is_known) return std::nullopt;
  bool is_all = !axes.given || axes.given->empty();
  if (is_all && c.int_attr("noop_with_empty_axes", 0) != 0) return one(*k);
  bool has_start = op == ElementOp::Add || op == ElementOp::Mul;
  if (k->elements.empty() && !has_start) return std::nullopt;
  Element total = has_start ? Element::make_int(c.num(start)) : k->elements[0];
  for (const Element& e : k->elements) {
    auto r = apply(op, total, e, k->dtype, c.ctx());
    if (!r) return std::nullopt;
    total = *r;
  }
  std::vector<int64_t> shape;
  if (c.int_attr("keepdims", 1) != 0) shape.push_back(1);
  return one(Known{k->dtype, shape, {total}});
}

}  // namespace

Folded fold_add(Conversion& c) { return fold_binary(c, ElementOp::Add); }
Folded fold_sub(Conversion& c) { return fold_binary(c, ElementOp::Sub); }
Folded fold_mul(Conversion& c) { return fold_binary(c, ElementOp::Mul); }
Folded fold_div(Conversion& c) { return fold_division(c, ElementOp::Div); }
Folded fold_mod(Conversion& c) { return c.int_attr("fmod", 0) != 0 ? std::nullopt : fold_division(c, ElementOp::Mod); }
Folded fold_pow(Conversion& c) { return fold_binary(c, ElementOp::Pow); }
Folded fold_min(Conversion& c) { return fold_binary(c, ElementOp::Min); }
Folded fold_max(Conversion& c) { return fold_binary(c, ElementOp::Max); }
Folded fold_and(Conversion& c) { return fold_binary(c, ElementOp::And); }
Folded fold_or(Conversion& c) { return fold_binary(c, ElementOp::Or); }
Folded fold_xor(Conversion& c) { return fold_binary(c, ElementOp::Xor); }
Folded fold_equal(Conversion& c) { return fold_binary(c, ElementOp::Equal); }
Folded fold_less(Conversion& c) { return fold_binary(c, ElementOp::Less); }
Folded fold_less_or_equal(Conversion& c) { return fold_binary(c, ElementOp::LessOrEqual); }
Folded fold_greater(Conversion& c) { return fold_binary(c, ElementOp::Greater); }
Folded fold_greater_or_equal(Conversion& c) { return fold_binary(c, ElementOp::GreaterOrEqual); }
Folded fold_neg(Conversion& c) { return fold_unary(c, ElementOp::Neg); }
Folded fold_abs(Conversion& c) { return fold_unary(c, ElementOp::Abs); }
Folded fold_not(Conversion& c) { return fold_unary(c, ElementOp::Not); }
Folded fold_floor(Conversion& c) { return fold_unary(c, ElementOp::Floor); }
Folded fold_ceil(Conversion& c) { return fold_unary(c, ElementOp::Ceil); }
Folded fold_round(Conversion& c) { return fold_unary(c, ElementOp::Round); }
Folded fold_sign(Conversion& c) { return fold_unary(c, ElementOp::Sign); }
Folded fold_sqrt(Conversion& c) { return fold_unary(c, ElementOp::Sqrt); }
Folded fold_reduce_sum(Conversion& c) { return fold_reduce(c, ElementOp::Add, 0); }
Folded fold_reduce_prod(Conversion& c) { return fold_reduce(c, ElementOp::Mul, 1); }
Folded fold_reduce_max(Conversion& c) { return fold_reduce(c, ElementOp::Max, 0); }
Folded fold_reduce_min(Conversion& c) { return fold_reduce(c, ElementOp::Min, 0); }

Folded fold_cast(Conversion& c) {
  auto to = dtype_of(static_cast<int32_t>(c.int_attr("to", 0)));
  return to ? cast_known(c, *to) : std::nullopt;
}
Folded fold_cast_like(Conversion& c) { return cast_known(c, c.dtype(1)); }

Folded fold_clip(Conversion& c) {
  const Known* k = c.known(0);
  if (k == nullptr || c.has_attr("min") || c.has_attr("max")) return std::nullopt;
  Known out = *k;
  for (size_t i : {1, 2}) {
    if (!c.has(i)) continue;
    const Known* bound = c.known(i);
    if (bound == nullptr || bound->elements.size() != 1) return std::nullopt;
    auto r = combine(i == 1 ? ElementOp::Max : ElementOp::Min, out, *bound, c.ctx());
    if (!r || r->shape != k->shape) return std::nullopt;
    out = std::move(*r);
  }
  return one(std::move(out));
}

Folded fold_where(Conversion& c) {
  const Known *cond = c.known(0), *x = c.known(1), *y = c.known(2);
  if (cond == nullptr || x == nullptr || y == nullptr || x->dtype != y->dtype) return std::nullopt;
  auto xy = broadcast_shapes(x->shape, y->shape);
  auto shape = xy ? broadcast_shapes(*xy, cond->shape) : std::nullopt;
  if (!shape) return std::nullopt;
  Known k = expand_to(*cond, *shape), a = expand_to(*x, *shape), b = expand_to(*y, *shape);
  Known out{x->dtype, *shape, {}};
  for (size_t i = 0; i < k.elements.size(); ++i) {
    Dim d = k.elements[i].num;
    const Element &then = a.elements[i], &otherwise = b.elements[i];
    if (d.is_const()) {
      out.elements.push_back(d.is_const(0) ? otherwise : then);
    } else if (then.kind == Element::Kind::Int && otherwise.kind == Element::Kind::Int) {
      out.elements.push_back(Element::make_int(otherwise.num + d * (then.num - otherwise.num)));
    } else {
      return std::nullopt;
    }
  }
  return one(std::move(out));
}

}  // namespace pliant::frontend::onnx
