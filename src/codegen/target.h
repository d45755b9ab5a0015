// Targets are data: what lowering and code generation need to know of a machine.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace pliant::codegen {

struct Target {
  std::string name;  // `x86-64-v4`
  std::string triple;
  std::string cpu;                    // LLVM's scheduling model
  std::vector<std::string> features;  // required, as artifact::NativeImage::features
  int64_t vector_bytes = 32;
  int64_t vector_registers = 16;
  bool masked_memory = false;  // predicated loads and stores are cheap
  bool adds_quads = false;     // one instruction adds the products of four bytes by four (expr/quad.h) to each i32
  // Register tile of contractions with f32 accumulators: rows, and columns in vectors.
  int64_t tile_rows = 6, tile_vectors = 2;
  int64_t l1_bytes = 32 * 1024, l2_bytes = 1024 * 1024;
};
// The table, weakest first.
const std::vector<Target>& all_targets();
// Null for an unknown name; `native` gives native_target().
const Target* find_target(const std::string& name);
bool machine_runs(const Target& t);
// The best row that this machine can run.
const Target& native_target();

}  // namespace pliant::codegen
