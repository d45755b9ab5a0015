// The descriptions of instructions, parsed and checked once, in a Context of their own. Internal to target.
#pragma once
#include <memory>

#include "target/match.h"

namespace pliant::target {

struct Description {
  std::unique_ptr<expr::Context> ctx;
  loop::Function computes, stands_for;  // equal where an instruction has one text
  // lane_term over loads of two scalars, the tensors 0 and 1 of `holes`; null where there is no such form.
  expr::Scalar lane;
  std::vector<expr::TensorId> holes;
};
const Description& description_of(const Instruction& i);

// a * x + b * y + … + constant over the loop variables of a description.
struct Affine {
  std::vector<std::pair<expr::SymbolId, int64_t>> terms;
  int64_t constant = 0;
};
Affine affine(expr::Dim d);

// `s` made again in `ctx`, loads and what they index by `load`.
expr::Scalar transplant(expr::Scalar s, expr::Context& ctx, const std::function<expr::Scalar(expr::Scalar load)>& load);

}  // namespace pliant::target
