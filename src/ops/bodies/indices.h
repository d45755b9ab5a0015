// Indices that are read from data.
#pragma once
#include "ops/bodies/scalars.h"

namespace pliant::ops {

// An index into an axis of `size` that a data check has found in range. Where it is used it is read again, and whoever the
// data belong to may have changed them: it is bounded there, so that nothing outside is read or written. Unsigned, a
// negative one is larger than any size, so that this is one operation. No index is in range of an empty axis, so none comes
// here.
inline Dim bounded_index(Dim v, Dim size) {
  auto number_of = [](Dim d) { return expr::make_cast(DType::U64, expr::make_index(d)); };
  return expr::value(minimum(number_of(v), number_of(size - 1)));
}
// The same of an integer whose negative values count from the end.
inline Dim index_from(Scalar v, Dim size) { return bounded_index(wrapped_index(v, size), size); }

}  // namespace pliant::ops
