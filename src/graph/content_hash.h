// A 128-bit content hash: identifies constants, is not cryptographic.
#pragma once
#include <cstddef>
#include <cstdint>

namespace pliant::graph {

struct Hash128 {
  uint64_t lo = 0, hi = 0;
};
// Two 64-bit lanes of multiply-rotate mixing over 16-byte blocks with a final avalanche (the MurmurHash3 construction),
// so equal bytes with an equal seed give an equal hash on every machine.
Hash128 content_hash(const void* bytes, size_t n, uint64_t seed);

}  // namespace pliant::graph
