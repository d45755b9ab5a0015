// How the shapes of the branches of a core.if join.
#include <algorithm>

#include "graph/list_type.h"
#include "ops/control/control.h"
#include "ops/control/region_sizes.h"

namespace pliant::ops {

using expr::SymbolId;
using graph::FunctionBuilder;
using graph::kNoValue;
using graph::Node;
using graph::Shape;
using graph::Type;

namespace {

using Yield = std::optional<std::vector<ValueId>>;

struct Branch {
  std::shared_ptr<const graph::Region> region;
  Yield yield;
};

Result<Branch> build_branch(FunctionBuilder& b, const BranchFn& build) {
  b.begin_region({});
  Result<Yield> yield = build();
  if (!yield.ok()) {
    b.drop_region();
    return std::move(yield.error());
  }
  Branch branch;
  branch.yield = yield.take();
  branch.region = b.end_region(branch.yield.value_or(std::vector<ValueId>{}));
  return branch;
}

struct Join {
  expr::Context& ctx;
  SymbolId first;
  const LocPtr& loc;

  Dim dim(Dim a, Dim b, size_t axis) const {
    bool inside = !is_outside(a, first) || !is_outside(b, first);
    if (!inside && (a == b || ctx.proves_equal(a, b))) return a;
    std::optional<Dim> most_a = bound_outside(a, first, ctx), most_b = bound_outside(b, first, ctx), upper;
    if (most_a && most_b) upper = larger(*most_a, *most_b, ctx);
    Dim size = fresh_size("d" + std::to_string(axis), upper, loc, ctx);
    ctx.mutable_info(*size.as_symbol()).lo = std::max<int64_t>(0, std::min(ctx.range(a).lo, ctx.range(b).lo));
    return size;
  }

  Type outside(const Type& list) const {
    return graph::widen_list(list, ctx, [&](SymbolId s) { return s < first; });
  }

  Result<Type> type(const Type& a, const Type& b, size_t output) const {
    const TensorType *x = a.tensor(), *y = b.tensor();
    if (graph::is_list(a) && graph::is_list(b)) {
      if (std::optional<Type> list = graph::join_lists(a, b, ctx)) return outside(*list);
    }
    bool fits = x != nullptr && y != nullptr && x->dtype == y->dtype && x->shape.size() == y->shape.size();
    if (!fits)
      return make_error("branches-differ", describe(loc),
                        "the branches give output " + std::to_string(output) + " as " + print(a) + " and as " + print(b));
    Shape shape;
    for (size_t k = 0; k < x->shape.size(); ++k) shape.push_back(dim(x->shape[k], y->shape[k], k));
    return graph::make_tensor_type(x->dtype, std::move(shape));
  }
};

Result<std::vector<Type>> join_branches(const graph::Function& f, const Branch& then, const Branch& otherwise,
                                        const Join& join) {
  const Yield& a = then.yield ? then.yield : otherwise.yield;
  const Yield& b = otherwise.yield ? otherwise.yield : then.yield;
  std::vector<Type> types;
  if (!a) return types;
  if (a->size() != b->size())
    return make_error("branches-differ", describe(join.loc),
                      "the branches give " + std::to_string(a->size()) + " and " + std::to_string(b->size()) + " values");
  for (size_t i = 0; i < a->size(); ++i) types.push_back(TRY(join.type(f.value((*a)[i]).type, f.value((*b)[i]).type, i)));
  return types;
}

}  // namespace

Result<std::vector<ValueId>> append_if(FunctionBuilder& b, expr::Context& ctx, const Condition& condition,
                                       const BranchFn& then, const BranchFn& otherwise, const LocPtr& loc) {
  SymbolId first = ctx.symbol_count();
  Branch yes = TRY(build_branch(b, then)), no = TRY(build_branch(b, otherwise));
  std::vector<Type> types = TRY(join_branches(b.peek(), yes, no, Join{ctx, first, loc}));
  Node n;
  n.op = "core.if";
  n.inputs = {condition.value};
  if (condition.value == kNoValue) {
    PLIANT_CHECK(condition.dim) << "core.if without a condition";
    n.attrs.set("cond", *condition.dim);
  }
  for (Type& t : types) n.outputs.push_back(b.add_value(std::move(t)));
  n.regions = {yes.region, no.region};
  n.loc = loc;
  std::vector<ValueId> outputs = n.outputs;
  b.append(std::move(n));
  return outputs;
}

}  // namespace pliant::ops
