// Random functions for the property tests of passes.
#pragma once
#include <random>

#include "passes/names.h"
#include "te/te.h"

namespace pliant::passes {

// A function of inputs "x" f32[n, 4, h, w] and "v" f32[n, 6] made of convolutions, normalisations, movements, reductions and
// elementwise operators, with patterns that passes look for. The same seed gives the same function.
FunctionPtr make_random_function(expr::Context& ctx, uint64_t seed);
// f32 elements in [-1, 1]; the same seed gives the same ones.
te::Array random_array(std::vector<int64_t> shape, uint64_t seed);

}  // namespace pliant::passes
