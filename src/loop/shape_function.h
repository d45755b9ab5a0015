// Integer code: from sizes that a run knows to sizes that follow from them.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "expr/expr.h"

namespace pliant::loop {

// slots[slot] = value. A size that does not fit into 64 bits, or on the way to which a sum or product does not, is
// INT64_MAX, which no memory holds.
struct Assignment {
  uint32_t slot;
  expr::Dim value;
  bool is_size = false;
};
// Fills slots by the assignments in order, where the values' symbols are read from the slots that `symbol_slots` gives.
struct ShapeFunction {
  std::string name;
  std::vector<Assignment> assignments;
  std::unordered_map<expr::SymbolId, uint32_t> symbol_slots;
};

}  // namespace pliant::loop
