// Conditions that leave terms out of a reduction, and the loops around one.
#pragma once
#include <optional>
#include <vector>

#include "expr/parts.h"
#include "loop/loop.h"

namespace pliant::schedule {

using expr::Dim;
using expr::Scalar;

// `term` as slack >= 0; nothing where it says anything else.
std::optional<Dim> slack_of(Scalar term);
// Loops that hold nothing but each other, outermost first, around an If that is all that the innermost one holds.
struct GuardedNest {
  std::vector<loop::StmtPtr> loops;
  loop::StmtPtr guard;
  std::vector<Scalar> terms() const { return expr::conjuncts_of(guard->value); }
  // The nest with these terms alone.
  loop::StmtPtr with(const std::vector<Scalar>& terms) const;
};
std::optional<GuardedNest> guarded_nest(const loop::StmtPtr& outermost);

}  // namespace pliant::schedule
