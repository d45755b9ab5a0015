// How many inputs the nodes of an operator have, and which of them may be absent.
#pragma once
#include <cstddef>

#include "ops/op.h"

namespace pliant::ops {

bool takes_inputs(const OpDef& op, size_t count);
// Whether a node has to have input i. Of an operator of any number of inputs none may be absent.
bool needs_input(const OpDef& op, size_t i);

}  // namespace pliant::ops
