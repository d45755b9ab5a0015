#include "driver/pipeline.h"

#include <algorithm>
#include <cstdio>

#include "base/output_file.h"
#include "base/stop.h"
#include "ops/op.h"
#include "passes/pass.h"

namespace pliant::driver {

std::vector<std::string> pass_names(int opt_level) {
  // Composites have no computation of their own: lowering needs them expanded at every level.
  std::vector<std::string> names{"propagate-sizes", "guard-divisions", "guard-arctangents", "expand-composites"};
  if (opt_level >= 1) {
    names.insert(names.begin() + 1, "inline-calls");
    names.insert(names.end(),
                 {
                     "simplify",  // first: a product reads a transposed weight as it is, folding would store it twice
                     "fold-constants",
                     "fold-control",
                     "simplify",  // what folding made constant
                     "convert-ifs",
                     "hoist-invariant",
                     "cse",
                     "batch-products",  // the products are plain once what they read is outside
                     "unroll-loops",    // after what would be lost by it
                     "grow-outermost",
                     "accumulate-reductions",
                     "simplify",
                     "fold-constants",
                     "cse",
                     "dce",
                 });
  }
  if (opt_level >= 2) {
    names.insert(names.end(), {
                                  "fold-batch-norm",  // before layout, which would move the constants that it folds
                                  "simplify",
                                  "layout",
                                  "fold-constants",  // constants that the layout transposed
                                  "simplify",
                                  "cse",
                                  "dce",
                              });
  }
  return names;
}

namespace {

Status dump(const std::string& dir, int number, const std::string& pass, const graph::Function& f, expr::Context& ctx) {
  if (dir.empty()) return ok();
  char prefix[16];
  std::snprintf(prefix, sizeof prefix, "%02d-", number);
  std::string name = prefix + pass + ".ir";
  std::replace(name.begin(), name.end(), '/', '_');
  return write_file(dir + "/" + name, graph::print(f, ctx));
}

Status check(const graph::Function& f, expr::Context& ctx, const std::string& pass) {
  auto structure = graph::verify(f, ctx);
  PLIANT_CHECK(structure.ok()) << "after pass " << pass << ": " << structure.error().text();
  auto types = ops::verify_types(f, ctx);
  PLIANT_CHECK(types.ok()) << "after pass " << pass << ": " << types.error().text();
  std::string text = graph::print(f, ctx);
  auto parsed = graph::parse_function(text, ctx, graph::constants_of(f));
  PLIANT_CHECK(parsed.ok()) << "after pass " << pass << ", the text does not parse: " << parsed.error().text();
  PLIANT_CHECK(graph::print(*parsed.value(), ctx) == text)
      << "after pass " << pass << ", the text changes when it is parsed and printed";
  return ok();
}

Result<graph::FunctionPtr> run_on(graph::FunctionPtr f, const graph::Module& module, const std::string& prefix,
                                  const CompileOptions& options) {
  expr::Context& ctx = *module.ctx;
  passes::PassContext context{ctx, &module.functions};
  int number = 0;
  TRY(dump(options.dump_dir, number++, prefix + "import", *f, ctx));
  if (options.check_passes) TRY(check(*f, ctx, "import"));
  for (const std::string& name : pass_names(options.opt_level)) {
    const passes::PassDef* pass = passes::find_pass(name);
    PLIANT_CHECK(pass) << "there is no pass " << name;
    graph::FunctionPtr before = f;
    poll_stop();
    try {
      f = TRY(pass->run(f, context));
    } catch (const InternalError& e) {
      throw InternalError("in pass " + name + ": " + e.what());
    }
    if (f != before) TRY(dump(options.dump_dir, number, prefix + name, *f, ctx));
    ++number;
    if (options.check_passes && f != before) TRY(check(*f, ctx, name));
  }
  return f;
}

}  // namespace

Result<graph::Module> run_passes(const graph::Module& module, const CompileOptions& options) {
  graph::Module out = module;
  for (size_t i = 0; i < out.functions.size(); ++i)
    out.functions[i] = TRY(run_on(out.functions[i], module, i == 0 ? "" : out.functions[i]->name + "-", options));
  return out;
}

Result<partition::Partitioned> run_partition(const graph::Module& module, const target::Target& target,
                                             const CompileOptions& options, const partition::Options& choices) {
  partition::Partitioned out;
  poll_stop();
  try {
    out = TRY(partition::partition(module, target, choices));
  } catch (const InternalError& e) {
    throw InternalError(std::string("in pass partition: ") + e.what());
  }
  const int number = static_cast<int>(pass_names(options.opt_level).size()) + 1;
  for (size_t i = 0; i < out.module.functions.size(); ++i) {
    const graph::Function& f = *out.module.functions[i];
    if (out.module.functions[i] == module.functions[i]) continue;
    TRY(dump(options.dump_dir, number, (i == 0 ? "" : f.name + "-") + "partition", f, *module.ctx));
    if (options.check_passes) TRY(check(f, *module.ctx, "partition"));
  }
  return out;
}

}  // namespace pliant::driver
