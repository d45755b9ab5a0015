#include "host/verify_function.h"

#include <algorithm>

#include "artifact/sized_output.h"

namespace pliant::host {

namespace {

// The least epoch that the block plans.
uint32_t least_planned(const Block& b) {
  uint32_t least = UINT32_MAX;
  for (const Instr& i : b) {
    if (const auto* plan = std::get_if<Plan>(&i.op)) least = std::min(least, plan->epoch);
    if (const auto* branch = std::get_if<If>(&i.op))
      least = std::min({least, least_planned(branch->then), least_planned(branch->otherwise)});
    if (const auto* loop = std::get_if<Loop>(&i.op))
      least = std::min({least, least_planned(loop->preheader), least_planned(loop->body)});
  }
  return least;
}

void end_epochs_from(std::vector<bool>& epochs, uint32_t first) {
  for (size_t e = first; e < epochs.size(); ++e) epochs[e] = false;
}

}  // namespace

Error FunctionVerifier::fail(const std::string& fault) const {
  return make_error("bad-host-ir", "function " + f_.name + ", instruction " + std::to_string(instruction_), fault);
}

Status FunctionVerifier::run() {
  TRY(tables());
  State state{true, std::vector<bool>(f_.slot_count), std::vector<bool>(f_.epochs.size())};
  std::fill_n(state.slots.begin(), f_.given_slots, true);
  TRY(block(f_.body, state));
  if (state.reached) TRY(has_result_sizes(state));
  const auto unused = std::find(allocated_.begin(), allocated_.end(), false);
  if (unused != allocated_.end())
    return fail("buffer " + std::to_string(unused - allocated_.begin()) + " is never allocated");
  return ok();
}

Status FunctionVerifier::tables() {
  if (f_.given_slots > f_.slot_count) return fail("more slots are given than there are");
  if (is_entry_ ? f_.param_count + f_.result_count != 0 : f_.result_sizes.size() != f_.result_count)
    return fail("the results are not those of the function's kind");
  for (size_t b = 0; b < f_.buffers.size(); ++b)
    if (f_.buffers[b].epoch >= f_.epochs.size() || f_.buffers[b].device >= m_.devices.size())
      return fail("buffer " + std::to_string(b) + " has no epoch or device");
  allocated_.resize(f_.buffers.size());
  is_unsized_.resize(f_.slot_count);
  std::vector<bool> computed(f_.slot_count);
  for (size_t e = 0; e < f_.epochs.size(); ++e)
    for (const loop::Assignment& a : f_.epochs[e].shape.assignments) {
      if (a.slot >= f_.slot_count) return fail("epoch " + std::to_string(e) + " computes a slot that is none");
      if (computed[a.slot] || a.slot < f_.given_slots) return fail("slot s" + std::to_string(a.slot) + " is computed twice");
      computed[a.slot] = true;
      is_unsized_[a.slot] = !a.is_size;
    }
  return ok();
}

Status FunctionVerifier::has_slot(uint32_t s, const State& state) const {
  if (s >= f_.slot_count) return fail("there is no slot s" + std::to_string(s));
  if (!state.slots[s]) return fail("slot s" + std::to_string(s) + " need not be computed here");
  return ok();
}
Status FunctionVerifier::has(const Int& i, const State& state) const {
  if (!i.is_slot) return ok();
  if (i.value < 0 || i.value >= f_.slot_count) return fail("there is no slot s" + std::to_string(i.value));
  return has_slot(static_cast<uint32_t>(i.value), state);
}
Status FunctionVerifier::has(const std::vector<Int>& ints, const State& state) const {
  for (const Int& i : ints) TRY(has(i, state));
  return ok();
}
Status FunctionVerifier::has_size(const Int& i, const State& state) const {
  TRY(has(i, state));
  if (!i.is_slot && i.value < 0) return fail("a size is below 0");
  if (i.is_slot && is_unsized_[static_cast<size_t>(i.value)])
    return fail("slot s" + std::to_string(i.value) + " is used as a size but not computed as one");
  return ok();
}

Status FunctionVerifier::has(const Arg& a, const State& state, uint32_t device) const {
  TRY(has(a.byte_offset, state));
  if (!a.byte_offset.is_slot && a.byte_offset.value < 0) return fail("an offset is below 0");
  const auto tensor = [](const std::vector<artifact::TensorDesc>& of, uint32_t i) {
    return i < of.size() && of[i].kind == artifact::TensorDesc::Kind::Tensor;
  };
  bool is_known = false;
  switch (a.kind) {
    case Arg::Kind::Input: is_known = is_entry_ && tensor(m_.inputs, a.index); break;
    case Arg::Kind::Output:
      is_known = is_entry_ && tensor(m_.outputs, a.index);
      // It is allocated when it is first used.
      for (size_t k = 0; is_known && k < m_.outputs[a.index].axes.size(); ++k)
        TRY(has(m_.outputs[a.index].axes[k].size, state));
      break;
    case Arg::Kind::Buffer: is_known = a.index < f_.buffers.size(); break;
    case Arg::Kind::Constant: is_known = a.index < m_.constants.size(); break;
    case Arg::Kind::Grow: is_known = a.index < f_.grow_count; break;
    case Arg::Kind::Param: is_known = a.index < f_.param_count; break;
    case Arg::Kind::Result: is_known = a.index < f_.result_count; break;
  }
  if (!is_known) return fail("there is no memory of number " + std::to_string(a.index) + " of its kind");
  const bool is_buffer = a.kind == Arg::Kind::Buffer;
  if ((is_buffer ? f_.buffers[a.index].device : kHostDevice) != device) return fail("memory lies on another device");
  if (is_buffer && !allocated_[a.index]) return fail("buffer " + std::to_string(a.index) + " is used before its life");
  if (is_buffer && !state.epochs[f_.buffers[a.index].epoch])
    return fail("the epoch of buffer " + std::to_string(a.index) + " need not be planned here");
  return ok();
}
Status FunctionVerifier::has(const std::vector<Arg>& args, const State& state) const {
  for (const Arg& a : args) TRY(has(a, state));
  return ok();
}
Status FunctionVerifier::is_writable(const Arg& a) const {
  if (a.kind == Arg::Kind::Input || a.kind == Arg::Kind::Constant || a.kind == Arg::Kind::Param)
    return fail("what may only be read is written");
  return ok();
}
Status FunctionVerifier::sets(uint32_t s, State& state) const {
  if (s >= f_.slot_count) return fail("there is no slot s" + std::to_string(s));
  if (s < f_.given_slots) return fail("slot s" + std::to_string(s) + " is given and may not change");
  state.slots[s] = true;
  return ok();
}
Status FunctionVerifier::has_lists(const std::vector<uint32_t>& lists) const {
  const bool exist = std::all_of(lists.begin(), lists.end(), [&](uint32_t l) { return l < f_.list_count; });
  return exist ? ok() : fail("there is no such list register");
}
// What callers and users learn at the end.
Status FunctionVerifier::has_result_sizes(const State& state) const {
  for (const std::vector<Int>& sizes : f_.result_sizes) TRY(has(sizes, state));
  if (!is_entry_) return ok();
  for (const artifact::TensorDesc& t : m_.outputs)
    for (const artifact::Axis& a : t.axes) TRY(has(a.size, state));
  return ok();
}

FunctionVerifier::State FunctionVerifier::meet(const State& a, const State& b) {
  if (!a.reached || !b.reached) return a.reached ? a : b;
  State out = a;
  for (size_t i = 0; i < out.slots.size(); ++i) out.slots[i] = a.slots[i] && b.slots[i];
  for (size_t i = 0; i < out.epochs.size(); ++i) out.epochs[i] = a.epochs[i] && b.epochs[i];
  return out;
}

Status FunctionVerifier::block(const Block& b, State& state) {
  for (const Instr& i : b) {
    ++instruction_;
    TRY(std::visit([&](const auto& op) { return check(op, state); }, i.op));
  }
  return ok();
}

Status FunctionVerifier::check(const Shape& op, State& state) {
  if (op.epoch >= f_.epochs.size()) return fail("there is no such epoch");
  const Epoch& e = f_.epochs[op.epoch];
  for (const loop::Assignment& a : e.shape.assignments) {
    for (expr::SymbolId s : expr::symbols_of(a.value)) {
      const auto at = e.shape.symbol_slots.find(s);
      if (at == e.shape.symbol_slots.end()) return fail("the epoch does not say where " + ctx_.info(s).name + " lies");
      TRY(has_slot(at->second, state));
    }
    state.slots[a.slot] = true;
  }
  for (const artifact::Check& c : e.checks) {
    TRY(has(c.a, state));
    TRY(has(c.b, state));
  }
  return ok();
}
Status FunctionVerifier::check(const Plan& op, State& state) {
  if (op.epoch >= f_.epochs.size()) return fail("there is no such epoch");
  for (const Buffer& b : f_.buffers)
    if (b.epoch == op.epoch) TRY(has_size(b.bytes, state));
  end_epochs_from(state.epochs, op.epoch);
  state.epochs[op.epoch] = true;
  return ok();
}
Status FunctionVerifier::check(const Alloc& op, State&) {
  if (op.buffer >= f_.buffers.size() || allocated_[op.buffer]) return fail("a buffer is allocated twice, or is none");
  allocated_[op.buffer] = true;
  return ok();
}
Status FunctionVerifier::check(const Keep& op, State&) {
  return op.buffer < f_.buffers.size() && allocated_[op.buffer] ? ok() : fail("a buffer is kept that has no life");
}
Status FunctionVerifier::check(const Set& op, State& state) {
  TRY(has(op.value, state));
  if (!op.value.is_slot && op.value.value != static_cast<int32_t>(op.value.value))
    return fail("an immediate has over 32 bits");
  return sets(op.slot, state);
}
Status FunctionVerifier::check(const Launch& op, State& state) {
  const artifact::CallDesc& c = op.call;
  if (c.kernel >= m_.kernels.size() || op.device >= m_.devices.size()) return fail("there is no such kernel or device");
  const Kernel& k = m_.kernels[c.kernel];
  if (k.backend != m_.devices[op.device].backend)
    return fail("kernel " + k.name + " is made for " + k.backend + ", the device is of " + m_.devices[op.device].backend);
  if (c.args.size() != k.params.size() || c.ints.size() != k.ints.size())
    return fail("kernel " + k.name + " takes another number of arguments or integers");
  for (size_t i = 0; i < c.args.size(); ++i) {
    TRY(has(c.args[i], state, op.device));
    if (k.params[i].is_output) TRY(is_writable(c.args[i]));
  }
  TRY(has(c.ints, state));
  TRY(has(c.work, state));
  for (const Int& bytes : c.scratch) TRY(has_size(bytes, state));
  return has_size(c.tasks, state);
}
Status FunctionVerifier::check(const Library& op, State& state) {
  const artifact::LibraryCallDesc& x = op.call;
  if (x.inputs.size() != x.input_shapes.size() || x.inputs.size() != x.input_dtypes.size() ||
      x.outputs.size() != x.output_dtypes.size())
    return fail("the lists of a library call differ in length");
  TRY(has(x.inputs, state));
  // An output whose size the call finds is allocated when it is known.
  auto waits = [&](const Arg& a) { return is_entry_ && artifact::is_sized_by(m_.outputs, x, a); };
  for (const Arg& a : x.outputs) {
    if (!waits(a)) TRY(has(a, state));
    TRY(is_writable(a));
  }
  for (const std::vector<Int>& shape : x.input_shapes) TRY(has(shape, state));
  TRY(has(x.ints, state));
  TRY(has_lists(x.list_inputs));
  TRY(has_lists(x.list_outputs));
  for (uint32_t s : x.result_slots) TRY(sets(s, state));
  for (const Arg& a : x.outputs)
    if (waits(a)) TRY(has(a, state));
  return ok();
}
Status FunctionVerifier::check(const Copy& op, State& state) {
  // Between any two devices.
  auto device = [&](const Arg& a) {
    return a.kind == Arg::Kind::Buffer && a.index < f_.buffers.size() ? f_.buffers[a.index].device : kHostDevice;
  };
  TRY(has(op.copy.from, state, device(op.copy.from)));
  TRY(has(op.copy.to, state, device(op.copy.to)));
  TRY(is_writable(op.copy.to));
  return has_size(op.copy.bytes, state);
}
Status FunctionVerifier::check(const Read& op, State& state) {
  if (is_float(op.read.dtype)) return fail("only integers are read into slots");
  TRY(has(op.read.from, state));
  return sets(op.read.slot, state);
}
Status FunctionVerifier::check(const Reserve& op, State& state) {
  const Arg::Kind kind = op.reserve.to.kind;
  if (kind != Arg::Kind::Grow && kind != Arg::Kind::Result) return fail("only growable blocks are reserved");
  TRY(has(op.reserve.to, state));
  return has_size(op.reserve.bytes, state);
}
Status FunctionVerifier::check(const Fail& op, State& state) {
  TRY(has(op.fail.values, state));
  state.reached = false;
  return ok();
}

Status FunctionVerifier::check(const Call& op, State& state) {
  if (op.function == 0 || op.function >= m_.functions.size()) return fail("there is no such function to call");
  const Function& callee = m_.functions[op.function];
  if (op.ints.size() != callee.given_slots || op.args.size() != callee.param_count ||
      op.results.size() != callee.result_count)
    return fail("function " + callee.name + " takes another number of integers, params or results");
  TRY(has(op.ints, state));
  TRY(has(op.args, state));
  TRY(has(op.results, state));
  for (const Arg& a : op.results) TRY(is_writable(a));
  for (const auto& l : op.list_args) {
    TRY(has_lists({l.from}));
    if (l.to >= callee.list_count) return fail("the function has no such list register");
  }
  for (const auto& l : op.list_results) {
    TRY(has_lists({l.to}));
    if (l.from >= callee.list_count) return fail("the function has no such list register");
  }
  for (const Call::Size& s : op.sizes) {
    if (s.result >= callee.result_sizes.size() || s.axis >= callee.result_sizes[s.result].size() ||
        !callee.result_sizes[s.result][s.axis].is_slot)
      return fail("the size of a result lies in no slot of the function");
    TRY(sets(s.to, state));
  }
  return ok();
}

Status FunctionVerifier::check(const If& op, State& state) {
  TRY(has_slot(op.a, state));
  if (op.b) TRY(has_slot(*op.b, state));
  if (!op.has_otherwise && !op.otherwise.empty()) return fail("a branch that is not there has instructions");
  State then = state, otherwise = state;
  TRY(block(op.then, then));
  TRY(block(op.otherwise, otherwise));
  const bool reached = state.reached;
  state = meet(then, otherwise);
  state.reached = state.reached && reached;
  return ok();
}

Status FunctionVerifier::check(const Loop& op, State& state) {
  TRY(has_slot(op.index, state));
  if (op.trip) TRY(has_slot(*op.trip, state));
  auto is_condition = [](const Int& i) { return i.is_slot || i.value == 0 || i.value == 1; };
  if (!is_condition(op.enters) || !is_condition(op.continues)) return fail("a condition is neither a slot nor 0 or 1");
  TRY(has(op.enters, state));
  State inside = state;
  TRY(block(op.preheader, inside));
  // What an iteration plans ends, at the latest, the epochs from there on for the next one.
  end_epochs_from(inside.epochs, least_planned(op.body));
  TRY(block(op.body, inside));
  if (inside.reached) TRY(has(op.continues, inside));
  const bool always_enters = op.enters == artifact::imm(1) && !op.trip;
  const bool reached = state.reached;
  if (always_enters)
    state = std::move(inside);
  else
    state = meet(state, inside);
  state.reached = state.reached && reached;
  return ok();
}

}  // namespace pliant::host
