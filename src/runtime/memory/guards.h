// The debug mode that finds what is read or written outside buffers. Zones of a pattern lie around every buffer of a run and
// are looked at after each instruction; memory that nothing has written yet, or that nothing may read any more, holds the
// pattern too: no number as f32 or f16, and too large for an index. Under the address sanitizer the zones are poisoned as
// well, so that functions of the runtime and of the C library stop where they touch one.
#pragma once
#include <map>
#include <optional>
#include <span>

#include "runtime/vm/prepare.h"

namespace pliant::runtime {

class Guards {
 public:
  // Before and behind a buffer; behind it the rest of its last 64 bytes belongs to the zone as well.
  static constexpr uint64_t kZone = 64;
  // What a buffer takes with its zones.
  static constexpr uint64_t room(uint64_t bytes) { return kZone + round_up(bytes, kAlignment) + kZone; }

  Guards(Model& model, State& state);
  Guards(const Guards&) = delete;
  ~Guards();

  // Lets the run read copies of the inputs, with zones around them.
  pliant_status take_inputs();
  // Zones around the buffers of an epoch that was just placed; those of later epochs are gone.
  void protect_epoch(const Frame& frame, uint32_t epoch);
  void protect_output(const OutputView& output);
  // A growing block that was just reserved; what it holds up to `kept` stays.
  void protect_grow(const GrowBlock& block, uint64_t kept);
  // Before and after the instruction at `at`, where `frame` is the one that the code goes on in, at `next`.
  void begin(const Frame& frame, uint32_t at);
  pliant_status end(const Frame& frame, uint32_t at, uint32_t next);

  // A zone behind the elements of a tensor of a list that was just made, and whether it is as it was.
  static void protect_element(std::byte* data, uint64_t bytes);
  static bool is_intact(const ListTensor& tensor);

  // Scratch memory of one thread: its pieces, with zones before, between and behind them.
  static uint64_t scratch_room(std::span<const uint64_t> pieces);
  static void protect_scratch(std::byte* base, std::span<const uint64_t> pieces);
  // Whether the zones are as they were. The memory may be used for anything then.
  static bool release_scratch(std::byte* base, std::span<const uint64_t> pieces);

 private:
  struct Region {
    std::byte* data;
    uint64_t bytes;
  };
  // `describe` names the buffer, where there is something to say.
  template <class Describe>
  pliant_status check(const Region& region, uint32_t at, const Describe& describe) const;
  // The tensors of the frame's lists that this run made.
  pliant_status check_lists(const Frame& frame, uint32_t at) const;
  // What the instruction is, for messages.
  std::string name_of(uint32_t at) const;
  Region region_of(const Placement& p) const { return {state_.arena.base() + p.offset, p.bytes}; }
  bool is_placed(const Frame& frame, uint32_t buffer) const;
  void spoil(const Frame& frame, const std::multimap<uint32_t, uint32_t>& buffers, uint32_t at);

  Model& model_;
  State& state_;
  std::multimap<uint32_t, uint32_t> by_first_,
      by_last_;                         // buffers of the program by the instructions that they live from and to
  std::vector<Region> inputs_;          // the copies
  std::vector<pliant_buffer*> blocks_;  // their memory
};

}  // namespace pliant::runtime
