#include "lower/naive/work.h"

#include "loop/walk.h"
#include "lower/checks.h"
#include "schedule/arg_order.h"

namespace pliant::lower {

namespace {

class NaiveBuilder {
 public:
  NaiveBuilder(const Problem& p, const StageList& list, const std::vector<const Stage*>& stages,
               const Temporaries& temporaries, std::string name, ParamShape params = ParamShape::OfTensor)
      : ctx_(p.ctx),
        temporaries_(temporaries),
        builder_(ctx_, std::move(name), p.loc, params),
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
      case te::Kind::Reduce:
        return add_reduction(s, {{}, s.body}, LoopRole::Reduction, [&](Scalar result) {
          return loop::make_store(s.tensor->id, index_of(ctx_, *s.tensor), result);
        });
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

  void add_reduction_with(const Stage& s, const Epilogue& e, const MergedForm& merged) {
    const te::TensorDef& t = *s.tensor;
    for (const auto& [id, value] : merged.packed) signature_.add_constant(id, "packed", value);
    if (merged.tile) own_.insert(*merged.tile);
    read(s.body);
    for (Scalar v : e.values) read(v);
    for (Scalar r : merged.reads) read(r);
    for (const te::Tensor& o : e.outputs) signature_.add_write(o);
    add_reduction(s, split_guard(ctx_, s.body, t.combiner, t.accumulate), merged.role, [&](Scalar result) {
      std::vector<loop::StmtPtr> stores;
      for (size_t k = 0; k < e.outputs.size(); ++k) {
        const Scalar value = expr::substitute(e.values[k], {}, [&](Scalar l) { return l->tensor == t.id ? result : l; });
        stores.push_back(loop::make_store(e.outputs[k]->id, e.index[k], value));
      }
      const loop::StmtPtr all = loop::make_block(std::move(stores));
      return merged.stored ? loop::make_if(merged.stored, all) : all;
    });
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
    nests_.push_back(spatial(t.index, t.shape, loop::make_store(t.id, index_of(ctx_, t), value)));
  }

  // A reduction in registers; `store` is what is done with each result.
  using Store = std::function<loop::StmtPtr(Scalar result)>;
  void add_reduction(const Stage& s, const Guarded& g, LoopRole role, const Store& store) {
    const te::TensorDef& t = *s.tensor;
    if (is_arg(t.combiner)) return add_arg(s, store);
    const loop::Buffer total = make_local(ctx_, "total", t.accumulate, 1);
    const Dim zero = ctx_.constant(0);
    loop::StmtPtr add = loop::make_store(total.id, {zero}, expr::make_cast(t.accumulate, g.body), store_kind_of(t.combiner));
    if (g.guard) add = loop::make_if(g.guard, add);
    add = nest(t.reduce_index, t.reduce_extent, role, std::move(add));
    const loop::StmtPtr put = store(expr::make_cast(t.dtype, expr::make_load(ctx_, total.id, t.accumulate, {zero})));
    const Scalar start = identity_of(ctx_, t.combiner, t.accumulate);
    nests_.push_back(spatial(t.index, t.shape, running(total, start, loop::make_block({add, put}), zero)));
  }

  // The position of the best value, found one after the other.
  void add_arg(const Stage& s, const Store& store) {
    using te::Combiner;
    const te::TensorDef& t = *s.tensor;
    const schedule::ArgOrder order{t.combiner == Combiner::ArgMax || t.combiner == Combiner::ArgMaxLast,
                                   t.combiner == Combiner::ArgMaxLast || t.combiner == Combiner::ArgMinLast};
    const DType type = s.body->dtype;
    const std::vector<Dim> at{ctx_.constant(0)};
    const loop::Buffer best = make_local(ctx_, "best", type, 1), pos = make_local(ctx_, "pos", DType::I64, 1);
    const Scalar old = expr::make_load(ctx_, best.id, type, at), place = expr::make_load(ctx_, pos.id, DType::I64, at);
    const Scalar taken = schedule::takes_place(order, s.body, old);
    const Scalar here = expr::make_index(ctx_.symbol_dim(t.reduce_index[0]));
    loop::StmtPtr keep = loop::make_block({loop::make_store(pos.id, at, expr::make_select(taken, here, place)),
                                           loop::make_store(best.id, at, expr::make_select(taken, s.body, old))});
    loop::StmtPtr st = loop::make_block({loop::make_store(best.id, at, identity_of(ctx_, t.combiner, type)),
                                         loop::make_store(pos.id, at, expr::make_const_int(ctx_, DType::I64, 0)),
                                         nest(t.reduce_index, t.reduce_extent, LoopRole::Reduction, keep), store(place)});
    nests_.push_back(spatial(t.index, t.shape, loop::make_allocs({best, pos}, st)));
  }

  void add_scan(const Stage& s) {
    const te::TensorDef& t = *s.tensor;
    const auto axis = static_cast<size_t>(t.scan_axis);
    const Dim zero = ctx_.constant(0), extent = t.shape[axis];
    const SymbolId var = t.index[axis];
    const loop::Buffer acc = make_local(ctx_, "acc", t.accumulate, 1);
    loop::StmtPtr add = loop::make_store(acc.id, {zero}, expr::make_cast(t.accumulate, s.body), store_kind_of(t.combiner));
    loop::StmtPtr put = loop::make_store(t.id, index_of(ctx_, t),
                                         expr::make_cast(t.dtype, expr::make_load(ctx_, acc.id, t.accumulate, {zero})));
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

Work make_work(const Problem& p, const StageList& list, const std::vector<const Stage*>& stages,
               const Temporaries& temporaries, std::string name) {
  NaiveBuilder b(p, list, stages, temporaries, std::move(name));
  for (const Stage* s : stages) b.add_stage(*s);
  return b.finish();
}

Work make_work(const Problem& p, const StageList& list, const Stage& reduction, const Epilogue& e,
               const Temporaries& temporaries, std::string name, const MergedForm* merged) {
  NaiveBuilder b(p, list, {&reduction}, temporaries, std::move(name), merged ? ParamShape::Flat : ParamShape::OfTensor);
  b.add_reduction_with(reduction, e, merged ? *merged : MergedForm());
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
  for (auto [r, name] : {std::pair{LoopRole::Spatial, "spatial"},
                         {LoopRole::Reduction, "reduction"},
                         {LoopRole::Sliding, "sliding"},
                         {LoopRole::Ordered, "ordered"}}) {
    const LoopRole role = r;  // a binding cannot be captured
    std::string names;
    loop::for_each(w.function.body, [&](const loop::Stmt& s) {
      if (s.kind == loop::StmtKind::For && w.loops.at(s.var) == role) names += " " + ctx.info(s.var).name;
    });
    if (!names.empty()) text += std::string("// ") + name + ":" + names + "\n";
  }
  return text + loop::print(w.function, ctx);
}

}  // namespace pliant::lower
