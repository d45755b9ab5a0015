// Powers. The exponent may have another type than the base: then both are computed in a floating type that holds them, and
// the result has the base's type.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

DType common_type(DType a, DType b) {
  if (a == b && is_float(a)) return a;
  if (is_int(a) && is_int(b)) return DType::I64;
  if (a == DType::F64 || b == DType::F64 || (is_int(a) && byte_size(a) > 2) || (is_int(b) && byte_size(b) > 2))
    return DType::F64;
  return DType::F32;
}

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kNumbers));
  TRY(require_domain(c, 1, kNumbers));
  DType t = c.in(0)->dtype, work = t == c.in(1)->dtype ? t : common_type(t, c.in(1)->dtype);
  if (is_float(t) && is_int(c.in(1)->dtype)) work = t == DType::F64 ? DType::F64 : DType::F32;
  std::vector<Dim> shape = TRY(c.broadcast(c.in(0)->shape, c.in(1)->shape));
  return std::vector{c.te().map("y", std::move(shape), [&](const Index& i) {
    Scalar x = expr::make_cast(work, c.at_broadcast(c.in(0), i)), y = expr::make_cast(work, c.at_broadcast(c.in(1), i));
    return expr::make_cast(t, make_binary(BinaryOp::Pow, x, y));
  })};
}

}  // namespace

OpDef op_math_pow() {
  return {.name = "math.pow",
          .doc = "x to the power y, with broadcasting; the result has x's type.",
          .min_inputs = 2,
          .max_inputs = 2,
          .compute = compute,
          .samples = {"f32[M,N] f32[N] M=3 N=4", "f32[M] i64[] M=5", "i32[M] i32[M] M=4", "i64[M] f32[M] M=4",
                      "f16[M] f16[M] M=3"}};
}

}  // namespace pliant::ops
