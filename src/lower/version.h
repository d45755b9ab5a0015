// Versions of a kernel: the run executes those whose predicate over sizes holds, which its shape program evaluates; the task
// grid of the others is empty (the SpecializedCondition of TVM). How each was made.
#pragma once
#include "lower/lower.h"

namespace pliant::lower {

// Makes `k` run only where `when` holds. Terms that always hold are left out; tasks and work are 0 where one does not.
void restrict_to(expr::Context& ctx, LoweredKernel& k, const Predicate& when);
// As a Bool; null where it always holds.
expr::Scalar condition_of(const Predicate& when);
// `m <= 16 and 1 <= m`.
std::string print(const Predicate& when);

// Name, predicate and provenance, with the naive function before the trace.
std::string describe(const LoweredKernel& k);

}  // namespace pliant::lower
