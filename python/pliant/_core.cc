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
  nb::object progress;  // a function of (stage, fraction), or None
};

driver::CompileOptions to_driver(const Options& o) {
  driver::CompileOptions d{o.target, o.precision, o.opt_level,    o.threads,      o.shapes, o.bounds,
                           o.likely, o.dump_dir,  o.native_loops, o.check_passes, {}};
  if (!o.progress.is_none()) {
    d.progress = [function = nb::handle(o.progress)](const std::string& stage, double fraction) {
      nb::gil_scoped_acquire locked;
      function(stage, fraction);
    };
  }
  return d;
}

Result<std::vector<std::byte>> compile_bytes(nb::bytes model, const std::string& directory,
                                             const driver::CompileOptions& options) {
  const char* data = model.c_str();
  size_t size = model.size();
  nb::gil_scoped_release unlocked;
  frontend::onnx::ImportOptions import{options.shapes, options.bounds, options.likely};
  graph::Module module = TRY(frontend::onnx::import_bytes(data, size, directory, "model", import));
  return driver::compile_module(module, options);
}

// `model` is a path, or the bytes of an ONNX model whose external data lies in `directory`.
std::unique_ptr<Executable> compile(nb::object model, const std::string& directory, const Options& options, int run_threads,
                                    uint64_t memory_limit, bool check_memory) {
  driver::CompileOptions d = to_driver(options);
  std::optional<Result<std::vector<std::byte>>> result;
  if (nb::isinstance<nb::bytes>(model)) {
    result.emplace(compile_bytes(nb::cast<nb::bytes>(model), directory, d));
  } else {
    std::string path = nb::cast<std::string>(model);
    nb::gil_scoped_release unlocked;
    result.emplace(driver::compile_file(path, d));
  }
  if (!result->ok()) throw CompileError(result->error().text());
  return std::make_unique<Executable>(result->value().data(), result->value().size(), run_threads, memory_limit,
                                      check_memory);
}

}  // namespace
}  // namespace pliant::python

NB_MODULE(_core, m) {
  using namespace pliant::python;
  m.doc() = "Pliant's extension module; import pliant instead.";
  nb::exception<PliantError> error(m, "Error");
  nb::exception<CompileError>(m, "CompileError", error.ptr());
  nb::exception<ArtifactError>(m, "ArtifactError", error.ptr());
  nb::exception<InputError>(m, "InputError", error.ptr());
  nb::exception<RunError> run_error(m, "RunError", error.ptr());
  nb::exception<CancelledError>(m, "CancelledError", run_error.ptr());
  nb::exception<MemoryLimitError>(m, "MemoryLimitError", run_error.ptr());
  nb::exception<pliant::InternalError>(m, "InternalError");

  nb::class_<Executable>(m, "Executable")
      .def(nb::init<const std::string&, int, uint64_t, std::optional<bool>, bool>(), "path"_a, "threads"_a, "memory_limit"_a,
           "huge_pages"_a.none(), "check_memory"_a)
      .def("inputs", &Executable::inputs)
      .def("outputs", &Executable::outputs)
      .def("info", &Executable::info)
      .def("stats", &Executable::stats)
      .def("run", &Executable::run, "names"_a, "arrays"_a, "dtypes"_a, "list_names"_a, "lists"_a, "memory_limit"_a,
           "seed"_a.none())
      .def("cancel", &Executable::cancel)
      .def("save", &Executable::save, "path"_a);
  m.def(
      "compile",
      [](nb::object model, const std::string& directory, const std::string& target, const std::string& precision,
         int opt_level, int threads, int run_threads, uint64_t memory_limit,
         std::map<std::string, std::vector<std::string>> shapes, std::map<std::string, std::pair<int64_t, int64_t>> bounds,
         std::map<std::string, std::vector<int64_t>> likely, const std::string& dump_dir, bool native_loops,
         bool check_passes, bool check_memory, nb::object progress) {
        return compile(model, directory,
                       Options{target, precision, dump_dir, opt_level, threads, native_loops, check_passes,
                               std::move(shapes), std::move(bounds), std::move(likely), progress},
                       run_threads, memory_limit, check_memory);
      },
      "model"_a, "directory"_a, "target"_a, "precision"_a, "opt_level"_a, "threads"_a, "run_threads"_a, "memory_limit"_a,
      "shapes"_a, "bounds"_a, "likely"_a, "dump_dir"_a, "native_loops"_a, "check_passes"_a, "check_memory"_a,
      "progress"_a.none());
  m.def("version", [] { return pliant_version(); });
  m.def("dtype_code", [](const std::string& name) {
    for (int t = 0; pliant_dtype_size(t) != 0; ++t) {
      if (name == pliant_dtype_name(t)) return t;
    }
    return -1;
  });
}
