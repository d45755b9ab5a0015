#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "base/output_file.h"
#include "base/utf8.h"
#include "commands.h"
#include "request.h"

namespace pliant::cli {
namespace {

struct Timing {
  double first = 0;          // milliseconds, as all of these
  std::vector<double> runs;  // sorted
  double mean() const { return std::accumulate(runs.begin(), runs.end(), 0.0) / static_cast<double>(runs.size()); }
  // Nearest rank.
  double percentile(double p) const {
    auto rank = static_cast<size_t>(p / 100 * static_cast<double>(runs.size()) + 0.9999999);
    return runs[std::clamp<size_t>(rank, 1, runs.size()) - 1];
  }
};

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

Result<Timing> measure(const Session& session, const Inputs& inputs, const BenchArgs& args, const std::string& label) {
  Timing t;
  Outputs outputs(session.outputs().size());
  auto timed_run = [&](double& ms) {
    auto start = std::chrono::steady_clock::now();
    Status status = session.run(inputs, outputs, args.run.seed);
    ms = milliseconds_since(start);
    return status;
  };
  TRY(timed_run(t.first));
  auto begin = std::chrono::steady_clock::now();
  double shown = 0;
  while (true) {
    double elapsed = milliseconds_since(begin) / 1e3;
    auto done = static_cast<int64_t>(t.runs.size());
    if (args.requests > 0 ? done >= args.requests : done >= 10 && elapsed >= args.seconds) break;
    if (elapsed - shown > 0.2) {
      show_progress(label + "  " + std::to_string(done) + " runs");
      shown = elapsed;
    }
    double ms = 0;
    TRY(timed_run(ms));
    t.runs.push_back(ms);
  }
  show_progress("");
  std::sort(t.runs.begin(), t.runs.end());
  return t;
}

double peak_resident_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace

Status bench(const BenchArgs& args) {
  std::optional<OutputFile> file;
  if (!args.json.empty()) file.emplace(TRY(OutputFile::open(args.json)));
  std::FILE* table = file && file->is_standard_output() ? stderr : stdout;  // the report has that stream to itself
  Request request = TRY(make_request(args.run));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  if (request.session.compile_seconds() > 0) std::fprintf(table, "compiled in %.1f s\n", request.session.compile_seconds());
  std::fprintf(table, "%-40s %9s %9s %9s %9s %9s %9s %9s %9s %10s %9s\n", "shape (times in ms)", "first", "p50", "p90",
               "p95", "p99", "mean", "min", "max", "runs/s", "arena MB");
  for (size_t k = 0; k < request.cases.size(); ++k) {
    std::string label = print_case(request.cases[k]);
    Timing t = TRY(measure(request.session, TRY(request.inputs(k)), args, label));
    pliant_stats stats{};
    stats.struct_size = sizeof(stats);
    PLIANT_CHECK(pliant_read_stats(request.session.model(), &stats) == PLIANT_OK) << pliant_last_error();
    double rate = 1e3 / t.mean(), arena = static_cast<double>(stats.peak_bytes) / 1e6;
    std::fprintf(table, "%-40s %9.3f %9.3f %9.3f %9.3f %9.3f %9.3f %9.3f %9.3f %10.1f %9.1f\n", label.c_str(), t.first,
                 t.percentile(50), t.percentile(90), t.percentile(95), t.percentile(99), t.mean(), t.runs.front(),
                 t.runs.back(), rate, arena);
    std::fflush(table);
    rows.push_back({{"shape", to_text(label)},
                    {"runs", t.runs.size()},
                    {"first_ms", t.first},
                    {"p50_ms", t.percentile(50)},
                    {"p90_ms", t.percentile(90)},
                    {"p95_ms", t.percentile(95)},
                    {"p99_ms", t.percentile(99)},
                    {"mean_ms", t.mean()},
                    {"min_ms", t.runs.front()},
                    {"max_ms", t.runs.back()},
                    {"runs_per_second", rate},
                    {"arena_peak_mb", arena}});
  }
  double peak = peak_resident_mb();
  std::fprintf(table, "peak memory of this process: %.0f MB\n", peak);
  if (!args.json.empty()) {
    pliant_model_info info{};
    info.struct_size = sizeof(info);
    PLIANT_CHECK(pliant_describe_model(request.session.model(), &info) == PLIANT_OK) << pliant_last_error();
    nlohmann::ordered_json report = {{"model", info.model},
                                     {"target", info.target},
                                     {"precision", info.precision},
                                     {"threads", info.threads},
                                     {"compile_seconds", request.session.compile_seconds()},
                                     {"peak_resident_mb", peak},
                                     {"rows", rows}};
    const std::string text = report.dump(1) + "\n";
    TRY(file->append(std::as_bytes(std::span(text))));
    TRY(file->finish());
  }
  return ok();
}

}  // namespace pliant::cli
