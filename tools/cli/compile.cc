#include <chrono>
#include <cstdio>

#include "base/output_file.h"
#include "commands.h"
#include "session.h"
#include "shapes.h"

namespace pliant::cli {

Result<driver::CompileOptions> compile_options(const CompileArgs& args) {
  driver::CompileOptions options;
  options.target = args.target;
  options.precision = args.precision;
  options.opt_level = args.opt_level;
  options.threads = args.threads;
  options.dump_dir = args.dump_dir;
  options.check_passes = args.check_passes;
  options.native_loops = !args.no_native_loops;
  for (const std::string& text : args.shapes) options.shapes.insert(TRY(parse_symbolic_shape(text)));
  for (const std::string& text : args.bounds) options.bounds.insert(TRY(parse_bound(text)));
  for (const std::string& text : args.likely) options.likely.merge(TRY(parse_values(text)));
  options.progress = [](const std::string& stage, double fraction) {
    show_progress("compiling " + std::to_string(static_cast<int>(fraction * 100)) + " %  " + stage);
  };
  return options;
}

Status compile(const CompileArgs& args, const std::string& output) {
  auto start = std::chrono::steady_clock::now();
  driver::CompileOptions options = TRY(compile_options(args));
  OutputFile file = TRY(OutputFile::open(output));
  std::vector<std::string> remarks;
  options.remark = [&](const std::string& text) { remarks.push_back(text); };
  std::vector<std::byte> bytes = TRY(driver::compile_file(args.model, options));
  show_progress("");
  for (const std::string& text : remarks) std::fprintf(stderr, "remark: %s\n", text.c_str());
  TRY(file.append(bytes));
  TRY(file.finish());
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::fprintf(file.is_standard_output() ? stderr : stdout, "%s: %.1f MB, compiled in %.1f s, precision %s\n",
               output.c_str(), static_cast<double>(bytes.size()) / 1e6, seconds, args.precision.c_str());
  return ok();
}

}  // namespace pliant::cli
