// Resolves single instructions against the slots and buffers of a frame: the sizes, integers and addresses that an execution
// needs.
#pragma once
#include "runtime/load/model.h"

namespace pliant::runtime {

// Sizes larger than this are refused, which keeps sums of sizes from wrapping.
inline constexpr uint64_t kMostBytes = uint64_t{1} << 46;
bool is_bytes(int64_t v);
// The fault of a size that is none: INT64_MAX stands for all that 64 bits cannot count.
pliant_status bad_size(const std::string& where, const char* what, int64_t size);

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
  // As prepare_call, but into arrays with room for `call`'s pointers and integers.
  pliant_status resolve_call(uint32_t call, PreparedOp& op, std::byte** pointers, int64_t* ints);
  pliant_status prepare_library_call(uint32_t index, PreparedList& list);
  pliant_status prepare_copy(uint32_t copy, PreparedList& list);
  // Of an input or output in a plan, the address is null.
  pliant_status locate(const artifact::Arg& arg, const char* where, Place& place);

 private:
  static Place place_of(const Operand& o) {
    return o.grow != nullptr ? Place{o.grow->data(), o.grow->capacity()} : Place{o.data, o.bytes};
  }
  pliant_status locate_output(uint32_t output, Place& place);
  static pliant_status bad_offset(const char* where, int64_t offset, uint64_t bytes);
  void add_patch(const artifact::Arg& arg, uint32_t at, PreparedList& list);
  pliant_status push_arg(const artifact::Arg& arg, const char* where, PreparedList& list, uint64_t& bytes);

  Model& model_;
  State& state_;
  For use_;
  int threads_;  // to divide calls over
};

inline pliant_status Resolver::locate(const artifact::Arg& arg, const char* where, Place& place) {
  using Kind = artifact::Arg::Kind;
  switch (arg.kind) {
    case Kind::Input:
      // Programs only read inputs and constants; arguments of native code have one type for all.
      place = {use_ == For::Now ? const_cast<std::byte*>(state_.inputs[arg.index].data) : nullptr,
               state_.inputs[arg.index].bytes};
      break;
    case Kind::Output: PLIANT_TRY(locate_output(arg.index, place)); break;
    case Kind::Buffer: {
      const Placement& b = frame->buffers[arg.index - frame->code->first_buffer];
      place = {state_.arena.base() + b.offset, b.bytes};
      break;
    }
    case Kind::Constant: {
      const artifact::ConstantDesc& c = model_.program.constants[arg.index];
      place = {const_cast<std::byte*>(model_.constants + c.offset), c.bytes};
      break;
    }
    case Kind::Grow: place = {frame->grows[arg.index]->data(), frame->grows[arg.index]->capacity()}; break;
    case Kind::Param: place = place_of(frame->params[arg.index]); break;
    case Kind::Result: place = place_of(frame->results[arg.index]); break;
  }
  const int64_t offset = value(arg.byte_offset);
  if (static_cast<uint64_t>(offset) > place.bytes) {
    // In a value without elements a place along one axis is nowhere, and nothing is read or written there.
    if (place.bytes == 0 && offset >= 0 && arg.kind != Kind::Grow) return PLIANT_OK;
    return bad_offset(where, offset, place.bytes);
  }
  place.bytes -= static_cast<uint64_t>(offset);
  if (place.data != nullptr) place.data += offset;
  return PLIANT_OK;
}

// Runs shape program `index` on the slots, then its checks.
pliant_status run_shape(const Model& model, uint32_t index, int64_t* slots);
// `node "x": ` or nothing.
class Text;
Text prefix_of(const std::string& where);

}  // namespace pliant::runtime
