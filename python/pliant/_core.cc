// The extension module: compile() and Executable, without logic of its own. pliant/__init__.py is the interface that people
// use.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "driver/compile.h"
#include "executable.h"
#include "frontend/onnx/import.h"
#include "gil.h"
#include "job.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace pliant::python {
namespace {

struct Options {
  std::string target, precision, dump_dir;
  int opt_level, threads;
  bool native_loops, check_passes;
  std::map<std::string, std::vector<std::string>> shapes;
  std::map<std::string, std::pair<int64_t, int64_t>> bounds;
  std::map<std::string, std::vector<int64_t>> likely;
};

// Of nothing of Python's: jobs use it without the lock.
driver::CompileOptions to_driver(const Options& o, const Progress& report) {
  return {o.target, o.precision, o.opt_level,    o.threads,      o.shapes, o.bounds,
          o.likely, o.dump_dir,  o.native_loops, o.check_passes, report};
}

Artifact compile_bytes(const char* data, size_t size, const driver::CompileOptions& options) {
  frontend::onnx::ImportOptions import{options.shapes, options.bounds, options.likely};
  graph::Module module = TRY(frontend::onnx::import_bytes(data, size, ".", "model", import));
  return driver::compile_module(module, options);
}

// `model` is a path, or the bytes of an ONNX model whose external data lies in the current folder.
std::unique_ptr<Executable> compile(nb::bytes model, bool is_path, const Options& options, nb::object show, int run_threads,
                                    uint64_t memory_limit, bool check_memory) {
  const char* data = model.c_str();
  const size_t size = model.size();
  auto work = [=](const Progress& report) -> Artifact {
    const driver::CompileOptions d = to_driver(options, report);
    return is_path ? driver::compile_file(std::string(data, size), d) : compile_bytes(data, size, d);
  };
  Progress progress;
  if (!show.is_none()) progress = [&](const std::string& stage, double fraction) { show(stage, fraction); };
  Artifact artifact = run_job(work, model, progress);
  if (!artifact.ok()) throw CompileError(artifact.error().text());
  return std::make_unique<Executable>(artifact.value().data(), artifact.value().size(), run_threads, memory_limit,
                                      check_memory);
}

std::string path_of(nb::bytes path) { return {path.c_str(), path.size()}; }

void save(nb::object self, nb::bytes path) {
  auto work = [exe = nb::cast<const Executable*>(self), to = path_of(path)](const Progress&) -> Artifact {
    TRY(exe->save(to));
    return std::vector<std::byte>();
  };
  if (Artifact saved = run_job(work, self, nullptr); !saved.ok()) throw PliantError(saved.error().text());
}

}  // namespace
}  // namespace pliant::python

NB_MODULE(_core, m) {
  using namespace pliant::python;
  // Daemon threads that are in a run when the interpreter ends hold their model for ever.
  nb::set_leak_warnings(false);
  m.doc() = "Pliant's extension module; import pliant instead.";
  nb::exception<PliantError> error(m, "Error");
  nb::exception<CompileError>(m, "CompileError", error.ptr());
  nb::exception<ArtifactError>(m, "ArtifactError", error.ptr());
  nb::exception<InputError>(m, "InputError", error.ptr());
  nb::exception<RunError> run_error(m, "RunError", error.ptr());
  nb::exception<CancelledError>(m, "CancelledError", run_error.ptr());
  nb::exception<MemoryLimitError>(m, "MemoryLimitError", run_error.ptr());
  nb::exception<pliant::InternalError>(m, "InternalError", error.ptr());

  nb::class_<Executable>(m, "Executable")
      .def(
          "__init__",
          [](Executable* self, nb::bytes path, int threads, uint64_t memory_limit, std::optional<bool> huge_pages,
             bool check_memory) { new (self) Executable(path_of(path), threads, memory_limit, huge_pages, check_memory); },
          "path"_a, "threads"_a, "memory_limit"_a, "huge_pages"_a.none(), "check_memory"_a)
      .def("inputs", &Executable::inputs)
      .def("outputs", &Executable::outputs)
      .def("info", &Executable::info)
      .def("stats", &Executable::stats)
      .def("run", &Executable::run, "names"_a, "arrays"_a, "dtypes"_a, "list_names"_a, "lists"_a, "memory_limit"_a,
           "seed"_a.none())
      .def("cancel", &Executable::cancel)
      .def("save", &save, "path"_a);
  m.def(
      "compile",
      [](nb::bytes model, bool is_path, const std::string& target, const std::string& precision, int opt_level, int threads,
         int run_threads, uint64_t memory_limit, std::map<std::string, std::vector<std::string>> shapes,
         std::map<std::string, std::pair<int64_t, int64_t>> bounds, std::map<std::string, std::vector<int64_t>> likely,
         nb::bytes dump_dir, bool native_loops, bool check_passes, bool check_memory, nb::object progress) {
        return compile(model, is_path,
                       Options{target, precision, path_of(dump_dir), opt_level, threads, native_loops, check_passes,
                               std::move(shapes), std::move(bounds), std::move(likely)},
                       progress, run_threads, memory_limit, check_memory);
      },
      "model"_a, "is_path"_a, "target"_a, "precision"_a, "opt_level"_a, "threads"_a, "run_threads"_a, "memory_limit"_a,
      "shapes"_a, "bounds"_a, "likely"_a, "dump_dir"_a, "native_loops"_a, "check_passes"_a, "check_memory"_a,
      "progress"_a.none());
  remember_main_thread();
  m.def("shut_down", &shut_down);
  m.def("version", [] { return pliant_version(); });
  m.def("dtype_code", [](const std::string& name) {
    for (int t = 0; pliant_dtype_size(t) != 0; ++t) {
      if (name == pliant_dtype_name(t)) return t;
    }
    return -1;
  });
}
