// Kernels as parts of a larger function.
#include "loop/walk.h"
#include "lower/native_loop/region.h"
#include "lower/version.h"

namespace pliant::lower {

using graph::Node;
using loop::ForKind;
using loop::Stmt;
using loop::StmtKind;
using loop::StmtPtr;

namespace {

// The most stores that a short loop may become.
constexpr int64_t kUnrolledStores = 64;
constexpr size_t kCheckValues = 8;  // KernelFrame::trap_values

// Stores of a statement with its unrolled loops written out; nothing where it has other loops than those and vectors.
std::optional<int64_t> unrolled_stores(const StmtPtr& s) {
  switch (s->kind) {
    case StmtKind::Store: return 1;
    case StmtKind::Check:
    case StmtKind::While:
    case StmtKind::Let: return std::nullopt;
    case StmtKind::For:
      if (s->for_kind != ForKind::Vector && s->for_kind != ForKind::Unroll) return std::nullopt;
      break;
    default: break;
  }
  int64_t sum = 0;
  for (const StmtPtr& child : s->body) {
    std::optional<int64_t> n = unrolled_stores(child);
    if (!n) return std::nullopt;
    sum += *n;
  }
  return s->kind == StmtKind::For && s->for_kind == ForKind::Unroll ? sum * s->extent.const_value() : sum;
}

}  // namespace

StmtPtr RegionLowering::unroll_short(const StmtPtr& s) const {
  if (s->kind != StmtKind::For || s->for_kind != ForKind::Serial || !s->extent.is_const() ||
      s->extent.const_value() > kUnrolledVectors)
    return s;
  std::optional<int64_t> stores = unrolled_stores(s->body[0]);
  if (!stores || *stores * s->extent.const_value() > kUnrolledStores) return s;
  bool touches_local = false;
  loop::for_each(s->body[0], [&](const Stmt& x) {
    if (x.kind != StmtKind::Store) return;
    touches_local |= is_local(x.buffer);
    for (Scalar l : expr::loads_of(x.value)) touches_local |= is_local(l->tensor);
  });
  return touches_local ? loop::changed(s, [](Stmt& c) { c.for_kind = ForKind::Unroll; }) : s;
}

Result<StmtPtr> RegionLowering::inline_kernel(const Node& n, const LoweredKernel& k, const std::vector<Place>& params) {
  std::map<loop::BufferId, Place> place;
  for (size_t i = 0; i < params.size(); ++i) {
    const loop::Buffer& b = k.function.params[i];
    PLIANT_CHECK(b.shape.size() == 1 && b.strides.empty()) << "param " << b.name << " of a kernel is not flat";
    place[b.id] = params[i];
  }
  auto placed = [&](loop::BufferId b, const std::vector<Dim>& index) -> std::optional<loop::Element> {
    const auto it = place.find(b);
    if (it == place.end()) return std::nullopt;
    return loop::Element{it->second.buffer, {it->second.offset + index[0]}};
  };
  const StmtPtr body = loop::redirect(loop::fresh_copy(k.function.body, ctx_), ctx_, placed);
  Dim open;  // a size without a bound
  StmtPtr whole = loop::rewrite(body, [&](const StmtPtr& s) -> StmtPtr {
    if (s->kind == StmtKind::For) {
      if (s->for_kind != ForKind::Parallel) return unroll_short(s);
      return unroll_short(loop::changed(s, [](Stmt& c) { c.for_kind = ForKind::Serial; }));
    }
    if (s->kind == StmtKind::Check) {
      const loop::Trap& f = k.function.traps[s->trap];
      return make_check_here(s->value, f.message, f.loc, s->index);
    }
    if (s->kind != StmtKind::Alloc || s->alloc->scope != loop::Scope::Scratch) return s;
    // The kernel's own memory is as large as any iteration needs.
    loop::Buffer b = *s->alloc;
    const std::optional<graph::Shape> room = room_of(b.shape, b.dtype, reach_);
    if (!room) open = product(ctx_, b.shape);
    b.shape = room.value_or(b.shape);
    for (Dim& d : b.strides) {
      expr::SizeBounds::Query q;
      const std::optional<Dim> bound = bounds_.upper(d, q);
      if (!bound) open = d;
      d = bound.value_or(d);
    }
    return loop::make_alloc(std::move(b), s->body[0]);
  });
  if (open) return unbounded(n, "a kernel's memory of", open);
  const Scalar when = condition_of(k.when);
  return when ? loop::make_if(when, whole) : whole;
}

StmtPtr RegionLowering::fill(Place to, DType t, Dim elements, const std::function<Scalar(Dim)>& value) {
  if (elements.is_const(1)) return store_first(to, value(ctx_.constant(0)));
  const int64_t lanes = target_.vector_bytes / byte_size(t);
  StmtPtr s =
      make_vector_loop(ctx_, elements, lanes, [&](Dim v) { return loop::make_store(to.buffer, {to.offset + v}, value(v)); });
  return loop::rewrite(s, [&](const StmtPtr& x) { return unroll_short(x); });
}

StmtPtr RegionLowering::copy(Place from, Place to, DType t, Dim elements) {
  return fill(to, t, elements, [&](Dim v) { return load(from, t, v); });
}

StmtPtr RegionLowering::make_check_here(Scalar cond, const std::string& message, const LocPtr& loc,
                                        std::vector<Dim> values) {
  std::string whole = message;
  for (size_t i = iterations_.size(); i-- > 0 && values.size() < kCheckValues;) {
    whole += ", in iteration {" + std::to_string(values.size()) + "} of " + iterations_[i].loop;
    values.push_back(iterations_[i].index);
  }
  size_t trap = 0;
  while (trap < traps_.size() && !(traps_[trap].message == whole && traps_[trap].loc == loc)) ++trap;
  if (trap == traps_.size()) traps_.push_back({whole, loc});
  return loop::make_check(cond, static_cast<uint32_t>(trap), std::move(values));
}

}  // namespace pliant::lower
