// Maps that read memory along another axis than they write it: transposes, and what is fused with them.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "lower/nest.h"
#include "target/target.h"

namespace pliant::lower {

// scalars[k] of the nest is stored at buffers[k][offsets[k]]; the last loop runs along the outputs' memory.
struct FlatMap {
  Nest nest;
  std::vector<loop::BufferId> buffers;
};
// A statement for every point, and the Parallel loops that go around it, outermost first.
struct GridOfBlocks {
  std::vector<Loop> parallel;
  loop::StmtPtr body;
  const char* builder;
};

// Some load walks through memory in large steps along the last loop but by single elements along another one. Such loads are
// made in blocks of vectors and transposed in registers. Nothing where no load does so. `elements`: of a tensor.
struct Transposed {
  size_t row = 0;             // the loop along which the loads are contiguous
  std::vector<Scalar> loads;  // all of them
  Dim step;                   // what they have along the last loop
  int64_t lanes = 0;          // blocks are lanes by lanes
};
std::optional<Transposed> find_transposed(expr::Context& ctx, const target::Target& target, const FlatMap& map,
                                          const std::function<Dim(expr::TensorId)>& elements);
GridOfBlocks make_transposed(expr::Context& ctx, const target::Target& target, const FlatMap& map, const Transposed& t);

}  // namespace pliant::lower
