// Which of two values an arg reduction keeps.
#pragma once
#include "te/te.h"

namespace pliant::lower {

struct ArgOrder {
  explicit ArgOrder(te::Combiner c)
      : is_max(c == te::Combiner::ArgMax || c == te::Combiner::ArgMaxLast),
        last(c == te::Combiner::ArgMaxLast || c == te::Combiner::ArgMinLast) {}
  bool is_max, last;
};
// Whether `value`, which comes later than `old`, takes its place. NaN wins over numbers.
expr::Scalar takes_place(ArgOrder o, expr::Scalar value, expr::Scalar old);

}  // namespace pliant::lower
