// Arithmetic on constants at compile time, without the reference evaluator: for the big ones and the common ones.
#pragma once
#include <optional>
#include <vector>

#include "passes/names.h"

namespace pliant::passes {

// out axis k is axis perm[k].
ConstantPtr permute(const ConstantData& c, const std::vector<int64_t>& perm);
// The same bytes under another shape of as many elements; shares the memory.
ConstantPtr with_shape(const ConstantPtr& c, std::vector<int64_t> shape);
// Floats only.
std::vector<double> to_doubles(const ConstantData& c);
ConstantPtr from_doubles(DType t, std::vector<int64_t> shape, const std::vector<double>& values);
// The one value that every element has, for numbers of any type; nothing for an empty constant.
std::optional<double> uniform_value(const ConstantData& c);

}  // namespace pliant::passes
