// From the host IR to the tables and the bytecode of a program: what is structured gets positions and jumps, buffers get
// live ranges, and epochs that do nothing are left out.
#pragma once
#include <vector>

#include "artifact/program.h"
#include "host/host.h"

namespace pliant::emit {

struct Emitted {
  artifact::Program program;                // without native code: kernels and shape programs have no code offset yet
  std::vector<loop::ShapeFunction> shapes;  // one a program.shape_programs; empty where it has no code
};
// The module is one that host::verify accepts, with nothing on other devices than the host: bytecode knows no others. An
// Error where it exceeds the limits of the loader.
Result<Emitted> emit(const host::Module& module, const std::string& source);

}  // namespace pliant::emit
