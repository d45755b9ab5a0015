// Values of Dims at a few fixed assignments of the symbols that respect all facts. A proof that a sample contradicts is not
// attempted; samples never prove anything. Internal to expr.
#pragma once
#include <array>
#include <cstdint>

#include "expr/expr.h"

namespace pliant::expr {

inline constexpr int kSampleCount = 10;
// A sample in which some symbol can have no value (an index of an empty range), or that overflows.
inline constexpr int64_t kNoSample = INT64_MIN;
using Samples = std::array<int64_t, kSampleCount>;

Samples samples_of(Dim d);
bool some_sample_negative(Dim d);
bool some_sample_nonnegative(Dim d);

}  // namespace pliant::expr
