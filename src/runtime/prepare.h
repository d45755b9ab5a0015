// Resolves single instructions against the slots and buffers of a frame: the sizes, integers and addresses that an execution
// needs.
#pragma once
#include "runtime/model.h"

namespace pliant::runtime {

// Sizes larger than this are refused, which keeps sums of sizes from wrapping.
inline constexpr uint64_t kMostBytes = uint64_t{1} << 46;

// Memory from an argument's first byte on, and how much of it there is.
struct Place {
  std::byte* data = nullptr;
  uint64_t bytes = 0;
};

class Resolver {
 public:
  // A plan's addresses must hold for later runs: inputs and outputs become patches of the list. Otherwise they have their
  // addresses, and outputs get their memory when an instruction first uses them.
  enum class For { Plan, Now };
  Resolver(Model& model, State& state, For use) : model_(model), state_(state), use_(use), threads_(model.pool->threads()) {}
  Frame* frame = nullptr;

  int64_t value(const artifact::Int& i) const { return i.is_slot ? frame->slots[i.value] : i.value; }

  // Each appends one op to `list`.
  pliant_status prepare_call(uint32_t call, PreparedList& list);
  pliant_status prepare_extern(uint32_t index, PreparedList& list);
  pliant_status prepare_copy(uint32_t copy, PreparedList& list);
  // Of an input or output in a plan, the address is null.
  pliant_status locate(const artifact::Arg& arg, const char* where, Place& place);

 private:
  pliant_status locate_output(uint32_t output, Place& place);
  pliant_status push_arg(const artifact::Arg& arg, const char* where, PreparedList& list, uint64_t& bytes);

  Model& model_;
  State& state_;
  For use_;
  int threads_;  // to divide calls over
};

// Places the buffers of an epoch among those of the frame that are placed, in the arena from frame.arena_begin on;
// frame.arena_end grows to the end of the highest one. Buffers of later epochs are not placed any more.
pliant_status place_epoch(const Model& model, State& state, Frame& frame, uint32_t epoch);
// Runs shape program `index` on the slots, then its checks.
pliant_status run_shape(const Model& model, uint32_t index, int64_t* slots);
// `node "x": ` or nothing.
class Text;
Text prefix_of(const std::string& where);

}  // namespace pliant::runtime
