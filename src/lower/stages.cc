#include "lower/stages.h"

#include <algorithm>

#include "lower/epilogue.h"

namespace pliant::lower {

namespace {

Scalar inline_loads(Scalar s, const std::map<expr::TensorId, const Stage*>& inlined) {
  if (inlined.empty() || !s) return s;
  return expr::substitute(s, {}, [&](Scalar load) {
    auto it = inlined.find(load->tensor);
    if (it == inlined.end()) return load;
    return expr::substitute(it->second->body, index_map(*it->second->tensor, load->index, {}));
  });
}

Dim inline_loads(Dim d, const std::map<expr::TensorId, const Stage*>& inlined) {
  return expr::value(inline_loads(expr::make_index(d), inlined));
}

// The stage reads `t` once an element: the same number of iterations, each at another position of `t`.
bool reads_elementwise(expr::Context& ctx, const te::TensorDef& reader, const te::TensorDef& t) {
  Dim a = element_count(ctx, reader.shape) * product(ctx, reader.reduce_extent);
  return ctx.proves_equal(a, element_count(ctx, t.shape));
}

bool is_work(Dim d);
// An index that holds a division by what only the run knows, or a computed value.
bool is_work(const expr::Atom& a) {
  if (a.kind == expr::AtomKind::Value) return true;
  const bool divides = a.kind == expr::AtomKind::FloorDiv || a.kind == expr::AtomKind::Mod;
  if (divides && !a.args[1].is_const()) return true;
  return std::any_of(a.args.begin(), a.args.end(), [](Dim d) { return is_work(d); });
}
bool is_work(Dim d) {
  for (const auto& [monomial, coefficient] : d->terms)
    for (const auto& [atom, power] : monomial->factors)
      if (is_work(*atom)) return true;
  return false;
}

// Some load of `reader` is at a position that is itself loaded.
bool picks_by_data(const te::TensorDef& reader) {
  for (Scalar l : expr::loads_of(reader.body))
    for (Dim d : l->index)
      if (!expr::loads_of(expr::make_index(d)).empty()) return true;
  return false;
}

constexpr int64_t kTableCost = 4;

// Positions and weights over fewer axes than what reads them, or what was picked by such: they are made once, not at every
// point of the other axes.
bool is_table(const te::TensorDef& t, const std::vector<te::Tensor>& readers) {
  if (t.shape.empty()) return false;
  const bool works = t.body->kind == expr::ScalarKind::Index ? is_work(t.body->index[0]) : cost_of(t.body) >= kTableCost;
  return works &&
         std::all_of(readers.begin(), readers.end(),
                     [&](const te::Tensor& r) { return r->shape.size() + r->reduce_extent.size() > t.shape.size(); }) &&
         (picks_by_data(t) ||
          std::any_of(readers.begin(), readers.end(), [](const te::Tensor& r) { return picks_by_data(*r); }));
}

// Read at several positions that are data, and itself made of several loads: inlined, the loads would multiply.
bool multiplies_loads(const te::TensorDef& t, const std::vector<te::Tensor>& readers) {
  if (expr::loads_of(t.body).size() < 2) return false;
  return std::any_of(readers.begin(), readers.end(), [&](const te::Tensor& r) {
    const std::vector<Scalar> loads = expr::loads_of(r->body);
    return picks_by_data(*r) && std::count_if(loads.begin(), loads.end(), [&](Scalar l) { return l->tensor == t.id; }) > 1;
  });
}

// A copy that lies along its last axis as a reader over more axes does that picks by data from the others, which the
// original does not. A single pick of each result may read little of it, and is not worth a copy.
bool is_laid_out(expr::Context& ctx, const te::TensorDef& t, const std::vector<te::Tensor>& readers) {
  if (t.shape.empty() || t.body->kind != expr::ScalarKind::Load) return false;
  const Dim last = ctx.symbol_dim(t.index.back());
  if (t.body->index.empty() || t.body->index.back() == last) return false;
  return std::any_of(readers.begin(), readers.end(), [&](const te::Tensor& r) {
    if (r->index.empty() || r->shape.size() + r->reduce_extent.size() <= t.shape.size()) return false;
    const std::vector<Scalar> loads = expr::loads_of(r->body);
    const auto picks = std::count_if(loads.begin(), loads.end(), [&](Scalar l) {
      return l->tensor == t.id && expr::uses_symbol(l->index.back(), r->index.back()) &&
             std::any_of(l->index.begin(), l->index.end() - 1,
                         [](Dim d) { return !expr::loads_of(expr::make_index(d)).empty(); });
    });
    return picks > (r->kind == te::Kind::Reduce ? 0 : 1);
  });
}

bool is_plain(Scalar s) {
  return s->kind == expr::ScalarKind::Load || s->kind == expr::ScalarKind::Const || s->kind == expr::ScalarKind::Index;
}

bool should_inline(const Problem& p, const te::Tensor& t, const std::vector<te::Tensor>& readers) {
  if (t->kind != te::Kind::Map) return false;
  if (is_table(*t, readers) || multiplies_loads(*t, readers) || is_laid_out(p.ctx, *t, readers)) return false;
  if (is_plain(t->body)) return true;
  bool into_scatter = std::any_of(readers.begin(), readers.end(), [](const te::Tensor& r) {
    return r->kind == te::Kind::Scatter || r->kind == te::Kind::Scan;
  });
  if (into_scatter && is_costly(t->body)) return false;
  if (readers.size() == 1) return !is_costly(t->body) || reads_elementwise(p.ctx, *readers[0], *t);
  return !is_costly(t->body) && cost_of(t->body) <= 24;
}

// The most scalar operations of a stage's expressions once they hold what they read.
constexpr int64_t kMostInlined = 4096;

// What is read, written into the places that read it: each load at another position is a copy.
int64_t inlined_cost(const te::TensorDef& t, const std::map<expr::TensorId, const Stage*>& inlined) {
  int64_t cost = 0;
  auto count = [&](Scalar s) {
    if (!s) return;
    cost += cost_of(s);
    for (Scalar l : expr::loads_of(s))
      if (auto it = inlined.find(l->tensor); it != inlined.end()) cost += cost_of(it->second->body);
  };
  count(t.body);
  count(t.base);
  for (Dim d : t.target) count(expr::make_index(d));
  return cost;
}

// An output whose readers are maps that read it only at their own position: in one kernel its value is already at hand.
bool repeats_in_place(expr::Context& ctx, const te::Tensor& t, const std::vector<te::Tensor>& readers) {
  if (t->kind != te::Kind::Map) return false;
  for (const te::Tensor& r : readers) {
    if (r->kind != te::Kind::Map || !(r->shape == t->shape)) return false;
    for (Scalar l : expr::loads_of(r->body)) {
      if (l->tensor != t->id) continue;
      for (size_t i = 0; i < l->index.size(); ++i)
        if (!t->shape[i].is_const(1) && !(l->index[i] == ctx.symbol_dim(r->index[i]))) return false;
    }
  }
  return true;
}

bool is_zero(Scalar s) { return s->kind == expr::ScalarKind::Const && s->bits == 0; }

// `s` as select(guard, then, neutral) below casts: the guard and the value without it.
std::optional<Guarded> select_of(expr::Context& ctx, Scalar s, Scalar neutral) {
  if (s->kind == expr::ScalarKind::Cast) {
    Scalar inner_neutral = is_zero(neutral) ? expr::make_const(ctx, s->args[0]->dtype, 0) : Scalar();
    if (!inner_neutral) return std::nullopt;
    auto g = select_of(ctx, s->args[0], inner_neutral);
    if (!g) return std::nullopt;
    return Guarded{g->guard, expr::make_cast(s->dtype, g->body)};
  }
  if (s->kind != expr::ScalarKind::Select || !(s->args[2] == neutral)) return std::nullopt;
  return Guarded{s->args[0], s->args[1]};
}

}  // namespace

StageList make_stages(const Problem& p, Inline policy) {
  StageList out;
  std::vector<te::Tensor> wanted_tensors;
  std::set<expr::TensorId> checks;
  for (const ops::DataCheck& c : p.checks) {
    wanted_tensors.push_back(c.ok);
    checks.insert(c.ok->id);
  }
  wanted_tensors.insert(wanted_tensors.end(), p.outputs.begin(), p.outputs.end());
  std::vector<te::Tensor> all = te::stages_of(wanted_tensors);
  std::map<expr::TensorId, std::vector<te::Tensor>> readers;
  for (const te::Tensor& t : all) {
    // A check of what is computed at the same point reads it where it is at hand.
    const bool checks_it = checks.count(t->id) != 0;
    for (const te::Tensor& r : t->reads)
      if (!checks_it || r->shape != t->shape) readers[r->id].push_back(t);
  }
  std::set<expr::TensorId> outputs;
  for (const te::Tensor& t : p.outputs) outputs.insert(t->id);
  for (const te::Tensor& t : p.inputs)
    if (t) out.add(t);
  std::vector<Stage> made;
  made.reserve(all.size());  // `inlined` points into it
  std::map<expr::TensorId, const Stage*> inlined;
  std::set<expr::TensorId> stored;  // of those inlined, what some reader would copy too often
  for (const te::Tensor& t : all) {
    std::optional<std::map<expr::TensorId, const Stage*>> fewer;
    if (policy != Inline::All && inlined_cost(*t, inlined) > kMostInlined) {
      fewer = inlined;
      std::erase_if(*fewer, [&](const auto& entry) {
        const Stage& s = *entry.second;
        const bool is_read =
            std::any_of(t->reads.begin(), t->reads.end(), [&](const te::Tensor& r) { return r == s.tensor; });
        if (!is_read || is_plain(s.body)) return false;
        stored.insert(entry.first);
        return true;
      });
    }
    const auto& into = fewer ? *fewer : inlined;
    Stage s{t, inline_loads(t->body, into), inline_loads(t->base, into), {}, outputs.count(t->id) != 0};
    for (Dim d : t->target) s.target.push_back(inline_loads(d, into));
    made.push_back(std::move(s));
    out.add(t);
    const bool is_check = checks.count(t->id) != 0;
    bool wanted = is_check ? false
                  : made.back().is_output
                      ? repeats_in_place(p.ctx, t, readers[t->id])
                      : (policy == Inline::All && t->kind == te::Kind::Map) || should_inline(p, t, readers[t->id]);
    if (wanted) inlined[t->id] = &made.back();
  }
  for (Stage& s : made)
    if (s.is_output || !inlined.count(s.tensor->id) || stored.count(s.tensor->id)) out.stages.push_back(std::move(s));
  return out;
}

std::vector<expr::TensorId> reads_of(const Stage& s) {
  std::set<expr::TensorId> ids;
  auto add = [&](Scalar x) {
    if (!x) return;
    for (Scalar l : expr::loads_of(x)) ids.insert(l->tensor);
  };
  add(s.body);
  add(s.base);
  for (Dim d : s.target) add(expr::make_index(d));
  return {ids.begin(), ids.end()};
}

loop::StoreKind store_kind_of(te::Combiner c) {
  switch (c) {
    case te::Combiner::Sum: return loop::StoreKind::Add;
    case te::Combiner::Prod: return loop::StoreKind::Mul;
    case te::Combiner::Max: return loop::StoreKind::Max;
    case te::Combiner::Min: return loop::StoreKind::Min;
    case te::Combiner::And: return loop::StoreKind::And;
    case te::Combiner::Or: return loop::StoreKind::Or;
    case te::Combiner::ArgMax:
    case te::Combiner::ArgMin:
    case te::Combiner::ArgMaxLast:
    case te::Combiner::ArgMinLast:
    case te::Combiner::Set: break;
  }
  return loop::StoreKind::Assign;
}

Scalar identity_of(expr::Context& ctx, te::Combiner c, DType t) {
  if (c == te::Combiner::Sum) return expr::make_const(ctx, t, 0);
  if (c == te::Combiner::ArgMax || c == te::Combiner::ArgMaxLast) c = te::Combiner::Max;
  if (c == te::Combiner::ArgMin || c == te::Combiner::ArgMinLast) c = te::Combiner::Min;
  const std::optional<Scalar> identity = loop::identity_of(store_kind_of(c), t, ctx);
  PLIANT_CHECK(identity) << "no identity for " << te::name_of(c);
  return *identity;
}

bool is_arg(te::Combiner c) {
  return c == te::Combiner::ArgMax || c == te::Combiner::ArgMin || c == te::Combiner::ArgMaxLast ||
         c == te::Combiner::ArgMinLast;
}

loop::Buffer make_local(expr::Context& ctx, const std::string& name, DType t, int64_t elements) {
  return loop::make_buffer(ctx, name, t, {ctx.constant(elements)}, loop::Scope::Local);
}

Guarded split_guard(expr::Context& ctx, Scalar body, te::Combiner c, DType accumulate) {
  if (is_arg(c) || c == te::Combiner::Set) return {{}, body};
  if (auto g = select_of(ctx, body, identity_of(ctx, c, accumulate))) return *g;
  if (c == te::Combiner::Sum && body->kind == expr::ScalarKind::Binary && body->binary() == expr::BinaryOp::Mul) {
    Scalar zero = expr::make_const(ctx, body->dtype, 0);
    for (int side = 0; side < 2; ++side)
      if (auto g = select_of(ctx, body->args[static_cast<size_t>(side)], zero)) {
        Scalar other = body->args[static_cast<size_t>(1 - side)];
        return {g->guard, side == 0 ? g->body * other : other * g->body};
      }
  }
  return {{}, body};
}

Dim element_count(expr::Context& ctx, const std::vector<Dim>& shape) { return product(ctx, shape); }

graph::ConstantPtr constant_of(const Problem& p, expr::TensorId id) {
  for (size_t i = 0; i < p.inputs.size(); ++i)
    if (p.inputs[i] && p.inputs[i]->id == id) return p.constants[i];
  return nullptr;
}

bool reads_constants(const Problem& p, Scalar s) {
  const std::vector<Scalar> loads = expr::loads_of(s);
  return std::all_of(loads.begin(), loads.end(), [&](Scalar l) { return constant_of(p, l->tensor) != nullptr; });
}

void Signature::add_arg(expr::TensorId id, KernelArg arg) {
  seen_.insert(id);
  args_.push_back(std::move(arg));
}

void Signature::add_read(expr::TensorId id) {
  if (seen_.count(id)) return;
  for (size_t i = 0; i < p_.inputs.size(); ++i) {
    const te::Tensor& t = p_.inputs[i];
    if (!t || t->id != id) continue;
    if (i >= p_.node.inputs.size()) return add_constant(id, t->name, p_.constants[i]);
    builder_.add_read(id, t->name.empty() ? "in" + std::to_string(i) : t->name, t->dtype, t->shape,
                      p_.constants[i] != nullptr);
    return add_arg(id, {p_.node.inputs[i], nullptr, -1, {}});
  }
  const te::Tensor& t = list_.tensors.at(id);
  builder_.add_read(id, t->name, t->dtype, t->shape);
  add_arg(id, memory_of(*t));
}

KernelArg Signature::memory_of(const te::TensorDef& t) const {
  for (size_t i = 0; i < p_.outputs.size(); ++i)
    if (p_.outputs[i]->id == t.id) return {.value = p_.node.outputs[i]};
  const auto it = temporaries_.find(t.id);
  PLIANT_CHECK(it != temporaries_.end()) << "tensor " << t.name << " of kernel " << p_.name << " has no memory";
  return {.temporary = it->second};
}

void Signature::add_reads(Scalar flat_body, const std::set<expr::TensorId>& inner) {
  if (!flat_body) return;
  for (Scalar l : expr::loads_of(flat_body))
    if (!inner.count(l->tensor)) add_read(l->tensor);
}

void Signature::add_write_from(const te::Tensor& t, Dim first, Dim count) {
  add_written(*t, {count});
  args_.back().offset = first;
}

void Signature::add_write(const te::Tensor& t) { add_written(*t, t->shape); }

void Signature::add_written(const te::TensorDef& t, const std::vector<Dim>& shape) {
  PLIANT_CHECK(!seen_.count(t.id)) << "tensor " << t.name << " is read before it is written in kernel " << p_.name;
  builder_.add_write(t.id, t.name, t.dtype, shape);
  add_arg(t.id, memory_of(t));
}

void Signature::add_constant(expr::TensorId id, const std::string& name, graph::ConstantPtr packed) {
  std::vector<Dim> shape;
  for (int64_t size : packed->shape) shape.push_back(p_.ctx.constant(size));
  builder_.add_read(id, name, packed->dtype, shape, true);
  add_arg(id, {graph::kNoValue, std::move(packed), -1, {}});
}

}  // namespace pliant::lower
