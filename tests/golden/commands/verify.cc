// links: pliant_graph pliant_ops

// `verify`: "ok", or what is wrong with the structure or the types of the function.
#include "golden/golden.h"
#include "graph/graph.h"
#include "ops/op.h"

namespace pliant::golden {

Command command_verify() {
  return {"verify", [](const Case& c) -> Result<std::string> {
            expr::Context ctx;
            graph::FunctionPtr f = TRY(graph::parse_function(c.input, ctx));
            TRY(verify(*f, ctx));
            TRY(ops::verify_types(*f, ctx));
            return std::string("ok\n");
          }};
}

}  // namespace pliant::golden
