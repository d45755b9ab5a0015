// The pages that memory of this machine comes in.
#pragma once
#include <cstdint>

namespace pliant::machine {

// In bytes. A huge one that nobody has used may take the system milliseconds to find and to clear.
inline constexpr int64_t kPage = 4096;
inline constexpr int64_t kHugePage = int64_t{2} << 20;

}  // namespace pliant::machine
