// Indices that are read from data.
#pragma once
#include "ops/scalars.h"

namespace pliant::ops {

// An index into an axis of `size` that a data check has found in range. Where it is used it is read again, and whoever the
// data belong to may have changed them: it is bounded there, so that nothing outside is read or written.
inline Dim bounded_index(Dim v, Dim size) { return expr::max(expr::min(v, size - 1), v->ctx->constant(0)); }
// The same of an integer whose negative values count from the end.
inline Dim index_from(Scalar v, Dim size) { return bounded_index(wrapped_index(v, size), size); }

}  // namespace pliant::ops
