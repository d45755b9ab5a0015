// The command-line tool: option parsing and exit codes. 0 done, 1 the user's fault, 2 bad usage, 3 our bug.
#include <CLI/CLI.hpp>
#include <climits>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "base/output_file.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/session.h"

namespace pliant::cli {
namespace {

// "nan" and "inf" are numbers for CLI11, and no comparison with a range refuses the former.
std::string positive_number(const std::string& text) {
  double value = 0;
  const bool good = CLI::detail::lexical_cast(text, value) && std::isfinite(value) && value > 0;
  return good ? "" : "'" + text + "' is not a positive number";
}

void add_compile_options(CLI::App& app, CompileArgs& a, bool with_shapes) {
  app.add_option("--target", a.target, "native, or a row of the target table: x86-64-v3, x86-64-v4, each also with -vnni")
      ->capture_default_str();
  app.add_option("--precision", a.precision, "fp32 is exact; anything else is on request")->capture_default_str();
  app.add_option("--opt-level", a.opt_level, "0 to 3")->check(CLI::Range(0, 3))->capture_default_str();
  app.add_option("--bound", a.bounds, "range of a symbol: batch=1..64");
  app.add_option("--likely", a.likely, "values to make fast: batch=1,4");
  app.add_option("--dump", a.dump_dir, "folder for the text of every stage");
  app.add_flag("--check-passes", a.check_passes, "verify, print, parse and compare after every pass");
  app.add_flag("--no-native-loops", a.no_native_loops, "run every loop as bytecode, for comparisons");
  if (with_shapes) app.add_option("--shape", a.shapes, "shape of an input: 'data=batch,3,224,224'");
}

void add_run_options(CLI::App& app, RunArgs& a) {
  app.add_option("MODEL", a.compile.model, "an artifact, or a model to compile first")->required();
  app.add_option("--input", a.inputs,
                 "NAME=FILE.npy, of a sequence NAME=FILE.npy,FILE.npy; inputs without a file get seeded random values");
  app.add_option("--shape", a.shapes, "'data=1x3x224x224;4x3x224x224': alternatives run one after the other");
  app.add_option("--dim", a.dims, "values of symbols, once for each shape: batch=1,seq=37");
  app.add_option("--threads", a.threads, "0: as many as this process may use")->check(CLI::Range(0, INT_MAX));
  app.add_option("--seed", a.seed, "of random inputs and of the random numbers that the model draws");
  app.add_flag("--check-memory", a.check_memory,
               "put zones around all memory and look at them after each kernel; slow, for finding faults of pliant");
  add_compile_options(app, a.compile, false);
}

int report(const Error& error) {
  show_progress("");
  std::fprintf(stderr, "%s\n", to_text(error.text()).c_str());
  return 1;
}

// The texts of CLI11's vectors are taken whole: values with commas stay one value.
int parse_and_run(int argc, char** argv) {
  CLI::App app("Ahead-of-time compiler for models of dynamic shape", "pliant");
  app.set_version_flag("--version", std::string(pliant_version()));
  app.require_subcommand(1);
  CompileArgs compile_args;
  std::string output;
  RunArgs run_args;
  BenchArgs bench_args;
  InspectArgs inspect_args;
  VerifyArgs verify_args;

  CLI::App* c = app.add_subcommand("compile", "Compile a model into one artifact for every shape");
  c->add_option("MODEL", compile_args.model, "an .onnx file, or a module in the text of the graph IR, an .ir file")
      ->required();
  c->add_option("-o,--output", output, "the artifact to write; - is standard output")->required();
  c->add_option("--threads", compile_args.threads, "for compiling; 0: all")->check(CLI::Range(0, INT_MAX));
  add_compile_options(*c, compile_args, true);

  CLI::App* r = app.add_subcommand("run", "Run a model at one shape or more");
  add_run_options(*r, run_args);
  r->add_option("--output", run_args.output_dir, "folder for the outputs as .npy files");

  CLI::App* b = app.add_subcommand("bench", "Measure latency at one shape or more");
  add_run_options(*b, bench_args.run);
  CLI::Option* requests = b->add_option("--requests", bench_args.requests, "runs of each shape")
                              ->check(CLI::Range(int64_t{1}, int64_t{100'000'000}));
  b->add_option("--duration", bench_args.seconds, "seconds for each shape")->check(positive_number)->excludes(requests);
  b->add_option("--json", bench_args.json, "file for the report; - is standard output");

  CLI::App* i = app.add_subcommand("inspect", "Say what an artifact or a model holds");
  i->add_option("MODEL", inspect_args.model)->required();
  i->add_flag("--graph", inspect_args.graph, "print a model's graph");
  i->add_flag("--code", inspect_args.code, "print an artifact's instructions");
  i->add_flag("--kernels", inspect_args.kernels, "print how an artifact's kernels were made, and what they should take");

  CLI::App* v = app.add_subcommand("verify", "Compare an artifact with the reference evaluation of its model");
  v->add_option("ARTIFACT", verify_args.artifact)->required();
  v->add_option("MODEL", verify_args.model)->required();
  v->add_option("--shape", verify_args.shapes, "as for run");
  v->add_option("--dim", verify_args.dims, "as for run");
  v->add_option("--samples", verify_args.samples, "shapes to try when none is given")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  v->add_option("--tolerance", verify_args.tolerance, "largest relative error")
      ->check(positive_number)
      ->capture_default_str();
  v->add_option("--threads", verify_args.threads)->check(CLI::Range(0, INT_MAX));

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  Status status = c->parsed()   ? compile(compile_args, output)
                  : r->parsed() ? run(run_args)
                  : b->parsed() ? bench(bench_args)
                  : i->parsed() ? inspect(inspect_args)
                                : verify(verify_args);
  return status.ok() ? 0 : report(status.error());
}

int report_out_of_memory() {
  std::fputs("\npliant: error: there is no memory left for this\n", stderr);
  return 1;
}

// A signal that ends the process takes half-written files along.
void clean_up_on_signals() {
  struct sigaction action{};
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  action.sa_handler = [](int signal) {
    remove_unfinished_files();
    raise(signal);
  };
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction before{};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files is an error of writing
}

// Where memory ends in a place that no exception can leave.
void end_out_of_memory() {
  try {
    if (std::exception_ptr e = std::current_exception()) std::rethrow_exception(e);
  } catch (const std::bad_alloc&) {
    remove_unfinished_files();
    std::_Exit(report_out_of_memory());
  } catch (...) {
  }
  std::abort();
}

}  // namespace
}  // namespace pliant::cli

int main(int argc, char** argv) {
  pliant::cli::clean_up_on_signals();
  std::set_terminate(pliant::cli::end_out_of_memory);
  try {
    return pliant::cli::parse_and_run(argc, argv);
  } catch (const std::bad_alloc&) {
    return pliant::cli::report_out_of_memory();
  } catch (const std::exception& e) {
    std::fprintf(
        stderr,
        "\npliant: internal error: %s\nThis is a bug of pliant; please report it with the model or the command line.\n",
        e.what());
    return 3;
  }
}
