#include "machine/caches.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "machine/first_line.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace pliant::machine {
namespace {

constexpr int kMostCaches = 16;  // of one processor

int64_t* level_of(Caches& c, long level) { return level == 1 ? &c.l1 : level == 2 ? &c.l2 : level == 3 ? &c.l3 : nullptr; }

void take_smaller(int64_t* known, int64_t bytes) {
  if (known != nullptr && bytes > 0) *known = *known == 0 ? bytes : std::min(*known, bytes);
}

// `32K`, `1M`, `512`; 0 for anything else.
int64_t bytes_of(const std::string& text) {
  char* end = nullptr;
  const long long n = std::strtoll(text.c_str(), &end, 10);
  const int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
  if (shift != 0) ++end;
  return *end == 0 && n > 0 && n <= INT64_MAX >> 30 ? static_cast<int64_t>(n) << shift : 0;
}

}  // namespace

Caches caches_in(const std::string& folder, int processors) {
  Caches out;
  for (int cpu = 0; cpu < processors; ++cpu) {
    for (int k = 0; k < kMostCaches; ++k) {
      const std::string cache = folder + "/cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(k) + "/";
      const std::string type = first_line(cache + "type");
      if (type.empty()) break;
      if (type != "Data" && type != "Unified") continue;
      take_smaller(level_of(out, std::atol(first_line(cache + "level").c_str())), bytes_of(first_line(cache + "size")));
    }
  }
  return out;
}

Caches caches_of_cpuid() {
  Caches out;
#if defined(__x86_64__)
  // Intel and AMD describe caches in the same way, on different leaves.
  for (unsigned leaf : {0x4U, 0x8000001dU}) {
    for (unsigned k = 0; k < static_cast<unsigned>(kMostCaches); ++k) {
      unsigned a = 0, b = 0, c = 0, d = 0;
      if (!__get_cpuid_count(leaf, k, &a, &b, &c, &d) || (a & 31) == 0) break;
      if ((a & 31) == 2) continue;  // instructions
      const int64_t line = (b & 0xfff) + 1, partitions = (b >> 12 & 0x3ff) + 1, ways = (b >> 22) + 1;
      take_smaller(level_of(out, a >> 5 & 7), line * partitions * ways * (static_cast<int64_t>(c) + 1));
    }
    if (out.l1 != 0) break;
  }
#endif
  return out;
}

Caches caches() {
  const Caches told = caches_in("/sys/devices/system/cpu", static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)));
  return told.l1 != 0 ? told : caches_of_cpuid();
}

}  // namespace pliant::machine
