// Which of two values the search for the position of a best one keeps.
#pragma once
#include "expr/expr.h"

namespace pliant::schedule {

struct ArgOrder {
  bool is_max, last;  // of equal values: the last one
};
// Whether `value`, which comes later than `old`, takes its place. NaN wins over numbers.
expr::Scalar takes_place(ArgOrder o, expr::Scalar value, expr::Scalar old);
// The same where positions say which comes later.
expr::Scalar takes_place_at(ArgOrder o, expr::Scalar value, expr::Scalar old, expr::Scalar at, expr::Scalar old_at);

}  // namespace pliant::schedule
