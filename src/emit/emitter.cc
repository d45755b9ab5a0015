#include "emit/emitter.h"

#include <algorithm>

#include "lower/view.h"
#include "graph/visit.h"

namespace pliant::emit {

Emitter::Emitter(const graph::Function& f, expr::Context& ctx, const codegen::Target& target, const Options& options)
    : f_(f), ctx_(ctx), target_(target), options_(options), slots_(ctx), storage_(f.values.size()) {
  constants_.by_value.resize(f.values.size());
}

Result<Emitted> Emitter::run() {
  bind_inputs();
  TRY(begin_epoch());
  plan_results();
  TRY(emit_nodes(f_.nodes));
  finish_results();
  append(Opcode::Return);
  finish_tables();
  return std::move(out_);
}

size_t Emitter::append(Opcode op, size_t a, size_t b, size_t c) {
  PLIANT_CHECK(a < 65536 && b < 65536 && c < 65536 && prog().code.size() < 65535)
      << "a program of more than 65535 instructions";
  artifact::Instr i;
  i.op = op;
  i.a = static_cast<uint16_t>(a);
  i.b = static_cast<uint16_t>(b);
  i.c = static_cast<uint16_t>(c);
  prog().code.push_back(i);
  return prog().code.size() - 1;
}

void Emitter::add_bind(uint32_t input, uint32_t axis, expr::SymbolId s, bool is_element) {
  if (slots_.knows(s)) return;
  const expr::SymbolInfo& info = ctx_.info(s);
  artifact::Bind b;
  b.input = input;
  b.axis = axis;
  b.slot = slots_.add_symbol(s, 0);
  b.is_element = is_element;
  b.symbol = info.name;
  b.lo = info.lo;
  b.hi = info.hi;
  b.multiple_of = info.multiple_of;
  prog().binds.push_back(b);
  prog().slot_names.push_back(info.name);
}

void Emitter::bind_inputs() {
  for (uint32_t i = 0; i < f_.params.size(); ++i) {
    const TensorType& t = f_.tensor_type(f_.params[i]);
    for (uint32_t a = 0; a < t.shape.size(); ++a)
      if (auto s = t.shape[a].as_symbol()) add_bind(i, a, *s, false);
  }
  for (expr::SymbolId s : graph::symbols_of(f_, ctx_)) {
    const expr::Origin& o = ctx_.info(s).origin;
    if (o.kind != expr::Origin::Kind::InputValue) continue;
    for (uint32_t i = 0; i < f_.params.size(); ++i)
      if (f_.value(f_.params[i]).name == o.name) add_bind(i, static_cast<uint32_t>(o.axis), s, true);
  }
  prog().key_slots = slots_.count();
  for (uint32_t i = 0; i < f_.params.size(); ++i) {
    ValueId v = f_.params[i];
    const TensorType& t = f_.tensor_type(v);
    artifact::TensorDesc d;
    d.name = f_.value(v).name;
    d.dtype = t.dtype;
    for (Dim x : t.shape) d.axes.push_back(axis_of(x));
    if (i < f_.default_values.size() && f_.default_values[i])
      d.default_constant = static_cast<int32_t>(constant_index(f_.default_values[i]));
    prog().inputs.push_back(std::move(d));
    storage_[v] = {Arg::Kind::Input, i, ctx_.constant(0), true};
  }
}

Status Emitter::begin_epoch() {
  epoch_ = static_cast<uint32_t>(prog().shape_programs.size());
  prog().shape_programs.emplace_back();
  append(Opcode::Shape, epoch_);
  for (size_t i = 0; i < f_.obligations.size(); ++i) {
    const graph::Obligation& o = f_.obligations[i];
    if (required_.count(i) || !all_known(o.a) || !all_known(o.b)) continue;
    required_.insert(i);
    artifact::Check c;
    c.kind = o.kind == graph::Obligation::Kind::Equal       ? artifact::Check::Kind::Equal
             : o.kind == graph::Obligation::Kind::LessEqual ? artifact::Check::Kind::LessEqual
                                                            : artifact::Check::Kind::Broadcast;
    c.a = slots_.of(o.a);
    c.b = slots_.of(o.b);
    c.where = describe(o.loc);
    c.message = o.message;
    prog().shape_programs[epoch_].checks.push_back(std::move(c));
  }
  append(Opcode::Plan, epoch_);
  return ok();
}

bool Emitter::all_known(Dim d) const {
  for (expr::SymbolId s : expr::symbols_of(d))
    if (!slots_.knows(s)) return false;
  return true;
}

uint32_t Emitter::constant_index(const graph::ConstantPtr& c) {
  auto it = constant_ids_.find(c.get());
  if (it != constant_ids_.end()) return it->second;
  auto id = static_cast<uint32_t>(out_.constants.size());
  out_.constants.push_back(c);
  constant_ids_[c.get()] = id;
  return id;
}

Storage Emitter::new_buffer(Dim bytes) {
  artifact::BufferDesc b;
  b.bytes = slots_.of(bytes);
  PLIANT_CHECK(slots_.epoch_of(bytes) <= epoch_) << "a buffer whose size is not known yet";
  b.epoch = epoch_;
  b.first = b.last = static_cast<uint32_t>(prog().code.size());
  prog().buffers.push_back(b);
  return {Arg::Kind::Buffer, static_cast<uint32_t>(prog().buffers.size() - 1), ctx_.constant(0), true};
}

Storage Emitter::define_value(ValueId v, bool may_be_direct) {
  const TensorType& t = f_.tensor_type(v);
  auto it = direct_.find(v);
  if (may_be_direct && it != direct_.end())
    storage_[v] = it->second;
  else
    storage_[v] = new_buffer(bytes_of(t.dtype, t.shape));
  return storage_[v];
}

Arg Emitter::arg_of(const Storage& s) {
  PLIANT_CHECK(s.known) << "a value without storage";
  Arg a;
  a.kind = s.kind;
  a.index = s.index;
  a.byte_offset = slots_.of(s.offset);
  if (s.kind == Arg::Kind::Buffer) {
    artifact::BufferDesc& b = prog().buffers[s.index];
    b.last = std::max(b.last, static_cast<uint32_t>(prog().code.size()));
  }
  return a;
}

Arg Emitter::arg_of_value(ValueId v) {
  if (!storage_[v].known && constants_.by_value[v])
    storage_[v] = {Arg::Kind::Constant, constant_index(constants_.by_value[v]), ctx_.constant(0), true};
  return arg_of(storage_[v]);
}

Result<Emitted> emit(const graph::Function& f, expr::Context& ctx, const codegen::Target& target, const Options& options) {
  return Emitter(f, ctx, target, options).run();
}

}  // namespace pliant::emit
