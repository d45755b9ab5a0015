// Loops whose machine code is a function of its own. Code generation moves the constants of a loop out of all loops around
// it, where they take registers from the loops beside it.
#pragma once
#include <llvm/IR/Module.h>

namespace pliant::codegen {

// `back`: the branch that leads to the loop's next iteration.
void mark_outlined(llvm::Instruction& back);
// Makes functions of the loops so marked, named after the function that they are in and a dot. They have to leave in one
// place: loops that look at the stop flag stay where they are.
void outline_loops(llvm::Function& f);

}  // namespace pliant::codegen
