// Graph-to-graph passes. One file a pass, src/passes/<name>.cc, exporting `PassDef pass_<name>()`; the list is generated
// from the file names, the order is driver/pipeline.cc.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "passes/names.h"

namespace pliant::passes {

struct PassContext {
  expr::Context& ctx;
  const std::vector<FunctionPtr>* functions = nullptr;  // of the module; null where there is no more than one
};
// Pure: the input is not changed; an input with nothing to do comes back as the same pointer. Every node of the result has
// a location. Passes run on one function and keep its params, results and their names and types; of the sizes of main's
// results they may say more, and of those of its params.
struct PassDef {
  std::string name;  // kebab-case, as golden tests name it
  std::string summary;
  std::function<Result<FunctionPtr>(const FunctionPtr&, PassContext&)> run;
};
const std::vector<PassDef>& all_passes();
const PassDef* find_pass(const std::string& name);

}  // namespace pliant::passes
