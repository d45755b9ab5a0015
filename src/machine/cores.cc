#include "machine/cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "machine/first_line.h"

namespace pliant::machine {
namespace {

// Hardware threads in `set`, siblings of one core counted once; at least 1.
int cores_of(const cpu_set_t& set) {
  std::set<std::pair<std::string, std::string>> cores;
  int unknown = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    std::string package = first_line(folder + "physical_package_id"), core = first_line(folder + "core_id");
    if (core.empty())
      ++unknown;
    else
      cores.emplace(std::move(package), std::move(core));
  }
  return std::max(1, static_cast<int>(cores.size()) + unknown);
}

int allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  return cores_of(set);
}

// Whole CPUs of a quota, rounded up; 0 for none.
int quota_of(double quota, double period) {
  return quota > 0 && period > 0 ? static_cast<int>((quota + period - 1) / period) : 0;
}

int version2_quota(const std::string& folder) {
  const std::string line = first_line(folder + "/cpu.max");
  double quota = 0, period = 0;
  return std::sscanf(line.c_str(), "%lf %lf", &quota, &period) == 2 ? quota_of(quota, period) : 0;
}
int version1_quota(const std::string& folder) {
  return quota_of(std::atof(first_line(folder + "/cpu.cfs_quota_us").c_str()),
                  std::atof(first_line(folder + "/cpu.cfs_period_us").c_str()));
}

// The least quota of this process's group and the groups above it; 0 for none.
int cgroup_quota() {
  int least = 0;
  auto take = [&](int q) { least = q > 0 && (least == 0 || q < least) ? q : least; };
  std::FILE* f = std::fopen("/proc/self/cgroup", "re");
  if (f == nullptr) return 0;
  char line[1024];
  while (std::fgets(line, sizeof line, f) != nullptr) {
    line[std::strcspn(line, "\n")] = 0;
    char* controllers = std::strchr(line, ':');
    char* path = controllers != nullptr ? std::strchr(controllers + 1, ':') : nullptr;
    if (path == nullptr) continue;
    *path++ = 0;
    const bool version2 = controllers[1] == 0;
    if (!version2 && std::strstr(controllers, "cpu") == nullptr) continue;
    // Inside a container the path may be one of the host's; the mount's root is then the group itself.
    for (std::string p = path;; p.erase(p.rfind('/'))) {
      take(version2 ? version2_quota("/sys/fs/cgroup" + p) : version1_quota("/sys/fs/cgroup/cpu" + p));
      if (p.rfind('/') == std::string::npos) break;
    }
  }
  std::fclose(f);
  return least;
}

}  // namespace

int machine_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const long threads = std::clamp(sysconf(_SC_NPROCESSORS_CONF), 1L, static_cast<long>(CPU_SETSIZE));
  for (int cpu = 0; cpu < threads; ++cpu) CPU_SET(cpu, &set);
  return cores_of(set);
}

int default_threads() {
  const int cores = allowed_cores(), quota = cgroup_quota();
  return quota > 0 ? std::min(cores, quota) : cores;
}

}  // namespace pliant::machine
