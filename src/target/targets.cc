// The table of targets and the choice of the native one.
#include "machine/cores.h"
#include "machine/cpu.h"
#include "target/target.h"

namespace pliant::target {
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
  return {v3, v3_vnni, v4, v4_vnni};
}

// The best row; the weakest for a machine below every row, which still gets an artifact: the loader refuses it there and
// names what is missing.
const Target& best_row() {
  const Target* best = &all_targets().front();
  for (const Target& t : all_targets()) {
    if (machine_runs(t)) best = &t;
  }
  return *best;
}

// 1536 KiB as `1.5 MiB`.
std::string size_text(int64_t bytes) {
  const bool large = bytes >= 1 << 20;
  const int64_t tenths = bytes * 10 / (large ? 1 << 20 : 1 << 10);
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10 != 0) text += "." + std::to_string(tenths % 10);
  return text + (large ? " MiB" : " KiB");
}

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

bool machine_runs(const Target& t) { return machine::missing_features(t.features).empty(); }

Target with_figures(Target t, const machine::Caches& caches, int64_t cores) {
  if (caches.l1 > 0) t.l1_bytes = caches.l1;
  if (caches.l2 > 0) t.l2_bytes = caches.l2;
  if (caches.l3 > 0) t.l3_bytes = caches.l3;
  t.cores = cores;
  return t;
}

const Target& native_target() {
  static const Target native = with_figures(best_row(), machine::caches(), machine::machine_cores());
  return native;
}

std::string describe(const Target& t) {
  return t.name + ": " + std::to_string(t.vector_registers) + " vectors of " + std::to_string(t.vector_bytes) +
         " bytes, L1 " + size_text(t.l1_bytes) + ", L2 " + size_text(t.l2_bytes) + ", L3 " + size_text(t.l3_bytes) + ", " +
         std::to_string(t.cores) + (t.cores == 1 ? " core" : " cores");
}

}  // namespace pliant::target
