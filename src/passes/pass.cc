#include "passes/pass.h"

namespace pliant::passes {

#include "passes_list.h"

namespace {

std::vector<PassDef> make_passes() {
  std::vector<PassDef> passes;
#define PLIANT_ADD_PASS(function) passes.push_back(function());
  PLIANT_LIST(PLIANT_ADD_PASS)
#undef PLIANT_ADD_PASS
  return passes;
}

}  // namespace

const std::vector<PassDef>& all_passes() {
  static const std::vector<PassDef> passes = make_passes();
  return passes;
}

const PassDef* find_pass(const std::string& name) {
  for (const PassDef& p : all_passes()) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

}  // namespace pliant::passes
