// From operations known at run time to the templates of arith.h.
#pragma once
#include <type_traits>

#include "expr/scalar/arith.h"

namespace pliant::expr::arith {

// Calls f(std::integral_constant<Op, op>{}): turns an operation known at run time into a template argument.
template <class F>
decltype(auto) with_unary(UnaryOp op, F&& f) {
#define PLIANT_UNARY(name) \
  case UnaryOp::name: return f(std::integral_constant<UnaryOp, UnaryOp::name>{});
  switch (op) {
    PLIANT_UNARY(Neg)
    PLIANT_UNARY(Abs)
    PLIANT_UNARY(Not)
    PLIANT_UNARY(BitNot)
    PLIANT_UNARY(Sign)
    PLIANT_UNARY(Exp)
    PLIANT_UNARY(Log)
    PLIANT_UNARY(Log1p)
    PLIANT_UNARY(Expm1)
    PLIANT_UNARY(Sqrt)
    PLIANT_UNARY(Rsqrt)
    PLIANT_UNARY(Recip)
    PLIANT_UNARY(Sin)
    PLIANT_UNARY(Cos)
    PLIANT_UNARY(Tan)
    PLIANT_UNARY(Asin)
    PLIANT_UNARY(Acos)
    PLIANT_UNARY(Atan)
    PLIANT_UNARY(Sinh)
    PLIANT_UNARY(Cosh)
    PLIANT_UNARY(Tanh)
    PLIANT_UNARY(Asinh)
    PLIANT_UNARY(Acosh)
    PLIANT_UNARY(Atanh)
    PLIANT_UNARY(Erf)
    PLIANT_UNARY(Sigmoid)
    PLIANT_UNARY(Floor) PLIANT_UNARY(Ceil) PLIANT_UNARY(Round) PLIANT_UNARY(Trunc) PLIANT_UNARY(IsNan) PLIANT_UNARY(IsInf)
  }
#undef PLIANT_UNARY
  PLIANT_CHECK(false) << "unary operation " << static_cast<int>(op);
  __builtin_unreachable();
}
// Comparisons excluded.
template <class F>
decltype(auto) with_binary(BinaryOp op, F&& f) {
#define PLIANT_BINARY(name) \
  case BinaryOp::name: return f(std::integral_constant<BinaryOp, BinaryOp::name>{});
  switch (op) {
    PLIANT_BINARY(Add)
    PLIANT_BINARY(Sub)
    PLIANT_BINARY(Mul)
    PLIANT_BINARY(Div)
    PLIANT_BINARY(Mod)
    PLIANT_BINARY(Rem)
    PLIANT_BINARY(Pow)
    PLIANT_BINARY(Min)
    PLIANT_BINARY(Max)
    PLIANT_BINARY(And)
    PLIANT_BINARY(Or)
    PLIANT_BINARY(Xor)
    PLIANT_BINARY(BitAnd)
    PLIANT_BINARY(BitOr) PLIANT_BINARY(BitXor) PLIANT_BINARY(Shl) PLIANT_BINARY(Shr) PLIANT_BINARY(Atan2) default : break;
  }
#undef PLIANT_BINARY
  PLIANT_CHECK(false) << "binary operation " << static_cast<int>(op);
  __builtin_unreachable();
}
template <class F>
decltype(auto) with_comparison(BinaryOp op, F&& f) {
#define PLIANT_COMPARISON(name) \
  case BinaryOp::name: return f(std::integral_constant<BinaryOp, BinaryOp::name>{});
  switch (op) {
    PLIANT_COMPARISON(Eq)
    PLIANT_COMPARISON(Ne)
    PLIANT_COMPARISON(Lt) PLIANT_COMPARISON(Le) PLIANT_COMPARISON(Gt) PLIANT_COMPARISON(Ge) default : break;
  }
#undef PLIANT_COMPARISON
  PLIANT_CHECK(false) << "comparison " << static_cast<int>(op);
  __builtin_unreachable();
}

}  // namespace pliant::expr::arith
