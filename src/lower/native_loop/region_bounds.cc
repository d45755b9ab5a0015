// The symbols that a native loop binds, and bounds of sizes over the symbols that are known before it.
#include <algorithm>

#include "lower/native_loop/region.h"

namespace pliant::lower {

using graph::Node;
using graph::ValueId;

namespace {

// What the node's regions make and what they, and the node, use.
void collect_values(const Node& n, std::set<ValueId>& made, std::set<ValueId>& used) {
  used.insert(n.inputs.begin(), n.inputs.end());
  for (const auto& r : n.regions) {
    made.insert(r->params.begin(), r->params.end());
    used.insert(r->results.begin(), r->results.end());
    for (const Node& inner : r->nodes) {
      made.insert(inner.outputs.begin(), inner.outputs.end());
      collect_values(inner, made, used);
    }
  }
}

}  // namespace

void RegionLowering::bind(SymbolId s, Dim value, Block& out) {
  if (bound_.insert(s).second) out.bind(s, value);
}

void RegionLowering::add_inner(SymbolId s) {
  const expr::SymbolInfo& info = ctx_.info(s);
  bounds_.add(s, expr::SizeBounds::Kind::Data,
              info.hi == expr::kNoLimit ? info.upper : std::optional<Dim>(ctx_.constant(info.hi)));
}

// Axes of `v` that are symbols of their own: no value of `from` has them.
void RegionLowering::add_fresh(ValueId v, const std::vector<ValueId>& from, size_t skipped_axes,
                               const std::set<SymbolId>& known) {
  if (!f_.value(v).type.tensor()) return;
  const graph::Shape& shape = f_.tensor_type(v).shape;
  for (size_t a = skipped_axes; a < shape.size(); ++a) {
    auto s = shape[a].as_symbol();
    bool has = !s || known.count(*s);
    for (ValueId x : from) {
      if (has || !f_.value(x).type.tensor()) continue;
      const graph::Shape& other = f_.tensor_type(x).shape;
      has = a - skipped_axes < other.size() && other[a - skipped_axes] == shape[a];
    }
    if (!has) add_inner(*s);
  }
}

void RegionLowering::collect_inner(const Node& n) {
  if (n.op == "core.read_dims")
    for (Dim d : n.attrs.dims_or("symbols", {})) add_inner(*d.as_symbol());
  if (n.op == "core.if") {
    graph::IfParts parts = graph::if_parts(n);
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      std::vector<ValueId> from;
      for (const graph::Region* r : {parts.then, parts.otherwise})
        if (!graph::diverges(*r)) from.push_back(r->results[i]);
      add_fresh(n.outputs[i], from, 0, {});
    }
  }
  if (n.op == "core.loop") {
    graph::LoopParts parts = graph::loop_parts(n);
    const SymbolId index = *parts.index.as_symbol();
    const bool idle = !graph::is_unconditional(f_, parts);
    std::set<SymbolId> known{index};
    std::optional<Dim> last, trip;
    if (parts.trip) {
      trip = max(ctx_.constant(0), *parts.trip);
      last = *trip - 1;
      for (SymbolId s : expr::symbols_of(*parts.trip)) known.insert(s);
    }
    bounds_.add(index, idle ? expr::SizeBounds::Kind::Idle : expr::SizeBounds::Kind::Index, last);
    if (idle) {
      const SymbolId count = *parts.count.as_symbol();
      bounds_.add(count, expr::SizeBounds::Kind::Idle, trip);
      known.insert(count);
    }
    for (size_t i = 0; i < parts.carried; ++i) {
      add_fresh(parts.body->params[i], {parts.init(n, i)}, 0, known);
      add_fresh(n.outputs[i], {parts.init(n, i)}, 0, known);
    }
    for (size_t i = 0; i < parts.scans && !graph::diverges(*parts.body); ++i)
      add_fresh(n.outputs[parts.carried + i], {parts.scan(i)}, 1, known);
  }
  for (const auto& r : n.regions)
    for (const Node& inner : r->nodes) collect_inner(inner);
}

void RegionLowering::measure_outer(const Node& n) {
  std::set<ValueId> made, used(n.outputs.begin(), n.outputs.end());
  collect_values(n, made, used);
  for (ValueId v : used) {
    if (v == graph::kNoValue || made.count(v) || !f_.value(v).type.tensor()) continue;
    const graph::TensorType& t = f_.tensor_type(v);
    const bool known = std::all_of(t.shape.begin(), t.shape.end(), [&](Dim d) {
      return bounds_.is_outer(d) && ctx_.proves_less_equal(ctx_.constant(0), d);
    });
    if (known) outer_bytes_ = outer_bytes_ + product(ctx_, t.shape) * byte_size(t.dtype);
  }
}

std::optional<graph::Shape> RegionLowering::room_of(const graph::Shape& shape, DType t, const Reach& reach) const {
  for (const bool limits : {false, true}) {
    expr::SizeBounds::Query q{limits};
    graph::Shape room;
    for (Dim d : shape) {
      std::optional<Dim> b = bounds_.upper(d, q);
      if (!b) break;
      if (!ctx_.proves_less_equal(ctx_.constant(0), *b)) b = max(*b, ctx_.constant(0));
      room.push_back(*b);
    }
    if (room.size() < shape.size()) continue;
    const Dim elements = product(ctx_, room);
    if (ctx_.range(elements).hi <= kSmallRoom / byte_size(t)) return room;
    if (reach.certain && q.is_reached) {
      if (!room.empty()) room[0] = room[0] * reach.factor;
      return room;
    }
    if (ctx_.proves_less_equal(elements * byte_size(t), outer_bytes_ * kSpareRoom + kSmallRoom)) return room;
  }
  return std::nullopt;
}

std::optional<Dim> RegionLowering::room_for(const graph::Shape& shape, DType t, const Reach& reach) const {
  std::optional<graph::Shape> room = room_of(shape, t, reach);
  return room ? std::optional<Dim>(product(ctx_, *room)) : std::nullopt;
}

RegionLowering::Reach RegionLowering::reach_of_body(const graph::LoopParts& parts) const {
  Reach out = reach_;
  if (parts.condition != graph::kNoValue) {
    const std::optional<bool> known = graph::constant_condition(f_, parts.condition);
    out.certain = out.certain && known.value_or(false);
  }
  if (!parts.trip || ctx_.proves_less(ctx_.constant(0), *parts.trip)) return out;
  expr::SizeBounds::Query q{true};
  std::optional<Dim> trip = bounds_.upper(*parts.trip, q);
  if (trip && q.is_reached)
    out.factor = out.factor * min(ctx_.constant(1), max(ctx_.constant(0), *trip));
  else
    out.certain = false;
  return out;
}

RegionLowering::Reach RegionLowering::reach_of_branch(const graph::IfParts& parts, bool then) const {
  Reach out = reach_;
  if (!parts.cond || !bounds_.is_outer(*parts.cond)) {
    out.certain = false;
    return out;
  }
  const Dim runs = min(ctx_.constant(1), max(*parts.cond, -*parts.cond));
  out.factor = out.factor * (then ? runs : 1 - runs);
  return out;
}

}  // namespace pliant::lower
