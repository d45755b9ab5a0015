// Combiners on columns.
#include <algorithm>
#include <limits>

#include "expr/scalar/arith_dispatch.h"
#include "te/evaluator.h"

namespace pliant::te {

namespace arith = expr::arith;

expr::BinaryOp operation_of(Combiner c) {
  switch (c) {
    case Combiner::Sum: return expr::BinaryOp::Add;
    case Combiner::Prod: return expr::BinaryOp::Mul;
    case Combiner::Max: return expr::BinaryOp::Max;
    case Combiner::Min: return expr::BinaryOp::Min;
    case Combiner::And: return expr::BinaryOp::And;
    case Combiner::Or: return expr::BinaryOp::Or;
    default: break;
  }
  PLIANT_CHECK(false) << name_of(c) << " has no operation";
  __builtin_unreachable();
}

void set_identity(Combiner c, DType t, void* lanes, int64_t n) {
  arith::with_type(t, [&](auto tag) {
    using T = decltype(tag);
    using Limits = std::numeric_limits<T>;
    T v = T(0);
    if (c == Combiner::Prod || c == Combiner::And) v = T(1);
    if (c == Combiner::Max) v = Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
    if (c == Combiner::Min) v = Limits::has_infinity ? Limits::infinity() : Limits::max();
    std::fill_n(static_cast<T*>(lanes), n, v);
  });
}

bool is_arg(Combiner c) { return c >= Combiner::ArgMax && c <= Combiner::ArgMinLast; }

bool is_compensated(const TensorDef& t, int64_t terms) {
  constexpr int64_t kFew = 8;
  return t.combiner == Combiner::Sum && (t.accumulate == DType::F32 || t.accumulate == DType::F64) && terms > kFew;
}

void fold_lanes(Combiner c, DType t, const void* lanes, int64_t n, void* acc) {
  arith::with_type(t, [&](auto tag) {
    using T = decltype(tag);
    arith::with_binary(operation_of(c), [&](auto op) {
      T a = *static_cast<T*>(acc);
      const T* x = static_cast<const T*>(lanes);
      for (int64_t k = 0; k < n; ++k) {
        a = arith::binary<decltype(op)::value, T>(a, x[k]);
        if constexpr (std::is_same_v<T, float>) {
          if (t != DType::F32) a = arith::round_to(t, a);
        }
      }
      *static_cast<T*>(acc) = a;
    });
  });
}

}  // namespace pliant::te
