// Rewriting of Scalars into operations that the emitters have. Rules are grouped by topic, one file each; a rule gets a node
// whose operands are legal already and gives what replaces it, built from any nodes: the result is legalised again.
#pragma once
#include "expr/expr.h"

namespace pliant::codegen {

expr::Scalar legalize_scalar(expr::Scalar s);

namespace rules {

// Each gives nothing when it has no rule for the node.
expr::Scalar rewrite_half(expr::Scalar s);           // arithmetic of f16 and bf16 through f32
expr::Scalar rewrite_cast(expr::Scalar s);           // casts between halves and other types through f32
expr::Scalar rewrite_exponential(expr::Scalar s);    // exp, expm1, sigmoid, tanh, sinh, cosh
expr::Scalar rewrite_logarithm(expr::Scalar s);      // log, log1p, asinh, acosh, atanh
expr::Scalar rewrite_trigonometric(expr::Scalar s);  // sin, cos, tan
expr::Scalar rewrite_arc(expr::Scalar s);            // asin, acos, atan, atan2
expr::Scalar rewrite_erf(expr::Scalar s);
expr::Scalar rewrite_power(expr::Scalar s);      // pow, rsqrt, recip
expr::Scalar rewrite_remainder(expr::Scalar s);  // Mod of floats, division of narrow integers

}  // namespace rules
}  // namespace pliant::codegen
