#include "lower/naive/work.h"

#include "loop/walk.h"
#include "lower/checks.h"
#include "schedule/arg_order.h"

namespace pliant::lower {

const char* name_of(LoopRole r) {
  switch (r) {
    case LoopRole::Spatial: return "spatial";
    case LoopRole::Reduction: return "reduction";
    case LoopRole::Sliding: return "sliding";
    case LoopRole::Ordered: return "ordered";
  }
  return "?";
}

namespace {

class NaiveBuilder {
 public:
  NaiveBuilder(const Problem& p, const StageList& list, const std::vector<const Stage*>& stages,
               const Temporaries& temporaries, std::string name)
      : ctx_(p.ctx),
        temporaries_(temporaries),
        builder_(ctx_, std::move(name), p.loc, ParamShape::OfTensor),
        signature_(p, list, builder_, temporaries) {
    for (const Stage* s : stages) own_.insert(s->tensor->id);
  }

  void add_check(const Problem& p, const ops::DataCheck& check, LocPtr loc) {
    const CheckBody body = body_of(p, check);
    read(body.condition);
    for (Dim d : body.values) read(expr::make_index(d));
    const uint32_t trap = builder_.add_trap(check.message, std::move(loc));
    nests_.push_back(spatial(check.ok->index, check.ok->shape, loop::make_check(body.condition, trap, body.values)));
  }

  void add_stage(const Stage& s) {
    read(s.base);
    add_memory(s);
    switch (s.tensor->kind) {
      case te::Kind::Map: return add_map(s, s.body);
      case te::Kind::Reduce: return is_arg(s.tensor->combiner) ? add_arg(s) : add_reduction(s);
      case te::Kind::Scan: return add_scan(s);
      case te::Kind::Scatter: add_map(s, s.base); return add_updates(s);
      case te::Kind::Input: break;
    }
    PLIANT_CHECK(false) << "an input is no stage";
  }

  void add_updates(const Stage& s) {
    const te::TensorDef& t = *s.tensor;
    const loop::StoreKind kind = t.combiner == te::Combiner::Set ? loop::StoreKind::Assign : store_kind_of(t.combiner);
    nests_.push_back(
        nest(t.reduce_index, t.reduce_extent, LoopRole::Ordered, loop::make_store(t.id, s.target, s.body, kind)));
  }

  // What the stage reads and writes.
  void add_memory(const Stage& s) {
    read(s.body);
    for (Dim d : s.target) read(expr::make_index(d));
    if (s.is_output || temporaries_.count(s.tensor->id))
      signature_.add_write(s.tensor);
    else
      add_scratch(s.tensor->id, s.tensor->name, s.tensor->dtype, s.tensor->shape);
  }

  Work finish() {
    loop::StmtPtr body = loop::make_allocs(scratch_, loop::make_block(std::move(nests_)));
    return {builder_.finish(std::move(body)), std::move(loops_), signature_.take_args()};
  }

 private:
  void read(Scalar s) { signature_.add_reads(s, own_); }

  void add_scratch(expr::TensorId id, const std::string& name, DType t, const std::vector<Dim>& shape) {
    scratch_.push_back({id, name, t, shape, {}, loop::Scope::Scratch});
  }

  std::vector<Dim> index_of(const std::vector<SymbolId>& vars) const {
    std::vector<Dim> index;
    for (SymbolId v : vars) index.push_back(ctx_.symbol_dim(v));
    return index;
  }

  loop::StmtPtr nest(const std::vector<SymbolId>& vars, const std::vector<Dim>& extents, LoopRole role, loop::StmtPtr body) {
    for (size_t i = vars.size(); i-- > 0;) {
      body = loop::make_for(vars[i], extents[i], loop::ForKind::Serial, body);
      loops_[vars[i]] = role;
    }
    return body;
  }
  loop::StmtPtr spatial(const std::vector<SymbolId>& vars, const std::vector<Dim>& extents, loop::StmtPtr body) {
    return nest(vars, extents, LoopRole::Spatial, std::move(body));
  }
  // One element of memory, around `body`, that starts as `value`.
  static loop::StmtPtr running(const loop::Buffer& b, Scalar value, loop::StmtPtr body, Dim zero) {
    return loop::make_alloc(b, loop::make_block({loop::make_store(b.id, {zero}, value), std::move(body)}));
  }

  void add_map(const Stage& s, Scalar value) {
    const te::TensorDef& t = *s.tensor;
    nests_.push_back(spatial(t.index, t.shape, loop::make_store(t.id, index_of(t.index), value)));
  }

  void add_reduction(const Stage& s) {
    const te::TensorDef& t = *s.tensor;
    const std::vector<Dim> at = index_of(t.index);
    expr::TensorId sum = t.id;
    if (t.accumulate != t.dtype) {
      sum = ctx_.fresh_tensor();
      add_scratch(sum, t.name + "_sum", t.accumulate, t.shape);
    }
    loop::StmtPtr term = loop::make_store(sum, at, expr::make_cast(t.accumulate, s.body), store_kind_of(t.combiner));
    term = nest(t.reduce_index, t.reduce_extent, LoopRole::Reduction, std::move(term));
    loop::StmtPtr begin = loop::make_store(sum, at, identity_of(ctx_, t.combiner, t.accumulate));
    nests_.push_back(spatial(t.index, t.shape, loop::make_block({begin, term})));
    if (sum == t.id) return;
    std::vector<SymbolId> vars;
    for (Dim d : t.shape) vars.push_back(*ctx_.index_symbol("i", d).as_symbol());
    const std::vector<Dim> rounded = index_of(vars);
    Scalar value = finish_value(t, expr::make_load(ctx_, sum, t.accumulate, rounded));
    nests_.push_back(spatial(vars, t.shape, loop::make_store(t.id, rounded, value)));
  }

  void add_arg(const Stage& s) {
    const te::TensorDef& t = *s.tensor;
    loops_[t.reduce_index[0]] = LoopRole::Reduction;
    nests_.push_back(spatial(t.index, t.shape,
                             make_arg_reduction(ctx_, t.combiner, s.body, {t.reduce_index[0], t.reduce_extent[0]},
                                                [&](Scalar v) { return loop::make_store(t.id, index_of(t.index), v); })));
  }

  void add_scan(const Stage& s) {
    const te::TensorDef& t = *s.tensor;
    const auto axis = static_cast<size_t>(t.scan_axis);
    const Dim zero = ctx_.constant(0), extent = t.shape[axis];
    const SymbolId var = t.index[axis];
    const loop::Buffer acc = make_local(ctx_, "acc", t.accumulate, 1);
    loop::StmtPtr add = loop::make_store(acc.id, {zero}, expr::make_cast(t.accumulate, s.body), store_kind_of(t.combiner));
    loop::StmtPtr put =
        loop::make_store(t.id, index_of(t.index), finish_value(t, expr::make_load(ctx_, acc.id, t.accumulate, {zero})));
    loop::StmtPtr step = t.exclusive ? loop::make_block({put, add}) : loop::make_block({add, put});
    if (t.reverse) step = loop::substitute(step, {{var, extent - 1 - ctx_.symbol_dim(var)}});
    step = nest({var}, {extent}, LoopRole::Ordered, std::move(step));
    std::vector<SymbolId> vars = t.index;
    std::vector<Dim> extents = t.shape;
    vars.erase(vars.begin() + t.scan_axis);
    extents.erase(extents.begin() + t.scan_axis);
    nests_.push_back(
        spatial(vars, extents, running(acc, identity_of(ctx_, t.combiner, t.accumulate), std::move(step), zero)));
  }

  expr::Context& ctx_;
  const Temporaries& temporaries_;
  KernelBuilder builder_;
  Signature signature_;
  std::set<expr::TensorId> own_;
  std::map<SymbolId, LoopRole> loops_;
  std::vector<loop::Buffer> scratch_;
  std::vector<loop::StmtPtr> nests_;
};

}  // namespace

loop::StmtPtr make_arg_reduction(expr::Context& ctx, te::Combiner combiner, Scalar body, const Loop& axis,
                                 const std::function<loop::StmtPtr(Scalar)>& use) {
  using te::Combiner;
  const schedule::ArgOrder order{combiner == Combiner::ArgMax || combiner == Combiner::ArgMaxLast,
                                 combiner == Combiner::ArgMaxLast || combiner == Combiner::ArgMinLast};
  const DType type = body->dtype;
  const std::vector<Dim> at{ctx.constant(0)};
  const loop::Buffer best = make_local(ctx, "best", type, 1), pos = make_local(ctx, "pos", DType::I64, 1);
  const Scalar old = expr::make_load(ctx, best.id, type, at), place = expr::make_load(ctx, pos.id, DType::I64, at);
  const Scalar taken = schedule::takes_place(order, body, old);
  const Scalar here = expr::make_index(ctx.symbol_dim(axis.var));
  loop::StmtPtr keep = loop::make_block({loop::make_store(pos.id, at, expr::make_select(taken, here, place)),
                                         loop::make_store(best.id, at, expr::make_select(taken, body, old))});
  loop::StmtPtr st = loop::make_block({loop::make_store(best.id, at, identity_of(ctx, combiner, type)),
                                       loop::make_store(pos.id, at, expr::make_const_int(ctx, DType::I64, 0)),
                                       loop::make_for(axis.var, axis.extent, loop::ForKind::Serial, keep), use(place)});
  return loop::make_alloc(best, loop::make_alloc(pos, st));
}

Work make_work(const Problem& p, const StageList& list, const std::vector<const Stage*>& stages,
               const Temporaries& temporaries, std::string name) {
  NaiveBuilder b(p, list, stages, temporaries, std::move(name));
  for (const Stage* s : stages) b.add_stage(*s);
  return b.finish();
}

Work make_check_work(const Problem& p, const ops::DataCheck& check, const LocPtr& loc) {
  StageList list;
  for (const te::Tensor& t : p.inputs)
    if (t) list.add(t);
  const Temporaries none;
  NaiveBuilder b(p, list, {}, none, p.name + "_check");
  b.add_check(p, check, loc);
  return b.finish();
}

Work make_updates_work(const Problem& p, const StageList& list, const Stage& s, const Temporaries& temporaries) {
  NaiveBuilder b(p, list, {&s}, temporaries, p.name + "_" + s.tensor->name + "_updates");
  b.add_memory(s);
  b.add_updates(s);
  return b.finish();
}

Work make_work(const Problem& p, const StageList& list, const std::vector<ops::DataCheck>& checks) {
  const Temporaries none;
  std::vector<const Stage*> stages;
  for (const Stage& s : list.stages)
    if (!check_of(p, s)) stages.push_back(&s);
  NaiveBuilder b(p, list, stages, none, p.name);
  for (size_t k = 0; k < checks.size(); ++k) b.add_check(p, checks[k], location_of_check(p.function, p.node, k, p.ctx));
  for (const Stage* s : stages) b.add_stage(*s);
  return b.finish();
}

std::string print(const Work& w, expr::Context& ctx) {
  std::string text;
  for (LoopRole r : {LoopRole::Spatial, LoopRole::Reduction, LoopRole::Sliding, LoopRole::Ordered}) {
    std::string names;
    loop::for_each(w.function.body, [&](const loop::Stmt& s) {
      if (s.kind == loop::StmtKind::For && w.loops.at(s.var) == r) names += " " + ctx.info(s.var).name;
    });
    if (!names.empty()) text += std::string("// ") + name_of(r) + ":" + names + "\n";
  }
  return text + loop::print(w.function, ctx);
}

}  // namespace pliant::lower
