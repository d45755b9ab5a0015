#include "artifact/verify.h"

#include <bitset>
#include <vector>

#include "artifact/file.h"

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

class Verifier {
 public:
  Verifier(const Program& program, uint64_t constants_bytes, std::string& error)
      : p_(program), constants_bytes_(constants_bytes), error_(error) {}
  bool run() {
    return sizes() && image() && constants() && descs() && binds() && shapes() && buffers() && calls() && externs() &&
           copies() && reads() && code() && buffer_uses();
  }

 private:
  bool fail(const std::string& what, size_t index, const std::string& fault) {
    error_ = "the program is malformed: " + what + " " + std::to_string(index) + " " + fault;
    return false;
  }
  bool is_valid(const Int& i) const { return !i.is_slot || (i.value >= 0 && i.value < p_.slot_count); }
  bool is_size(const Int& i) const { return is_valid(i) && (i.is_slot || i.value >= 0); }
  bool is_code(uint64_t offset) const { return offset < p_.image.text.size(); }
  bool are_valid(const std::vector<Int>& ints) const {
    for (const Int& i : ints)
      if (!is_valid(i)) return false;
    return true;
  }
  static bool is_tensor(const std::vector<TensorDesc>& of, uint32_t i) {
    return i < of.size() && of[i].kind == TensorDesc::Kind::Tensor;
  }
  bool is_valid(const Arg& a) const {
    size_t n = 0;
    switch (a.kind) {
      case Arg::Kind::Input: return is_tensor(p_.inputs, a.index) && is_size(a.byte_offset);
      case Arg::Kind::Output: return is_tensor(p_.outputs, a.index) && is_size(a.byte_offset);
      case Arg::Kind::Buffer: n = p_.buffers.size(); break;
      case Arg::Kind::Constant: n = p_.constants.size(); break;
    }
    return a.index < n && is_size(a.byte_offset);
  }
  static bool is_writable(const Arg& a) { return a.kind == Arg::Kind::Output || a.kind == Arg::Kind::Buffer; }

  bool sizes() {
    if (p_.slot_count > kMaxSlots) return fail("slot count", p_.slot_count, "is over the limit");
    if (p_.key_slots > p_.slot_count) return fail("key slot count", p_.key_slots, "is over the slot count");
    if (p_.slot_names.size() != p_.key_slots)
      return fail("slot name count", p_.slot_names.size(), "is not the key slot count");
    if (p_.list_count > kMaxLists) return fail("list count", p_.list_count, "is over the limit");
    if (p_.code.empty() || p_.code.size() > kMaxCode) return fail("code size", p_.code.size(), "is out of range");
    return true;
  }

  bool image() {
    const NativeImage& m = p_.image;
    auto pages = [](size_t n) { return (n + kPageBytes - 1) / kPageBytes * kPageBytes; };
    const uint64_t span = pages(m.text.size()) + pages(m.rodata.size()) + pages(m.data.size());
    for (size_t i = 0; i < m.relocations.size(); ++i) {
      const Relocation& r = m.relocations[i];
      if (r.offset % 8 != 0 || m.data.size() < 8 || r.offset > m.data.size() - 8)
        return fail("relocation", i, "lies outside the data");
      if (r.addend >= (r.kind == Relocation::Kind::Image ? span : m.imports.size()))
        return fail("relocation", i, "points outside the image");
    }
    for (size_t i = 0; i < p_.kernels.size(); ++i)
      if (!is_code(p_.kernels[i].code_offset)) return fail("kernel", i, "begins outside the text");
    return true;
  }

  bool constants() {
    for (size_t i = 0; i < p_.constants.size(); ++i) {
      const ConstantDesc& c = p_.constants[i];
      if (c.offset % kConstantAlignment != 0 || c.offset > constants_bytes_ || c.bytes > constants_bytes_ - c.offset)
        return fail("constant", i, "lies outside the constants");
    }
    return true;
  }

  bool axes(const TensorDesc& t) {
    const bool is_list = t.kind != TensorDesc::Kind::Tensor;
    if (t.axes.size() > kMaxRank || (t.any_rank && !t.axes.empty())) return false;
    if (is_list ? t.list >= p_.list_count || t.default_constant != -1 : t.any_rank) return false;
    for (const Axis& a : t.axes) {
      const bool is_any = is_list && !a.size.is_slot && a.size.value == kAnySize;
      if (!is_any && !is_size(a.size)) return false;
    }
    return true;
  }
  bool descs() {
    for (size_t i = 0; i < p_.inputs.size(); ++i) {
      const TensorDesc& t = p_.inputs[i];
      if (!axes(t)) return fail("input", i, "has a bad axis");
      if (t.default_constant == -1) continue;
      if (t.default_constant < 0 || static_cast<size_t>(t.default_constant) >= p_.constants.size())
        return fail("input", i, "has a bad default");
      uint64_t bytes = static_cast<uint64_t>(byte_size(t.dtype));
      for (const Axis& a : t.axes)
        if (a.size.is_slot || __builtin_mul_overflow(bytes, static_cast<uint64_t>(a.size.value), &bytes))
          return fail("input", i, "has a default but no fixed size");
      if (bytes != p_.constants[static_cast<size_t>(t.default_constant)].bytes)
        return fail("input", i, "has a default of another size");
    }
    for (size_t i = 0; i < p_.outputs.size(); ++i)
      if (!axes(p_.outputs[i]) || p_.outputs[i].default_constant != -1)
        return fail("output", i, "has a bad axis or a default");
    return true;
  }

  bool binds() {
    std::vector<bool> bound(p_.key_slots);
    for (size_t i = 0; i < p_.binds.size(); ++i) {
      const Bind& b = p_.binds[i];
      if (b.input >= p_.inputs.size() || b.slot >= p_.key_slots) return fail("bind", i, "names no input or no key slot");
      const TensorDesc& t = p_.inputs[b.input];
      if (t.kind != TensorDesc::Kind::Tensor) return fail("bind", i, "reads an input that is no tensor");
      if (b.is_element ? is_float(t.dtype) : b.axis >= t.axes.size()) return fail("bind", i, "does not fit its input");
      if (b.lo > b.hi || b.multiple_of < 1) return fail("bind", i, "allows no value");
      bound[b.slot] = true;
    }
    for (size_t s = 0; s < bound.size(); ++s)
      if (!bound[s]) return fail("key slot", s, "is bound by nothing");
    return true;
  }

  bool shapes() {
    for (size_t i = 0; i < p_.shape_programs.size(); ++i) {
      const ShapeProgram& s = p_.shape_programs[i];
      if (s.has_code && !is_code(s.code_offset)) return fail("shape program", i, "begins outside the text");
      for (const Check& c : s.checks)
        if (!is_valid(c.a) || !is_valid(c.b)) return fail("shape program", i, "checks a slot that is none");
    }
    return true;
  }

  bool buffers() {
    for (size_t i = 0; i < p_.buffers.size(); ++i) {
      const BufferDesc& b = p_.buffers[i];
      if (!is_size(b.bytes) || b.epoch >= kMaxEpochs || b.first > b.last || b.last >= p_.code.size())
        return fail("buffer", i, "has a bad size, epoch or range");
    }
    return true;
  }

  bool calls() {
    for (size_t i = 0; i < p_.calls.size(); ++i) {
      const CallDesc& c = p_.calls[i];
      if (c.kernel >= p_.kernels.size()) return fail("call", i, "names no kernel");
      for (const Arg& a : c.args)
        if (!is_valid(a)) return fail("call", i, "has a bad argument");
      if (!are_valid(c.ints) || !is_valid(c.tasks) || !is_valid(c.work) || !is_size(c.scratch))
        return fail("call", i, "has a bad integer");
    }
    return true;
  }

  bool externs() {
    for (size_t i = 0; i < p_.externs.size(); ++i) {
      const ExternDesc& e = p_.externs[i];
      if (e.inputs.size() != e.input_shapes.size() || e.inputs.size() != e.input_dtypes.size() ||
          e.outputs.size() != e.output_dtypes.size())
        return fail("runtime call", i, "has lists of different lengths");
      for (const Arg& a : e.inputs)
        if (!is_valid(a)) return fail("runtime call", i, "has a bad input");
      for (const Arg& a : e.outputs)
        if (!is_valid(a) || !is_writable(a)) return fail("runtime call", i, "has a bad output");
      for (const auto& shape : e.input_shapes) {
        if (shape.size() > kMaxRank) return fail("runtime call", i, "has an input of too high a rank");
        if (!are_valid(shape)) return fail("runtime call", i, "has a bad shape");
      }
      if (!are_valid(e.ints)) return fail("runtime call", i, "has a bad integer");
      for (uint32_t s : e.result_slots)
        if (s >= p_.slot_count) return fail("runtime call", i, "gives a result to no slot");
      for (const auto& lists : {e.list_inputs, e.list_outputs})
        for (uint32_t r : lists)
          if (r >= p_.list_count) return fail("runtime call", i, "names no list register");
    }
    return true;
  }

  bool copies() {
    for (size_t i = 0; i < p_.copies.size(); ++i) {
      const CopyDesc& c = p_.copies[i];
      if (!is_valid(c.from) || !is_valid(c.to) || !is_writable(c.to) || !is_size(c.bytes)) return fail("copy", i, "is bad");
    }
    return true;
  }
  bool reads() {
    for (size_t i = 0; i < p_.reads.size(); ++i) {
      const ReadDesc& r = p_.reads[i];
      if (!is_valid(r.from) || is_float(r.dtype) || r.slot >= p_.slot_count) return fail("read", i, "is bad");
    }
    return true;
  }

  bool is_operand(char letter, uint16_t v) const {
    switch (letter) {
      case 'f': return v < p_.shape_programs.size();
      case 'e': return v < kMaxEpochs;
      case 'k': return v < p_.calls.size();
      case 'x': return v < p_.externs.size();
      case 'y': return v < p_.copies.size();
      case 'r': return v < p_.reads.size();
      case 's': return v < p_.slot_count;
      case 'j': return v < p_.code.size();
      default: return true;
    }
  }
  bool code() {
    for (size_t i = 0; i < p_.code.size(); ++i) {
      const Instr& in = p_.code[i];
      const OpcodeRow& row = kOpcodes[static_cast<size_t>(in.op)];
      if (!is_operand(row.operands[0], in.a) || !is_operand(row.operands[1], in.b) || !is_operand(row.operands[2], in.c))
        return fail("instruction", i, std::string("(") + row.name + ") has an operand out of range");
    }
    const Opcode last = p_.code.back().op;
    if (last != Opcode::Return && last != Opcode::Jump)
      return fail("instruction", p_.code.size() - 1, "is the last but falls through");
    return true;
  }

  bool is_usable(const Arg& a, size_t at, const Epochs& planned) const {
    if (a.kind != Arg::Kind::Buffer) return true;
    const BufferDesc& b = p_.buffers[a.index];
    return planned[b.epoch] && b.first <= at && at <= b.last;
  }
  bool are_usable(const std::vector<Arg>& args, size_t at, const Epochs& planned) const {
    for (const Arg& a : args)
      if (!is_usable(a, at, planned)) return false;
    return true;
  }
  bool uses_fit(size_t at, const Epochs& planned) const {
    const Instr& in = p_.code[at];
    switch (in.op) {
      case Opcode::Call: return are_usable(p_.calls[in.a].args, at, planned);
      case Opcode::Extern:
        return are_usable(p_.externs[in.a].inputs, at, planned) && are_usable(p_.externs[in.a].outputs, at, planned);
      case Opcode::Copy: return is_usable(p_.copies[in.a].from, at, planned) && is_usable(p_.copies[in.a].to, at, planned);
      case Opcode::Read: return is_usable(p_.reads[in.a].from, at, planned);
      default: return true;
    }
  }

  // Forward data flow: the epochs planned on every path to each instruction, the intersection where paths meet.
  bool buffer_uses() {
    const size_t n = p_.code.size();
    std::vector<Epochs> before(n);
    std::vector<bool> reached(n), queued(n);
    std::vector<uint32_t> todo;
    auto flow = [&](size_t to, const Epochs& state) {
      const Epochs met = reached[to] ? before[to] & state : state;
      if (reached[to] && met == before[to]) return;
      reached[to] = true;
      before[to] = met;
      if (!queued[to]) todo.push_back(static_cast<uint32_t>(to));
      queued[to] = true;
    };
    flow(0, Epochs());
    while (!todo.empty()) {
      const size_t at = todo.back();
      todo.pop_back();
      queued[at] = false;
      const Instr& in = p_.code[at];
      Epochs state = before[at];
      if (in.op == Opcode::Plan) state.set(in.a);
      if (in.op == Opcode::Return) continue;
      if (in.op != Opcode::Jump) flow(at + 1, state);
      if (in.op == Opcode::Jump || in.op == Opcode::JumpZero) flow(in.a, state);
    }
    for (size_t at = 0; at < n; ++at)
      if (reached[at] && !uses_fit(at, before[at])) return fail("instruction", at, "uses a buffer that holds nothing there");
    return true;
  }

  const Program& p_;
  uint64_t constants_bytes_;
  std::string& error_;
};

}  // namespace

bool verify(const Program& program, uint64_t constants_bytes, std::string& error) {
  return Verifier(program, constants_bytes, error).run();
}

}  // namespace pliant::artifact
