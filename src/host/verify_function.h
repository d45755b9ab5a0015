// The verifier of one host function.
#pragma once
#include <string>
#include <vector>

#include "host/host.h"

namespace pliant::host {

class FunctionVerifier {
 public:
  FunctionVerifier(const Module& module, const Function& f, expr::Context& ctx)
      : m_(module), f_(f), ctx_(ctx), is_entry_(&f == &module.functions[0]) {}
  Status run();

 private:
  // What holds between two instructions. Planned epochs have their buffers in place.
  struct State {
    bool reached = true;
    std::vector<bool> slots, epochs;
  };
  Error fail(const std::string& fault) const;
  Status tables();
  Status epoch(size_t number);

  // Whether the state has what is named.
  Status has_slot(uint32_t s, const State& state) const;
  Status has(const Int& i, const State& state) const;
  Status has(const std::vector<Int>& ints, const State& state) const;
  // A size of memory, or of a grid.
  Status has_size(const Int& i, const State& state) const;
  Status has(const Arg& a, const State& state, uint32_t device = kHostDevice) const;
  Status has(const std::vector<Arg>& args, const State& state) const;
  Status is_writable(const Arg& a) const;
  Status sets(uint32_t s, State& state) const;
  Status has_lists(const std::vector<uint32_t>& lists) const;
  Status has_result_sizes(const State& state) const;
  static State meet(const State& a, const State& b);

  Status block(const Block& b, State& state);
  Status check(const Shape& op, State& state);
  Status check(const Plan& op, State& state);
  Status check(const Alloc& op, State& state);
  Status check(const Keep& op, State& state);
  Status check(const Set& op, State& state);
  Status check(const Launch& op, State& state);
  Status check(const Library& op, State& state);
  Status check(const Copy& op, State& state);
  Status check(const Read& op, State& state);
  Status check(const Reserve& op, State& state);
  Status check(const Fail& op, State& state);
  Status check(const Call& op, State& state);
  Status check(const If& op, State& state);
  Status check(const Loop& op, State& state);

  const Module& m_;
  const Function& f_;
  expr::Context& ctx_;
  bool is_entry_;
  size_t instruction_ = 0;        // of the text, from 1
  std::vector<bool> allocated_;   // buffers, by the instructions so far
  std::vector<bool> is_unsized_;  // slots that a shape function computes, not as sizes
};

}  // namespace pliant::host
