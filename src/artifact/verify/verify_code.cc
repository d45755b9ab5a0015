#include "artifact/verify/verify_code.h"

#include <algorithm>
#include <vector>

#include "artifact/verify/verify.h"
#include "artifact/verify/verify_flow.h"

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

class CodeVerifier {
 public:
  CodeVerifier(const Program& program, const NativeEntries& entries, std::string& error)
      : p_(program), entries_(entries), error_(error), scopes_(code_scopes(program)) {}

  bool run() {
    for (const CodeScope& s : scopes_) {
      scope_ = &s;
      if (!buffers_fit() || !instructions_fit()) return false;
    }
    return loops() && verify_flow(p_, entries_, scopes_, error_);
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
      case Opcode::Shape: return shape_fits(in.a);
      case Opcode::Call: {
        const CallDesc& c = p_.calls[in.a];
        return fits(c.args) && fits(c.ints) && fits(c.tasks) && fits(c.work) && fits(c.scratch);
      }
      case Opcode::Library: return library_call_fits(p_.library_calls[in.a]);
      case Opcode::Copy: return fits(p_.copies[in.a].from) && fits(p_.copies[in.a].to) && fits(p_.copies[in.a].bytes);
      case Opcode::Read: return fits(p_.reads[in.a].from) && p_.reads[in.a].slot < scope_->slot_count;
      case Opcode::Reserve: return fits(p_.reserves[in.a].to) && fits(p_.reserves[in.a].bytes);
      case Opcode::Fail: return fits(p_.fails[in.a].values);
      case Opcode::Invoke: return invoke_fits(p_.invokes[in.a]);
      default: return true;
    }
  }
  bool shape_fits(uint32_t index) const {
    for (const Check& c : p_.shape_programs[index].checks)
      if (!fits(c.a) || !fits(c.b)) return false;
    auto exist = [&](const std::vector<uint32_t>& slots) {
      return std::all_of(slots.begin(), slots.end(), [&](uint32_t s) { return s < scope_->slot_count; });
    };
    const Entry* entry = entries_.shapes[index];
    return entry == nullptr || (exist(entry->reads) && exist(entry->writes));
  }
  bool library_call_fits(const LibraryCallDesc& e) const {
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
      case 'x': return v < p_.library_calls.size();
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

  const Program& p_;
  const NativeEntries& entries_;
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

bool verify_code(const Program& program, const NativeEntries& entries, std::string& error) {
  return CodeVerifier(program, entries, error).run();
}

}  // namespace pliant::artifact
