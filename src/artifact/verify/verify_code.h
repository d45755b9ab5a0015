// The part of the verifier that looks at code: every instruction against the function that it belongs to.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "artifact/entry.h"
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

// The records of the functions that the tables name.
struct NativeEntries {
  std::map<uint64_t, Entry> at;  // by offset into the text
  std::vector<const Entry*> kernels;
  std::vector<const Entry*> shapes;  // null without code
};

// For programs whose tables have been verified on their own. False with a sentence in `error`.
bool verify_code(const Program& program, const NativeEntries& entries, std::string& error);

}  // namespace pliant::artifact
