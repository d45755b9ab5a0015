// Resolves single instructions against slot values: the sizes, integers and addresses that an execution needs.
#pragma once
#include "runtime/model.h"

namespace pliant::runtime {

// Sizes larger than this are refused, which keeps sums of sizes from wrapping.
inline constexpr uint64_t kMostBytes = uint64_t{1} << 46;

// What instructions are resolved against. `outputs` gets the size of each output when it is first used.
struct Resolver {
  const Model& model;
  State& state;
  const int64_t* slots;
  std::vector<Interval>& buffers;
  int threads;  // to divide calls over

  int64_t value(const artifact::Int& i) const { return i.is_slot ? slots[i.value] : i.value; }

  // Each appends one op to `list`, with patches for inputs and outputs.
  pliant_status prepare_call(uint32_t call, PreparedList& list);
  pliant_status prepare_extern(uint32_t index, PreparedList& list);
  pliant_status prepare_copy(uint32_t copy, PreparedList& list);
  // Places the buffers of an epoch among those placed so far; `end` grows to the end of the highest one. With `cache`: as
  // last time when nothing has changed.
  pliant_status place_epoch(uint32_t epoch, uint64_t& end, EpochCache* cache);
  pliant_status size_output(size_t output);
  // The address and the bytes from there to the end; inputs and outputs need a patch of `pointer`, others have their
  // address.
  pliant_status resolve(const artifact::Arg& arg, const char* where, std::byte*& address, uint64_t& bytes, bool& needs_patch,
                        Patch& patch);

 private:
  pliant_status push_arg(const artifact::Arg& arg, const char* where, uint64_t least, PreparedList& list);
  pliant_status push_extern_arg(const artifact::Arg& arg, const char* where, uint64_t& bytes, PreparedList& list);
};

// Runs shape program `index` on the slots, then its checks.
pliant_status run_shape(const Model& model, uint32_t index, int64_t* slots);

}  // namespace pliant::runtime
