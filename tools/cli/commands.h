// The commands of the tool. Each prints its result to standard output; an Error is the user's fault.
#pragma once
#include <string>
#include <vector>

#include "driver/compile.h"

namespace pliant::cli {

// The options that say how a model is compiled, as text.
struct CompileArgs {
  std::string model;
  std::string target = "native", precision = "fp32", dump_dir;
  int opt_level = 3, threads = 0;
  bool check_passes = false, no_native_loops = false;
  std::vector<std::string> shapes, bounds, likely;
};
Result<driver::CompileOptions> compile_options(const CompileArgs& args);

Status compile(const CompileArgs& args, const std::string& output);

struct RunArgs {
  CompileArgs compile;  // `compile.model` may be an artifact
  std::vector<std::string> inputs, shapes, dims;
  std::string output_dir;
  int threads = 0;
  uint64_t seed = 0;
  bool check_memory = false;
};
Status run(const RunArgs& args);

struct BenchArgs {
  RunArgs run;
  int64_t requests = 0;  // 0: as many as fit into `seconds`, at least 10
  double seconds = 2;
  std::string json;
};
Status bench(const BenchArgs& args);

struct InspectArgs {
  std::string model;
  bool graph = false, code = false, kernels = false;
};
Status inspect(const InspectArgs& args);

struct VerifyArgs {
  std::string artifact, model;
  std::vector<std::string> shapes, dims;
  int samples = 4, threads = 0;
  double tolerance = 1e-4;
};
// An output that differs by more than `tolerance` is an Error.
Status verify(const VerifyArgs& args);

}  // namespace pliant::cli
