// Dead code: drops every node that no result, no requirement and no live node needs.
//
//   %2 = math.add(%0, %1) : f32[n]     →     %2 = math.neg(%0) : f32[n]
//   %3 = math.neg(%0) : f32[n]               return %2 "out"
//   return %3 "out"
#include "passes/pass.h"
#include "passes/rewrite/liveness.h"

namespace pliant::passes {

PassDef pass_dce() {
  return {.name = "dce",
          .summary = "drops nodes that nothing needs",
          .run = [](const FunctionPtr& f, PassContext& c) -> Result<FunctionPtr> { return without_dead_nodes(f, c.ctx); }};
}

}  // namespace pliant::passes
