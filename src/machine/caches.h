// The data caches of this machine.
#pragma once
#include <cstdint>
#include <string>

namespace pliant::machine {

// Bytes of one cache of each level; 0 where there is none or the machine does not tell.
struct Caches {
  int64_t l1 = 0, l2 = 0, l3 = 0;
};
// Of all processors, so that the answer does not depend on the one that asks: of each level the smallest. The system's
// files are asked first, then the instruction cpuid.
Caches caches();
// What `folder`, which is `/sys/devices/system/cpu` or looks like it, says of its first `processors` processors.
Caches caches_in(const std::string& folder, int processors);
// What the processor that runs this says of itself.
Caches caches_of_cpuid();

}  // namespace pliant::machine
