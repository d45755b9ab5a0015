#include "artifact/disassemble.h"

#include <algorithm>

namespace pliant::artifact {
namespace {

constexpr const char* kNames[] = {
#define PLIANT_OPCODE(name, operands, doc) #name,
#include "artifact/opcodes.def"
#undef PLIANT_OPCODE
};
constexpr size_t kNameWidth = 12;

std::string text(const Int& i) { return (i.is_slot ? "s" : "") + std::to_string(i.value); }
std::string text(uint32_t n) { return std::to_string(n); }
std::string slot_text(uint32_t s) { return "s" + std::to_string(s); }

std::string text(const Arg& a) {
  static constexpr const char* kKinds[] = {"input", "output", "buffer", "constant", "grow", "param", "result"};
  std::string out = kKinds[static_cast<size_t>(a.kind)];
  out += " " + std::to_string(a.index);
  if (a.byte_offset != imm(0)) out += "+" + text(a.byte_offset);
  return out;
}

template <class T>
std::string list(const char* name, const std::vector<T>& items) {
  if (items.empty() && name[0] != 0) return "";
  std::string out = (name[0] != 0 ? " " : "") + std::string(name) + "(";
  for (size_t i = 0; i < items.size(); ++i) out += (i > 0 ? ", " : "") + text(items[i]);
  return out + ")";
}
class Disassembler {
 public:
  explicit Disassembler(const Program& p)
      : p_(p), end_buffer_(p.functions.empty() ? static_cast<uint32_t>(p.buffers.size()) : p.functions[0].first_buffer) {}

  std::string run() {
    std::string out;
    for (uint32_t at = 0; at < p_.code.size(); ++at) {
      for (const FunctionDesc& f : p_.functions) {
        if (f.first != at) continue;
        out += "function " + f.name + "\n";
        first_buffer_ = f.first_buffer;
        end_buffer_ = f.first_buffer + f.buffer_count;
      }
      const Instr& in = p_.code[at];
      const std::string number = std::to_string(at);
      std::string name = kNames[static_cast<size_t>(in.op)];
      std::string line = std::string(number.size() < 5 ? 5 - number.size() : 0, ' ') + number + "  ";
      const std::string rest = operands(in);
      if (!rest.empty()) name.resize(std::max(name.size() + 1, kNameWidth), ' ');
      out += line + name + rest + "\n";
    }
    return out;
  }

 private:
  static std::string where(const std::string& place) { return place.empty() ? "" : " " + place; }
  static std::string assign(const Instr& in, const char* op) {
    return slot_text(in.a) + " = " + slot_text(in.b) + " " + op + " " + slot_text(in.c);
  }
  std::string shape(const Instr& in) const {
    std::string out = std::to_string(in.a);
    for (const Check& c : p_.shape_programs[in.a].checks) {
      static constexpr const char* kRelations[] = {" == ", " <= ", " broadcasts to "};
      out += " check(" + text(c.a) + kRelations[static_cast<size_t>(c.kind)] + text(c.b) + ")";
    }
    return out;
  }
  // With the buffers of the function that the instruction belongs to.
  std::string plan(const Instr& in) const {
    std::string out = std::to_string(in.a);
    for (uint32_t b = first_buffer_; b < end_buffer_; ++b)
      if (p_.buffers[b].epoch == in.a) out += " buffer " + std::to_string(b) + "[" + text(p_.buffers[b].bytes) + "]";
    return out;
  }
  std::string call(const CallDesc& c) const {
    return p_.kernels[c.kernel].name + list("", c.args) + list("ints", c.ints) + where(c.where);
  }
  std::string call_library(const LibraryCallDesc& e) const {
    std::string out = e.symbol + list("", e.inputs) + " ->" + list("", e.outputs) + list("ints", e.ints);
    out += list("lists", e.list_inputs) + list("to lists", e.list_outputs);
    for (uint32_t s : e.result_slots) out += " " + slot_text(s);
    return out + where(e.where);
  }
  std::string invoke(const InvokeDesc& v) const {
    std::string out = p_.functions[v.function].name + list("", v.args) + " ->" + list("", v.results) + list("ints", v.ints);
    for (const InvokeDesc::SlotResult& r : v.slot_results) out += " " + slot_text(r.to) + " = its " + slot_text(r.from);
    for (const InvokeDesc::SlotResult& l : v.list_args)
      out += " its list " + std::to_string(l.to) + " = list " + std::to_string(l.from);
    for (const InvokeDesc::SlotResult& l : v.list_results)
      out += " list " + std::to_string(l.to) + " = its list " + std::to_string(l.from);
    return out + where(v.where);
  }
  std::string read(const ReadDesc& r) const {
    return slot_text(r.slot) + " = element " + std::to_string(r.element) + " of " + text(r.from);
  }

  std::string operands(const Instr& in) const {
    switch (in.op) {
      case Opcode::Shape: return shape(in);
      case Opcode::Plan: return plan(in);
      case Opcode::Call: return call(p_.calls[in.a]);
      case Opcode::Library: return call_library(p_.library_calls[in.a]);
      case Opcode::Copy:
        return text(p_.copies[in.a].to) + " = " + text(p_.copies[in.a].from) + " bytes " + text(p_.copies[in.a].bytes);
      case Opcode::Read: return read(p_.reads[in.a]);
      case Opcode::LoadImm: return slot_text(in.a) + " = " + std::to_string(static_cast<int32_t>(in.b));
      case Opcode::Move: return slot_text(in.a) + " = " + slot_text(in.b);
      case Opcode::Add: return assign(in, "+");
      case Opcode::Sub: return assign(in, "-");
      case Opcode::Mul: return assign(in, "*");
      case Opcode::Less: return assign(in, "<");
      case Opcode::AddImm:
        return slot_text(in.a) + " = " + slot_text(in.b) + " + " + std::to_string(static_cast<int32_t>(in.c));
      case Opcode::Jump: return std::to_string(in.a);
      case Opcode::JumpZero: return std::to_string(in.a) + " unless " + slot_text(in.b);
      case Opcode::JumpNotLess: return std::to_string(in.a) + " unless " + slot_text(in.b) + " < " + slot_text(in.c);
      case Opcode::Next: return std::to_string(in.a) + " while ++" + slot_text(in.b) + " < " + slot_text(in.c);
      case Opcode::Reserve: return text(p_.reserves[in.a].to) + " bytes " + text(p_.reserves[in.a].bytes);
      case Opcode::Fail: return "\"" + p_.fails[in.a].message + "\"" + where(p_.fails[in.a].where);
      case Opcode::Invoke: return invoke(p_.invokes[in.a]);
      case Opcode::Return: return "";
    }
    return "";
  }

  const Program& p_;
  uint32_t first_buffer_ = 0, end_buffer_;
};

}  // namespace

std::string disassemble(const Program& program) { return Disassembler(program).run(); }

}  // namespace pliant::artifact
