#include "runtime/values/random_keys.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace pliant::runtime {
namespace {

// A bijection of 64-bit words whose output bits all depend on all input bits.
uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;

uint64_t process_seed() {
  uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == static_cast<ssize_t>(sizeof seed)) return seed;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return mix(static_cast<uint64_t>(now.tv_nsec) + static_cast<uint64_t>(now.tv_sec) * kStep) +
         static_cast<uint64_t>(getpid());
}

}  // namespace

uint64_t RandomKeys::next() { return mix(mix(seed) + ++count * kStep); }

uint64_t fresh_seed() {
  static std::atomic<uint64_t> next{process_seed()};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace pliant::runtime
