#include "bufferize/bufferizer.h"

#include <algorithm>

#include "graph/visit.h"
#include "lower/view.h"

namespace pliant::bufferize {

namespace {
constexpr int64_t kSmallBuffer = int64_t{1} << 16;
}  // namespace

Bufferizer::Bufferizer(const graph::Function& f, ModuleState& unit)
    : f_(f),
      unit_(unit),
      ctx_(unit.ctx),
      target_(unit.target),
      options_(unit.options),
      slots_(unit.ctx),
      storage_(f.values.size()) {}

Status Bufferizer::run_entry() {
  bind_inputs();
  begin_epoch();
  plan_results(Arg::Kind::Output);
  TRY(bufferize_nodes(f_.nodes));
  finish_results();
  finish_function(module().functions[0]);
  return ok();
}

void Bufferizer::add_bind(uint32_t input, uint32_t axis, expr::SymbolId s, bool is_element) {
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
  module().binds.push_back(b);
  module().key_names.push_back(info.name);
}

void Bufferizer::bind_inputs() {
  for (uint32_t i = 0; i < f_.params.size(); ++i) {
    if (is_list(f_.params[i])) continue;
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
  out_.given_slots = slots_.count();
  for (uint32_t i = 0; i < f_.params.size(); ++i) {
    ValueId v = f_.params[i];
    module().inputs.push_back(describe_value(v, f_.value(v).name));
    if (is_list(v)) continue;
    artifact::TensorDesc& d = module().inputs.back();
    if (i < f_.default_values.size() && f_.default_values[i])
      d.default_constant = static_cast<int32_t>(constant_index(f_.default_values[i]));
    storage_[v] = {Arg::Kind::Input, i, ctx_.constant(0), true};
  }
}

artifact::TensorDesc Bufferizer::describe_value(ValueId v, const std::string& name) {
  artifact::TensorDesc d;
  d.name = name;
  if (is_list(v)) {
    describe_list(d, v);
    return d;
  }
  const TensorType& t = f_.tensor_type(v);
  d.dtype = t.dtype;
  for (Dim x : t.shape) d.axes.push_back(axis_of(x));
  return d;
}

uint32_t Bufferizer::new_epoch() {
  out_.epochs.emplace_back();
  return static_cast<uint32_t>(out_.epochs.size()) - 1;
}

void Bufferizer::add_check(uint32_t epoch, const graph::ShapeConstraint& o) {
  artifact::Check c;
  c.kind = o.kind == graph::ShapeConstraint::Kind::Equal       ? artifact::Check::Kind::Equal
           : o.kind == graph::ShapeConstraint::Kind::LessEqual ? artifact::Check::Kind::LessEqual
                                                               : artifact::Check::Kind::Broadcast;
  // Numbers of elements that wrapped round could seem equal.
  const bool counts = o.kind == graph::ShapeConstraint::Kind::Equal;
  c.a = counts ? slots_.size_of(o.a) : slots_.of(o.a);
  c.b = counts ? slots_.size_of(o.b) : slots_.of(o.b);
  c.where = describe(o.loc);
  c.message = o.message;
  out_.epochs[epoch].checks.push_back(std::move(c));
}

void Bufferizer::add_constraints(uint32_t epoch) {
  std::vector<size_t> ready;
  auto ask = [&](size_t i) {
    const graph::ShapeConstraint& o = f_.constraints[i];
    std::optional<expr::SymbolId> unknown = first_unknown(o.a);
    if (!unknown) unknown = first_unknown(o.b);
    (unknown ? waiting_[*unknown] : ready).push_back(i);
  };
  for (size_t i = 0; !waits_ && i < f_.constraints.size(); ++i) ask(i);
  waits_ = true;
  for (; waited_for_ < slots_.known().size(); ++waited_for_) {
    auto waiting = waiting_.extract(slots_.known()[waited_for_]);
    if (waiting.empty()) continue;
    for (size_t i : waiting.mapped()) ask(i);
  }
  std::sort(ready.begin(), ready.end());
  for (size_t i : ready) add_check(epoch, f_.constraints[i]);
}

void Bufferizer::start_epoch(uint32_t epoch) {
  epoch_ = epoch;
  add(host::Shape{epoch});
  add_constraints(epoch);
  add(host::Plan{epoch});
}

void Bufferizer::begin_epoch() { start_epoch(new_epoch()); }

std::optional<expr::SymbolId> Bufferizer::first_unknown(Dim d) const {
  for (expr::SymbolId s : expr::symbols_of(d))
    if (!slots_.knows(s)) return s;
  return std::nullopt;
}
bool Bufferizer::all_known(const TensorType& t) const {
  return std::all_of(t.shape.begin(), t.shape.end(), [&](Dim d) { return all_known(d); });
}

uint32_t Bufferizer::constant_index(const graph::ConstantPtr& c) {
  auto it = unit_.constant_ids.find(c.get());
  if (it != unit_.constant_ids.end()) return it->second;
  auto id = static_cast<uint32_t>(unit_.out.constants.size());
  unit_.out.constants.push_back(c);
  module().constants.push_back(static_cast<int64_t>(c->bytes));
  unit_.constant_ids[c.get()] = id;
  return id;
}

// A buffer belongs to the epoch in which its size becomes known, so that a loop does not plan it again in every iteration:
// unless code between there and here may not run, where the size means nothing and may be any number. Small buffers of one
// size are there in any case.
Storage Bufferizer::new_buffer(Dim bytes) {
  host::Buffer b;
  b.bytes = slots_.size_of(bytes);
  const uint32_t known = slots_.epoch_of(bytes);
  PLIANT_CHECK(known <= epoch_) << "a buffer whose size is not known yet";
  const bool is_small = bytes.is_const() && bytes.const_value() >= 0 && bytes.const_value() <= kSmallBuffer;
  const bool is_nonnegative = ctx_.proves_less_equal(ctx_.constant(0), bytes);
  b.epoch = is_small ? known : is_nonnegative ? std::max(known, first_epoch_) : epoch_;
  const auto number = static_cast<uint32_t>(out_.buffers.size());
  out_.buffers.push_back(b);
  add(host::Alloc{number});
  return {Arg::Kind::Buffer, number, ctx_.constant(0), true};
}

Dim Bufferizer::memory_of(DType t, const std::vector<Dim>& shape) {
  const Dim zero = ctx_.constant(0);
  std::vector<Dim> sizes = shape, unproved;
  for (Dim& d : sizes) {
    if (ctx_.proves_less_equal(zero, d)) continue;
    unproved.push_back(min(d, zero));
    d = max(d, zero);
  }
  if (unproved.size() < 2) return bytes_of(t, shape);
  Dim bytes = bytes_of(t, sizes);
  for (Dim d : unproved) bytes = bytes + d;
  return bytes;
}

const Storage* Bufferizer::place_planned_for(ValueId v) const {
  auto it = direct_.find(v);
  if (it == direct_.end()) return nullptr;
  const Storage& to = it->second;
  return to.kind != Arg::Kind::Output || all_known(f_.tensor_type(f_.results[to.index])) ? &to : nullptr;
}

Storage Bufferizer::define_value(ValueId v, bool may_be_direct) {
  const TensorType& t = f_.tensor_type(v);
  const Storage* planned = may_be_direct ? place_planned_for(v) : nullptr;
  storage_[v] = planned != nullptr ? *planned : new_buffer(memory_of(t.dtype, t.shape));
  return storage_[v];
}

Arg Bufferizer::arg_of(const Storage& s) {
  PLIANT_CHECK(s.known) << "a value without storage";
  return {s.kind, s.index, slots_.of(s.offset)};
}

const Storage& Bufferizer::storage_of(ValueId v) {
  if (!storage_[v].known && constants_[v])
    storage_[v] = {Arg::Kind::Constant, constant_index(constants_[v]), ctx_.constant(0), true};
  PLIANT_CHECK(storage_[v].known) << "value " << v << " has no storage";
  return storage_[v];
}

Arg Bufferizer::arg_of_value(ValueId v) { return arg_of(storage_of(v)); }

void Bufferizer::copy(const Storage& from, const Storage& to, Dim bytes) {
  if (from == to || bytes.is_const(0)) return;
  add(host::Copy{{arg_of(from), arg_of(to), slots_.size_of(bytes)}});
}

void Bufferizer::reserve(const Storage& to, Dim bytes, const LocPtr& loc) {
  if (to.kind != Arg::Kind::Grow && to.kind != Arg::Kind::Result) return;
  artifact::ReserveDesc r;
  r.to = arg_of(to);
  r.to.byte_offset = artifact::imm(0);
  r.bytes = slots_.size_of(bytes);
  r.where = describe(loc);
  add(host::Reserve{std::move(r)});
}

uint32_t Bufferizer::read_slot(ValueId v, uint32_t element, const LocPtr& loc, uint32_t slot) {
  artifact::ReadDesc r;
  r.from = arg_of_value(v);
  r.dtype = f_.tensor_type(v).dtype;
  r.element = element;
  r.slot = slot;
  r.where = describe(loc);
  add(host::Read{std::move(r)});
  return slot;
}

}  // namespace pliant::bufferize
