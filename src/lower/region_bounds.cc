// The symbols that a native loop binds, and bounds of sizes over the symbols that are known before it.
#include "lower/region.h"

namespace pliant::lower {

using graph::Node;
using graph::ValueId;

void RegionLowering::bind(SymbolId s, Dim value, Block& out) {
  if (bound_.insert(s).second) out.bind(s, value);
}

void RegionLowering::add_inner(SymbolId s) {
  const expr::SymbolInfo& info = ctx_.info(s);
  inner_[s] = info.hi == expr::kNoLimit ? info.upper : std::optional<Dim>(ctx_.constant(info.hi));
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
    add_inner(index);
    std::set<SymbolId> known{index};
    if (parts.trip) {
      inner_[index] = max(ctx_.constant(0), *parts.trip) - 1;
      for (SymbolId s : expr::symbols_of(*parts.trip)) known.insert(s);
    }
    if (!graph::is_unconditional(f_, parts)) {
      const SymbolId count = *parts.count.as_symbol();
      add_inner(count);
      if (parts.trip) inner_[count] = max(ctx_.constant(0), *parts.trip);
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

bool RegionLowering::uses_inner(Dim d) const {
  for (SymbolId s : expr::symbols_of(d))
    if (inner_.count(s)) return true;
  return false;
}

std::optional<Dim> RegionLowering::upper_bound(Dim d) const {
  if (!expr::loads_of(expr::make_index(d)).empty()) return std::nullopt;
  for (int round = 0; round < 16; ++round) {
    if (!uses_inner(d)) return d;
    bool changed = false;
    for (SymbolId s : expr::symbols_of(d)) {
      auto it = inner_.find(s);
      if (it == inner_.end()) continue;
      std::optional<Dim> c = expr::coefficient_of(d, s);
      if (!c) continue;
      if (ctx_.proves_less_equal(ctx_.constant(0), *c) && it->second) {
        d = expr::substitute(d, {{s, *it->second}});
      } else if (ctx_.proves_less_equal(*c, ctx_.constant(0))) {
        d = expr::substitute(d, {{s, ctx_.constant(ctx_.info(s).lo)}});
      } else {
        continue;
      }
      changed = true;
      break;
    }
    if (!changed) return bound_terms(d);
  }
  return std::nullopt;
}

// Term by term: factors that are not negative grow with what they are made of.
std::optional<Dim> RegionLowering::bound_terms(Dim d) const {
  Dim sum = ctx_.constant(0);
  for (const auto& [monomial, coefficient] : d->terms) {
    Dim term = ctx_.constant(coefficient);
    for (const auto& [atom, power] : monomial->factors) {
      std::optional<Dim> b = bound_atom(*atom);
      if (!b || (coefficient < 0 && uses_inner(*b))) return std::nullopt;
      for (uint32_t k = 0; k < power; ++k) term = term * *b;
    }
    sum = sum + term;
  }
  return sum;
}

std::optional<Dim> RegionLowering::bound_atom(const expr::Atom& a) const {
  if (a.kind == expr::AtomKind::Symbol) {
    Dim s = ctx_.symbol_dim(a.symbol);
    auto it = inner_.find(a.symbol);
    if (it == inner_.end()) return s;
    if (!it->second || ctx_.range(s).lo < 0) return std::nullopt;
    return upper_bound(*it->second);
  }
  if (a.kind == expr::AtomKind::Value || a.kind == expr::AtomKind::Broadcast) return std::nullopt;
  std::vector<Dim> args;
  for (Dim x : a.args) {
    std::optional<Dim> b = upper_bound(x);
    if (!b) return std::nullopt;
    args.push_back(*b);
  }
  switch (a.kind) {
    case expr::AtomKind::FloorDiv:
      if (!a.args[1].is_const()) return std::nullopt;
      return floordiv(args[0], args[1]);
    case expr::AtomKind::Mod: return uses_inner(a.args[1]) ? std::nullopt : std::optional<Dim>(args[1] - 1);
    default: break;
  }
  Dim out = args[0];
  for (size_t k = 1; k < args.size(); ++k) out = a.kind == expr::AtomKind::Min ? min(out, args[k]) : max(out, args[k]);
  return out;
}

}  // namespace pliant::lower
