// Integer slots: one for each symbol that the program learns and for each size that is not a constant.
#pragma once
#include <unordered_map>
#include <vector>

#include "artifact/program.h"
#include "codegen/codegen.h"
#include "expr/expr.h"

namespace pliant::bufferize {

using expr::Dim;
using expr::SymbolId;

// Epoch e begins when the symbols of its definition point are known; a size belongs to the latest epoch of its symbols, and
// is computed by that epoch's shape program.
class Slots {
 public:
  explicit Slots(expr::Context& ctx) : ctx_(ctx) {}
  uint32_t add_symbol(SymbolId s, uint32_t epoch);
  // A slot that code fills by itself.
  uint32_t add() { return next_++; }
  // From epoch `epoch` on the symbol is what `slot` holds.
  void define(SymbolId s, uint32_t slot, uint32_t epoch);
  bool knows(SymbolId s) const { return by_symbol_.count(s) != 0; }
  // In the order in which they became known.
  const std::vector<SymbolId>& known() const { return known_; }
  // The value of `d`: an immediate, a symbol's slot, or a slot of the shape program of its epoch. Unknown symbols are a
  // PLIANT_CHECK.
  artifact::Int of(Dim d);
  // The same of a size in memory: INT64_MAX where it does not fit into 64 bits.
  artifact::Int size_of(Dim d);
  // As `of`, in a slot even where it is a constant.
  uint32_t holding(Dim d);
  uint32_t epoch_of(Dim d) const;
  uint32_t count() const { return next_; }
  // The assignments of one epoch's shape program, in order of use, and the slots of the symbols in them.
  const std::vector<loop::Assignment>& assignments(uint32_t epoch);
  std::unordered_map<SymbolId, uint32_t> symbol_slots(uint32_t epoch) const;

 private:
  expr::Context& ctx_;
  uint32_t next_ = 0;
  struct Known {
    uint32_t slot, epoch;
  };
  std::unordered_map<SymbolId, Known> by_symbol_;
  std::vector<SymbolId> known_;
  struct Computed {
    uint32_t epoch, slot;
    size_t index;  // into the assignments of the epoch
  };
  const Computed& computed(Dim d);
  // `d` over a symbol for a long sum that is computed already, where that leaves few terms: each part of a long
  // concatenation begins at the sum of the sizes before it.
  Dim continued(Dim d);
  std::unordered_map<Dim, Computed> by_dim_;
  std::vector<std::vector<loop::Assignment>> assignments_;
  struct LongSum {
    Dim sum, symbol;
    std::vector<SymbolId> symbols;
  };
  std::vector<LongSum> long_sums_;  // the last few
};

}  // namespace pliant::bufferize
