// The ordered list of graph passes, and their runner.
#pragma once
#include "driver/compile.h"
#include "graph/graph.h"
#include "partition/partition.h"

namespace pliant::driver {

// Runs the passes of `options.opt_level` on every function. With `check_passes`, verifies types and structure and
// compares print -> parse -> print after each; with `dump_dir`, writes the text after each pass that changed something. An
// InternalError inside a pass is rethrown with the pass's name.
Result<graph::Module> run_passes(const graph::Module& module, const CompileOptions& options);
// The last pass, with the same checks and texts; it sees the whole module.
Result<partition::Partitioned> run_partition(const graph::Module& module, const target::Target& target,
                                             const CompileOptions& options, const partition::Options& choices);
// The names of the passes in order at one level, those of run_passes.
std::vector<std::string> pass_names(int opt_level);

}  // namespace pliant::driver
