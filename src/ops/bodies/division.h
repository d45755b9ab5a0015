// Quotients and remainders: a divisor of 0 is a fault where the elements are integers.
#pragma once
#include "ops/bodies/elementwise.h"

namespace pliant::ops {

// a op b with broadcasting, for Div, Mod and Rem. At each element of the result an integer divisor is asked whether it is 0,
// unless the node says `nonzero`.
Tensors divided(DefineContext& c, BinaryOp op);
inline AttrSpec nonzero_attr() { return attr("nonzero", false, "no divisor is 0: none is asked"); }

}  // namespace pliant::ops
