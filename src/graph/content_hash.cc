#include "graph/content_hash.h"

#include <bit>
#include <cstring>

namespace pliant::graph {
namespace {

constexpr uint64_t kMulA = 0x87c37b91114253d5ull, kMulB = 0x4cf5ad432745937full;

uint64_t avalanche(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdull;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ull;
  return x ^ (x >> 33);
}
uint64_t scramble_lo(uint64_t block) { return std::rotl(block * kMulA, 31) * kMulB; }
uint64_t scramble_hi(uint64_t block) { return std::rotl(block * kMulB, 33) * kMulA; }

}  // namespace

Hash128 content_hash(const void* bytes, size_t n, uint64_t seed) {
  const unsigned char* p = static_cast<const unsigned char*>(bytes);
  Hash128 h{seed, seed};
  size_t left = n;
  for (; left >= 16; left -= 16, p += 16) {
    uint64_t block[2];
    std::memcpy(block, p, 16);
    h.lo = (std::rotl(h.lo ^ scramble_lo(block[0]), 27) + h.hi) * 5 + 0x52dce729;
    h.hi = (std::rotl(h.hi ^ scramble_hi(block[1]), 31) + h.lo) * 5 + 0x38495ab5;
  }
  if (left > 0) {
    uint64_t block[2] = {0, 0};
    std::memcpy(block, p, left);
    h.lo ^= scramble_lo(block[0]);
    h.hi ^= scramble_hi(block[1]);
  }
  h.lo ^= n;
  h.hi ^= n;
  h.lo += h.hi;
  h.hi += h.lo;
  h.lo = avalanche(h.lo);
  h.hi = avalanche(h.hi);
  h.lo += h.hi;
  h.hi += h.lo;
  return h;
}

}  // namespace pliant::graph
