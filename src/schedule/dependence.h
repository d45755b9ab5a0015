// Which iterations may touch the same element of a buffer. All answers are safe: what cannot be proved counts as touching.
#pragma once
#include <set>

#include "schedule/edit.h"

namespace pliant::schedule {

struct Access {
  BufferId buffer;
  std::vector<Dim> index;
  bool is_store = false;
  StoreKind kind = StoreKind::Assign;  // of a store
  bool is_update() const { return is_store && kind != StoreKind::Assign; }
};
// Every load and store at and below `s`, of buffers that live outside `s`.
std::vector<Access> accesses_of(const StmtPtr& s);
// Those of one buffer.
std::vector<Access> accesses_of(const StmtPtr& s, BufferId buffer);

struct Bounds {
  Dim lo, hi;
};
// How the last index of a loop is taken: as extent - 1, exact, or as a constant where the Context knows one and as C - 1
// where the extent is min(C, …) and just the other operand varies.
enum class Ends : uint8_t { Exact, Constant };
// The least and greatest value of `d` while the loops of `vary` run, as Dims over the other symbols.
std::optional<Bounds> bounds_of(Dim d, const Extents& vary, expr::Context& ctx, Ends ends = Ends::Exact);

// Those of `candidates` that must have the same value on both sides when `a` and `b` touch the same element. `vary`: the
// loops whose variables may differ between the sides, the candidates among them.
std::set<SymbolId> determined(const Access& a, const Access& b, const std::set<SymbolId>& candidates, const Extents& vary,
                              const Edit& e);

// Whether a pair matters for the order in which the two are done: one writes, and they are not updates of one kind.
bool ordered(const Access& a, const Access& b);

// A buffer for which two iterations of loop `var` may touch one element by an ordered pair, one access from each list;
// nothing when there is none. `vary` as above.
std::optional<BufferId> carried(const std::vector<Access>& first, const std::vector<Access>& second, SymbolId var,
                                const Extents& vary, const Edit& e);

}  // namespace pliant::schedule
