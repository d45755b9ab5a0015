#include "artifact/verify/verify_flow.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "artifact/sized_output.h"

namespace pliant::artifact {
namespace {

class Bits {
 public:
  Bits() = default;
  explicit Bits(size_t count) : words_((count + kBits - 1) / kBits) {}
  bool has(uint32_t i) const { return (words_[i / kBits] >> i % kBits & 1) != 0; }
  void add(uint32_t i) { words_[i / kBits] |= uint64_t{1} << i % kBits; }
  void drop_from(uint32_t first) {
    if (first / kBits >= words_.size()) return;
    words_[first / kBits] &= (uint64_t{1} << first % kBits) - 1;
    std::fill(words_.begin() + first / kBits + 1, words_.end(), 0);
  }
  // False when nothing changes.
  bool intersect(const Bits& other) {
    bool changed = false;
    for (size_t i = 0; i < words_.size(); ++i) {
      const uint64_t met = words_[i] & other.words_[i];
      changed |= met != words_[i];
      words_[i] = met;
    }
    return changed;
  }

 private:
  static constexpr uint32_t kBits = 64;
  std::vector<uint64_t> words_;
};
// What the states of a function's blocks take at most.
constexpr size_t kMostStateBits = size_t{1} << 31;

// What holds between two instructions: the epochs that are planned and the slots that are computed, by number.
struct Flow {
  Bits epochs, slots;
  bool intersect(const Flow& other) {
    const bool changed = epochs.intersect(other.epochs);
    return slots.intersect(other.slots) || changed;
  }
};

// Instructions that are entered at the first and left after the last only.
struct Block {
  size_t first = 0;
  bool reached = false, queued = false;
  Flow before{};
};

// The slots that functions begin with, and those that their callers read when they return.
struct Callee {
  size_t given = SIZE_MAX;
  std::vector<uint32_t> returned;
};

class FlowVerifier {
 public:
  FlowVerifier(const Program& program, const NativeEntries& entries, const CodeScope& scope, const Callee& callee,
               std::string& error)
      : p_(program), entries_(entries), scope_(scope), callee_(callee), error_(error) {}

  bool run() {
    number_slots();
    const size_t epochs = epoch_count();
    make_blocks();
    if (blocks_.size() > kMostStateBits / (epochs + slot_count_))
      return fail("code of", scope_.first, "has too many branches for its epochs and slots");
    Flow start{Bits(epochs), Bits(slot_count_)};
    const size_t given = scope_.is_entry ? p_.key_slots : std::min<size_t>(callee_.given, scope_.slot_count);
    for (uint32_t s = 0; s < given; ++s)
      if (numbers_[s] != kUnused) start.slots.add(numbers_[s]);
    settle(start);
    return check();
  }

 private:
  bool fail(const std::string& what, size_t index, const std::string& fault) {
    error_ = "the program is malformed: " + what + " " + std::to_string(index) + " " + fault;
    return false;
  }

  // ---- what an instruction reads and computes

  template <class F>
  void read(const Int& i, F&& visit) const {
    if (i.is_slot) visit(static_cast<uint32_t>(i.value));
  }
  template <class F>
  void read(const std::vector<Int>& ints, F&& visit) const {
    for (const Int& i : ints) read(i, visit);
  }
  template <class F>
  void read(const TensorDesc& t, F&& visit) const {
    for (const Axis& a : t.axes) read(a.size, visit);
  }
  template <class F>
  void read(const Arg& a, F&& visit) const {
    read(a.byte_offset, visit);
    if (a.kind == Arg::Kind::Output) read(p_.outputs[a.index], visit);
  }
  template <class F>
  void read(const std::vector<Arg>& args, F&& visit) const {
    for (const Arg& a : args) read(a, visit);
  }
  // Slots that the instruction reads before it computes any.
  template <class F>
  void for_each_read(const Instr& in, F&& visit) const {
    switch (in.op) {
      case Opcode::Shape:
        if (const Entry* e = entries_.shapes[in.a])
          for (uint32_t s : e->reads) visit(s);
        return;
      case Opcode::Plan:
        for (uint32_t b : buffers_of(in.a)) read(p_.buffers[b].bytes, visit);
        return;
      case Opcode::Call: {
        const CallDesc& c = p_.calls[in.a];
        read(c.args, visit), read(c.ints, visit);
        read(c.tasks, visit), read(c.work, visit), read(c.scratch, visit);
        return;
      }
      case Opcode::Library: {
        const LibraryCallDesc& e = p_.library_calls[in.a];
        read(e.inputs, visit), read(e.ints, visit);
        for (const Arg& a : e.outputs)
          if (!is_sized_by(p_.outputs, e, a)) read(a, visit);
        for (const auto& shape : e.input_shapes) read(shape, visit);
        return;
      }
      case Opcode::Copy: {
        const CopyDesc& c = p_.copies[in.a];
        return read(c.from, visit), read(c.to, visit), read(c.bytes, visit);
      }
      case Opcode::Read: return read(p_.reads[in.a].from, visit);
      case Opcode::Reserve: return read(p_.reserves[in.a].to, visit), read(p_.reserves[in.a].bytes, visit);
      case Opcode::Fail: return read(p_.fails[in.a].values, visit);
      case Opcode::Invoke: {
        const InvokeDesc& v = p_.invokes[in.a];
        return read(v.ints, visit), read(v.args, visit), read(v.results, visit);
      }
      case Opcode::Move:
      case Opcode::AddImm:
      case Opcode::JumpZero: return visit(in.b);
      case Opcode::Add:
      case Opcode::Sub:
      case Opcode::Mul:
      case Opcode::Less:
      case Opcode::JumpNotLess:
      case Opcode::Next: return visit(in.b), visit(in.c);
      case Opcode::Return:
        if (scope_.is_entry)
          for (const TensorDesc& t : p_.outputs) read(t, visit);
        for (uint32_t s : callee_.returned) visit(s);
        return;
      case Opcode::LoadImm:
      case Opcode::Jump: return;
    }
  }
  template <class F>
  void for_each_computed(const Instr& in, F&& visit) const {
    switch (in.op) {
      case Opcode::Shape:
        if (const Entry* e = entries_.shapes[in.a])
          for (uint32_t s : e->writes) visit(s);
        return;
      case Opcode::Library:
        for (uint32_t s : p_.library_calls[in.a].result_slots) visit(s);
        return;
      case Opcode::Read: return visit(p_.reads[in.a].slot);
      case Opcode::Invoke:
        for (const InvokeDesc::SlotResult& r : p_.invokes[in.a].slot_results) visit(r.to);
        return;
      case Opcode::LoadImm:
      case Opcode::Move:
      case Opcode::Add:
      case Opcode::AddImm:
      case Opcode::Sub:
      case Opcode::Mul:
      case Opcode::Less: return visit(in.a);
      default: return;
    }
  }
  // Slots that are read after those have been computed.
  template <class F>
  void for_each_checked(const Instr& in, F&& visit) const {
    if (in.op == Opcode::Shape)
      for (const Check& c : p_.shape_programs[in.a].checks) read(c.a, visit), read(c.b, visit);
    if (in.op == Opcode::Library)
      for (const Arg& a : p_.library_calls[in.a].outputs)
        if (is_sized_by(p_.outputs, p_.library_calls[in.a], a)) read(a, visit);
  }

  // Only slots that the code reads get a number: a program may say that it has many more.
  void number_slots() {
    numbers_.assign(scope_.slot_count, kUnused);
    by_epoch_.clear();
    for (uint32_t b = scope_.first_buffer; b < scope_.first_buffer + scope_.buffer_count; ++b)
      by_epoch_.emplace_back(p_.buffers[b].epoch, b);
    std::sort(by_epoch_.begin(), by_epoch_.end());
    auto number = [&](uint32_t s) {
      if (numbers_[s] == kUnused) numbers_[s] = slot_count_++;
    };
    for (size_t i = scope_.first; i <= scope_.last; ++i) {
      for_each_read(p_.code[i], number);
      for_each_checked(p_.code[i], number);
    }
  }
  std::vector<uint32_t> buffers_of(uint32_t epoch) const {
    std::vector<uint32_t> out;
    for (auto it = std::lower_bound(by_epoch_.begin(), by_epoch_.end(), std::pair{epoch, uint32_t{0}});
         it != by_epoch_.end() && it->first == epoch; ++it)
      out.push_back(it->second);
    return out;
  }
  size_t epoch_count() const {
    uint32_t most = by_epoch_.empty() ? 0 : by_epoch_.back().first;
    for (size_t i = scope_.first; i <= scope_.last; ++i)
      if (p_.code[i].op == Opcode::Plan) most = std::max(most, p_.code[i].a);
    return size_t{most} + 1;
  }

  // ---- buffers

  bool is_usable(const Arg& a, size_t at, const Bits& planned) const {
    if (a.kind != Arg::Kind::Buffer) return true;
    const BufferDesc& b = p_.buffers[a.index];
    return planned.has(b.epoch) && b.first <= at && at <= b.last;
  }
  bool are_usable(const std::vector<Arg>& args, size_t at, const Bits& planned) const {
    return std::all_of(args.begin(), args.end(), [&](const Arg& a) { return is_usable(a, at, planned); });
  }
  bool buffers_usable(size_t at, const Bits& planned) const {
    const Instr& in = p_.code[at];
    switch (in.op) {
      case Opcode::Call: return are_usable(p_.calls[in.a].args, at, planned);
      case Opcode::Library:
        return are_usable(p_.library_calls[in.a].inputs, at, planned) &&
               are_usable(p_.library_calls[in.a].outputs, at, planned);
      case Opcode::Copy: return is_usable(p_.copies[in.a].from, at, planned) && is_usable(p_.copies[in.a].to, at, planned);
      case Opcode::Read: return is_usable(p_.reads[in.a].from, at, planned);
      case Opcode::Invoke:
        return are_usable(p_.invokes[in.a].args, at, planned) && are_usable(p_.invokes[in.a].results, at, planned);
      default: return true;
    }
  }

  // ---- flow

  void make_blocks() {
    const size_t first = scope_.first, n = scope_.last + 1 - first;
    std::vector<bool> begins(n + 1);
    begins[0] = true;
    for (size_t i = 0; i < n; ++i) {
      const Instr& in = p_.code[first + i];
      if (jumps(in.op)) begins[in.a - first] = true;
      if (jumps(in.op) || !falls_through(in.op)) begins[i + 1] = true;
    }
    block_of_.assign(n, 0);
    for (size_t i = 0; i < n; ++i) {
      if (!begins[i]) continue;
      block_of_[i] = static_cast<uint32_t>(blocks_.size());
      blocks_.push_back({.first = first + i});
    }
  }
  size_t end_of(size_t block) const {
    return block + 1 < blocks_.size() ? blocks_[block + 1].first : size_t{scope_.last} + 1;
  }
  void step(const Instr& in, Flow& state) const {
    if (in.op == Opcode::Plan) {
      // Planning an epoch ends those with higher numbers.
      state.epochs.drop_from(in.a);
      state.epochs.add(in.a);
    }
    for_each_computed(in, [&](uint32_t s) {
      if (numbers_[s] != kUnused) state.slots.add(numbers_[s]);
    });
  }
  // What holds before each block: the intersection over all paths.
  void settle(const Flow& start) {
    std::vector<uint32_t> todo;
    auto flow = [&](size_t to, const Flow& state) {
      Block& b = blocks_[block_of_[to - scope_.first]];
      if (b.reached && !b.before.intersect(state)) return;
      if (!b.reached) b.before = state;
      b.reached = true;
      if (!b.queued) todo.push_back(block_of_[to - scope_.first]);
      b.queued = true;
    };
    flow(scope_.first, start);
    while (!todo.empty()) {
      const size_t block = todo.back(), end = end_of(block);
      todo.pop_back();
      blocks_[block].queued = false;
      Flow state = blocks_[block].before;
      for (size_t at = blocks_[block].first; at < end; ++at) step(p_.code[at], state);
      const Instr& last = p_.code[end - 1];
      if (falls_through(last.op)) flow(end, state);
      if (jumps(last.op)) flow(last.a, state);
    }
  }
  bool check() {
    for (size_t block = 0; block < blocks_.size(); ++block) {
      if (!blocks_[block].reached) continue;
      Flow state = std::move(blocks_[block].before);
      for (size_t at = blocks_[block].first; at < end_of(block); ++at) {
        const Instr& in = p_.code[at];
        if (!buffers_usable(at, state.epochs)) return fail("instruction", at, "uses a buffer that holds nothing there");
        uint32_t missing = kUnused;
        auto look = [&](uint32_t s) {
          if (!state.slots.has(numbers_[s])) missing = s;
        };
        for_each_read(in, look);
        step(in, state);
        for_each_checked(in, look);
        if (missing != kUnused)
          return fail("instruction", at, "uses slot " + std::to_string(missing) + ", which need not be computed there");
      }
    }
    return true;
  }

  static constexpr uint32_t kUnused = UINT32_MAX;
  const Program& p_;
  const NativeEntries& entries_;
  const CodeScope& scope_;
  const Callee& callee_;
  std::string& error_;
  std::vector<uint32_t> numbers_;  // by slot
  uint32_t slot_count_ = 0;
  std::vector<std::pair<uint32_t, uint32_t>> by_epoch_;  // epoch, buffer; ascending
  std::vector<uint32_t> block_of_;                       // by instruction that begins one
  std::vector<Block> blocks_;
};

}  // namespace

bool jumps(Opcode op) {
  return op == Opcode::Jump || op == Opcode::JumpZero || op == Opcode::JumpNotLess || op == Opcode::Next;
}
bool falls_through(Opcode op) { return op != Opcode::Jump && op != Opcode::Return && op != Opcode::Fail; }

bool verify_flow(const Program& program, const NativeEntries& entries, const std::vector<CodeScope>& scopes,
                 std::string& error) {
  std::vector<Callee> callees(scopes.size());
  for (const Instr& in : program.code) {
    if (in.op != Opcode::Invoke) continue;
    const InvokeDesc& v = program.invokes[in.a];
    Callee& c = callees[v.function + size_t{1}];
    c.given = std::min(c.given, v.ints.size());
    for (const InvokeDesc::SlotResult& r : v.slot_results) c.returned.push_back(r.from);
  }
  for (size_t i = 0; i < scopes.size(); ++i) {
    std::sort(callees[i].returned.begin(), callees[i].returned.end());
    callees[i].returned.erase(std::unique(callees[i].returned.begin(), callees[i].returned.end()),
                              callees[i].returned.end());
    // One that nobody calls.
    if (callees[i].given == SIZE_MAX) callees[i].given = 0;
    if (!FlowVerifier(program, entries, scopes[i], callees[i], error).run()) return false;
  }
  return true;
}

}  // namespace pliant::artifact
