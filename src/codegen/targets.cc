// The table of targets and the choice of the native one.
#include "base/result.h"
#include "codegen/target.h"

namespace pliant::codegen {
namespace {

std::vector<std::string> v3_features() {
  return {"sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "movbe", "avx", "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt"};
}
std::vector<std::string> v4_features() {
  std::vector<std::string> f = v3_features();
  for (const char* name : {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}) f.emplace_back(name);
  return f;
}

std::vector<Target> make_table() {
  Target v3;
  v3.name = "x86-64-v3";
  v3.triple = "x86_64-unknown-linux-gnu";
  v3.cpu = "x86-64-v3";
  v3.features = v3_features();
  v3.vector_bytes = 32;
  v3.vector_registers = 16;
  v3.masked_memory = false;
  v3.tile_rows = 6;
  v3.tile_vectors = 2;
  v3.l1_bytes = 32 * 1024;
  v3.l2_bytes = 512 * 1024;

  Target v3_vnni = v3;
  v3_vnni.name = "x86-64-v3-vnni";
  v3_vnni.features.emplace_back("avxvnni");
  v3_vnni.adds_quads = true;

  Target v4 = v3;
  v4.name = "x86-64-v4";
  v4.cpu = "x86-64-v4";
  v4.features = v4_features();
  v4.vector_bytes = 64;
  v4.vector_registers = 32;
  v4.masked_memory = true;
  v4.tile_rows = 14;
  v4.tile_vectors = 2;
  v4.l2_bytes = 1024 * 1024;

  Target v4_vnni = v4;
  v4_vnni.name = "x86-64-v4-vnni";
  v4_vnni.features.emplace_back("avx512vnni");
  v4_vnni.adds_quads = true;
  return {v3, v3_vnni, v4, v4_vnni};
}

#if defined(__x86_64__)
bool machine_has_v3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt") &&
         __builtin_cpu_supports("movbe");
}
bool machine_has_v4() {
  return machine_has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

}  // namespace

const std::vector<Target>& all_targets() {
  static const std::vector<Target> table = make_table();
  return table;
}

const Target* find_target(const std::string& name) {
  if (name == "native") return &native_target();
  for (const Target& t : all_targets()) {
    if (t.name == name) return &t;
  }
  return nullptr;
}

bool machine_runs(const Target& t) {
#if defined(__x86_64__)
  if (t.name == "x86-64-v3") return machine_has_v3();
  if (t.name == "x86-64-v3-vnni") return machine_has_v3() && __builtin_cpu_supports("avxvnni");
  if (t.name == "x86-64-v4") return machine_has_v4();
  if (t.name == "x86-64-v4-vnni") return machine_has_v4() && __builtin_cpu_supports("avx512vnni");
#endif
  return false;
}

const Target& native_target() {
  const Target* best = nullptr;
  for (const Target& t : all_targets()) {
    if (machine_runs(t)) best = &t;
  }
  // A machine below every row still gets an artifact; the loader refuses it there and names what is missing.
  return best ? *best : all_targets().front();
}

}  // namespace pliant::codegen
