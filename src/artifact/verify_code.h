// The part of the verifier that looks at code: every instruction against the function that it belongs to, and buffers
// against the epochs planned where they are used.
#pragma once
#include <string>
#include <vector>

#include "artifact/program.h"

namespace pliant::artifact {

// What the instructions of one function may name: the entry's own, or a FunctionDesc's.
struct CodeScope {
  uint32_t first = 0, last = 0;
  uint32_t slot_count = 0, grow_count = 0;
  uint32_t first_buffer = 0, buffer_count = 0;
  uint32_t param_count = 0, result_count = 0;
  uint32_t list_count = 0;
  bool is_entry = true;
};
// The entry's and one for each function, in order of code. Only for programs whose functions' ranges have been checked.
std::vector<CodeScope> code_scopes(const Program& program);

// For programs whose tables have been verified on their own. False with a sentence in `error`.
bool verify_code(const Program& program, std::string& error);

}  // namespace pliant::artifact
