#include "driver/compile.h"

#include <sched.h>

#include <algorithm>
#include <filesystem>

#include "artifact/file.h"
#include "base/output_file.h"
#include "base/utf8.h"
#include "bufferize/bufferize.h"
#include "codegen/codegen.h"
#include "driver/pipeline.h"
#include "emit/emit.h"
#include "frontend/onnx/file/mapped_file.h"
#include "frontend/onnx/import.h"
#include "ops/op.h"

namespace pliant::driver {

namespace {

int allowed_threads(int asked) {
  constexpr int kMost = 1024;
  if (asked > 0) return std::min(asked, kMost);
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

Result<const target::Target*> choose_target(const std::string& name) {
  if (name == "native") return &target::native_target();
  if (const target::Target* t = target::find_target(name)) return t;
  std::string known = "native";
  for (const target::Target& t : target::all_targets()) known += ", " + t.name;
  return make_error("unknown-target", "target \"" + name + "\"", "there is no such target", {"the targets are " + known});
}

Status dump(const std::string& dir, const bufferize::Bufferized& b, expr::Context& ctx) {
  if (dir.empty()) return ok();
  TRY(write_file(dir + "/kernels.ir", b.derivations));
  std::string loops;
  for (const host::Kernel& k : b.module.kernels) loops += loop::print(*k.function, ctx) + "\n";
  TRY(write_file(dir + "/loops.ir", loops));
  return write_file(dir + "/host.ir", host::print(b.module, ctx));
}

void check(const host::Module& module, expr::Context& ctx) {
  const Status verified = host::verify(module, ctx);
  PLIANT_CHECK(verified.ok()) << verified.error().text();
  const std::string text = host::print(module, ctx);
  const Result<host::Module> parsed = host::parse(text, ctx);
  PLIANT_CHECK(parsed.ok()) << "the host IR's text does not parse: " << parsed.error().text();
  PLIANT_CHECK(host::print(parsed.value(), ctx) == text) << "the host IR's text changes when it is parsed and printed";
}

// The program of one target, ready to be written, and its constants.
struct Built {
  artifact::Program program;
  std::vector<graph::ConstantPtr> constants;
  artifact::DebugTable debug;
};
Result<Built> build_program(const graph::Module& module, const target::Target& target, const CompileOptions& options) {
  auto progress = [&](const std::string& stage, double fraction) {
    if (options.progress) options.progress(stage, fraction);
  };
  std::string remarks;
  auto remark = [&](const std::string& text) {
    if (options.remark) options.remark(text);
    remarks += text + "\n";
  };
  lower::Options lower_options;
  lower_options.opt_level = options.opt_level;
  lower_options.derivations = !options.dump_dir.empty();
  partition::Partitioned kernels = TRY(run_partition(
      module, target, options,
      {lower_options, options.native_loops, [&](double fraction) { progress("lowering", 0.1 + 0.2 * fraction); }, remark}));
  bufferize::Bufferized b = TRY(bufferize::bufferize(
      kernels.module, target, {lower_options, [&](double fraction) { progress("lowering", 0.3 + 0.2 * fraction); }},
      std::move(kernels.lowered)));
  TRY(dump(options.dump_dir, b, *module.ctx));
  if (!options.dump_dir.empty()) TRY(write_file(options.dump_dir + "/target.txt", target::describe(target) + "\n"));
  if (options.check_passes) check(b.module, *module.ctx);
  emit::Emitted e = TRY(emit::emit(b.module, module.source));
  progress("generating code", 0.5);
  std::vector<codegen::KernelSource> sources;
  for (const host::Kernel& k : b.module.kernels) sources.push_back({k.function.get(), k.ints});
  codegen::Options code;
  code.opt_level = options.opt_level;
  code.threads = allowed_threads(options.threads);
  code.dump_dir = options.dump_dir;
  code.remark = remark;
  codegen::Compiled compiled = TRY(codegen::compile(sources, e.shapes, *module.ctx, target, code));
  if (!options.dump_dir.empty() && !remarks.empty()) TRY(write_file(options.dump_dir + "/remarks.txt", remarks));
  e.program.image = std::move(compiled.image);
  for (size_t i = 0; i < e.program.kernels.size(); ++i) e.program.kernels[i].code_offset = compiled.kernel_offsets[i];
  for (size_t i = 0; i < e.program.shape_programs.size(); ++i)
    e.program.shape_programs[i].code_offset = compiled.shape_offsets[i];
  e.program.model = to_text(std::filesystem::path(module.source).filename().string());
  e.program.producer = "pliant " PLIANT_VERSION;
  e.program.precision = options.precision;
  return Built{std::move(e.program), std::move(b.constants), std::move(b.debug)};
}

}  // namespace

Result<std::vector<std::byte>> compile_module(const graph::Module& module, const CompileOptions& options) {
  if (options.precision != "fp32")
    return make_error("unsupported-precision", "precision \"" + options.precision + "\"", "only fp32 is supported");
  if (options.opt_level < 0 || options.opt_level > 3)
    return make_error("bad-opt-level", "opt_level " + std::to_string(options.opt_level), "optimisation levels are 0 to 3");
  const target::Target* target = TRY(choose_target(options.target));
  if (!options.dump_dir.empty()) TRY(make_output_folder(options.dump_dir));
  const graph::Module optimised = TRY(run_passes(module, options));
  Built built = TRY(build_program(optimised, *target, options));
  if (options.progress) options.progress("writing", 0.95);
  artifact::Variant variant;
  variant.program = std::move(built.program);
  variant.debug = std::move(built.debug);
  for (const graph::ConstantPtr& c : built.constants) variant.constants.push_back({c->data, c->bytes});
  std::vector<std::byte> bytes = artifact::write_file({&variant, 1});
  if (options.progress) options.progress("done", 1.0);
  return bytes;
}

namespace {

// A module in the graph IR's text. Its functions are verified as an import's would be.
Result<graph::Module> read_module(const std::string& path) {
  const frontend::onnx::MappedFile file = TRY(frontend::onnx::map_file(path));
  const std::string text(reinterpret_cast<const char*>(file.data), file.size);
  graph::Module module = TRY(graph::parse_module(text));
  module.source = path;
  for (const graph::FunctionPtr& f : module.functions) {
    TRY(graph::verify(*f, *module.ctx));
    TRY(ops::verify_types(*f, *module.ctx, &module));
  }
  return module;
}

}  // namespace

Result<graph::Module> import_model(const std::string& path, const CompileOptions& options) {
  if (path.ends_with(".ir")) return read_module(path);
  frontend::onnx::ImportOptions import;
  import.shapes = options.shapes;
  import.bounds = options.bounds;
  import.likely = options.likely;
  return frontend::onnx::import_file(path, import);
}

Result<std::vector<std::byte>> compile_file(const std::string& model_path, const CompileOptions& options) {
  if (options.progress) options.progress("importing", 0.0);
  return compile_module(TRY(import_model(model_path, options)), options);
}

}  // namespace pliant::driver
