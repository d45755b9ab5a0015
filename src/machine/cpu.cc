#include "machine/cpu.h"

#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace pliant::machine {

#if defined(__x86_64__)
namespace {

enum Register { Eax, Ebx, Ecx, Edx };
// Which register states the operating system must save for a feature to be usable.
enum class Needs : uint8_t { Nothing, Avx, Avx512, Amx };
struct Row {
  std::string_view name;
  uint32_t leaf, subleaf;
  Register reg;
  int bit;
  Needs needs;
};
constexpr uint32_t kExtended = 0x80000001;
constexpr Row kRows[] = {
    {"sse", 1, 0, Edx, 25, Needs::Nothing},
    {"sse2", 1, 0, Edx, 26, Needs::Nothing},
    {"cmov", 1, 0, Edx, 15, Needs::Nothing},
    {"cx8", 1, 0, Edx, 8, Needs::Nothing},
    {"fxsr", 1, 0, Edx, 24, Needs::Nothing},
    {"mmx", 1, 0, Edx, 23, Needs::Nothing},
    {"x87", 1, 0, Edx, 0, Needs::Nothing},
    {"sse3", 1, 0, Ecx, 0, Needs::Nothing},
    {"pclmul", 1, 0, Ecx, 1, Needs::Nothing},
    {"ssse3", 1, 0, Ecx, 9, Needs::Nothing},
    {"fma", 1, 0, Ecx, 12, Needs::Avx},
    {"cx16", 1, 0, Ecx, 13, Needs::Nothing},
    {"sse4.1", 1, 0, Ecx, 19, Needs::Nothing},
    {"sse4.2", 1, 0, Ecx, 20, Needs::Nothing},
    {"crc32", 1, 0, Ecx, 20, Needs::Nothing},
    {"movbe", 1, 0, Ecx, 22, Needs::Nothing},
    {"popcnt", 1, 0, Ecx, 23, Needs::Nothing},
    {"aes", 1, 0, Ecx, 25, Needs::Nothing},
    {"xsave", 1, 0, Ecx, 26, Needs::Nothing},
    {"avx", 1, 0, Ecx, 28, Needs::Avx},
    {"f16c", 1, 0, Ecx, 29, Needs::Avx},
    {"rdrnd", 1, 0, Ecx, 30, Needs::Nothing},
    {"sahf", kExtended, 0, Ecx, 0, Needs::Nothing},
    {"lzcnt", kExtended, 0, Ecx, 5, Needs::Nothing},
    {"64bit", kExtended, 0, Edx, 29, Needs::Nothing},
    {"fsgsbase", 7, 0, Ebx, 0, Needs::Nothing},
    {"bmi", 7, 0, Ebx, 3, Needs::Nothing},
    {"avx2", 7, 0, Ebx, 5, Needs::Avx},
    {"bmi2", 7, 0, Ebx, 8, Needs::Nothing},
    {"avx512f", 7, 0, Ebx, 16, Needs::Avx512},
    {"avx512dq", 7, 0, Ebx, 17, Needs::Avx512},
    {"rdseed", 7, 0, Ebx, 18, Needs::Nothing},
    {"adx", 7, 0, Ebx, 19, Needs::Nothing},
    {"avx512ifma", 7, 0, Ebx, 21, Needs::Avx512},
    {"clflushopt", 7, 0, Ebx, 23, Needs::Nothing},
    {"clwb", 7, 0, Ebx, 24, Needs::Nothing},
    {"avx512cd", 7, 0, Ebx, 28, Needs::Avx512},
    {"sha", 7, 0, Ebx, 29, Needs::Nothing},
    {"avx512bw", 7, 0, Ebx, 30, Needs::Avx512},
    {"avx512vl", 7, 0, Ebx, 31, Needs::Avx512},
    {"avx512vbmi", 7, 0, Ecx, 1, Needs::Avx512},
    {"waitpkg", 7, 0, Ecx, 5, Needs::Nothing},
    {"avx512vbmi2", 7, 0, Ecx, 6, Needs::Avx512},
    {"gfni", 7, 0, Ecx, 8, Needs::Nothing},
    {"vaes", 7, 0, Ecx, 9, Needs::Avx},
    {"vpclmulqdq", 7, 0, Ecx, 10, Needs::Avx},
    {"avx512vnni", 7, 0, Ecx, 11, Needs::Avx512},
    {"avx512bitalg", 7, 0, Ecx, 12, Needs::Avx512},
    {"avx512vpopcntdq", 7, 0, Ecx, 14, Needs::Avx512},
    {"movdiri", 7, 0, Ecx, 27, Needs::Nothing},
    {"avx512vp2intersect", 7, 0, Edx, 8, Needs::Avx512},
    {"amx-bf16", 7, 0, Edx, 22, Needs::Amx},
    {"avx512fp16", 7, 0, Edx, 23, Needs::Avx512},
    {"amx-tile", 7, 0, Edx, 24, Needs::Amx},
    {"amx-int8", 7, 0, Edx, 25, Needs::Amx},
    {"avxvnni", 7, 1, Eax, 4, Needs::Avx},
    {"avx512bf16", 7, 1, Eax, 5, Needs::Avx512},
    {"amx-fp16", 7, 1, Eax, 21, Needs::Amx},
    {"avxifma", 7, 1, Eax, 23, Needs::Avx},
    {"avxvnniint8", 7, 1, Edx, 4, Needs::Avx},
    {"avxneconvert", 7, 1, Edx, 5, Needs::Avx},
};

bool os_saves(Needs needs) {
  if (needs == Needs::Nothing) return true;
  uint32_t r[4];
  if (!__get_cpuid(1, &r[Eax], &r[Ebx], &r[Ecx], &r[Edx]) || !(r[Ecx] >> 27 & 1)) return false;
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  const uint32_t mask = needs == Needs::Avx ? 0x6 : needs == Needs::Avx512 ? 0xe6 : 0x60000;
  return (low & mask) == mask;
}

}  // namespace

CpuHas cpu_has(std::string_view feature) {
  for (const Row& row : kRows) {
    if (row.name != feature) continue;
    uint32_t r[4];
    if (!__get_cpuid_count(row.leaf, row.subleaf, &r[Eax], &r[Ebx], &r[Ecx], &r[Edx])) return CpuHas::No;
    return (r[row.reg] >> row.bit & 1) != 0 && os_saves(row.needs) ? CpuHas::Yes : CpuHas::No;
  }
  return CpuHas::Unknown;
}

bool enable_features(const std::vector<std::string>& features) {
  for (const std::string& f : features) {
    if (f.rfind("amx-", 0) != 0) continue;
    constexpr long kRequestPermission = 0x1023, kTileData = 18;  // of arch_prctl
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  }
  return true;
}
#else
CpuHas cpu_has(std::string_view) { return CpuHas::Unknown; }
bool enable_features(const std::vector<std::string>&) { return true; }
#endif

std::string missing_features(const std::vector<std::string>& features) {
  std::string out;
  for (const std::string& f : features) {
    const CpuHas has = cpu_has(f);
    if (has == CpuHas::Yes) continue;
    out += (out.empty() ? "" : ", ") + f + (has == CpuHas::Unknown ? " (not known to this runtime)" : "");
  }
  return out;
}

}  // namespace pliant::machine
