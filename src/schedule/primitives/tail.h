// Loops of extent min(C, X).
#pragma once
#include "schedule/edit.h"

namespace pliant::schedule {

constexpr int64_t kMostLanes = 4096;  // of a vector loop

struct Tail {
  int64_t limit;  // C
  Dim rest;       // X: the loop runs min(limit, rest) times
};
// C is the constant of a min, else the greatest value that the Context knows.
std::optional<Tail> tail_of(Dim extent, expr::Context& ctx);

// The loop with extent C and its body behind `var < X`; its variable may be another one, which takes the name over.
Result<StmtPtr> masked(Edit& e, const StmtPtr& loop);

// Whether `s` is the guard that `masked` puts around the body of the loop of `var`, which had this extent.
bool is_mask(const Stmt& s, SymbolId var, Dim extent, expr::Context& ctx);

// The same loop over a variable that may take the values up to `limit` - 1: as it is, where its facts allow that.
StmtPtr widened(Edit& e, const StmtPtr& loop, int64_t limit);

// The axis along which `store`, in `loop`, writes an element of an allocated buffer for each iteration. Further iterations
// write what nothing reads. Refuses where that is not known.
Result<size_t> axis_beyond(const Edit& e, const StmtPtr& loop, const Stmt& store);
// Gives an axis of each of some buffers another size.
void grow(Edit& e, const std::map<BufferId, size_t>& axes, const std::function<Dim(Dim)>& size);

// Whether the element that `update` changes is 0 before `outer` runs: the statement before it says so.
bool starts_at_zero(const Edit& e, const StmtPtr& outer, const Stmt& update);

// Refuses unless no two iterations of `loop` depend on each other; `updates_allowed`: except by updating one element.
Status check_independent(const Edit& e, const StmtPtr& loop, bool updates_allowed);
// The same, updates allowed, of each of these loops at and below `s`.
Status check_vectors(const Edit& e, const StmtPtr& s, const std::function<bool(const Stmt&)>& is_vector);

}  // namespace pliant::schedule
