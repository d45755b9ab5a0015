// The ordered list of graph passes, and their runner.
#pragma once
#include "driver/compile.h"
#include "graph/graph.h"

namespace pliant::driver {

// Runs the passes of `options.opt_level` on every function. With `check_passes`, verifies types and structure and
// compares print -> parse -> print after each; with `dump_dir`, writes the text after each pass that changed something. An
// InternalError inside a pass is rethrown with the pass's name.
Result<graph::Module> run_passes(const graph::Module& module, const CompileOptions& options);
// The names of the passes in order at one level.
std::vector<std::string> pass_names(int opt_level);

}  // namespace pliant::driver
