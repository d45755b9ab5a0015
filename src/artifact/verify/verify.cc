#include "artifact/verify/verify.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "artifact/file.h"
#include "artifact/seal.h"
#include "artifact/utf8.h"
#include "artifact/verify/verify_code.h"

namespace pliant::artifact {
namespace {

class Verifier {
 public:
  Verifier(const Program& program, uint64_t constants_bytes, std::string& error)
      : p_(program),
        constants_bytes_(constants_bytes),
        error_(error),
        most_slots_(program.slot_count),
        most_lists_(program.list_count) {
    for (const FunctionDesc& f : program.functions) {
      most_slots_ = std::max(most_slots_, f.slot_count);
      most_lists_ = std::max(most_lists_, f.list_count);
    }
  }
  bool run() {
    return sizes() && image() && constants() && descs() && binds() && shapes() && buffers() && calls() && library_calls() &&
           copies() && reads() && control() && functions() && invokes() && texts() && verify_code(p_, entries_, error_);
  }

 private:
  bool fail(const std::string& what, size_t index, const std::string& fault) {
    error_ = "the program is malformed: " + what + " " + std::to_string(index) + " " + fault;
    return false;
  }
  bool is_valid(const Int& i) const { return !i.is_slot || (i.value >= 0 && i.value < most_slots_); }
  bool is_size(const Int& i) const { return is_valid(i) && (i.is_slot || i.value >= 0); }
  // The record of the function there; null when there is none of that kind.
  const Entry* entry(uint64_t offset, Entry::Kind kind) {
    auto it = entries_.at.find(offset);
    if (it == entries_.at.end()) {
      Entry found;
      if (!find_entry(p_.image.text, offset, found)) return nullptr;
      it = entries_.at.emplace(offset, std::move(found)).first;
    }
    return it->second.kind == kind ? &it->second : nullptr;
  }
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
      case Arg::Kind::Grow:
      case Arg::Kind::Param:
      case Arg::Kind::Result: return is_size(a.byte_offset);  // how many there are depends on the function
    }
    return a.index < n && is_size(a.byte_offset);
  }
  static bool is_writable(const Arg& a) {
    return a.kind == Arg::Kind::Output || a.kind == Arg::Kind::Buffer || a.kind == Arg::Kind::Grow ||
           a.kind == Arg::Kind::Result;
  }

  bool sizes() {
    if (most_slots_ > kMaxSlots) return fail("slot count", most_slots_, "is over the limit");
    if (p_.key_slots > p_.slot_count) return fail("key slot count", p_.key_slots, "is over the slot count");
    if (p_.slot_names.size() != p_.key_slots)
      return fail("slot name count", p_.slot_names.size(), "is not the key slot count");
    if (p_.grow_count > kMaxGrows) return fail("growable block count", p_.grow_count, "is over the limit");
    if (most_lists_ > kMaxLists) return fail("list count", most_lists_, "is over the limit");
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
    if (!is_sealed(m)) return fail("image of", m.text.size(), "bytes of text is not the one that was linked");
    for (size_t i = 0; i < p_.kernels.size(); ++i) {
      entries_.kernels.push_back(entry(p_.kernels[i].code_offset, Entry::Kind::Kernel));
      if (entries_.kernels.back() == nullptr) return fail("kernel", i, "begins where no kernel does");
    }
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
      if (is_any) continue;
      if (!is_size(a.size) || (is_list && a.size.is_slot)) return false;
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
      entries_.shapes.push_back(s.has_code ? entry(s.code_offset, Entry::Kind::Shape) : nullptr);
      if (s.has_code && entries_.shapes.back() == nullptr) return fail("shape program", i, "begins where none does");
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
      const Entry& kernel = *entries_.kernels[c.kernel];
      if (c.args.size() != kernel.args || c.ints.size() != kernel.ints)
        return fail("call", i, "has another number of arguments or integers than its kernel");
      for (size_t k = 0; k < c.args.size(); ++k)
        if (kernel.writes_to[k] && !is_writable(c.args[k])) return fail("call", i, "has a result that may not be written");
      if (!are_valid(c.ints) || !is_valid(c.tasks) || !is_valid(c.work) ||
          !std::all_of(c.scratch.begin(), c.scratch.end(), [&](const Int& bytes) { return is_size(bytes); }))
        return fail("call", i, "has a bad integer");
    }
    return true;
  }

  bool library_calls() {
    for (size_t i = 0; i < p_.library_calls.size(); ++i) {
      const LibraryCallDesc& e = p_.library_calls[i];
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
        if (s >= most_slots_) return fail("runtime call", i, "gives a result to no slot");
      for (const auto& lists : {e.list_inputs, e.list_outputs})
        for (uint32_t r : lists)
          if (r >= most_lists_) return fail("runtime call", i, "names no list register");
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
      if (!is_valid(r.from) || is_float(r.dtype) || r.slot >= most_slots_) return fail("read", i, "is bad");
    }
    return true;
  }

  bool control() {
    for (size_t i = 0; i < p_.reserves.size(); ++i) {
      const ReserveDesc& r = p_.reserves[i];
      const bool grows = r.to.kind == Arg::Kind::Grow || r.to.kind == Arg::Kind::Result;
      if (!grows || !is_valid(r.to) || !is_size(r.bytes)) return fail("reserve", i, "is bad");
    }
    for (size_t i = 0; i < p_.fails.size(); ++i)
      if (!are_valid(p_.fails[i].values) || p_.fails[i].values.size() > kMaxFailValues)
        return fail("fail", i, "has bad values");
    return true;
  }

  // What messages and descriptions are made of.
  bool texts() {
    std::vector<std::string_view> all{p_.model, p_.producer, p_.precision, p_.image.target};
    for (const std::string& s : p_.slot_names) all.push_back(s);
    for (const auto* tensors : {&p_.inputs, &p_.outputs})
      for (const TensorDesc& t : *tensors) {
        all.push_back(t.name);
        for (const Axis& a : t.axes) all.push_back(a.text);
      }
    for (const Bind& b : p_.binds) all.push_back(b.symbol);
    for (const ShapeProgram& s : p_.shape_programs)
      for (const Check& c : s.checks) all.insert(all.end(), {c.where, c.message});
    for (const KernelDesc& k : p_.kernels) {
      all.push_back(k.name);
      for (const TrapDesc& f : k.traps) all.insert(all.end(), {f.where, f.message});
    }
    for (const CallDesc& c : p_.calls) all.push_back(c.where);
    for (const LibraryCallDesc& e : p_.library_calls) all.insert(all.end(), {e.symbol, e.where});
    for (const ReadDesc& r : p_.reads) all.push_back(r.where);
    for (const ReserveDesc& r : p_.reserves) all.push_back(r.where);
    for (const FailDesc& f : p_.fails) all.insert(all.end(), {f.where, f.message});
    for (const LoopDesc& l : p_.loops) all.push_back(l.where);
    for (const FunctionDesc& f : p_.functions) all.push_back(f.name);
    for (const InvokeDesc& v : p_.invokes) all.push_back(v.where);
    for (size_t i = 0; i < all.size(); ++i)
      if (!is_text(all[i])) return fail("text", i, "is not UTF-8");
    return true;
  }

  // The functions' code and buffers follow the entry's and each other's without gaps.
  bool functions() {
    size_t code = p_.functions.empty() ? p_.code.size() : p_.functions[0].first;
    size_t buffers = p_.functions.empty() ? p_.buffers.size() : p_.functions[0].first_buffer;
    if (code == 0) return fail("function", 0, "leaves no code to the entry");
    for (size_t i = 0; i < p_.functions.size(); ++i) {
      const FunctionDesc& f = p_.functions[i];
      if (f.first != code || f.last < f.first || f.last >= p_.code.size())
        return fail("function", i, "has a bad code range");
      if (f.first_buffer != buffers || buffers > p_.buffers.size() || f.buffer_count > p_.buffers.size() - buffers)
        return fail("function", i, "has a bad range of buffers");
      if (f.grow_count > kMaxGrows || f.param_count > kMaxGrows || f.result_count > kMaxGrows)
        return fail("function", i, "has too many params, results or growable blocks");
      code = f.last + size_t{1};
      buffers += f.buffer_count;
    }
    if (code != p_.code.size() || buffers != p_.buffers.size())
      return fail("function count", p_.functions.size(), "does not cover the code and the buffers");
    return true;
  }
  bool invokes() {
    for (size_t i = 0; i < p_.invokes.size(); ++i) {
      const InvokeDesc& v = p_.invokes[i];
      if (v.function >= p_.functions.size() || !are_valid(v.ints)) return fail("invoke", i, "names no function or slot");
      for (const Arg& a : v.args)
        if (!is_valid(a)) return fail("invoke", i, "has a bad argument");
      for (const Arg& a : v.results)
        if (!is_valid(a) || !is_writable(a)) return fail("invoke", i, "has a bad result");
    }
    return true;
  }

  const Program& p_;
  uint64_t constants_bytes_;
  std::string& error_;
  NativeEntries entries_;
  uint32_t most_slots_;  // of any function
  uint32_t most_lists_;
};

}  // namespace

bool verify(const Program& program, uint64_t constants_bytes, std::string& error) {
  return Verifier(program, constants_bytes, error).run();
}

}  // namespace pliant::artifact
