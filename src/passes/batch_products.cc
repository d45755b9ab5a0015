// A product in a loop's body of what stands at this iteration's place of an outer tensor with an outer weight is computed
// for all iterations at once before the loop, where the weight is read once instead of in every iteration; the body reads
// its place of the result. Sums with outer values that follow move along. Only loops whose number of iterations is known
// before: nothing is computed that no iteration would have used. A place that may be out of range is still checked where it
// is read.
//
//   core.loop … region(…) {                                       %5 = nn.matmul(%x, %w) : f32[n, 8]
//     %3 = array.slice(%x) {starts=[t], ends=[t + 1]} : f32[1, 4]     core.loop … region(…) {
//     %4 = nn.matmul(%3, %w) : f32[1, 8]                       →        %4 = array.slice(%5) {starts=[t], …} : f32[1, 8]
#include <algorithm>

#include "passes/pass.h"
#include "passes/rewrite/known.h"
#include "passes/rewrite/region_facts.h"
#include "passes/rewrite/rewriter.h"

namespace pliant::passes {
namespace {

// Works on one loop. Outer nodes are appended as they turn out to be needed; what is not used in the end is dead.
class Batcher {
 public:
  using Body = std::shared_ptr<const Region>;
  Batcher(Rewriter& rewriter, const Node& loop) : rewriter_(rewriter), loop_(loop), parts_(graph::loop_parts(loop)) {
    const Region& body = *parts_.body;
    inside_ = defined_in(body);
    for (const Node& n : body.nodes) {
      for (ValueId v : n.outputs) defs_[v] = &n;
      count_uses(n);
    }
    for (ValueId v : body.results) ++uses_[v];
  }

  // The body with the products replaced; null when there are none.
  Result<Body> run() {
    if (!rewriter_.is_counted(parts_)) return Body();
    const Region& body = *parts_.body;
    for (const Node& n : body.nodes) {
      if (n.outputs.size() != 1 || n.inputs.size() > 2 || !n.regions.empty()) continue;
      bool moves = n.op == "nn.matmul" || (continues_product(n) && TRY(is_mapped(n)));
      if (!moves) continue;
      if (auto all = TRY(lift(n.outputs[0]))) moved_.emplace(n.outputs[0], *all);
    }
    return moved_.empty() ? Body() : TRY(rebuild());
  }

 private:
  // A value of all iterations on a new axis 0 of size `extent`: the number of iterations, or with `check` at most that; the
  // iterations beyond it stop the run at the node of that location.
  struct Batch {
    ValueId value;
    Dim extent;
    LocPtr check;
  };
  using Lifted = std::optional<Batch>;

  Result<bool> is_mapped(const Node& n) {
    const Function& f = rewriter_.builder().peek();
    return TRY(is_elementwise(f, n, rewriter_.ctx())) && TRY(trap_of(f, n, rewriter_.ctx())) == Trap::Never;
  }

  void count_uses(const Node& n) {
    for (ValueId v : n.inputs)
      if (v != kNoValue) ++uses_[v];
    for (const auto& r : n.regions) {
      for (const Node& inner : r->nodes) count_uses(inner);
      for (ValueId v : r->results) ++uses_[v];
    }
  }

  bool is_outer(ValueId v) const { return v != kNoValue && inside_.count(v) == 0; }
  const Shape& shape(ValueId v) const { return rewriter_.shape(v); }
  static Shape with_extent(Shape s, Dim extent) {
    s.insert(s.begin(), extent);
    return s;
  }
  Result<Lifted> made(const Batch& from, const std::string& op, Attrs attrs, std::vector<ValueId> inputs, const Node& n) {
    return Lifted(Batch{TRY(rewriter_.make(op, std::move(attrs), std::move(inputs), n.loc)), from.extent, from.check});
  }

  // One input is a product that moved and is used only here, the other an outer value.
  bool continues_product(const Node& n) const {
    bool product = false;
    for (ValueId v : n.inputs) {
      if (is_outer(v)) continue;
      if (v == kNoValue || moved_.count(v) == 0 || uses_.at(v) != 1) return false;
      product = true;
    }
    return product && rewriter_.has_known_dims(n);
  }

  // The body's value `v` of all iterations, with the iteration as a new axis 0; nothing where it does not come from an outer
  // tensor through nodes that can be taken along.
  Result<Lifted> lift(ValueId v) {
    auto known = lifted_.find(v);
    if (known != lifted_.end()) return known->second;
    Lifted out;
    auto def = defs_.find(v);
    if (def != defs_.end() && fits(v)) out = TRY(lift_node(*def->second));
    if (out) {
      Shape want = with_extent(shape(v), out->extent);
      if (shape(out->value) != want) out = TRY(made(*out, "array.reshape", {{"shape", want}}, {out->value}, *def->second));
    }
    return lifted_[v] = out;
  }

  // Its shape is the same in every iteration.
  bool fits(ValueId v) const {
    const TensorType* t = rewriter_.type(v).tensor();
    return t != nullptr && std::all_of(t->shape.begin(), t->shape.end(), [&](Dim d) { return rewriter_.is_known(d); });
  }

  Result<Lifted> lift_node(const Node& n) {
    if (n.op == "array.slice") return lift_slice(n);
    if (n.op == "array.gather") return lift_gather(n);
    if (n.op == "nn.matmul") return lift_matmul(n);
    if (TRY(is_mapped(n))) return lift_elementwise(n);
    if (n.op != "array.reshape" && n.op != "array.transpose") return Lifted();
    Lifted x = TRY(lift(n.inputs[0]));
    if (!x) return Lifted();
    if (n.op == "array.reshape")
      return made(*x, n.op, {{"shape", with_extent(shape(n.outputs[0]), x->extent)}}, {x->value}, n);
    std::vector<int64_t> perm{0};
    for (int64_t p : ops::attrs_of(n).as_ints("perm")) perm.push_back(p + 1);
    return made(*x, n.op, {{"perm", perm}}, {x->value}, n);
  }

  // Operands of lower rank than the result get axes after the iteration's.
  Result<Lifted> lift_elementwise(const Node& n) {
    size_t rank = shape(n.outputs[0]).size();
    // What is the same in every iteration is for another pass.
    if (std::all_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) { return is_outer(v); })) return Lifted();
    std::vector<ValueId> inputs;
    Lifted first;
    for (ValueId v : n.inputs) {
      if (is_outer(v)) {
        inputs.push_back(v);
        continue;
      }
      Lifted x = v == kNoValue ? Lifted() : TRY(lift(v));
      if (!x || (first && x->extent != first->extent)) return Lifted();
      Shape s = shape(v);
      if (s.size() < rank) {
        s.insert(s.begin(), rank - s.size(), rewriter_.ctx().constant(1));
        x = TRY(made(*x, "array.reshape", {{"shape", with_extent(s, x->extent)}}, {x->value}, n));
      }
      inputs.push_back(x->value);
      if (!first || x->check) first = x;
    }
    return made(*first, n.op, n.attrs, std::move(inputs), n);
  }

  Result<Lifted> lift_matmul(const Node& n) {
    Attrs attrs = n.attrs;
    ValueId a = n.inputs[0], b = n.inputs[1];
    if (is_outer(b) && shape(b).size() == 2) {
      Lifted x = TRY(lift(a));
      if (!x) return Lifted();
      if (shape(a).size() == 1) attrs.erase("transpose_a");
      return made(*x, "nn.matmul", std::move(attrs), {x->value, b}, n);
    }
    if (!is_outer(a) || shape(a).size() != 2 || shape(b).size() != 1) return Lifted();
    // A weight times a vector: the vectors become rows.
    Lifted x = TRY(lift(b));
    if (!x) return Lifted();
    attrs.set("transpose_b", !ops::attrs_of(n).as_bool("transpose_a"));
    attrs.erase("transpose_a");
    return made(*x, "nn.matmul", std::move(attrs), {x->value, a}, n);
  }

  // One place of an outer tensor that moves by one with each iteration, forwards or backwards.
  Result<Lifted> lift_slice(const Node& n) {
    expr::Context& ctx = rewriter_.ctx();
    std::vector<Dim> starts = dims_of(n.attrs, "starts", ctx);
    std::vector<int64_t> axes = ops::attrs_of(n).as_ints("axes");
    std::vector<int64_t> steps = ops::attrs_of(n).as_ints("steps");
    if (!is_outer(n.inputs[0]) || axes.size() != 1 || (!steps.empty() && steps[0] != 1)) return Lifted();
    Shape x_shape = shape(n.inputs[0]);
    auto rank = static_cast<int64_t>(x_shape.size());
    int64_t axis = axes[0] < 0 ? axes[0] + rank : axes[0];
    auto at = static_cast<size_t>(axis);
    Dim size = shape(n.outputs[0])[at], start = starts[0];
    expr::SymbolId index = *parts_.index.as_symbol();
    std::optional<Dim> step = expr::coefficient_of(start, index);
    if (!size.is_const(1) || !step || (!step->is_const(1) && !step->is_const(-1))) return Lifted();
    bool forwards = step->is_const(1);
    Dim first = start - *step * parts_.index;
    // A negative start counts from the end.
    if (!rewriter_.is_known(first) || !ctx.proves_less_equal(ctx.constant(0), start)) return Lifted();
    if (!forwards) first = first - parts_.count + 1;
    ValueId x = n.inputs[0];
    if (!first.is_const(0) || !ctx.proves_equal(parts_.count, x_shape[at])) {
      // Without iterations the part is empty wherever it would start.
      if (!ctx.proves_less_equal(ctx.constant(0), first)) first = expr::max(first, ctx.constant(0));
      x = TRY(slice(x, axis, first, first + parts_.count, 1, n.loc));
    }
    if (!forwards) x = TRY(slice(x, axis, ctx.constant(-1), ctx.constant(-INT64_MAX), -1, n.loc));
    if (!ctx.proves_equal(shape(x)[at], parts_.count)) return Lifted();
    return in_front(x, axis, {x, parts_.count, nullptr}, n);
  }

  // The iteration's own place of an outer tensor, which may end before the iterations do.
  Result<Lifted> lift_gather(const Node& n) {
    expr::Context& ctx = rewriter_.ctx();
    auto at = defs_.find(n.inputs[1]);
    while (at != defs_.end() && at->second->op == "array.reshape") at = defs_.find(at->second->inputs[0]);
    if (at == defs_.end() || at->second->op != "array.from_dims" || !is_outer(n.inputs[0])) return Lifted();
    if (dims_of(at->second->attrs, "values", ctx) != std::vector<Dim>{parts_.index}) return Lifted();
    ValueId x = n.inputs[0];
    auto rank = static_cast<int64_t>(shape(x).size());
    int64_t axis = ops::attrs_of(n).as_int("axis");
    if (axis < 0) axis += rank;
    Dim size = shape(x)[static_cast<size_t>(axis)], extent = size;
    if (!ctx.proves_less_equal(size, parts_.count)) extent = expr::min(size, parts_.count);
    if (extent != size) x = TRY(slice(x, axis, ctx.constant(0), extent, 1, n.loc));
    if (!ctx.proves_equal(shape(x)[static_cast<size_t>(axis)], extent)) return Lifted();
    return in_front(x, axis, {x, extent, n.loc}, n);
  }

  // The batch with its axis first, in the shape of what `n` gives.
  Result<Lifted> in_front(ValueId x, int64_t axis, Batch batch, const Node& n) {
    if (axis != 0) {
      std::vector<int64_t> perm{axis};
      for (int64_t k = 0; k < static_cast<int64_t>(shape(x).size()); ++k)
        if (k != axis) perm.push_back(k);
      x = TRY(rewriter_.make("array.transpose", {{"perm", perm}}, {x}, n.loc));
    }
    return made(batch, "array.reshape", {{"shape", with_extent(shape(n.outputs[0]), batch.extent)}}, {x}, n);
  }

  Result<ValueId> slice(ValueId x, int64_t axis, Dim start, Dim end, int64_t step, const LocPtr& loc) {
    return rewriter_.make("array.slice",
                          {{"starts", std::vector<Dim>{start}},
                           {"ends", std::vector<Dim>{end}},
                           {"axes", std::vector<int64_t>{axis}},
                           {"steps", std::vector<int64_t>{step}}},
                          {x}, loc);
  }

  Result<ValueId> gather(const Batch& all) {
    ValueId index = TRY(rewriter_.make("array.from_dims", {{"values", std::vector<Dim>{parts_.index}}}, {}, all.check));
    return rewriter_.make("array.gather", {{"axis", int64_t{0}}}, {all.value, index}, all.check);
  }

  // The last products of each chain are read at this iteration's place; what led to them dies.
  Result<Body> rebuild() {
    FunctionBuilder& b = rewriter_.builder();
    const Region& body = *parts_.body;
    b.begin_region(body.params);
    for (const Node& n : body.nodes) {
      auto moved = n.outputs.size() == 1 ? moved_.find(n.outputs[0]) : moved_.end();
      if (moved == moved_.end()) {
        b.append(n);
        continue;
      }
      const Batch& all = moved->second;
      ValueId here = all.check ? TRY(gather(all)) : TRY(slice(all.value, 0, parts_.index, parts_.index + 1, 1, n.loc));
      b.append(Node{"array.reshape", {{"shape", shape(n.outputs[0])}}, {here}, n.outputs, {}, n.loc});
    }
    return b.end_region(body.results);
  }

  Rewriter& rewriter_;
  const Node& loop_;
  LoopParts parts_;
  std::unordered_set<ValueId> inside_;
  std::unordered_map<ValueId, const Node*> defs_;
  std::unordered_map<ValueId, size_t> uses_;
  std::unordered_map<ValueId, Lifted> lifted_;
  std::unordered_map<ValueId, Batch> moved_;
};

}  // namespace

PassDef pass_batch_products() {
  return {.name = "batch-products",
          .summary = "computes the products of a loop with its input for all iterations at once",
          .run = [](const FunctionPtr& f, PassContext& c) -> Result<FunctionPtr> {
            Rewriter rewriter(f, c.ctx, "core.loop");
            return rewriter.run([&](Node& loop) -> Result<Rewriter::Action> {
              auto body = TRY(Batcher(rewriter, loop).run());
              if (body == nullptr) return Rewriter::Action::Keep;
              loop.regions[0] = body;
              return Rewriter::Action::Change;
            });
          }};
}

}  // namespace pliant::passes
