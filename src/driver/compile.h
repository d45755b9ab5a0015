// compile(): a model file to an artifact. The one place that knows every stage.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "artifact/program.h"
#include "graph/graph.h"

namespace pliant::driver {

struct CompileOptions {
  std::string target = "native";
  std::string precision = "fp32";
  int opt_level = 3;
  int threads = 0;  // for compiling; 0: all allowed
  std::map<std::string, std::vector<std::string>> shapes;
  std::map<std::string, std::pair<int64_t, int64_t>> bounds;
  std::map<std::string, std::vector<int64_t>> likely;
  std::string dump_dir;
  bool native_loops = true;   // loops become one kernel where they can; otherwise bytecode, for comparisons
  bool check_passes = false;  // verify, print -> parse -> compare after every pass
  std::function<void(const std::string& stage, double fraction)> progress;
  std::function<void(const std::string&)> remark;  // what compiles to something slower than it might, and why
};
// What takes long here looks at the thread's stop flag (base/stop.h), and throws Stopped once it is set.
// An ONNX file, or a module in the graph IR's text where the name ends in `.ir`.
Result<graph::Module> import_model(const std::string& path, const CompileOptions& options);
// The finished artifact, as the bytes of the file.
Result<std::vector<std::byte>> compile_file(const std::string& model_path, const CompileOptions& options);
Result<std::vector<std::byte>> compile_module(const graph::Module& module, const CompileOptions& options);

}  // namespace pliant::driver
