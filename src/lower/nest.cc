#include "lower/nest.h"

#include <algorithm>
#include <cctype>

namespace pliant::lower {

Dim flat_offset(expr::Context& ctx, const std::vector<Dim>& shape, const std::vector<Dim>& index) {
  PLIANT_CHECK(shape.size() == index.size())
      << "a load of rank " << index.size() << " from a tensor of rank " << shape.size();
  return loop::offset_of(ctx, row_major(ctx, shape), index);
}

Scalar flatten_loads(expr::Context& ctx, Scalar s, const ShapeTable& shapes) {
  return expr::substitute(s, {}, [&](Scalar load) {
    auto it = shapes.find(load->tensor);
    PLIANT_CHECK(it != shapes.end()) << "a load of tensor " << load->tensor << ", whose shape is not known here";
    return expr::make_load(ctx, load->tensor, load->dtype, {flat_offset(ctx, it->second, load->index)});
  });
}

std::vector<Dim> all_offsets(const Nest& nest) {
  std::vector<Dim> out = nest.offsets;
  for (Scalar s : nest.scalars)
    for (Scalar l : expr::loads_of(s)) out.push_back(l->index[0]);
  for (Dim d : nest.offsets)
    for (Scalar l : expr::loads_of(expr::make_index(d))) out.push_back(l->index[0]);
  return out;
}

std::optional<Dim> stride_in(expr::Context& ctx, Dim offset, SymbolId var) {
  if (!expr::uses_symbol(offset, var)) return ctx.constant(0);
  return expr::coefficient_of(offset, var);
}

std::optional<std::vector<int64_t>> const_strides(expr::Context& ctx, Dim offset, const std::vector<Loop>& loops,
                                                  int64_t& start) {
  std::vector<int64_t> out;
  expr::DimMap zero;
  for (const Loop& l : loops) {
    auto s = stride_in(ctx, offset, l.var);
    if (!s || !s->is_const()) return std::nullopt;
    out.push_back(s->const_value());
    zero[l.var] = ctx.constant(0);
  }
  const Dim rest = expr::substitute(offset, zero);
  if (!rest.is_const()) return std::nullopt;
  start = rest.const_value();
  return out;
}

void substitute(Nest& nest, const expr::DimMap& map) {
  for (Scalar& s : nest.scalars) s = expr::substitute(s, map);
  for (Dim& d : nest.offsets) d = expr::substitute(d, map);
}

namespace {

// Offsets that two loops may merge over: with strides a (outer) and b (inner), a == b * extent(inner) in every one.
bool can_merge(expr::Context& ctx, const Nest& nest, const Loop& outer, const Loop& inner) {
  for (Scalar s : nest.scalars)
    if (uses_as_value(s, outer.var) || uses_as_value(s, inner.var)) return false;
  for (Dim d : all_offsets(nest)) {
    auto a = stride_in(ctx, d, outer.var), b = stride_in(ctx, d, inner.var);
    if (!a || !b) return false;
    if (!(*a == *b * inner.extent)) return false;
  }
  return true;
}

// The last `rest` elements, from `begin` on: vectors of half the lanes, a quarter and so on, each where it is needed.
loop::StmtPtr make_halving_tail(expr::Context& ctx, Dim begin, Dim rest, int64_t lanes,
                                const std::function<loop::StmtPtr(Dim)>& body) {
  std::vector<loop::StmtPtr> parts;
  for (int64_t width = lanes / 2; width > 0; width /= 2) {
    const Dim done = begin + floordiv(rest, 2 * width) * (2 * width), left = mod(rest, 2 * width);
    auto part = [&](Dim l) { return body(done + l); };
    parts.push_back(loop::make_if(expr::less_equal(ctx.constant(width), left),
                                  loop::make_for(ctx, "l", width, loop::ForKind::Vector, part)));
  }
  return loop::make_block(std::move(parts));
}

}  // namespace

void collapse(expr::Context& ctx, Nest& nest, size_t first) {
  for (size_t i = first; i < nest.loops.size();) {
    if (!nest.loops[i].extent.is_const(1)) {
      ++i;
      continue;
    }
    substitute(nest, {{nest.loops[i].var, ctx.constant(0)}});
    nest.loops.erase(nest.loops.begin() + static_cast<long>(i));
  }
  for (size_t i = nest.loops.size(); i-- > first + 1;) {
    Loop outer = nest.loops[i - 1], inner = nest.loops[i];
    if (!can_merge(ctx, nest, outer, inner)) continue;
    Dim extent = outer.extent * inner.extent;
    Dim v = ctx.index_symbol("i", extent);
    // Every offset is b * (outer * extent(inner) + inner) + rest: putting 0 for the outer and v for the inner loop is the
    // merge.
    substitute(nest, {{outer.var, ctx.constant(0)}, {inner.var, v}});
    nest.loops[i - 1] = {*v.as_symbol(), extent};
    nest.loops.erase(nest.loops.begin() + static_cast<long>(i));
  }
}

std::string symbol_name(const graph::Node& n) {
  std::vector<std::string> names = model_nodes(n.loc);
  std::string out;
  for (char c : names.empty() ? n.op : names.back()) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return out.substr(0, 48);
}

std::optional<std::vector<Dim>> set_axes(expr::Context& ctx, loop::Buffer& out, const std::vector<Loop>& loops, Dim offset) {
  std::vector<Dim> extents, strides, at;
  Dim first = offset;
  for (const Loop& l : loops) {
    const auto stride = stride_in(ctx, offset, l.var);
    if (!stride) return std::nullopt;
    extents.push_back(l.extent);
    strides.push_back(*stride);
    at.push_back(ctx.symbol_dim(l.var));
    first = expr::substitute(first, {{l.var, ctx.constant(0)}});
  }
  if (!first.is_const(0)) {
    extents.insert(extents.begin(), first + 1);
    strides.insert(strides.begin(), ctx.constant(1));
    at.insert(at.begin(), first);
  }
  out.shape = extents;
  out.strides = strides == row_major(ctx, extents) ? std::vector<Dim>() : strides;
  return at;
}

std::optional<int64_t> const_upper(expr::Context& ctx, Dim d) {
  expr::Interval r = ctx.range(d);
  if (r.hi == INT64_MAX) return std::nullopt;
  return r.hi;
}

int64_t lanes_for(int64_t vector_bytes, const std::vector<Scalar>& scalars) {
  int64_t w = 4;
  for (Scalar s : scalars)
    for_each_scalar(s, [&](Scalar t) {
      if (t->kind != expr::ScalarKind::Index) w = std::max(w, byte_size(t->dtype));
    });
  return vector_bytes / w;
}

KernelBuilder::KernelBuilder(expr::Context& ctx, std::string name, LocPtr loc, ParamShape params)
    : ctx_(ctx), params_(params) {
  f_.name = std::move(name);
  f_.loc = std::move(loc);
}

uint32_t KernelBuilder::add_trap(std::string message, LocPtr loc) {
  f_.traps.push_back({std::move(message), std::move(loc)});
  return static_cast<uint32_t>(f_.traps.size() - 1);
}

loop::Function KernelBuilder::finish(loop::StmtPtr body) {
  f_.body = std::move(body);
  return std::move(f_);
}

Tail tail_for(const target::Target& target, const std::vector<Scalar>& scalars) {
  constexpr int64_t kMostCost = 16;  // of an element, which the tail has as often as lanes are halved
  if (target.masked_memory) return Tail::Masked;
  int64_t cost = 0;
  bool has_small = false;
  for (Scalar s : scalars) {
    cost += cost_of(s);
    has_small = has_small || byte_size(s->dtype) < 4;
    for_each_scalar(
        s, [&](Scalar t) { has_small = has_small || (t->kind == expr::ScalarKind::Load && byte_size(t->dtype) < 4); });
  }
  return has_small && cost <= kMostCost ? Tail::Halving : Tail::Masked;
}

loop::StmtPtr make_vector_loop(expr::Context& ctx, Dim extent, int64_t lanes, const std::function<loop::StmtPtr(Dim)>& body,
                               Tail tail_kind) {
  std::vector<loop::StmtPtr> parts;
  Dim whole = floordiv(extent, lanes);
  if (!whole.is_const(0))
    parts.push_back(loop::make_for(ctx, "v", whole, loop::ForKind::Serial, [&](Dim i) {
      return loop::make_for(ctx, "l", lanes, loop::ForKind::Vector, [&](Dim j) { return body(i * lanes + j); });
    }));
  Dim rest = mod(extent, lanes);
  if (tail_kind == Tail::Halving && !rest.is_const()) {
    parts.push_back(make_halving_tail(ctx, whole * lanes, rest, lanes, body));
  } else if (!rest.is_const(0)) {
    // A rest that is known gets a vector of its own size.
    int64_t width = lanes;
    while (rest.is_const() && width / 2 >= rest.const_value()) width /= 2;
    const loop::StmtPtr tail = loop::make_for(ctx, "l", width, loop::ForKind::Vector, [&](Dim j) {
      const loop::StmtPtr last = body(whole * lanes + j);
      return rest.is_const(width) ? last : loop::make_if(expr::less(j, rest), last);
    });
    parts.push_back(rest.is_const() ? tail : loop::make_if(expr::less(ctx.constant(0), rest), tail));
  }
  return loop::make_block(std::move(parts));
}

loop::StmtPtr wrap_loops(const std::vector<Loop>& loops, loop::ForKind kind, loop::StmtPtr body) {
  for (size_t i = loops.size(); i-- > 0;) body = loop::make_for(loops[i].var, loops[i].extent, kind, body);
  return body;
}

Dim product_of(expr::Context& ctx, const std::vector<Loop>& loops) {
  Dim p = ctx.constant(1);
  for (const Loop& l : loops) p = p * l.extent;
  return p;
}

}  // namespace pliant::lower
