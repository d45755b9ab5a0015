#include "loop/scalar_code.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "expr/scalar/fold.h"

namespace pliant::loop {

using expr::AtomKind;
using expr::BinaryOp;
using expr::ScalarKind;

namespace {
constexpr Reg kNone = UINT32_MAX;

template <class T>
T get(const std::byte* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
float f32(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
uint64_t bits_of(float v) { return std::bit_cast<uint32_t>(v); }
uint64_t bits_of(int64_t v) { return static_cast<uint64_t>(v); }
}  // namespace

uint64_t read_element(const std::byte* p, DType t) {
  switch (t) {
    case DType::Bool: return get<uint8_t>(p) != 0;
    case DType::I8: return bits_of(int64_t{get<int8_t>(p)});
    case DType::I16: return bits_of(int64_t{get<int16_t>(p)});
    case DType::I32: return bits_of(int64_t{get<int32_t>(p)});
    case DType::U8: return get<uint8_t>(p);
    case DType::U16:
    case DType::F16:
    case DType::BF16: return get<uint16_t>(p);
    case DType::U32:
    case DType::F32: return get<uint32_t>(p);
    case DType::I64:
    case DType::U64:
    case DType::F64: return get<uint64_t>(p);
  }
  return 0;
}

void write_element(std::byte* p, DType t, uint64_t bits) {
  // Little-endian: the low bytes come first.
  std::memcpy(p, &bits, static_cast<size_t>(byte_size(t)));
}

std::byte* Machine::address(const Access& a) const {
  const Memory& m = memories[a.buffer];
  int64_t offset = 0;
  for (size_t k = 0; k < a.index.size(); ++k) {
    auto i = static_cast<int64_t>(regs[a.index[k]]);
    if (i < 0 || i >= m.extents[k]) {
      std::string at;
      for (Reg r : a.index) at += (at.empty() ? "" : ", ") + std::to_string(static_cast<int64_t>(regs[r]));
      std::string shape;
      for (int64_t e : m.extents) shape += (shape.empty() ? "" : ", ") + std::to_string(e);
      PLIANT_CHECK(false) << "kernel " << kernel << " accesses %" << m.buffer->name << "[" << at << "] of shape [" << shape
                          << "]";
    }
    offset += i * m.strides[k];
  }
  return m.data + offset * byte_size(m.buffer->dtype);
}

void Machine::run(const Code& code) {
  uint64_t* r = regs.data();
  for (size_t pc = 0; pc < code.size(); ++pc) {
    const Instr& i = code[pc];
    auto a = static_cast<int64_t>(r[i.a]), b = static_cast<int64_t>(r[i.b]);
    switch (i.op) {
      case Op::AddDim: r[i.dst] = r[i.a] + r[i.b]; break;
      case Op::MulDim: r[i.dst] = r[i.a] * r[i.b]; break;
      case Op::FloorDivDim:
      case Op::ModDim: {
        PLIANT_CHECK(b > 0) << "kernel " << kernel << " divides a size by " << b;
        int64_t rest = a % b;
        if (rest < 0) rest += b;
        r[i.dst] = bits_of(i.op == Op::ModDim ? rest : (a - rest) / b);
        break;
      }
      case Op::MinDim: r[i.dst] = bits_of(std::min(a, b)); break;
      case Op::MaxDim: r[i.dst] = bits_of(std::max(a, b)); break;
      case Op::BroadcastDim:
        PLIANT_CHECK(a == b || a == 1 || b == 1) << "kernel " << kernel << " broadcasts " << a << " with " << b;
        r[i.dst] = bits_of(a == 1 ? b : a);
        break;
      case Op::Load: r[i.dst] = read_element(address(accesses[i.imm]), i.t); break;
      case Op::Unary: r[i.dst] = expr::fold_unary(static_cast<expr::UnaryOp>(i.sub), i.t, r[i.a]); break;
      case Op::Binary: r[i.dst] = expr::fold_binary(static_cast<BinaryOp>(i.sub), i.t, r[i.a], r[i.b]); break;
      case Op::AddF32: r[i.dst] = bits_of(f32(r[i.a]) + f32(r[i.b])); break;
      case Op::SubF32: r[i.dst] = bits_of(f32(r[i.a]) - f32(r[i.b])); break;
      case Op::MulF32: r[i.dst] = bits_of(f32(r[i.a]) * f32(r[i.b])); break;
      case Op::Cast: r[i.dst] = expr::fold_cast(i.to, i.t, r[i.a]); break;
      case Op::Bitcast: r[i.dst] = expr::fold_bitcast(i.to, i.t, r[i.a]); break;
      case Op::Fma: r[i.dst] = expr::fold_fma(i.t, r[i.a], r[i.b], r[i.c]); break;
      case Op::Move: r[i.dst] = r[i.a]; break;
      case Op::Select: r[i.dst] = r[i.a] ? r[i.b] : r[i.c]; break;
      case Op::Jump: pc = i.imm - 1; break;
      case Op::JumpIfZero:
        if (!r[i.a]) pc = i.imm - 1;
        break;
    }
  }
}

Reg CodeBuilder::fresh() {
  machine_.regs.push_back(0);
  return static_cast<Reg>(machine_.regs.size() - 1);
}

Reg CodeBuilder::symbol(SymbolId s) {
  auto [it, added] = symbols_.try_emplace(s, 0);
  if (added) it->second = fresh();
  return it->second;
}

Reg CodeBuilder::constant(uint64_t bits) {
  auto [it, added] = constants_.try_emplace(bits, 0);
  if (added) {
    it->second = fresh();
    machine_.regs[it->second] = bits;
  }
  return it->second;
}

uint32_t CodeBuilder::add_buffer(const Buffer& b) {
  auto at = static_cast<uint32_t>(machine_.memories.size());
  machine_.memories.push_back({&b, nullptr, std::vector<int64_t>(b.shape.size()), std::vector<int64_t>(b.shape.size())});
  buffers_[b.id] = at;
  return at;
}

void CodeBuilder::begin(Code& code) {
  code_ = &code;
  scopes_.assign(1, {});
}

Reg CodeBuilder::emit(Instr i) {
  i.dst = fresh();
  code_->push_back(i);
  return i.dst;
}

Reg CodeBuilder::known(const void* node) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
    if (auto it = scope->find(node); it != scope->end()) return it->second;
  return kNone;
}

Reg CodeBuilder::atom(const expr::Atom& a) {
  if (a.kind == AtomKind::Symbol) return symbol(a.symbol);
  if (Reg r = known(&a); r != kNone) return r;
  Reg result = kNone;
  if (a.kind == AtomKind::Value) {
    result = scalar(Scalar(a.scalar));
  } else {
    Op op = a.kind == AtomKind::FloorDiv ? Op::FloorDivDim
            : a.kind == AtomKind::Mod    ? Op::ModDim
            : a.kind == AtomKind::Min    ? Op::MinDim
            : a.kind == AtomKind::Max    ? Op::MaxDim
                                         : Op::BroadcastDim;
    result = dim(a.args[0]);
    for (size_t k = 1; k < a.args.size(); ++k) result = emit({.op = op, .a = result, .b = dim(a.args[k])});
  }
  scopes_.back()[&a] = result;
  return result;
}

Reg CodeBuilder::dim(Dim d) {
  if (d.is_const()) return constant(bits_of(d.const_value()));
  if (Reg r = known(d.node()); r != kNone) return r;
  Reg sum = kNone;
  for (auto& [monomial, coefficient] : d->terms) {
    Reg product = coefficient != 1 || monomial->factors.empty() ? constant(bits_of(coefficient)) : kNone;
    for (auto& [factor, power] : monomial->factors) {
      Reg f = atom(*factor);
      for (uint32_t k = 0; k < power; ++k) product = product == kNone ? f : emit({.op = Op::MulDim, .a = product, .b = f});
    }
    sum = sum == kNone ? product : emit({.op = Op::AddDim, .a = sum, .b = product});
  }
  scopes_.back()[d.node()] = sum;
  return sum;
}

uint32_t CodeBuilder::access(BufferId id, const std::vector<Dim>& index) {
  Access a{buffers_.at(id), {}};
  for (Dim d : index) a.index.push_back(dim(d));
  machine_.accesses.push_back(std::move(a));
  return static_cast<uint32_t>(machine_.accesses.size() - 1);
}

bool CodeBuilder::may_trap(Dim d) {
  auto [it, added] = traps_.try_emplace(d.node(), false);
  if (!added) return it->second;
  bool trap = false;
  for (auto& term : d->terms)
    for (auto& factor : term.first->factors) {
      const expr::Atom& a = *factor.first;
      if (a.scalar) trap |= may_trap(Scalar(a.scalar));
      if (a.kind == AtomKind::FloorDiv || a.kind == AtomKind::Mod) trap |= !a.args[1].is_const();
      trap |= a.kind == AtomKind::Broadcast;
      for (Dim arg : a.args) trap |= may_trap(arg);
    }
  return traps_[d.node()] = trap;
}

bool CodeBuilder::may_trap(Scalar s) {
  if (s->kind == ScalarKind::Load) return true;
  auto [it, added] = traps_.try_emplace(s.node(), false);
  if (!added) return it->second;
  bool trap = false;
  for (Scalar a : s->args) trap |= may_trap(a);
  for (Dim d : s->index) trap |= may_trap(d);
  return traps_[s.node()] = trap;
}

Reg CodeBuilder::scalar(Scalar s) {
  if (s->kind == ScalarKind::Const) return constant(s->bits);
  if (Reg r = known(s.node()); r != kNone) return r;
  Reg r = compute(s);
  scopes_.back()[s.node()] = r;
  return r;
}

Reg CodeBuilder::guarded_select(Scalar s) {
  Reg condition = scalar(s->args[0]);
  Reg result = fresh();
  auto branch = [&](Scalar value) {
    scopes_.emplace_back();
    Reg r = scalar(value);
    scopes_.pop_back();
    code_->push_back({.op = Op::Move, .dst = result, .a = r});
  };
  size_t to_else = code_->size();
  code_->push_back({.op = Op::JumpIfZero, .a = condition});
  branch(s->args[1]);
  size_t to_end = code_->size();
  code_->push_back({.op = Op::Jump});
  (*code_)[to_else].imm = static_cast<uint32_t>(code_->size());
  branch(s->args[2]);
  (*code_)[to_end].imm = static_cast<uint32_t>(code_->size());
  return result;
}

Reg CodeBuilder::compute(Scalar s) {
  const expr::ScalarNode& n = *s.node();
  switch (n.kind) {
    case ScalarKind::Const: return constant(n.bits);
    case ScalarKind::Index: return dim(n.index[0]);
    case ScalarKind::Load: {
      uint32_t at = access(n.tensor, n.index);
      return emit({.op = Op::Load, .t = n.dtype, .imm = at});
    }
    case ScalarKind::Unary: return emit({.op = Op::Unary, .sub = n.op, .t = n.args[0].dtype(), .a = scalar(n.args[0])});
    case ScalarKind::Binary: {
      Instr i{.op = Op::Binary, .sub = n.op, .t = n.args[0].dtype(), .a = scalar(n.args[0]), .b = scalar(n.args[1])};
      if (i.t == DType::F32) {
        if (n.binary() == BinaryOp::Add) i.op = Op::AddF32;
        if (n.binary() == BinaryOp::Sub) i.op = Op::SubF32;
        if (n.binary() == BinaryOp::Mul) i.op = Op::MulF32;
      }
      return emit(i);
    }
    case ScalarKind::Select: {
      if (may_trap(n.args[1]) || may_trap(n.args[2])) return guarded_select(s);
      Reg a = scalar(n.args[0]), b = scalar(n.args[1]), c = scalar(n.args[2]);
      return emit({.op = Op::Select, .a = a, .b = b, .c = c});
    }
    case ScalarKind::Cast:
    case ScalarKind::Bitcast: {
      Op op = n.kind == ScalarKind::Cast ? Op::Cast : Op::Bitcast;
      return emit({.op = op, .t = n.args[0].dtype(), .to = n.dtype, .a = scalar(n.args[0])});
    }
    case ScalarKind::Fma: {
      Reg a = scalar(n.args[0]), b = scalar(n.args[1]), c = scalar(n.args[2]);
      return emit({.op = Op::Fma, .t = n.dtype, .a = a, .b = b, .c = c});
    }
  }
  return kNone;
}

}  // namespace pliant::loop
