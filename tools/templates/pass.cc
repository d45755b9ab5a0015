// KEBAB: what it does, and why at this place of the pipeline.
//
//   before   %1 = …
//   after    %1 = …
#include "passes/pass.h"

namespace pliant::passes {
namespace {

Result<FunctionPtr> run(const FunctionPtr& f, PassContext&) { return f; }

}  // namespace

PassDef pass_STEM() { return {"KEBAB", "One line for the list of passes.", &run}; }

}  // namespace pliant::passes
