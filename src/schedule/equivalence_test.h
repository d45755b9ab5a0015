// Whether a schedule kept the meaning of a function, by running both on the interpreter.
#pragma once
#include <cstring>

#include "loop/compare/equivalence.h"
#include "schedule/schedule.h"

namespace pliant::schedule {

// `from` in the layout that the param has then. Padding elements are NaN, or -1.
inline loop::Array packed(const loop::Array& from, const Repack& r, DType t) {
  auto bytes = static_cast<size_t>(byte_size(t));
  std::vector<int64_t> cut = from.shape;
  auto dim = static_cast<size_t>(r.dim);
  cut[dim] = (from.shape[dim] + r.factor - 1) / r.factor;
  cut.insert(cut.begin() + r.dim + 1, r.factor);
  loop::Array to;
  int64_t count = 1;
  for (int64_t k : r.order) to.shape.push_back(cut[static_cast<size_t>(k)]);
  for (int64_t e : to.shape) count *= e;
  to.data.assign(static_cast<size_t>(count) * bytes, std::byte{0xff});
  size_t elements = from.data.size() / bytes;
  for (size_t i = 0; i < elements; ++i) {
    std::vector<int64_t> index(from.shape.size());
    for (size_t k = index.size(), rest = i; k-- > 0; rest /= static_cast<size_t>(from.shape[k]))
      index[k] = static_cast<int64_t>(rest % static_cast<size_t>(from.shape[k]));
    int64_t whole = index[dim];
    index[dim] = whole / r.factor;
    index.insert(index.begin() + r.dim + 1, whole % r.factor);
    int64_t at = 0;
    for (size_t k = 0; k < to.shape.size(); ++k) at = at * to.shape[k] + index[static_cast<size_t>(r.order[k])];
    std::memcpy(&to.data[static_cast<size_t>(at) * bytes], &from.data[i * bytes], bytes);
  }
  return to;
}

// Runs `before` and `after.function()` on the same random inputs at `rounds` random bindings of the symbols, small ones and
// those around tile sizes; what they write must be equal, up to rounding where updates of floats were reordered. A binding
// at which `before` itself is out of bounds does not count. The error says at which binding which element differs.
inline Status check_equivalence(const loop::Function& before, const Schedule& after, uint64_t seed, int rounds) {
  return loop::check_equivalence(before, after.function(), after.ctx(), seed, rounds, [&](std::vector<loop::Array>& inputs) {
    for (const Repack& r : after.repacks()) inputs[r.param] = packed(inputs[r.param], r, before.params[r.param].dtype);
  });
}

}  // namespace pliant::schedule
