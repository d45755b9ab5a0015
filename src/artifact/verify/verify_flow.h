// The part of the verifier that follows the code along every path: what has been computed and what lies in memory where an
// instruction uses it.
#pragma once
#include "artifact/verify/verify_code.h"

namespace pliant::artifact {

bool jumps(Opcode op);
bool falls_through(Opcode op);

// For programs whose instructions fit their functions. Holds when every slot is computed, and every buffer's epoch planned,
// on every path to each use. False with a sentence in `error`.
bool verify_flow(const Program& program, const NativeEntries& entries, const std::vector<CodeScope>& scopes,
                 std::string& error);

}  // namespace pliant::artifact
