// Tensor instructions as data: each row is a file of target/instructions and says what one instruction computes on whole
// vectors, as the text of a loop function, which widths it has, what CPU features each needs, and how LLVM names it.
//
// A description is one loop over `n`, the lanes, with constant loops and stores below it. Its params are the operands, row
// major, the lanes outermost; the last one is read and written. So `c[v] += …` of 4 products of bytes is
//
//   kernel dot4(%a: u8[n, 4], %b: i8[n, 4], %c: i32[n] out) {
//     for v in n { for k in 4 { %c[v] += cast.i32(%a[v, k]) * cast.i32(%b[v, k]) } }
//   }
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "target/target.h"

namespace pliant::target {

// One width of an instruction.
struct Form {
  int64_t lanes;          // 0: any number, or one without a vector
  std::string intrinsic;  // of LLVM
  std::vector<std::string> features;
};

struct Instruction {
  std::string name;
  // What it computes, bit for bit except for the bits of a NaN.
  std::string computes;
  // Where nobody writes that down: the nest that the instruction may stand for, with the same params. Empty: `computes`.
  std::string stands_for;
  // How the results of the two differ, for the user; empty: they do not.
  std::string tolerance;
  // The intrinsic's arguments by the names of the params, which are `a`, `b` …. Where the updated one, the last, is not
  // among them, the result is added to it.
  std::string arguments;
  std::vector<Form> forms;
};

// By name.
const std::vector<Instruction>& all_instructions();
// Null for an unknown name.
const Instruction* find_instruction(std::string_view name);

bool has_features(const Target& t, const Form& f);
// Whether `t` has a form of it.
bool has_instruction(const Target& t, std::string_view name);
// The form of exactly that many lanes; null where `t` has none.
const Form* form_of(const Instruction& i, const Target& t, int64_t lanes);
// The form of most lanes, not more than a vector has, of which `lanes` are a whole number, or the one of any number; null
// where there is none. `lanes` 0 is a value that is no vector.
const Form* widest_form(const Instruction& i, const Target& t, int64_t lanes);

}  // namespace pliant::target
