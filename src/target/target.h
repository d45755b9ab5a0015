// Targets are data: what lowering and code generation need to know of a machine.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "machine/caches.h"

namespace pliant::target {

struct Target {
  std::string name;  // `x86-64-v4`
  std::string triple;
  std::string cpu;                    // LLVM's scheduling model
  std::vector<std::string> features;  // required, as artifact::NativeImage::features; each is one that machine/cpu.h knows
  int64_t vector_bytes = 32;
  int64_t vector_registers = 16;
  bool masked_memory = false;  // predicated loads and stores are cheap
  // Register tile of contractions with f32 accumulators: rows, and columns in vectors.
  int64_t tile_rows = 6, tile_vectors = 2;
  // Of one cache: L1 and L2 of a core, L3 of the cores that share it. Named targets have the figures of small machines of
  // their kind, so that what is compiled for them is the same wherever it is compiled.
  int64_t l1_bytes = 32 * 1024, l2_bytes = 1024 * 1024, l3_bytes = 16 * 1024 * 1024;
  int64_t cores = 4;
};
// The table, weakest first.
const std::vector<Target>& all_targets();
// Null for an unknown name; `native` gives native_target().
const Target* find_target(const std::string& name);
// Whether this machine has every feature of `t`.
bool machine_runs(const Target& t);
// The best row that this machine can run, with this machine's caches and cores.
const Target& native_target();
// `t` with the caches that are known (not 0) and the cores of a machine.
Target with_figures(Target t, const machine::Caches& caches, int64_t cores);
// One line: name, vectors, caches, cores.
std::string describe(const Target& t);

}  // namespace pliant::target

// The names by which the layers above speak of code generation's targets.
namespace pliant::codegen {
using target::all_targets;
using target::find_target;
using target::machine_runs;
using target::native_target;
using target::Target;
}  // namespace pliant::codegen
