// A program's instructions as text, for people: `inspect --code` and tests.
#pragma once
#include <string>

#include "artifact/program.h"

namespace pliant::artifact {

// One line an instruction, with the tables that it names written out; a line before the code of each function.
//
//     3  Call         add(buffer 0, input 1+s4) ints(s0, s2) node "y" (onnx.Add)
//     4  JumpZero     9 unless s5
std::string disassemble(const Program& program);

}  // namespace pliant::artifact
