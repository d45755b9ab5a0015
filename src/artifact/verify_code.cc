#include "artifact/verify_code.h"

#include <algorithm>
#include <vector>

#include "artifact/verify.h"

namespace pliant::artifact {
namespace {

struct OpcodeRow {
  const char* name;
  const char* operands;
};
constexpr OpcodeRow kOpcodes[] = {
#define PLIANT_OPCODE(name, operands, doc) {#name, operands},
#include "artifact/opcodes.def"
#undef PLIANT_OPCODE
};

// The epochs of a function that are planned, as bits.
class Epochs {
 public:
  explicit Epochs(size_t count = 0) : words_((count + kBits - 1) / kBits) {}
  bool has(uint32_t epoch) const { return (words_[epoch / kBits] >> epoch % kBits & 1) != 0; }
  // Planning an epoch ends those with higher numbers.
  void plan(uint32_t epoch) {
    words_[epoch / kBits] &= (uint64_t{1} << epoch % kBits) - 1;
    words_[epoch / kBits] |= uint64_t{1} << epoch % kBits;
    std::fill(words_.begin() + epoch / kBits + 1, words_.end(), 0);
  }
  // False when nothing changes.
  bool intersect(const Epochs& other) {
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

bool jumps(Opcode op) {
  return op == Opcode::Jump || op == Opcode::JumpZero || op == Opcode::JumpNotLess || op == Opcode::Next;
}
bool falls_through(Opcode op) { return op != Opcode::Jump && op != Opcode::Return && op != Opcode::Fail; }

class CodeVerifier {
 public:
  CodeVerifier(const Program& program, std::string& error) : p_(program), error_(error), scopes_(code_scopes(program)) {}

  bool run() {
    for (const CodeScope& s : scopes_) {
      scope_ = &s;
      if (!buffers_fit() || !instructions_fit() || !buffer_uses()) return false;
    }
    return loops();
  }

 private:
  bool fail(const std::string& what, size_t index, const std::string& fault) {
    error_ = "the program is malformed: " + what + " " + std::to_string(index) + " " + fault;
    return false;
  }

  // ---- what an instruction of the scope may name

  bool fits(const Int& i) const { return !i.is_slot || static_cast<uint64_t>(i.value) < scope_->slot_count; }
  bool fits(const std::vector<Int>& ints) const {
    return std::all_of(ints.begin(), ints.end(), [&](const Int& i) { return fits(i); });
  }
  bool fits(const Arg& a) const {
    if (!fits(a.byte_offset)) return false;
    switch (a.kind) {
      case Arg::Kind::Input:
      case Arg::Kind::Output: return scope_->is_entry;
      case Arg::Kind::Buffer: return a.index - scope_->first_buffer < scope_->buffer_count;
      case Arg::Kind::Constant: return true;
      case Arg::Kind::Grow: return a.index < scope_->grow_count;
      case Arg::Kind::Param: return a.index < scope_->param_count;
      case Arg::Kind::Result: return a.index < scope_->result_count;
    }
    return false;
  }
  bool fits(const std::vector<Arg>& args) const {
    return std::all_of(args.begin(), args.end(), [&](const Arg& a) { return fits(a); });
  }
  bool entry_fits(const Instr& in) const {
    switch (in.op) {
      case Opcode::Shape:
        for (const Check& c : p_.shape_programs[in.a].checks)
          if (!fits(c.a) || !fits(c.b)) return false;
        return true;
      case Opcode::Call: {
        const CallDesc& c = p_.calls[in.a];
        return fits(c.args) && fits(c.ints) && fits(c.tasks) && fits(c.work) && fits(c.scratch);
      }
      case Opcode::Extern: return extern_fits(p_.externs[in.a]);
      case Opcode::Copy: return fits(p_.copies[in.a].from) && fits(p_.copies[in.a].to) && fits(p_.copies[in.a].bytes);
      case Opcode::Read: return fits(p_.reads[in.a].from) && p_.reads[in.a].slot < scope_->slot_count;
      case Opcode::Reserve: return fits(p_.reserves[in.a].to) && fits(p_.reserves[in.a].bytes);
      case Opcode::Fail: return fits(p_.fails[in.a].values);
      case Opcode::Invoke: return invoke_fits(p_.invokes[in.a]);
      default: return true;
    }
  }
  bool extern_fits(const ExternDesc& e) const {
    for (const auto& shape : e.input_shapes)
      if (!fits(shape)) return false;
    for (uint32_t s : e.result_slots)
      if (s >= scope_->slot_count) return false;
    for (const auto& lists : {e.list_inputs, e.list_outputs})
      for (uint32_t r : lists)
        if (r >= scope_->list_count) return false;
    return fits(e.inputs) && fits(e.outputs) && fits(e.ints);
  }
  bool invoke_fits(const InvokeDesc& v) const {
    const FunctionDesc& f = p_.functions[v.function];
    if (v.ints.size() > f.slot_count || v.args.size() != f.param_count || v.results.size() != f.result_count) return false;
    for (const InvokeDesc::SlotResult& r : v.slot_results)
      if (r.from >= f.slot_count || r.to >= scope_->slot_count) return false;
    for (const InvokeDesc::SlotResult& r : v.list_args)
      if (r.from >= scope_->list_count || r.to >= f.list_count) return false;
    for (const InvokeDesc::SlotResult& r : v.list_results)
      if (r.from >= f.list_count || r.to >= scope_->list_count) return false;
    return fits(v.ints) && fits(v.args) && fits(v.results);
  }

  bool is_operand(char letter, uint32_t v) const {
    switch (letter) {
      case 'f': return v < p_.shape_programs.size();
      case 'e': return v < kMaxEpochs;
      case 'k': return v < p_.calls.size();
      case 'x': return v < p_.externs.size();
      case 'y': return v < p_.copies.size();
      case 'r': return v < p_.reads.size();
      case 'g': return v < p_.reserves.size();
      case 'm': return v < p_.fails.size();
      case 'v': return v < p_.invokes.size();
      case 's': return v < scope_->slot_count;
      case 'j': return v >= scope_->first && v <= scope_->last;
      default: return true;
    }
  }

  bool buffers_fit() {
    for (uint32_t i = scope_->first_buffer; i < scope_->first_buffer + scope_->buffer_count; ++i) {
      const BufferDesc& b = p_.buffers[i];
      if (!fits(b.bytes) || b.first < scope_->first || b.last > scope_->last)
        return fail("buffer", i, "does not fit its function");
    }
    return true;
  }
  bool instructions_fit() {
    for (size_t i = scope_->first; i <= scope_->last; ++i) {
      const Instr& in = p_.code[i];
      const OpcodeRow& row = kOpcodes[static_cast<size_t>(in.op)];
      if (!is_operand(row.operands[0], in.a) || !is_operand(row.operands[1], in.b) || !is_operand(row.operands[2], in.c) ||
          !entry_fits(in))
        return fail("instruction", i, std::string("(") + row.name + ") has an operand out of range");
    }
    if (falls_through(p_.code[scope_->last].op)) return fail("instruction", scope_->last, "is the last but falls through");
    return true;
  }

  bool loops() {
    for (size_t i = 0; i < p_.loops.size(); ++i) {
      const LoopDesc& l = p_.loops[i];
      const bool fits = std::any_of(scopes_.begin(), scopes_.end(), [&](const CodeScope& s) {
        return s.first <= l.first && l.first <= l.last && l.last <= s.last && l.index < s.slot_count;
      });
      if (!fits) return fail("loop", i, "has a bad range or index");
    }
    return true;
  }

  // ---- buffers

  bool is_usable(const Arg& a, size_t at, const Epochs& planned) const {
    if (a.kind != Arg::Kind::Buffer) return true;
    const BufferDesc& b = p_.buffers[a.index];
    return planned.has(b.epoch) && b.first <= at && at <= b.last;
  }
  bool are_usable(const std::vector<Arg>& args, size_t at, const Epochs& planned) const {
    return std::all_of(args.begin(), args.end(), [&](const Arg& a) { return is_usable(a, at, planned); });
  }
  bool uses_fit(size_t at, const Epochs& planned) const {
    const Instr& in = p_.code[at];
    switch (in.op) {
      case Opcode::Call: return are_usable(p_.calls[in.a].args, at, planned);
      case Opcode::Extern:
        return are_usable(p_.externs[in.a].inputs, at, planned) && are_usable(p_.externs[in.a].outputs, at, planned);
      case Opcode::Copy: return is_usable(p_.copies[in.a].from, at, planned) && is_usable(p_.copies[in.a].to, at, planned);
      case Opcode::Read: return is_usable(p_.reads[in.a].from, at, planned);
      case Opcode::Invoke:
        return are_usable(p_.invokes[in.a].args, at, planned) && are_usable(p_.invokes[in.a].results, at, planned);
      default: return true;
    }
  }

  size_t epoch_count() const {
    uint32_t most = 0;
    for (size_t i = scope_->first; i <= scope_->last; ++i)
      if (p_.code[i].op == Opcode::Plan) most = std::max(most, p_.code[i].a);
    for (uint32_t b = 0; b < scope_->buffer_count; ++b) most = std::max(most, p_.buffers[scope_->first_buffer + b].epoch);
    return size_t{most} + 1;
  }

  // Instructions that are entered at the first and left after the last only.
  struct Block {
    size_t first = 0;
    bool reached = false, queued = false;
    Epochs before{};
  };
  // The blocks of the scope in order; `block_of` gives the number of the one that begins at an instruction.
  std::vector<Block> blocks(std::vector<uint32_t>& block_of) const {
    const size_t first = scope_->first, n = scope_->last + 1 - first;
    std::vector<bool> begins(n + 1);
    begins[0] = true;
    for (size_t i = 0; i < n; ++i) {
      const Instr& in = p_.code[first + i];
      if (jumps(in.op)) begins[in.a - first] = true;
      if (jumps(in.op) || !falls_through(in.op)) begins[i + 1] = true;
    }
    std::vector<Block> out;
    block_of.assign(n, 0);
    for (size_t i = 0; i < n; ++i) {
      if (!begins[i]) continue;
      block_of[i] = static_cast<uint32_t>(out.size());
      out.push_back({.first = first + i});
    }
    return out;
  }

  // Forward data flow: the epochs planned on every path to each block, the intersection where paths meet.
  bool buffer_uses() {
    std::vector<uint32_t> block_of, todo;
    std::vector<Block> all = blocks(block_of);
    const size_t epochs = epoch_count();
    if (all.size() > kMostStateBits / epochs) return fail("code of", scope_->first, "has too many branches for its epochs");
    auto flow = [&](size_t to, const Epochs& state) {
      Block& b = all[block_of[to - scope_->first]];
      if (b.reached && !b.before.intersect(state)) return;
      if (!b.reached) b.before = state;
      b.reached = true;
      if (!b.queued) todo.push_back(block_of[to - scope_->first]);
      b.queued = true;
    };
    auto end_of = [&](size_t block) { return block + 1 < all.size() ? all[block + 1].first : size_t{scope_->last} + 1; };
    flow(scope_->first, Epochs(epochs));
    while (!todo.empty()) {
      const size_t block = todo.back(), end = end_of(block);
      todo.pop_back();
      all[block].queued = false;
      Epochs state = all[block].before;
      for (size_t at = all[block].first; at < end; ++at)
        if (p_.code[at].op == Opcode::Plan) state.plan(p_.code[at].a);
      const Instr& last = p_.code[end - 1];
      if (falls_through(last.op)) flow(end, state);
      if (jumps(last.op)) flow(last.a, state);
    }
    for (size_t block = 0; block < all.size(); ++block) {
      if (!all[block].reached) continue;
      Epochs state = std::move(all[block].before);
      for (size_t at = all[block].first; at < end_of(block); ++at) {
        if (!uses_fit(at, state)) return fail("instruction", at, "uses a buffer that holds nothing there");
        if (p_.code[at].op == Opcode::Plan) state.plan(p_.code[at].a);
      }
    }
    return true;
  }

  const Program& p_;
  std::string& error_;
  std::vector<CodeScope> scopes_;
  const CodeScope* scope_ = nullptr;
};

}  // namespace

std::vector<CodeScope> code_scopes(const Program& p) {
  std::vector<CodeScope> out;
  CodeScope entry;
  entry.last = (p.functions.empty() ? static_cast<uint32_t>(p.code.size()) : p.functions[0].first) - 1;
  entry.slot_count = p.slot_count;
  entry.grow_count = p.grow_count;
  entry.list_count = p.list_count;
  entry.buffer_count = p.functions.empty() ? static_cast<uint32_t>(p.buffers.size()) : p.functions[0].first_buffer;
  out.push_back(entry);
  for (const FunctionDesc& f : p.functions)
    out.push_back({f.first, f.last, f.slot_count, f.grow_count, f.first_buffer, f.buffer_count, f.param_count,
                   f.result_count, f.list_count, false});
  return out;
}

bool verify_code(const Program& program, std::string& error) { return CodeVerifier(program, error).run(); }

}  // namespace pliant::artifact
