// Nodes of a loop's body that give the same in every iteration are computed once, before the loop. A node that may fault, or
// whose result may be much larger than what it is made of, is moved only where the loop is known to run and nothing that
// stays could fault or stop before it.
//
//   %3 = core.loop(_, %0) …                          %2 = math.exp(%1) : f32[4]
//     region(%4: f32[4]) {                           %3 = core.loop(_, %0) …
//       %5 = math.exp(%1) : f32[4]            →        region(%4: f32[4]) {
//       %6 = math.add(%4, %5) : f32[4]                   %6 = math.add(%4, %2) : f32[4]
//       yield %7, %6                                     yield %7, %6
//     }                                                }
#include <algorithm>

#include "graph/visit.h"
#include "ops/op.h"
#include "passes/pass.h"
#include "passes/rewrite/region_facts.h"
#include "passes/rewrite/rewriter.h"

namespace pliant::passes {
namespace {

// How many times the memory of what moved nodes read their results may take, and bytes that they may take in any case, where
// the loop may have no iteration.
constexpr int64_t kMostGrowth = 1024, kSmallResult = int64_t{1} << 20;

class Hoister {
 public:
  Hoister(const FunctionPtr& f, expr::Context& ctx) : rewriter_(f, ctx, "core.loop") {}

  Result<FunctionPtr> run() {
    return rewriter_.run([&](Node& loop) { return visit(loop); });
  }

 private:
  Result<Rewriter::Action> visit(Node& loop) {
    LoopParts parts = graph::loop_parts(loop);
    const Region& body = *parts.body;
    expr::Context& ctx = rewriter_.ctx();
    bool runs = parts.condition == kNoValue && parts.trip && ctx.proves_less(ctx.constant(0), *parts.trip);
    std::unordered_set<ValueId> inside(body.params.begin(), body.params.end());
    std::vector<bool> moves(body.nodes.size(), false);
    guarded_.clear();
    read_.clear();
    read_bytes_ = ctx.constant(0);
    for (size_t i = 0; i < body.nodes.size(); ++i) {
      const Node& n = body.nodes[i];
      if (n.op == "core.require") guard(n);
      bool invariant = !uses_any(n, inside) && rewriter_.has_known_dims(n) && !is_guarded(n);
      auto fault = invariant ? TRY(trap_of(n)) : std::nullopt;
      moves[i] = fault && (runs || (*fault == Trap::Never && is_moderate(n)));
      if (moves[i]) continue;
      // What stays may stop the run before a later node would.
      runs = runs && n.op != "core.fail" && n.op != "core.require" && TRY(trap_of(n)) == Trap::Never;
      std::unordered_set<ValueId> more(n.outputs.begin(), n.outputs.end());
      inside.merge(more);
    }
    TRY(keep_repeats(body, moves));
    return apply(loop, body, moves);
  }

  // What a requirement of the body says about sizes is taken for granted only behind it. One on the iteration's number says
  // nothing that is the same in every iteration.
  void guard(const Node& require) {
    ShapeConstraint o = graph::constraint_of(require);
    if (!rewriter_.is_known(o.a) || !rewriter_.is_known(o.b)) return;
    for (Dim d : {o.a, o.b})
      for (expr::SymbolId s : expr::symbols_of(d)) guarded_.insert(s);
  }
  bool is_guarded(const Node& n) const {
    bool found = false;
    auto look = [&](Dim d) {
      for (expr::SymbolId s : expr::symbols_of(d)) found = found || guarded_.count(s) != 0;
    };
    for (const auto& [name, value] : n.attrs.all()) graph::for_each_dim(value, look);
    for (const auto* values : {&n.inputs, &n.outputs})
      for (ValueId v : *values)
        if (v != kNoValue) graph::for_each_dim(rewriter_.type(v), look);
    return found;
  }

  // Where the loop does not run, no more memory is taken than this.
  bool is_moderate(const Node& n) {
    expr::Context& ctx = rewriter_.ctx();
    auto bytes_of = [&](ValueId v) -> std::optional<Dim> {
      const TensorType* t = v == kNoValue ? nullptr : rewriter_.type(v).tensor();
      if (t == nullptr) return std::nullopt;
      for (Dim d : t->shape)
        if (!ctx.proves_less_equal(ctx.constant(0), d)) return std::nullopt;
      return product(ctx, t->shape) * byte_size(t->dtype);
    };
    for (ValueId v : n.inputs)
      if (std::optional<Dim> bytes = bytes_of(v); bytes && read_.insert(v).second) read_bytes_ = read_bytes_ + *bytes;
    for (ValueId v : n.outputs) {
      if (v == kNoValue) continue;
      const std::optional<Dim> bytes = bytes_of(v);
      if (!bytes || !ctx.proves_less_equal(*bytes, read_bytes_ * kMostGrowth + kSmallResult)) return false;
      read_.insert(v);
    }
    return true;
  }

  Result<std::optional<Trap>> trap_of(const Node& n) {
    return passes::trap_of(rewriter_.builder().peek(), n, rewriter_.ctx());
  }

  Status keep_repeats(const Region& body, std::vector<bool>& moves) {
    for (size_t i = body.nodes.size(); i-- > 0;) {
      if (!moves[i] || !TRY(repeats_elements(rewriter_.builder().peek(), body.nodes[i], rewriter_.ctx()))) continue;
      std::unordered_set<ValueId> mine(body.nodes[i].outputs.begin(), body.nodes[i].outputs.end());
      bool moved_reader = false;
      for (size_t k = i + 1; k < body.nodes.size(); ++k) moved_reader |= moves[k] && uses_any(body.nodes[k], mine);
      moves[i] = moved_reader;
    }
    return ok();
  }

  Result<Rewriter::Action> apply(Node& loop, const Region& body, const std::vector<bool>& moves) {
    for (size_t i = 0; i < body.nodes.size(); ++i)
      if (moves[i]) rewriter_.append(body.nodes[i]);
    if (std::none_of(moves.begin(), moves.end(), [](bool m) { return m; })) return Rewriter::Action::Keep;
    FunctionBuilder& b = rewriter_.builder();
    b.begin_region(body.params);
    for (size_t i = 0; i < body.nodes.size(); ++i)
      if (!moves[i]) b.append(body.nodes[i]);
    loop.regions[0] = b.end_region(body.results);
    return Rewriter::Action::Change;
  }

  Rewriter rewriter_;
  std::unordered_set<expr::SymbolId> guarded_;
  std::unordered_set<ValueId> read_;  // by nodes that were asked whether they are moderate
  Dim read_bytes_;
};

}  // namespace

PassDef pass_hoist_invariant() {
  return {.name = "hoist-invariant",
          .summary = "computes before a loop what is the same in every iteration",
          .run = [](const FunctionPtr& f, PassContext& c) -> Result<FunctionPtr> { return Hoister(f, c.ctx).run(); }};
}

}  // namespace pliant::passes
