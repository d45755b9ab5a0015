#include "artifact/program_bytes.h"

#include <concepts>
#include <cstring>
#include <type_traits>

namespace pliant::artifact {
namespace {

template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

constexpr int kOpcodeCount = 0
#define PLIANT_OPCODE(name, operands, doc) +1
#include "artifact/opcodes.def"
#undef PLIANT_OPCODE
    ;

// How many enumerators each enum on disk has.
constexpr int limit_of(DType) { return kDTypeCount; }
constexpr int limit_of(Check::Kind) { return 3; }
constexpr int limit_of(Arg::Kind) { return 7; }
constexpr int limit_of(TensorDesc::Kind) { return 4; }
constexpr int limit_of(Opcode) { return kOpcodeCount; }
constexpr int limit_of(Relocation::Kind) { return 2; }

void fields(auto& a, Is<Int> auto& x) { a(x.value, x.is_slot); }
void fields(auto& a, Is<Axis> auto& x) { a(x.size, x.text); }
void fields(auto& a, Is<TensorDesc> auto& x) { a(x.name, x.dtype, x.axes, x.default_constant, x.kind, x.any_rank, x.list); }
void fields(auto& a, Is<Bind> auto& x) { a(x.input, x.axis, x.slot, x.is_element, x.symbol, x.lo, x.hi, x.multiple_of); }
void fields(auto& a, Is<Check> auto& x) { a(x.kind, x.a, x.b, x.where, x.message); }
void fields(auto& a, Is<ShapeProgram> auto& x) { a(x.code_offset, x.has_code, x.checks); }
void fields(auto& a, Is<BufferDesc> auto& x) { a(x.bytes, x.epoch, x.first, x.last); }
void fields(auto& a, Is<ConstantDesc> auto& x) { a(x.offset, x.bytes); }
void fields(auto& a, Is<Arg> auto& x) { a(x.kind, x.index, x.byte_offset); }
void fields(auto& a, Is<TrapDesc> auto& x) { a(x.where, x.message); }
void fields(auto& a, Is<KernelDesc> auto& x) { a(x.name, x.code_offset, x.traps); }
void fields(auto& a, Is<CallDesc> auto& x) { a(x.kernel, x.args, x.ints, x.tasks, x.work, x.scratch, x.where); }
void fields(auto& a, Is<LibraryCallDesc> auto& x) {
  a(x.symbol, x.inputs, x.input_shapes, x.input_dtypes, x.outputs, x.output_dtypes, x.ints, x.result_slots, x.where,
    x.list_inputs, x.list_outputs);
}
void fields(auto& a, Is<CopyDesc> auto& x) { a(x.from, x.to, x.bytes); }
void fields(auto& a, Is<ReadDesc> auto& x) { a(x.from, x.dtype, x.element, x.slot, x.where); }
void fields(auto& a, Is<ReserveDesc> auto& x) { a(x.to, x.bytes, x.where); }
void fields(auto& a, Is<FailDesc> auto& x) { a(x.where, x.message, x.values); }
void fields(auto& a, Is<LoopDesc> auto& x) { a(x.first, x.last, x.index, x.where); }
void fields(auto& a, Is<FunctionDesc> auto& x) {
  a(x.name, x.first, x.last, x.slot_count, x.grow_count, x.first_buffer, x.buffer_count, x.param_count, x.result_count,
    x.list_count);
}
void fields(auto& a, Is<InvokeDesc::SlotResult> auto& x) { a(x.from, x.to); }
void fields(auto& a, Is<InvokeDesc> auto& x) {
  a(x.function, x.ints, x.args, x.results, x.slot_results, x.where, x.list_args, x.list_results);
}
void fields(auto& a, Is<Instr> auto& x) { a(x.op, x.a, x.b, x.c); }
void fields(auto& a, Is<Relocation> auto& x) { a(x.kind, x.offset, x.addend); }
void fields(auto& a, Is<Provenance> auto& x) { a(x.rewrite, x.maker, x.knobs, x.trace); }
void fields(auto& a, Is<KernelDebug> auto& x) { a(x.provenance, x.when, x.predicted_ns); }
void fields(auto& a, Is<DebugTable> auto& x) { a(x.sizes, x.provenance, x.kernels); }
void fields(auto& a, Is<Program> auto& x) {
  a(x.image.target, x.image.features);
  a(x.model, x.producer, x.precision, x.slot_count, x.key_slots, x.slot_names, x.list_count, x.inputs, x.outputs, x.binds,
    x.shape_programs, x.buffers, x.kernels, x.calls, x.library_calls, x.copies, x.reads, x.reserves, x.fails, x.loops,
    x.functions, x.invokes, x.grow_count, x.code, x.constants, x.image.relocations, x.image.imports);
}

class Encoder {
 public:
  std::vector<std::byte> out;
  void operator()(const auto&... xs) { (one(xs), ...); }

 private:
  void varint(uint64_t v) {
    for (; v >= 0x80; v >>= 7) out.push_back(static_cast<std::byte>(v | 0x80));
    out.push_back(static_cast<std::byte>(v));
  }
  template <class T>
  void one(const T& x) {
    if constexpr (std::is_same_v<T, bool> || std::is_enum_v<T>) {
      out.push_back(static_cast<std::byte>(x));
    } else if constexpr (std::is_signed_v<T>) {
      const auto v = static_cast<int64_t>(x);
      varint(static_cast<uint64_t>(v) << 1 ^ static_cast<uint64_t>(v >> 63));
    } else if constexpr (std::is_unsigned_v<T>) {
      varint(x);
    } else {
      fields(*this, x);
    }
  }
  void one(const std::string& s) {
    varint(s.size());
    const auto* p = reinterpret_cast<const std::byte*>(s.data());
    out.insert(out.end(), p, p + s.size());
  }
  template <class T>
  void one(const std::vector<T>& xs) {
    varint(xs.size());
    for (const T& x : xs) one(x);
  }
};

// Stops at the first trap: everything after it leaves its target alone.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : rest_(bytes) {}
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  void operator()(auto&... xs) { (one(xs), ...); }

 private:
  uint8_t byte() {
    if (rest_.empty()) {
      ok_ = false;
      return 0;
    }
    auto v = static_cast<uint8_t>(rest_[0]);
    rest_ = rest_.subspan(1);
    return v;
  }
  uint64_t varint() {
    uint64_t v = 0;
    for (int shift = 0; ok_; shift += 7) {
      uint8_t b = byte();
      if (shift == 63 && b > 1) ok_ = false;
      v |= static_cast<uint64_t>(b & 0x7f) << shift;
      if (b < 0x80) return v;
    }
    return 0;
  }
  // A count of things that take at least one byte each.
  size_t count() {
    uint64_t n = varint();
    if (n > rest_.size()) ok_ = false;
    return ok_ ? n : 0;
  }
  template <class T>
  void one(T& x) {
    if constexpr (std::is_same_v<T, bool>) {
      uint8_t b = byte();
      ok_ = ok_ && b <= 1;
      x = b == 1;
    } else if constexpr (std::is_enum_v<T>) {
      uint8_t b = byte();
      ok_ = ok_ && b < limit_of(T{});
      if (ok_) x = static_cast<T>(b);
    } else if constexpr (std::is_signed_v<T>) {
      uint64_t z = varint();
      auto v = static_cast<int64_t>(z >> 1 ^ (0 - (z & 1)));
      x = static_cast<T>(v);
      ok_ = ok_ && x == v;
    } else if constexpr (std::is_unsigned_v<T>) {
      uint64_t v = varint();
      x = static_cast<T>(v);
      ok_ = ok_ && x == v;
    } else {
      fields(*this, x);
    }
  }
  void one(std::string& s) {
    size_t n = count();
    s.assign(reinterpret_cast<const char*>(rest_.data()), n);
    rest_ = rest_.subspan(n);
  }
  template <class T>
  void one(std::vector<T>& xs) {
    size_t n = count();
    xs.clear();
    for (size_t i = 0; i < n && ok_; ++i) one(xs.emplace_back());
  }

  std::span<const std::byte> rest_;
  bool ok_ = true;
};

}  // namespace

namespace {

std::vector<std::byte> encode(const auto& x) {
  Encoder e;
  e(x);
  return std::move(e.out);
}
bool decode(std::span<const std::byte> bytes, auto& out) {
  Decoder d(bytes);
  d(out);
  return d.ok() && d.at_end();
}

}  // namespace

std::vector<std::byte> encode_tables(const Program& program) { return encode(program); }
bool decode_tables(std::span<const std::byte> bytes, Program& out) { return decode(bytes, out); }
std::vector<std::byte> encode_debug(const DebugTable& debug) { return encode(debug); }
bool decode_debug(std::span<const std::byte> bytes, DebugTable& out) { return decode(bytes, out); }

bool decode_target(std::span<const std::byte> bytes, std::string& target, std::vector<std::string>& features) {
  Decoder d(bytes);
  d(target, features);
  return d.ok();
}

}  // namespace pliant::artifact
