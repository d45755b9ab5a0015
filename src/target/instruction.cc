#include "target/instruction.h"

#include <algorithm>

namespace pliant::target {

#include "target_instructions_list.h"

const std::vector<Instruction>& all_instructions() {
#define PLIANT_ROW(f) f(),
  static const std::vector<Instruction> rows{PLIANT_LIST(PLIANT_ROW)};
#undef PLIANT_ROW
  return rows;
}

const Instruction* find_instruction(std::string_view name) {
  for (const Instruction& i : all_instructions())
    if (i.name == name) return &i;
  return nullptr;
}

bool has_features(const Target& t, const Form& f) {
  return std::all_of(f.features.begin(), f.features.end(), [&](const std::string& name) {
    return std::find(t.features.begin(), t.features.end(), name) != t.features.end();
  });
}

bool has_instruction(const Target& t, std::string_view name) {
  const Instruction* i = find_instruction(name);
  return i && std::any_of(i->forms.begin(), i->forms.end(), [&](const Form& f) { return has_features(t, f); });
}

const Form* form_of(const Instruction& i, const Target& t, int64_t lanes) {
  if (lanes <= 0) return nullptr;
  for (const Form& f : i.forms)
    if ((f.lanes == lanes || f.lanes == 0) && has_features(t, f)) return &f;
  return nullptr;
}

const Form* widest_form(const Instruction& i, const Target& t, int64_t lanes) {
  const Form* best = nullptr;
  for (const Form& f : i.forms) {
    const bool fits = f.lanes == 0 || (lanes > 0 && lanes % f.lanes == 0 && 4 * f.lanes <= t.vector_bytes);
    if (fits && (!best || f.lanes > best->lanes) && has_features(t, f)) best = &f;
  }
  return best;
}

}  // namespace pliant::target
