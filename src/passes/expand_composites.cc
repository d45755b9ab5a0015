// Operators that are defined through others are replaced by their definition, again and again until none is left.
//
//   %3 = nn.gemm(%0, %1, %2) : f32[m, n]     →     %3 = nn.matmul(%0, %1) : f32[m, n]
//   return %3 "out"                                %4 = math.add(%3, %2) : f32[m, n]
//                                                  return %4 "out"
#include "ops/op.h"
#include "passes/pass.h"
#include "passes/rewrite/rewriter.h"

namespace pliant::passes {
namespace {

// Definitions are not recursive, so a chain of them is short.
constexpr int kMostRounds = 16;

Result<FunctionPtr> expand_once(const FunctionPtr& f, expr::Context& ctx) {
  Rewriter rewriter(f, ctx);
  return rewriter.run([&](const Node& n) -> Result<Rewriter::Action> {
    const ops::OpDef* op = ops::find_op(n.op);
    if (op == nullptr || !op->expand) return Rewriter::Action::Keep;
    std::vector<ValueId> values = TRY(ops::expand_node(rewriter.builder(), ctx, *op, n));
    for (size_t i = 0; i < n.outputs.size(); ++i) rewriter.replace(n.outputs[i], values[i]);
    return Rewriter::Action::Drop;
  });
}

}  // namespace

PassDef pass_expand_composites() {
  return {.name = "expand-composites",
          .summary = "replaces operators that are defined through others",
          .run = [](const FunctionPtr& f, PassContext& c) -> Result<FunctionPtr> {
            FunctionPtr current = f;
            for (int round = 0; round < kMostRounds; ++round) {
              FunctionPtr next = TRY(expand_once(current, c.ctx));
              if (next == current) return current;
              current = next;
            }
            PLIANT_CHECK(false) << "operators of " << f->name << " expand without end";
            return current;
          }};
}

}  // namespace pliant::passes
