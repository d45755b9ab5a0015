// core.if inside a native loop: a branch that writes the merged values, or both branches and a selection where that is
// cheap.
#include "loop/walk.h"
#include "lower/native_loop/region.h"

namespace pliant::lower {

using graph::Node;
using graph::ValueId;
using loop::Stmt;
using loop::StmtKind;

struct RegionLowering::Branch {
  const graph::Region* region = nullptr;
  bool diverges = false;
  Reach reach;
  Block block;
  std::vector<Place> results;
};

namespace {

// Operations on vectors up to which both branches are computed: about what a branch costs that is predicted badly now and
// then.
constexpr int64_t kSelectedCost = 48;

// Operations of a statement without control flow, counted by vectors; nothing when it is anything else.
std::optional<int64_t> cost_by_vectors(const loop::StmtPtr& s) {
  switch (s->kind) {
    case StmtKind::Block:
    case StmtKind::Alloc: {
      int64_t sum = 0;
      for (const loop::StmtPtr& child : s->body) {
        std::optional<int64_t> c = cost_by_vectors(child);
        if (!c) return std::nullopt;
        sum += *c;
      }
      return sum;
    }
    case StmtKind::For: {
      if (!s->extent.is_const()) return std::nullopt;
      std::optional<int64_t> c = cost_by_vectors(s->body[0]);
      if (!c) return std::nullopt;
      return s->for_kind == loop::ForKind::Vector ? *c : *c * s->extent.const_value();
    }
    case StmtKind::If: {  // of a masked tail
      std::optional<int64_t> c = cost_by_vectors(s->body[0]);
      if (!c || s->body.size() > 1) return std::nullopt;
      return *c + 1;
    }
    case StmtKind::Store: return cost_of(s->value) + 1;
    default: return std::nullopt;
  }
}

}  // namespace

Status RegionLowering::lower_branch(const Node& n, const graph::Region& r, Branch& branch) {
  branch.region = &r;
  branch.diverges = graph::diverges(r);
  const std::set<SymbolId> bound_outside = bound_;
  const Reach reach_outside = reach_;
  reach_ = branch.reach = reach_of_branch(graph::if_parts(n), &r == graph::if_parts(n).then);
  TRY(lower_nodes(r.nodes, branch.block));
  bound_ = bound_outside;
  reach_ = reach_outside;
  if (branch.diverges) return ok();
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    if (!f_.value(r.results[i]).type.tensor()) return not_native(n, "a branch yields a value that is no tensor");
    branch.results.push_back(place_of(r.results[i]));
  }
  return ok();
}

// Whether the branch may run where the model would not run it, and is short. What it loads must be there in any case.
bool RegionLowering::is_cheap(const Branch& branch) const {
  if (branch.diverges) return false;
  loop::StmtPtr body = branch.block.finish();
  std::optional<int64_t> cost = cost_by_vectors(body);
  if (!cost || *cost > kSelectedCost) return false;
  std::map<loop::BufferId, Dim> sizes;
  for (const loop::Buffer& b : params_) sizes[b.id] = b.shape[0];
  bool safe = true;
  loop::for_each(body, [&](const Stmt& s) {
    if (s.alloc && s.alloc->scope != loop::Scope::Local) safe = false;
    if (s.kind != StmtKind::Store) return;
    safe = safe && s.store_kind == loop::StoreKind::Assign;
    for (Dim d : s.index) safe = safe && expr::loads_of(expr::make_index(d)).empty();
    for (Scalar l : expr::loads_of(s.value)) {
      if (is_local(l->tensor)) {
        safe = safe && expr::loads_of(expr::make_index(l->index[0])).empty();
        continue;
      }
      auto size = sizes.find(l->tensor);
      safe = safe && size != sizes.end() && ctx_.proves_less_equal(ctx_.constant(0), l->index[0]) &&
             ctx_.proves_less(l->index[0], size->second);
    }
  });
  return safe;
}

// The merged values, which may have sizes that only the branch that ran knows.
Status RegionLowering::define_merged(const Node& n, const Branch& then, const Branch& otherwise, std::vector<Place>& merged,
                                     Block& out) {
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    ValueId v = n.outputs[i];
    Dim room;
    bool fresh = false;
    for (const Branch* branch : {&then, &otherwise}) {
      if (branch->diverges) continue;
      const ValueId from = branch->region->results[i];
      fresh = fresh || !(elements_of(from) == elements_of(v));
      const std::optional<Dim> bound = room_for(f_.tensor_type(from).shape, f_.tensor_type(from).dtype, branch->reach);
      if (!bound && fresh) return unbounded(n, "a value of", elements_of(from));
      if (bound) room = room ? max(room, *bound) : *bound;
    }
    if (auto known = places_.find(v); known != places_.end()) {
      merged.push_back(known->second);
    } else if (!fresh || !room) {
      merged.push_back(TRY(define(n, v, out)));
    } else {
      merged.push_back(declare(name_of(v), f_.tensor_type(v).dtype, room, out));
      places_[v] = merged.back();
    }
  }
  return ok();
}

Status RegionLowering::lower_if(const Node& n, Block& out) {
  graph::IfParts parts = graph::if_parts(n);
  Scalar cond =
      parts.cond ? expr::make_binary(expr::BinaryOp::Ne, expr::make_index(*parts.cond), expr::make_index(ctx_.constant(0)))
                 : load_first(place_of(parts.condition), DType::Bool);
  bool small = true;
  for (ValueId v : n.outputs) {
    if (!f_.value(v).type.tensor()) return not_native(n, "core.if gives a value that is no tensor");
    small = small && fits_local(f_.tensor_type(v).dtype, elements_of(v)) && !destinations_.count(v);
  }
  // Large values are computed where they are merged; small ones are in registers anyway.
  Branch then, otherwise;
  for (size_t i = 0; i < n.outputs.size() && !small; ++i) {
    bool same = true;
    for (const graph::Region* r : {parts.then, parts.otherwise})
      same = same && (graph::diverges(*r) || elements_of(r->results[i]) == elements_of(n.outputs[i]));
    if (!same) continue;
    Place p = TRY(define(n, n.outputs[i], out));
    for (const graph::Region* r : {parts.then, parts.otherwise})
      if (!graph::diverges(*r) && is_computed(*r, r->results[i])) destinations_.emplace(r->results[i], p);
  }
  TRY(lower_branch(n, *parts.then, then));
  TRY(lower_branch(n, *parts.otherwise, otherwise));
  std::vector<Place> merged;
  TRY(define_merged(n, then, otherwise, merged, out));
  if (small && is_cheap(then) && is_cheap(otherwise)) {
    out.splice(then.block);
    out.splice(otherwise.block);
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      const DType t = f_.tensor_type(n.outputs[i]).dtype;
      out.add(fill(merged[i], t, elements_of(n.outputs[i]), [&](Dim v) {
        return expr::make_select(cond, load(then.results[i], t, v), load(otherwise.results[i], t, v));
      }));
    }
    return ok();
  }
  // Sizes that only the branches know become symbols after the branch.
  std::map<SymbolId, Place> sizes;
  for (Branch* branch : {&then, &otherwise}) {
    if (branch->diverges) continue;
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      ValueId from = branch->region->results[i], to = n.outputs[i];
      Place p = branch->results[i];
      if (p != merged[i]) branch->block.add(copy(p, merged[i], f_.tensor_type(to).dtype, elements_of(from)));
      for (size_t a = 0; a < f_.tensor_type(to).shape.size(); ++a) {
        auto s = f_.tensor_type(to).shape[a].as_symbol();
        Dim size = f_.tensor_type(from).shape[a];
        if (!s || size == f_.tensor_type(to).shape[a]) continue;
        if (!sizes.count(*s)) sizes[*s] = new_local("size", DType::I64, 1, out);
        branch->block.add(store_first(sizes[*s], expr::make_index(size)));
      }
    }
  }
  out.add(loop::make_if(cond, then.block.finish(), otherwise.block.finish()));
  for (auto& [s, p] : sizes) bind(s, expr::value(load_first(p, DType::I64)), out);
  return ok();
}

}  // namespace pliant::lower
