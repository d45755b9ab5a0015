// The size of a recurrent layer's state, as its attribute tells it.
#pragma once
#include "frontend/onnx/conversion.h"

namespace pliant::frontend::onnx {

inline Result<Dim> hidden_size(Conversion& c) {
  constexpr int64_t most = int64_t{1} << 31;
  const int64_t v = c.int_attr("hidden_size", 0);
  if (v < 0 || v > most) return c.fail("bad-attribute", "hidden_size cannot be " + std::to_string(v));
  return c.num(v);
}

}  // namespace pliant::frontend::onnx
