// What the CPU can do, asked of the CPU and of the operating system (which must save the registers).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pliant::machine {

enum class CpuHas : int32_t { Unknown = -1, No = 0, Yes = 1 };
// Feature names are LLVM's: "avx2", "fma", "avx512f", "amx-tile".
CpuHas cpu_has(std::string_view feature);
// Those of `features` that the CPU lacks or that are not known, joined by ", "; empty when it has all.
std::string missing_features(const std::vector<std::string>& features);
// Asks the kernel for what must be asked for before use (AMX tile registers); false when it refuses.
bool enable_features(const std::vector<std::string>& features);

}  // namespace pliant::machine
