#include "ops/bodies/quantise.h"

namespace pliant::ops {
namespace {

enum class Granularity { Tensor, Axis, Block };

// The index of a scale (or zero point) for the element of x at `i`.
Index param_index(DefineContext& c, const Tensor& p, Granularity g, size_t axis, int64_t block, const Index& i) {
  if (g == Granularity::Tensor) return Index(p->rank(), c.dim(0));
  if (g == Granularity::Axis) return {i[axis]};
  Index at = i;
  at[axis] = expr::floordiv(i[axis], block);
  return at;
}

}  // namespace

Result<QuantParams> read_quant_params(DefineContext& c, size_t scale, size_t zero) {
  const Tensor &x = c.in(0), &s = c.in(scale);
  TRY(require_domain(c, scale, kFloats));
  int64_t block = c.attr().as_int("block_size");
  if (block < 0) return c.fail("bad-attribute", "block_size must not be negative");
  Granularity g = Granularity::Block;
  if (s->rank() == 0 || (s->rank() == 1 && block == 0 && s->shape[0].is_const(1) && x->rank() != 1))
    g = Granularity::Tensor;
  else if (s->rank() == 1 && block == 0)
    g = Granularity::Axis;
  size_t axis = g == Granularity::Tensor ? 0 : TRY(c.axis(c.attr().as_int("axis"), x->rank()));
  if (g == Granularity::Axis)
    TRY(c.require_equal(s->shape[0], x->shape[axis], "the scales and the axis that they belong to"));
  if (g == Granularity::Block) {
    if (block == 0) return c.fail("shape-mismatch", "scales of rank " + std::to_string(s->rank()) + " need a block_size");
    if (s->rank() != x->rank()) return c.fail("shape-mismatch", "scales of blocks must have the input's rank");
    for (size_t k = 0; k < x->rank(); ++k)
      TRY(c.require_equal(s->shape[k], k == axis ? expr::ceildiv(x->shape[k], block) : x->shape[k],
                          "axis " + std::to_string(k) + " of the scales"));
  }
  if (c.has(zero)) {
    const Tensor& z = c.in(zero);
    TRY(require_domain(c, zero, kInts));
    if (z->rank() != s->rank()) return c.fail("shape-mismatch", "scale and zero point have different ranks");
    for (size_t k = 0; k < s->rank(); ++k)
      TRY(c.require_equal(z->shape[k], s->shape[k], "axis " + std::to_string(k) + " of zero point and scale"));
  }
  DefineContext* self = &c;
  QuantParams p;
  p.scale = [=](const Index& i) { return (*self->in(scale))(param_index(*self, self->in(scale), g, axis, block, i)); };
  if (c.has(zero))
    p.zero = [=](const Index& i) {
      return expr::make_cast(DType::I32, (*self->in(zero))(param_index(*self, self->in(zero), g, axis, block, i)));
    };
  return p;
}

Scalar saturate_to(DType to, Scalar v, Scalar zero) {
  Scalar rounded = unary(UnaryOp::Round, v);
  if (zero) rounded = rounded + expr::make_cast(v.dtype(), zero);
  return expr::make_cast(to, rounded);
}

Status require_single(DefineContext& c, size_t k) {
  const Tensor& t = c.in(k);
  if (t->rank() > 1) return c.fail("shape-mismatch", "input " + std::to_string(k) + " must have one element");
  if (t->rank() == 1) return c.require_equal(t->shape[0], c.dim(1), "input " + std::to_string(k) + " has one element");
  return ok();
}

Scalar single(DefineContext& c, size_t k) { return (*c.in(k))(Index(c.in(k)->rank(), c.dim(0))); }

Scalar single_zero(DefineContext& c, size_t k) {
  if (!c.has(k)) return expr::make_const_int(c.ctx(), DType::I32, 0);
  return expr::make_cast(DType::I32, single(c, k));
}

Tensors quantised_binary(DefineContext& c, BinaryOp op) {
  TRY(require_domain(c, 0, kInts));
  TRY(require_domain(c, 3, kInts));
  for (size_t k : {size_t{1}, size_t{2}, size_t{4}, size_t{5}, size_t{6}, size_t{7}})
    if (c.has(k)) TRY(require_single(c, k));
  std::vector<Dim> shape = TRY(c.broadcast(c.in(0)->shape, c.in(3)->shape));
  DType to = c.has(7) ? c.in(7)->dtype : c.in(0)->dtype;
  return std::vector{c.te().map("y", std::move(shape), [&](const Index& i) {
    auto real_value = [&](size_t k) {
      Scalar v = expr::make_cast(DType::I32, c.at_broadcast(c.in(k), i)) - single_zero(c, k + 2);
      return expr::make_cast(DType::F32, v) * single(c, k + 1);
    };
    return saturate_to(to, expr::make_binary(op, real_value(0), real_value(3)) / single(c, 6), single_zero(c, 7));
  })};
}

}  // namespace pliant::ops
