#include "artifact/verify_code.h"

#include <algorithm>
#include <bitset>

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

using Epochs = std::bitset<kMaxEpochs>;

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
    // There is one set of list registers, not one a call in flight.
    if (!scope_->is_entry && !(e.list_inputs.empty() && e.list_outputs.empty())) return false;
    return fits(e.inputs) && fits(e.outputs) && fits(e.ints);
  }
  bool invoke_fits(const InvokeDesc& v) const {
    const FunctionDesc& f = p_.functions[v.function];
    if (v.ints.size() > f.slot_count || v.args.size() != f.param_count || v.results.size() != f.result_count) return false;
    for (const InvokeDesc::SlotResult& r : v.slot_results)
      if (r.from >= f.slot_count || r.to >= scope_->slot_count) return false;
    return fits(v.ints) && fits(v.args) && fits(v.results);
  }

  bool is_operand(char letter, uint16_t v) const {
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
    return planned[b.epoch] && b.first <= at && at <= b.last;
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

  // Forward data flow: the epochs planned on every path to each instruction, the intersection where paths meet. Planning an
  // epoch ends those with higher numbers, which an earlier iteration had planned.
  bool buffer_uses() {
    const size_t first = scope_->first, n = scope_->last + 1 - first;
    std::vector<Epochs> before(n);
    std::vector<bool> reached(n), queued(n);
    std::vector<uint32_t> todo;
    auto flow = [&](size_t to, const Epochs& state) {
      to -= first;
      const Epochs met = reached[to] ? before[to] & state : state;
      if (reached[to] && met == before[to]) return;
      reached[to] = true;
      before[to] = met;
      if (!queued[to]) todo.push_back(static_cast<uint32_t>(to));
      queued[to] = true;
    };
    flow(first, Epochs());
    while (!todo.empty()) {
      const size_t at = todo.back();
      todo.pop_back();
      queued[at] = false;
      const Instr& in = p_.code[first + at];
      Epochs state = before[at];
      if (in.op == Opcode::Plan) {
        const size_t above = kMaxEpochs - in.a - 1u;
        state = (state << above) >> above;
        state.set(in.a);
      }
      if (falls_through(in.op)) flow(first + at + 1, state);
      if (jumps(in.op)) flow(in.a, state);
    }
    for (size_t at = 0; at < n; ++at)
      if (reached[at] && !uses_fit(first + at, before[at]))
        return fail("instruction", first + at, "uses a buffer that holds nothing there");
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
  entry.buffer_count = p.functions.empty() ? static_cast<uint32_t>(p.buffers.size()) : p.functions[0].first_buffer;
  out.push_back(entry);
  for (const FunctionDesc& f : p.functions)
    out.push_back(
        {f.first, f.last, f.slot_count, f.grow_count, f.first_buffer, f.buffer_count, f.param_count, f.result_count, false});
  return out;
}

bool verify_code(const Program& program, std::string& error) { return CodeVerifier(program, error).run(); }

}  // namespace pliant::artifact
