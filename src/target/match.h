// Finds in loop functions what instructions compute.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "loop/loop.h"
#include "target/instruction.h"

namespace pliant::target {

// What a description's param stands for: element (i, j, …) of the param is element base + i * strides[0] + j * strides[1] +
// … of the buffer. The strides are those of the param's shape, except that the first ones may be 0: one operand for all
// lanes.
struct Operand {
  const loop::Buffer* buffer = nullptr;
  expr::Dim base;
  std::vector<int64_t> strides;
  std::vector<int64_t> shape;
  int64_t first_axis = 0;  // of those with a stride
  // The index as the nest has it, and the loop that runs along each axis of the param, where each has one or is read for
  // all lanes.
  std::vector<expr::Dim> index;
  std::vector<std::optional<expr::SymbolId>> loops;
};
struct Match {
  int64_t lanes = 0;
  std::vector<Operand> operands;  // one for each param
};
using FindBuffer = std::function<const loop::Buffer*(loop::BufferId)>;

// Matches the nest with what `i` computes; for `written`, with the nest that it stands for. Nothing, and the reason in
// `why`, where they differ.
std::optional<Match> match(const Instruction& i, bool written, const loop::StmtPtr& nest, expr::Context& ctx,
                           const FindBuffer& find, std::string& why);
// What `i` computes, as the loop `nest` with the operands of `m`, which are those of the nest that it stands for.
loop::StmtPtr instance_of(const Instruction& i, const Match& m, const loop::StmtPtr& nest, expr::Context& ctx);

// ---- one lane

// Instructions whose nest is `c[v] += f(a[v], b[v])`, where an operand with an axis of its own in each lane is one i32 of
// packed parts (expr/scalar/packed.h). `dtype` is that of c.
bool has_lane_form(const Instruction& i, DType dtype);
// f(a, b).
expr::Scalar lane_term(const Instruction& i, expr::Scalar a, expr::Scalar b);
// (a, b) where `s` is lane_term(i, a, b).
std::optional<std::pair<expr::Scalar, expr::Scalar>> as_lane_term(const Instruction& i, expr::Scalar s);

}  // namespace pliant::target
