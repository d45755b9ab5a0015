// Shape arithmetic by the operators' own bodies: their tensor expressions on known elements.
#pragma once
#include "frontend/core/conversion.h"
#include "ops/op.h"

namespace pliant::frontend {

// What `op` gives for inputs of known elements; null inputs are absent. Nothing where the operator refuses the inputs, a
// check of its data may fail, there are too many elements to track, or one of them is not known exactly.
std::optional<std::vector<Known>> evaluate(Conversion& c, const std::string& op, const Attrs& attrs,
                                           const std::vector<const Known*>& inputs, size_t outputs = 1);

}  // namespace pliant::frontend
