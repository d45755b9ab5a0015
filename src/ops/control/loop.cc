// How the shapes of the values that a core.loop carries are classified.
#include "graph/control.h"
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

ValueId append_true(FunctionBuilder& b, const LocPtr& loc) {
  uint8_t yes = 1;
  return b.append_const(graph::make_constant(DType::Bool, {}, &yes, 1), loc);
}

enum class Change : uint8_t { Invariant, Affine, Fresh };
struct Axis {
  Change change = Change::Invariant;
  Dim step;  // Affine: what each iteration adds
};

class LoopBuilder {
 public:
  LoopBuilder(FunctionBuilder& b, expr::Context& ctx, const LoopSpec& spec, const BodyFn& body, const LocPtr& loc)
      : b_(b), ctx_(ctx), spec_(spec), body_fn_(body), loc_(loc), first_(ctx.symbol_count()) {
    expr::SymbolInfo info;
    info.name = "i";
    if (spec.trip) {
      info.upper = *spec.trip - 1;
      info.hi = std::max<int64_t>(0, ctx.range(*info.upper).hi);
    }
    info.origin = {expr::Origin::Kind::LoopIndex, first_node(loc), 0};
    index_ = ctx.symbol(std::move(info));
    for (ValueId v : spec.init) {
      const TensorType* t = type(v).tensor();
      axes_.emplace_back(t == nullptr ? 0 : t->shape.size());
      lists_.push_back(type(v));
    }
  }

  Result<LoopValues> run() {
    bool all_fresh = false;
    for (bool stable = false; !stable;) {
      Status built = build();
      // What was taken for invariant or affine may be what is wrong.
      if (!built.ok() && !all_fresh && set_all_fresh()) {
        all_fresh = true;
        if (build().ok()) built = ok();
      }
      if (!built.ok()) return std::move(built.error());
      bool changed = TRY(promote());
      stable = !changed && !given_.again;
    }
    return finish();
  }

 private:
  const Type& type(ValueId v) const { return b_.peek().value(v).type; }
  const Dim& init_dim(size_t i, size_t k) const { return type(spec_.init[i]).tensor()->shape[k]; }
  SymbolId index() const { return *index_.as_symbol(); }

  std::string named(ValueId v) const {
    const std::string& name = b_.peek().value(v).name;
    return name.empty() ? "" : " ('" + name + "')";
  }

  bool set_all_fresh() {
    bool any = false;
    for (auto& axes : axes_)
      for (Axis& a : axes) {
        a.change = Change::Fresh;
        any = true;
      }
    return any;
  }

  // The type of carried value i after `count` iterations; `fresh` gives the size of an axis k that follows no rule.
  Type type_after(size_t i, Dim count, const std::function<Dim(size_t k)>& fresh) {
    const TensorType* t = type(spec_.init[i]).tensor();
    if (t == nullptr) return lists_[i];
    Shape shape = t->shape;
    DType dtype = t->dtype;
    for (size_t k = 0; k < shape.size(); ++k) {
      const Axis& a = axes_[i][k];
      if (a.change == Change::Affine) shape[k] = shape[k] + a.step * count;
      if (a.change == Change::Fresh) shape[k] = fresh(k);
    }
    return graph::make_tensor_type(dtype, std::move(shape));
  }

  Type param_type(size_t i) {
    return type_after(i, index_, [&](size_t k) {
      return fresh_size("carried" + std::to_string(i) + "_" + std::to_string(k), std::nullopt, loc_, ctx_);
    });
  }

  Status build() {
    params_.clear();
    for (size_t i = 0; i < spec_.init.size(); ++i)
      params_.push_back(b_.add_value(param_type(i), b_.peek().value(spec_.init[i]).name));
    b_.begin_region(params_);
    Result<LoopBody> given = body_fn_(index_, params_);
    if (!given.ok()) {
      b_.drop_region();
      return std::move(given.error());
    }
    given_ = given.take();
    PLIANT_CHECK(given_.carried.size() == spec_.init.size()) << "a loop body gives other carried values than the loop has";
    is_conditional_ = spec_.condition != kNoValue || given_.condition != kNoValue;
    std::vector<ValueId> results{given_.condition == kNoValue ? append_true(b_, loc_) : given_.condition};
    results.insert(results.end(), given_.carried.begin(), given_.carried.end());
    results.insert(results.end(), given_.scans.begin(), given_.scans.end());
    region_ = b_.end_region(std::move(results));
    return ok();
  }

  // Compares what the body gives with what it was built for. True when an axis has to be taken for less regular.
  Result<bool> promote() {
    bool changed = false;
    for (size_t i = 0; i < params_.size(); ++i) {
      const Type &have = type(given_.carried[i]), &want = type(params_[i]);
      const TensorType *h = have.tensor(), *w = want.tensor();
      if (graph::is_list(want) && graph::is_list(have)) {
        if (std::optional<bool> wider = widen_carried(i, have)) {
          changed |= *wider;
          continue;
        }
      }
      bool fits = h != nullptr && w != nullptr && h->dtype == w->dtype && h->shape.size() == w->shape.size();
      if (!fits)
        return make_error(
            "carried-type", describe(loc_),
            "carried value " + std::to_string(i) + named(params_[i]) + " starts as " + print(type(spec_.init[i])) +
                " but becomes " + print(have) +
                " in the body; what a loop carries keeps its rank and element type: give it those before the loop");
      for (size_t k = 0; k < h->shape.size(); ++k) changed |= promote_axis(axes_[i][k], w->shape[k], h->shape[k]);
    }
    return changed;
  }

  // Whether a carried sequence or optional has to be of a wider type; nothing where no type holds both.
  std::optional<bool> widen_carried(size_t i, const Type& next) {
    Type outside = graph::widen_list(next, ctx_, [&](SymbolId s) { return s < first_; });
    std::optional<Type> joined = graph::join_lists(lists_[i], outside, ctx_);
    if (!joined) return std::nullopt;
    bool wider = *joined != lists_[i];
    lists_[i] = std::move(*joined);
    return wider;
  }

  bool promote_axis(Axis& axis, Dim param, Dim next) {
    if (axis.change == Change::Fresh) return false;
    Dim expected = expr::substitute(param, {{index(), index_ + 1}});
    if (next == expected || ctx_.proves_equal(next, expected)) return false;
    Dim step = next - param;
    if (axis.change == Change::Invariant && is_outside(step, first_))
      axis = {Change::Affine, step};
    else
      axis.change = Change::Fresh;
    return true;
  }

  Dim count() {
    Dim zero = ctx_.constant(0);
    std::optional<Dim> most;
    if (spec_.trip) most = larger(zero, *spec_.trip, ctx_);
    if (!is_conditional_ && most) return *most;
    return fresh_size("count", most, loc_, ctx_);
  }

  // What a carried axis may be at most: where the body gives no more than a known size, or adds no more than that in every
  // iteration.
  std::optional<Dim> bound_fresh(size_t i, size_t k, Dim count) {
    Dim param = type(params_[i]).tensor()->shape[k], next = type(given_.carried[i]).tensor()->shape[k];
    std::optional<Dim>& upper = ctx_.mutable_info(*param.as_symbol()).upper;
    if (std::optional<Dim> most = bound_outside(next, first_, ctx_)) {
      upper = larger(init_dim(i, k), *most, ctx_);
      return upper;
    }
    std::optional<Dim> most = bound_outside(next - param, first_, ctx_);
    if (!most) return std::nullopt;
    Dim step = larger(ctx_.constant(0), *most, ctx_);
    upper = init_dim(i, k) + step * index_;
    return init_dim(i, k) + step * count;
  }

  Type carried_output(size_t i, Dim count) {
    return type_after(i, count, [&](size_t k) {
      return fresh_size("out" + std::to_string(i) + "_" + std::to_string(k), bound_fresh(i, k, count), loc_, ctx_);
    });
  }

  Result<Type> scan_output(size_t j, Dim count) {
    const TensorType* t = type(given_.scans[j]).tensor();
    if (t == nullptr)
      return make_error("wrong-type", describe(loc_), "scan value " + std::to_string(j) + " is not a tensor");
    DType dtype = t->dtype;
    Shape shape{count};
    for (Dim d : Shape(t->shape)) {
      if (!is_outside(d, first_)) {
        std::string what = "scan" + std::to_string(j) + "_" + std::to_string(shape.size() - 1);
        d = fresh_size(what, bound_outside(d, first_, ctx_), loc_, ctx_);
      }
      shape.push_back(d);
    }
    return graph::make_tensor_type(dtype, std::move(shape));
  }

  Result<LoopValues> finish() {
    LoopValues out;
    out.count = count();
    Node n;
    n.op = "core.loop";
    n.inputs = {spec_.condition};
    n.inputs.insert(n.inputs.end(), spec_.init.begin(), spec_.init.end());
    n.attrs.set("index", index_);
    n.attrs.set("count", out.count);
    if (spec_.trip) n.attrs.set("trip", *spec_.trip);
    for (size_t i = 0; i < params_.size(); ++i) out.carried.push_back(b_.add_value(carried_output(i, out.count)));
    for (size_t j = 0; j < given_.scans.size(); ++j) out.scans.push_back(b_.add_value(TRY(scan_output(j, out.count))));
    n.outputs = out.carried;
    n.outputs.insert(n.outputs.end(), out.scans.begin(), out.scans.end());
    n.regions = {region_};
    n.loc = loc_;
    b_.append(std::move(n));
    return out;
  }

  FunctionBuilder& b_;
  expr::Context& ctx_;
  const LoopSpec& spec_;
  const BodyFn& body_fn_;
  const LocPtr& loc_;
  SymbolId first_;
  Dim index_;
  std::vector<std::vector<Axis>> axes_;  // of each carried tensor
  std::vector<Type> lists_;              // of each carried sequence or optional
  std::vector<ValueId> params_;
  LoopBody given_;
  std::shared_ptr<const graph::Region> region_;
  bool is_conditional_ = false;
};

}  // namespace

Result<LoopValues> append_loop(FunctionBuilder& b, expr::Context& ctx, const LoopSpec& spec, const BodyFn& body,
                               const LocPtr& loc) {
  return LoopBuilder(b, ctx, spec, body, loc).run();
}

}  // namespace pliant::ops
