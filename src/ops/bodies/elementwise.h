// Operators that apply one scalar operation to each element.
#pragma once
#include "ops/bodies/scalars.h"

namespace pliant::ops {

// Element types that an operator takes.
enum Domain : unsigned { kBools = 1, kInts = 2, kFloats = 4, kNumbers = kInts | kFloats, kAny = kBools | kInts | kFloats };
bool in_domain(DType t, unsigned domain);
// An error at the node unless input `i` is of one of these types.
Status require_domain(const DefineContext& c, size_t i, unsigned domain);

// y = op(x); integers pass unchanged when the operation is meant for floats alone and `ints_unchanged` is set.
struct UnaryOptions {
  unsigned domain = kFloats;
  bool ints_unchanged = false;
};
OpDef make_unary_op(std::string name, std::string doc, expr::UnaryOp op, UnaryOptions options = {});
// y = op(a, b) with broadcasting; comparisons give bool.
OpDef make_binary_op(std::string name, std::string doc, expr::BinaryOp op, unsigned domain);

// y[i] = f(x[i]) for floats. Halves are computed in f32 and rounded once at the end.
Result<std::vector<te::Tensor>> map_floats(DefineContext& c,
                                           const std::function<expr::Scalar(DefineContext&, expr::Scalar)>& f);

}  // namespace pliant::ops
