// Loads of operands whose size along the vector loop is 1 or not as the run decides: the step between lanes is 0 or 1.
#include "codegen/llvm/emitter.h"

namespace pliant::codegen {

using llvm::Value;

bool Emitter::runs_or_stays(const Index& ix, expr::Dim flat) {
  if (!ix.step || ix.small || ix.wide || llvm::isa<llvm::Constant>(ix.step)) return false;
  const std::optional<expr::Dim> step = expr::coefficient_of(flat, lane_var_);
  if (!step) return false;
  const expr::Interval range = ctx_.range(*step);
  return range.lo >= 0 && range.hi <= 1;
}

Value* Emitter::load_run_or_element(const BufferState& b, const Index& ix, Value* mask, Value* condition) {
  const int64_t bytes = byte_size(b.buffer->dtype);
  Index first = ix;
  first.step = nullptr;
  Value* p = address(b, first);
  Value* runs = hoist_->pure("runs", {ix.step}, [&] { return b_.CreateIsNotNull(ix.step); });
  Value* all_run = hoist_->pure("allrun", {runs}, [&] { return splat(runs); });
  // The first element is there unless all lanes, or the first of a run, are left out.
  Value* has_first = condition;
  if (mask) {
    Value* stays = b_.CreateAnd(b_.CreateNot(runs), b_.CreateOrReduce(mask));
    has_first = condition ? b_.CreateAnd(condition, stays) : stays;
  }
  Value* element = splat(load_scalar(b, has_first ? b_.CreateSelect(has_first, p, zeros(bytes)) : p));
  Value* has_run = condition ? b_.CreateAnd(condition, runs) : runs;
  Value* run = nullptr;
  if (target_.masked_memory || mask) {
    Value* lanes = condition ? splat(has_run) : all_run;
    run = load_where(b, p, mask ? b_.CreateAnd(mask, lanes) : lanes);
  } else {
    run = load_vector(b, b_.CreateSelect(has_run, p, zeros(bytes * lanes_)), nullptr);
  }
  return b_.CreateSelect(all_run, run, element);
}

}  // namespace pliant::codegen
