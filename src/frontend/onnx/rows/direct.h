// Converters for operators that map to one operator of ours with the same inputs.
#pragma once
#include <cstddef>

#include "frontend/onnx/fold.h"
#include "frontend/onnx/table.h"

namespace pliant::frontend::onnx {

// An operator's name as a template argument.
template <size_t N>
struct OpName {
  char text[N];
  constexpr OpName(const char (&s)[N]) {  // NOLINT: implicit on purpose
    for (size_t i = 0; i < N; ++i) text[i] = s[i];
  }
};

// All inputs passed on, no attributes, one output.
template <OpName op>
Result<Values> direct(Conversion& c) {
  return Values{TRY(c.append(op.text, {}, c.all_inputs()))};
}

// The same on known elements.
template <OpName op>
Folded fold(Conversion& c) {
  return fold_as(c, op.text);
}

}  // namespace pliant::frontend::onnx
