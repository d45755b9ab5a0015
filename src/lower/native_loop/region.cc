#include "lower/native_loop/region.h"

#include <algorithm>

#include "graph/kernel.h"
#include "loop/walk.h"
#include "lower/stages.h"
#include "lower/version.h"
#include "lower/view.h"

namespace pliant::lower {

using graph::Node;
using graph::ValueId;

namespace {
// What stays on the stack: one value, and all of a function.
constexpr int64_t kLocalBytes = 4096, kAllLocalBytes = 64 * 1024;
}  // namespace

loop::StmtPtr Block::finish() const {
  std::vector<loop::StmtPtr> after;  // last first
  for (size_t i = items_.size(); i-- > 0;) {
    const loop::Stmt& s = *items_[i];
    const bool declares = (s.kind == loop::StmtKind::Let || s.kind == loop::StmtKind::Alloc) &&
                          s.body[0]->kind == loop::StmtKind::Block && s.body[0]->body.empty();
    if (!declares) {
      after.push_back(items_[i]);
      continue;
    }
    after = {loop::with_body(items_[i], {loop::make_block({after.rbegin(), after.rend()})})};
  }
  return loop::make_block({after.rbegin(), after.rend()});
}

RegionLowering::RegionLowering(const LoweringContext& in)
    : f_(in.function),
      constants_(&in.constants),
      ctx_(in.ctx),
      target_(in.target),
      options_(in.options),
      memo_(in.memo),
      bounds_(in.ctx),
      reach_{true, in.ctx.constant(1)},
      outer_bytes_(in.ctx.constant(0)) {}

Error RegionLowering::not_native(const Node& n, const std::string& why) {
  return make_error(kNotNative, describe(n.loc), why);
}

Error RegionLowering::unbounded(const Node& n, const std::string& what, Dim size) {
  return not_native(
      n, what + " " + size.str() + " has no bound that is known before the loop, or a bound that a run may not need");
}

// ---- places

Dim RegionLowering::elements_of(ValueId v) const { return product(ctx_, f_.tensor_type(v).shape); }

std::string RegionLowering::name_of(ValueId v) const {
  const std::string& name = f_.value(v).name;
  return name.empty() ? "v" + std::to_string(v) : name;
}

Place RegionLowering::place_of_constant(const graph::ConstantPtr& c) {
  auto it = constant_places_.find(c.get());
  if (it != constant_places_.end()) return it->second;
  const std::string name = c->name.empty() ? "c" + std::to_string(constant_places_.size()) : c->name;
  const Place p = add_param(name, c->dtype, ctx_.constant(graph::element_count(*c)), {.constant = c});
  params_.back().is_constant = true;
  constant_places_[c.get()] = p;
  return p;
}

Place RegionLowering::place_of(ValueId v) {
  if (auto it = places_.find(v); it != places_.end()) return it->second;
  const graph::ConstantPtr c = constants_[v];
  // If no constant, a value of an enclosing scope that the function does not compute.
  return places_[v] =
             c ? place_of_constant(c) : add_param(name_of(v), f_.tensor_type(v).dtype, elements_of(v), {.value = v});
}

Place RegionLowering::add_param(const std::string& name, DType t, Dim elements, KernelArg arg) {
  params_.push_back(loop::make_buffer(ctx_, name, t, {elements}, loop::Scope::Param));
  args_.push_back(std::move(arg));
  return {params_.back().id, ctx_.constant(0)};
}

bool RegionLowering::fits_local(DType t, Dim elements) const {
  return elements.is_const() && elements.const_value() * byte_size(t) <= kLocalBytes &&
         local_bytes_ + elements.const_value() * byte_size(t) <= kAllLocalBytes;
}

bool RegionLowering::fits_registers(DType t, Dim elements) const {
  return fits_local(t, elements) && elements.const_value() * byte_size(t) <= kUnrolledVectors * target_.vector_bytes;
}

Place RegionLowering::new_local(const std::string& name, DType t, int64_t elements, Block& out) {
  // Whole vectors: a masked store blends with what is there.
  const int64_t lanes = target_.vector_bytes / byte_size(t);
  const int64_t room = elements <= 1 ? 1 : (elements + lanes - 1) / lanes * lanes;
  loop::Buffer b = make_local(ctx_, name, t, room);
  const Place p{b.id, ctx_.constant(0)};
  local_bytes_ += room * byte_size(t);
  locals_.insert(b.id);
  out.declare(std::move(b));
  return p;
}

Result<Place> RegionLowering::new_buffer(const Node& n, const std::string& name, DType t, const graph::Shape& shape,
                                         Block& out) {
  const Dim elements = product(ctx_, shape);
  if (fits_local(t, elements)) return new_local(name, t, elements.const_value(), out);
  const std::optional<Dim> room = room_for(shape, t, reach_);
  if (!room) return unbounded(n, "a value of", elements);
  return declare(name, t, *room, out);
}

Place RegionLowering::declare(const std::string& name, DType t, Dim room, Block& out) {
  loop::Buffer b = loop::make_buffer(ctx_, name, t, {room}, loop::Scope::Scratch);
  const Place p{b.id, ctx_.constant(0)};
  out.declare(std::move(b));
  return p;
}

Result<Place> RegionLowering::define(const Node& n, ValueId v, Block& out) {
  auto planned = destinations_.find(v);
  const Place p = planned != destinations_.end()
                      ? planned->second
                      : TRY(new_buffer(n, name_of(v), f_.tensor_type(v).dtype, f_.tensor_type(v).shape, out));
  return places_[v] = p;
}

// ---- nodes

Status RegionLowering::lower_nodes(const std::vector<Node>& nodes, Block& out) {
  for (const Node& n : nodes) TRY(lower_node_here(n, out));
  return ok();
}

Status RegionLowering::lower_node_here(const Node& n, Block& out) {
  for (const auto* values : {&n.inputs, &n.outputs})
    for (ValueId v : *values)
      if (v != graph::kNoValue && !f_.value(v).type.tensor())
        return not_native(n, n.op + " works on values other than tensors");
  if (n.op == "core.const") {
    constants_.set(n.outputs[0], n.attrs.constant("value"));
    return ok();
  }
  if (n.op == "core.read_dims") return lower_read(n, out);
  if (n.op == "core.if") return lower_if(n, out);
  if (n.op == "core.loop") return lower_loop(n, out);
  if (n.op == "core.require") return lower_require(n, out);
  if (n.op == "core.fail") {
    const Scalar never = expr::make_const_int(ctx_, DType::Bool, 0);
    out.add(make_check_here(never, n.attrs.string_or("message", "the model stops here"), n.loc, {}));
    return ok();
  }
  if (n.op == "core.call") return not_native(n, "it calls a function");
  if (n.outputs.size() == 1 && appends_.count(n.outputs[0])) return lower_append(n, out);
  if (auto view = view_of(n, f_, ctx_)) {
    ValueId from = n.inputs[0], to = n.outputs[0];
    if (view->is_whole() && constants_[from]) constants_.set(to, with_shape(constants_[from], f_.tensor_type(to)));
    Place p = place_of(from);
    std::optional<Dim> offset = ctx_.divide_exact(view->byte_offset, ctx_.constant(byte_size(f_.tensor_type(from).dtype)));
    PLIANT_CHECK(offset) << "a view that starts inside an element";
    places_[to] = Place{p.buffer, p.offset + *offset};
    return ok();
  }
  if (!graph::is_kernel(n)) {
    const ops::OpDef* op = ops::find_op(n.op);
    PLIANT_CHECK(op) << "an unknown operator " << n.op << " at " << describe(n.loc);
    if (!op->compute) return not_native(n, n.op + " has no loop nest");
  }
  return lower_kernels(n, out);
}

// Where nothing else is known, an axis is taken to have one element.
int64_t RegionLowering::least_work(Dim work) const {
  auto size = [&](SymbolId s) -> std::optional<int64_t> {
    const expr::SymbolInfo& info = ctx_.info(s);
    return info.likely.empty() ? std::max<int64_t>(info.lo, 1) : info.likely[0];
  };
  return std::clamp<int64_t>(expr::evaluate(work, size).value_or(0), 0, int64_t{1} << 40);
}

std::vector<artifact::Provenance> RegionLowering::provenance_of(const char* maker) const {
  std::vector<artifact::Provenance> out{{.maker = maker}};
  out.insert(out.end(), parts_.begin(), parts_.end());
  return out;
}

Status RegionLowering::lower_kernels(const Node& n, Block& out) {
  LoweredNode low = TRY(lower_node({f_, constants_, ctx_, target_, options_, memo_}, n));
  PLIANT_CHECK(low.reads.empty()) << n.op << " reads symbols";
  derivation_ += low.derivation;
  for (const LoweredKernel& k : low.kernels) {
    if (options_.derivations) derivation_ += describe(k);
    parts_.insert(parts_.end(), k.provenance.begin(), k.provenance.end());
    if (!k.when.empty()) parts_.back().maker += " when " + print(k.when);
  }
  for (ValueId v : n.outputs)
    if (v != graph::kNoValue) TRY(define(n, v, out));
  Block inner;  // the node's temporaries are its own
  std::vector<Place> temporaries;
  for (const Temporary& t : low.temporaries) temporaries.push_back(TRY(new_buffer(n, "t", t.dtype, t.shape, inner)));
  for (const LoweredKernel& k : low.kernels) {
    std::vector<Place> params;
    for (const KernelArg& a : k.args) {
      params.push_back(a.constant         ? place_of_constant(a.constant)
                       : a.temporary >= 0 ? temporaries[static_cast<size_t>(a.temporary)]
                                          : place_of(a.value));
      if (a.offset) params.back().offset = params.back().offset + a.offset;
    }
    inner.add(TRY(inline_kernel(n, k, params)));
    work_ += least_work(k.work);
  }
  out.add(inner.finish());
  return ok();
}

Status RegionLowering::lower_read(const Node& n, Block& out) {
  const std::vector<Dim> symbols = n.attrs.dims_or("symbols", {});
  const DType t = f_.tensor_type(n.inputs[0]).dtype;
  for (size_t k = 0; k < symbols.size(); ++k) {
    auto s = symbols[k].as_symbol();
    PLIANT_CHECK(s) << "core.read_dims defines " << symbols[k].str();
    bind(*s, expr::value(load(place_of(n.inputs[0]), t, ctx_.constant(static_cast<int64_t>(k)))), out);
  }
  return ok();
}

Status RegionLowering::lower_require(const Node& n, Block& out) {
  graph::ShapeConstraint o = graph::constraint_of(n);
  Scalar holds;
  switch (o.kind) {
    case graph::ShapeConstraint::Kind::Equal: holds = expr::equal(o.a, o.b); break;
    case graph::ShapeConstraint::Kind::LessEqual: holds = expr::less_equal(o.a, o.b); break;
    case graph::ShapeConstraint::Kind::Broadcast:
      holds = expr::make_binary(expr::BinaryOp::Or, expr::equal(o.a, ctx_.constant(1)), expr::equal(o.a, o.b));
      break;
  }
  std::string message = o.message;
  auto name = [&](const std::string& from, const std::string& to) {
    for (size_t at = message.find(from); at != std::string::npos; at = message.find(from, at + to.size()))
      message.replace(at, from.size(), to);
  };
  name("{a}", "{0}");
  name("{b}", "{1}");
  out.add(make_check_here(holds, message, n.loc, {o.a, o.b}));
  return ok();
}

// The carried value is where the result starts; the pieces that are not there yet are copied behind it.
Status RegionLowering::lower_append(const Node& n, Block& out) {
  Place whole = appends_.at(n.outputs[0]);
  Dim at = elements_of(n.inputs[0]);
  for (size_t k = 1; k < n.inputs.size(); ++k) {
    ValueId piece = n.inputs[k];
    Place to{whole.buffer, whole.offset + at}, from = place_of(piece);
    if (from != to) out.add(copy(from, to, f_.tensor_type(piece).dtype, elements_of(piece)));
    at = at + elements_of(piece);
  }
  places_[n.outputs[0]] = whole;
  return ok();
}

}  // namespace pliant::lower
