// links: pliant_graph

// `parse [loc]`: the function's canonical text, with locations on request. The text must parse back to itself.
#include "golden/golden.h"
#include "graph/graph.h"

namespace pliant::golden {

Command command_parse() {
  return {"parse", [](const Case& c) -> Result<std::string> {
            graph::PrintOptions options{.with_locations = !c.args.empty() && c.args[0] == "loc"};
            expr::Context ctx, again;
            graph::FunctionPtr f = TRY(graph::parse_function(c.input, ctx));
            std::string text = print(*f, ctx, options);
            graph::FunctionPtr g = TRY(graph::parse_function(text, again, constants_of(*f)));
            std::string second = print(*g, again, options);
            PLIANT_CHECK(text == second) << "the text changes when it is parsed again:\n" << second;
            return text;
          }};
}

}  // namespace pliant::golden
