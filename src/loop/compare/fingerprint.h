// Equal fingerprints: the same code whatever the names of symbols, buffers and the kernel.
#pragma once
#include <string>

#include "loop/loop.h"

namespace pliant::loop {

// The symbols that are upper bounds of other symbols, as trees. No symbol's facts change while it is used.
class BoundTrees {
 public:
  explicit BoundTrees(expr::Context& ctx);
  // The nearest of `symbols` that bounds `s`, itself or through others; where none does, the bound of the tree's root;
  // nothing where that has none.
  std::optional<expr::Dim> nearest(expr::SymbolId s, const std::vector<expr::SymbolId>& symbols) const;

 private:
  expr::Context& ctx_;
  std::vector<expr::SymbolId> root_;
  std::vector<uint32_t> begin_, end_;  // a tree's symbols have the numbers [begin, end) of its root
};

// `ints`: the free symbols of `f`, in the order in which the caller gives their values.
std::string fingerprint(const Function& f, const std::vector<SymbolId>& ints, const BoundTrees& bounds, expr::Context& ctx);
// The same, but only over the same free symbols, of which the same is known, and with allocated buffers of the same names.
std::string fingerprint_over_symbols(const Function& f, expr::Context& ctx);

}  // namespace pliant::loop
