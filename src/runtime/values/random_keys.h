// The keys of a run's random numbers: where its streams begin.
#pragma once
#include <cstdint>

namespace pliant::runtime {

// Keys in the order in which they are asked for; they follow from the seed.
struct RandomKeys {
  uint64_t seed = 0, count = 0;
  uint64_t next();
};

// A seed that no other run of this process has had; processes differ.
uint64_t fresh_seed();

}  // namespace pliant::runtime
