// From the fused graph to a program: storage for every value, integer slots for every size, and the code that calls the
// lowered kernels.
#pragma once
#include <memory>
#include <vector>

#include "artifact/program.h"
#include "codegen/codegen.h"
#include "graph/graph.h"
#include "lower/lower.h"

namespace pliant::emit {

struct Emitted {
  artifact::Program program;  // without native code: kernels and shape programs have no code offset yet
  std::vector<graph::ConstantPtr> constants;
  std::vector<std::unique_ptr<loop::Function>> functions;  // one a program.kernels
  std::vector<std::vector<expr::SymbolId>> kernel_ints;    // the free symbols of each, in order
  std::vector<codegen::ShapeFunction> shapes;              // one a program.shape_programs; empty where it has no code
};
struct Options {
  lower::Options lower;
  bool native_loops = true;  // one kernel for each loop that can be one; otherwise bytecode
  std::function<void(double)> progress;
  std::function<void(const std::string&)> remark;  // what was done in a slower way, where and why
};
// The module's entry, and the functions that it calls.
Result<Emitted> emit(const graph::Module& module, const codegen::Target& target, const Options& options);

}  // namespace pliant::emit
