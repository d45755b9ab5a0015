// links: pliant_graph pliant_ops pliant_emit pliant_artifact

// `emit TARGET`: the bytecode of a module, loops included, without passes. The program passes the load-time verifier.
#include "emit/emit.h"

#include "artifact/disassemble.h"
#include "artifact/verify.h"
#include "codegen/codegen.h"
#include "golden/golden.h"
#include "graph/graph.h"

namespace pliant::golden {

Command command_emit() {
  return {"emit", [](const Case& c) -> Result<std::string> {
            const graph::Module module = TRY(graph::parse_module(c.input));
            const codegen::Target* target = codegen::find_target(c.args.at(0));
            PLIANT_CHECK(target != nullptr) << "there is no target " << c.args[0];
            emit::Options options;
            options.native_loops = false;
            emit::Emitted e = TRY(emit::emit(module, *target, options));
            // Code and constants have their places once they are written.
            e.program.image.text.resize(1);
            for (size_t i = 0; i < e.constants.size(); ++i) e.program.constants.push_back({64 * i, 0});
            std::string error;
            if (!artifact::verify(e.program, 64 * e.constants.size(), error)) return error + "\n";
            return artifact::disassemble(e.program);
          }};
}

}  // namespace pliant::golden
