// Local algebra, until no rule of src/passes/rules fits: movements that move nothing, neutral elements, and activations and
// normalisations that the model writes out.
//
//   %1 = array.transpose(%0) {perm=[0, 2, 1]} : f32[n, 4, m]     →     %1 = nn.relu(%0) : f32[n, m, 4]
//   %2 = array.transpose(%1) {perm=[0, 2, 1]} : f32[n, m, 4]           return %1 "out"
//   %3 = nn.relu(%2) : f32[n, m, 4]
//   return %3 "out"
#include <map>

#include "passes/pass.h"
#include "passes/rewrite/liveness.h"
#include "passes/rules/rule.h"

namespace pliant::passes {
namespace {

// Each rule takes work away or moves it towards the inputs, so this is never reached by a chain of them.
constexpr int kMostRounds = 64;

using RuleTable = std::map<std::string, std::vector<Rule>, std::less<>>;

RuleTable make_table() {
  RuleTable table;
  for (const auto& topic :
       {movement_rules(), activation_rules(), normalisation_rules(), contraction_rules(), arithmetic_rules()}) {
    for (const Rule& rule : topic) table[rule.op].push_back(rule);
  }
  return table;
}

Result<FunctionPtr> simplify_once(const FunctionPtr& f, expr::Context& ctx, const RuleTable& table) {
  Rewriter rewriter(f, ctx);
  return rewriter.run([&](const Node& n) -> Result<Rewriter::Action> {
    auto rules = table.find(n.op);
    if (rules == table.end()) return Rewriter::Action::Keep;
    for (const Rule& rule : rules->second) {
      std::optional<ValueId> value = TRY(rule.apply(rewriter, n));
      if (!value || !rewriter.can_replace(n.outputs[0], *value)) continue;
      rewriter.replace(n.outputs[0], *value);
      return Rewriter::Action::Drop;
    }
    return Rewriter::Action::Keep;
  });
}

}  // namespace

PassDef pass_simplify() {
  return {.name = "simplify",
          .summary = "applies local algebra",
          .run = [](const FunctionPtr& f, PassContext& c) -> Result<FunctionPtr> {
            RuleTable table = make_table();
            FunctionPtr current = f;
            for (int round = 0; round < kMostRounds; ++round) {
              FunctionPtr next = TRY(simplify_once(current, c.ctx, table));
              if (next == current) return current;
              current = without_dead_nodes(next, c.ctx);
            }
            return current;
          }};
}

}  // namespace pliant::passes
