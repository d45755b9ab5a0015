// The debug table of a variant: how each of its kernels was made, for people and tools. No run reads it.
#pragma once
#include <string>
#include <vector>

#include "artifact/program.h"

namespace pliant::artifact {

// How loops were made. Kernels that were made alike share one.
struct Provenance {
  std::string rewrite;  // the algorithm in place of the operator's own, as `dot4`; empty: none
  std::string maker;    // `template map`; `builder transpose`; `chain`, `loop`: of the kernels that became part of it
  std::string knobs;    // of the template: `lanes = 8, halving rest = 0`
  std::string trace;    // the primitives that the template applied, one a line
};
struct KernelDebug {
  std::vector<uint32_t> provenance;  // the kernel's own, then those of the kernels that became part of it
  std::string when;                  // the sizes for which it runs, `m <= 8 and 1 <= m`; empty: all
  uint64_t predicted_ns = 0;         // on one core, at `sizes`; 0 where it does not run there
};
struct DebugTable {
  std::string sizes;  // those that predictions are for: `batch = 1, seq = 128`
  std::vector<Provenance> provenance;
  std::vector<KernelDebug> kernels;  // one a Program::kernels
};

// Holds when every index is in range, each kernel of the program has an entry, and texts are UTF-8.
bool verify(const DebugTable& debug, const Program& program, std::string& error);
// What is known of each kernel, in the order of the program's calls, with the model's nodes that it comes from.
std::string print(const DebugTable& debug, const Program& program);

}  // namespace pliant::artifact
