// Nodes of a loop's body that give the same in every iteration are computed once, before the loop. A node that may fault is
// moved only where the loop is known to run and nothing that stays could fault or stop before it. Weights that a product
// reads against their rows in every iteration are turned before the loop as well.
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
#include "passes/rewrite/sweep.h"

namespace pliant::passes {
namespace {

using graph::Node;
using graph::Region;
using graph::ValueId;

// Columns that lie together: a multiple of the tiles of all targets.
constexpr int64_t kPanel = 32;

// Cheaper in each reader than as a tensor of its own.
bool repeats_elements(const std::string& op) {
  return op == "array.expand" || op == "array.full" || op == "array.iota" || op == "array.tile" || op == "array.eye";
}

class Hoister {
 public:
  Hoister(const graph::FunctionPtr& f, expr::Context& ctx) : sweep_(f, ctx, "core.loop") {}

  Result<graph::FunctionPtr> run() {
    return sweep_.run([&](Node& loop) { return visit(loop); });
  }

 private:
  Result<Sweep::Action> visit(Node& loop) {
    graph::LoopParts parts = graph::loop_parts(loop);
    const Region& body = *parts.body;
    expr::Context& ctx = sweep_.ctx();
    bool runs = parts.condition == graph::kNoValue && parts.trip && ctx.proves_less(ctx.constant(0), *parts.trip);
    std::unordered_set<ValueId> inside(body.params.begin(), body.params.end());
    std::vector<bool> moves(body.nodes.size(), false);
    guarded_.clear();
    for (size_t i = 0; i < body.nodes.size(); ++i) {
      const Node& n = body.nodes[i];
      if (n.op == "core.require") guard(n);
      bool invariant = !uses_any(n, inside) && sweep_.has_known_dims(n) && !is_guarded(n);
      auto fault = invariant ? TRY(fault_of(n)) : std::nullopt;
      moves[i] = fault && (*fault == Fault::Never || runs);
      if (moves[i]) continue;
      // What stays may stop the run before a later node would.
      runs = runs && n.op != "core.fail" && n.op != "core.require" && TRY(fault_of(n)) == Fault::Never;
      std::unordered_set<ValueId> more(n.outputs.begin(), n.outputs.end());
      inside.merge(more);
    }
    keep_repeats(body, moves);
    return apply(loop, body, moves, inside);
  }

  // What a requirement of the body says about sizes is taken for granted only behind it. One on the iteration's number says
  // nothing that is the same in every iteration.
  void guard(const Node& require) {
    graph::Obligation o = graph::obligation_of(require);
    if (!sweep_.is_known(o.a) || !sweep_.is_known(o.b)) return;
    for (graph::Dim d : {o.a, o.b})
      for (expr::SymbolId s : expr::symbols_of(d)) guarded_.insert(s);
  }
  bool is_guarded(const Node& n) const {
    bool found = false;
    auto look = [&](graph::Dim d) {
      for (expr::SymbolId s : expr::symbols_of(d)) found = found || guarded_.count(s) != 0;
    };
    for (const auto& [name, value] : n.attrs.all()) graph::for_each_dim(value, look);
    for (const auto* values : {&n.inputs, &n.outputs})
      for (ValueId v : *values)
        if (v != graph::kNoValue) graph::for_each_dim(sweep_.type(v), look);
    return found;
  }

  Result<std::optional<Fault>> fault_of(const Node& n) { return passes::fault_of(sweep_.builder().peek(), n, sweep_.ctx()); }

  static void keep_repeats(const Region& body, std::vector<bool>& moves) {
    for (size_t i = body.nodes.size(); i-- > 0;) {
      if (!moves[i] || !repeats_elements(body.nodes[i].op)) continue;
      std::unordered_set<ValueId> mine(body.nodes[i].outputs.begin(), body.nodes[i].outputs.end());
      bool moved_reader = false;
      for (size_t k = i + 1; k < body.nodes.size(); ++k) moved_reader |= moves[k] && uses_any(body.nodes[k], mine);
      moves[i] = moved_reader;
    }
  }

  Result<Sweep::Action> apply(Node& loop, const Region& body, const std::vector<bool>& moves,
                              const std::unordered_set<ValueId>& inside) {
    for (size_t i = 0; i < body.nodes.size(); ++i)
      if (moves[i]) sweep_.append(body.nodes[i]);
    std::unordered_map<size_t, ValueId> panels;
    for (size_t i = 0; i < body.nodes.size(); ++i)
      if (!moves[i] && is_read_against_rows(body.nodes[i], inside)) panels[i] = TRY(make_panels(body.nodes[i]));
    if (panels.empty() && std::none_of(moves.begin(), moves.end(), [](bool m) { return m; })) return Sweep::Action::Keep;
    graph::FunctionBuilder& b = sweep_.builder();
    b.begin_region(body.params);
    for (size_t i = 0; i < body.nodes.size(); ++i) {
      if (moves[i]) continue;
      if (panels.count(i) != 0)
        TRY(append_panel_product(body.nodes[i], panels[i]));
      else
        b.append(body.nodes[i]);
    }
    loop.regions[0] = b.end_region(body.results);
    return Sweep::Action::Change;
  }

  // A product with a weight that is no constant, which would be packed when the model is compiled.
  bool is_read_against_rows(const Node& n, const std::unordered_set<ValueId>& inside) const {
    if (getenv("XH")) return false;
    if (n.op != "nn.matmul" || !n.attrs.bool_or("transpose_b", false) || n.attrs.bool_or("transpose_a", false)) return false;
    ValueId a = n.inputs[0], b = n.inputs[1];
    return inside.count(b) == 0 && sweep_.constant(b) == nullptr && sweep_.shape(b).size() == 2 &&
           sweep_.shape(a).size() <= 2;
  }

  // The rows of the weight as columns, in panels where they are whole: [rows / panel, k, panel], or [k, rows].
  Result<ValueId> make_panels(const Node& product) {
    ValueId weight = product.inputs[1];
    graph::Shape shape = sweep_.shape(weight);
    expr::Context& ctx = sweep_.ctx();
    if (!shape[0].is_const() || shape[0].const_value() % kPanel != 0)
      return make("array.transpose", {{"perm", std::vector<int64_t>{1, 0}}}, {weight}, product.loc);
    std::vector<graph::Dim> split{ctx.constant(shape[0].const_value() / kPanel), ctx.constant(kPanel), shape[1]};
    ValueId rows = TRY(make("array.reshape", {{"shape", split}}, {weight}, product.loc));
    return make("array.transpose", {{"perm", std::vector<int64_t>{0, 2, 1}}}, {rows}, product.loc);
  }

  Status append_panel_product(const Node& product, ValueId panels) {
    graph::Attrs attrs = product.attrs;
    attrs.erase("transpose_b");
    ValueId v = TRY(make("nn.matmul", std::move(attrs), {product.inputs[0], panels}, product.loc));
    if (sweep_.shape(v).size() == 3)
      v = TRY(make("array.transpose", {{"perm", std::vector<int64_t>{1, 0, 2}}}, {v}, product.loc));
    graph::Shape shape = sweep_.shape(product.outputs[0]);
    sweep_.builder().append(Node{"array.reshape", {{"shape", std::move(shape)}}, {v}, product.outputs, {}, product.loc});
    return ok();
  }

  Result<ValueId> make(const std::string& op, graph::Attrs attrs, std::vector<ValueId> inputs, const LocPtr& loc) {
    return TRY(ops::append_node(sweep_.builder(), sweep_.ctx(), op, std::move(attrs), std::move(inputs), 1, loc))[0];
  }

  Sweep sweep_;
  std::unordered_set<expr::SymbolId> guarded_;
};

}  // namespace

PassDef pass_hoist_invariant() {
  return {.name = "hoist-invariant",
          .summary = "computes before a loop what is the same in every iteration",
          .run = [](const graph::FunctionPtr& f, PassContext& c) -> Result<graph::FunctionPtr> {
            return Hoister(f, c.ctx).run();
          }};
}

}  // namespace pliant::passes
