// links: pliant_graph pliant_ops pliant_partition pliant_bufferize

// `bufferize TARGET`: the host IR of a module whose loops all run on the host, without other passes than the partition. It
// verifies, and its text parses back.
#include "bufferize/bufferize.h"

#include "golden/golden.h"
#include "graph/graph.h"
#include "partition/partition.h"

namespace pliant::golden {

Command command_bufferize() {
  return {"bufferize", [](const Case& c) -> Result<std::string> {
            const graph::Module module = TRY(graph::parse_module(c.input));
            const target::Target* target = target::find_target(c.args.at(0));
            PLIANT_CHECK(target != nullptr) << "there is no target " << c.args[0];
            partition::Options options;
            options.native_loops = false;
            partition::Partitioned p = TRY(partition::partition(module, *target, options));
            const bufferize::Bufferized b = TRY(bufferize::bufferize(p.module, *target, {}, std::move(p.lowered)));
            TRY(host::verify(b.module, *module.ctx));
            const std::string text = host::print(b.module, *module.ctx);
            expr::Context again;
            const host::Module parsed = TRY(host::parse(text, again));
            PLIANT_CHECK(host::print(parsed, again) == text) << "the text changes when it is parsed again:\n"
                                                             << host::print(parsed, again);
            return text;
          }};
}

}  // namespace pliant::golden
