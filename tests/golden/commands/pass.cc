// links: pliant_graph pliant_ops pliant_passes

// `pass NAME…`: the first function after the passes. It must verify before and after each of them and parse back to itself,
// and a second run of a pass must not change what the first gave.
#include "passes/pass.h"

#include "golden/golden.h"
#include "graph/graph.h"
#include "ops/op.h"

namespace pliant::golden {
namespace {

Status check(const graph::Function& f, expr::Context& ctx) {
  TRY(verify(f, ctx));
  TRY(ops::verify_types(f, ctx));
  std::string text = print(f, ctx);
  graph::FunctionPtr again = TRY(graph::parse_function(text, ctx, constants_of(f)));
  PLIANT_CHECK(print(*again, ctx) == text) << "the text changes when it is parsed again:\n" << print(*again, ctx);
  return ok();
}

}  // namespace

Command command_pass() {
  return {"pass", [](const Case& c) -> Result<std::string> {
            const graph::Module module = TRY(graph::parse_module(c.input));
            expr::Context& ctx = *module.ctx;
            graph::FunctionPtr f = module.functions[0];
            TRY(check(*f, ctx));
            passes::PassContext pass_context{ctx, &module.functions};
            for (const std::string& name : c.args) {
              const passes::PassDef* pass = passes::find_pass(name);
              PLIANT_CHECK(pass != nullptr) << "there is no pass " << name;
              f = TRY(pass->run(f, pass_context));
              TRY(check(*f, ctx));
              PLIANT_CHECK(TRY(pass->run(f, pass_context)) == f)
                  << "a second run of " << name << " changes the function again";
            }
            return print(*f, ctx);
          }};
}

}  // namespace pliant::golden
