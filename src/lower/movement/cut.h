// Loops cut where a condition of their bodies changes: one side computes without the other's values.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "lower/nest.h"

namespace pliant::lower {

// `condition`, a part of scalars of a loop over `var`, holds for var < at and not from there on, or the other way round.
struct Cut {
  Scalar condition;
  Dim at;
  bool holds_before = true;
};
// The first condition of `scalars` that compares the position along `l` with what does not change along it; nothing where
// there is none, or where leaving out a selection is not worth bodies of its own: an element costs much, or the target
// selects with masks. The cut is at -1 to one past the extent.
std::optional<Cut> find_cut(expr::Context& ctx, const target::Target& target, const std::vector<Scalar>& scalars,
                            const Loop& l);
// `s` where the condition is known.
Scalar assume(Scalar s, Scalar condition, bool holds);
// `for v in length` as vectors and a tail, where the condition changes at `at` or at an end: one vector, and the tail, have
// elements of both sides. body(side, v) is over the element index v.
enum Side : uint8_t { Before, After, Either };
loop::StmtPtr make_cut_loop(expr::Context& ctx, Dim length, int64_t lanes, Tail tail, Dim at,
                            const std::function<loop::StmtPtr(Side, Dim)>& body);

}  // namespace pliant::lower
