// Copies between a strided view and contiguous memory: what Maps that only move elements become. Internal to te.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pliant::te {

// to[row-major i] = from[sum of i * strides], in elements of `bytes` (1, 2, 4 or 8). Extents are positive.
void strided_copy(const std::byte* from, const std::vector<int64_t>& strides, std::byte* to,
                  const std::vector<int64_t>& extents, int64_t bytes);

}  // namespace pliant::te
