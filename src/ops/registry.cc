// The table of operators, from the list that the build makes of the file names.
#include <algorithm>

#include "ops/op.h"

namespace pliant::ops {

#include "ops_list.h"

const std::vector<OpDef>& all_ops() {
  static const std::vector<OpDef> ops = [] {
    std::vector<OpDef> list;
#define PLIANT_ADD_OP(make) list.push_back(make());
    PLIANT_LIST(PLIANT_ADD_OP)
#undef PLIANT_ADD_OP
    std::sort(list.begin(), list.end(), [](const OpDef& a, const OpDef& b) { return a.name < b.name; });
    return list;
  }();
  return ops;
}

const OpDef* find_op(const std::string& name) {
  const std::vector<OpDef>& ops = all_ops();
  auto at =
      std::lower_bound(ops.begin(), ops.end(), name, [](const OpDef& op, const std::string& n) { return op.name < n; });
  return at != ops.end() && at->name == name ? &*at : nullptr;
}

}  // namespace pliant::ops
