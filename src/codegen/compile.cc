// compile(): share equal kernels, loop passes, legalise, fill units, generate code in parallel, link.
//
// The result depends only on the kernels: units have a fixed size, are filled in order by one thread (expressions are
// interned, so the order of building decides the order of terms), and are linked in order. Threads only run LLVM.
#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/output_file.h"
#include "base/stop.h"
#include "codegen/codegen.h"
#include "codegen/llvm/backend.h"
#include "loop/compare/fingerprint.h"
#include "loop/pass/pass.h"

namespace pliant::codegen {

namespace {

constexpr size_t kKernelsPerUnit = 4;

// Runs `work(i)` for i in [0, n) on up to `threads` threads, this one among them. The first exception ends it and is
// rethrown. Threads that the system refuses are done without.
template <class F>
void run_parallel(size_t n, int threads, F&& work) {
  std::atomic<size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  auto loop = [&, flag = stop_flag()] {
    StopScope scope(flag);
    for (size_t i = next++; i < n; i = next++) {
      try {
        poll_stop();
        work(i);
      } catch (...) {
        next = n;
        std::lock_guard lock(failure_mutex);
        if (!failure) failure = std::current_exception();
      }
    }
  };
  std::vector<std::thread> others;
  others.reserve(static_cast<size_t>(std::max(threads, 1)));
  try {
    for (int t = 1; t < threads && static_cast<size_t>(t) < n; ++t) others.emplace_back(loop);
  } catch (const std::system_error&) {
  }
  loop();
  for (std::thread& t : others) t.join();
  if (failure) std::rethrow_exception(failure);
}

// DIR/kernels.txt: where each function lies in the text, its symbol in the dumps, and the kernels that it serves.
Status write_map(const std::string& dir, const std::vector<std::string>& symbols, const std::vector<uint64_t>& offsets,
                 const std::vector<KernelSource>& kernels, const std::vector<size_t>& number_of) {
  std::vector<std::string> names(symbols.size());
  for (size_t i = 0; i < kernels.size(); ++i) names[number_of[i]] += ' ' + kernels[i].function->name;
  std::string text;
  for (size_t k = 0; k < symbols.size(); ++k) text += std::to_string(offsets[k]) + ' ' + symbols[k] + names[k] + '\n';
  return write_file(dir + "/kernels.txt", text);
}

// The kernels of those indices behind the loop passes, with operations that the emitter has. DIR/passes.ir: what each pass
// made of them, where it changed something.
Result<std::vector<loop::Function>> make_legal(const std::vector<KernelSource>& kernels, const std::vector<size_t>& unique,
                                               expr::Context& ctx, const Target& target, const Options& options) {
  // At level 0 loops stay scalar.
  const loop::PassOptions passes{.most_lanes = options.opt_level <= 0 ? 1 : target.vector_bytes,
                                 .masked_memory = target.masked_memory,
                                 .remark = options.remark};
  std::string text;
  std::vector<loop::Function> legal;
  legal.reserve(unique.size());
  loop::PassObserver observer;
  if (!options.dump_dir.empty())
    observer = [&](const char* pass, const loop::Function& f) {
      text += "// kernel" + std::to_string(legal.size()) + " after " + pass + "\n" + loop::print(f, ctx) + "\n";
    };
  for (size_t k : unique) {
    poll_stop();
    legal.push_back(legalize(loop::run_passes(*kernels[k].function, ctx, passes, observer)));
  }
  if (!options.dump_dir.empty()) TRY(write_file(options.dump_dir + "/passes.ir", text));
  return legal;
}

// One remark a kernel, with what the worst of its loops does.
void report_spills(const std::vector<Unit>& units, const std::vector<std::string>& symbols,
                   const std::vector<KernelSource>& kernels, const std::vector<size_t>& unique, const Options& options) {
  std::map<std::string, std::vector<Spills>> of;
  for (const Unit& u : units)
    for (const Spills& s : u.spills()) of[s.function].push_back(s);
  for (size_t k = 0; k < unique.size() && options.remark; ++k) {
    const auto found = of.find(symbols[k]);
    if (found == of.end()) continue;
    const Spills& worst =
        *std::max_element(found->second.begin(), found->second.end(),
                          [](const Spills& a, const Spills& b) { return a.stores + a.loads < b.stores + b.loads; });
    options.remark(loop::place_of(*kernels[unique[k]].function) + ": innermost loops with too few registers: " +
                   std::to_string(found->second.size()) + "; the worst stores " + std::to_string(worst.stores) +
                   " values that do not fit and loads " + std::to_string(worst.loads));
  }
}

}  // namespace

Result<Compiled> compile(const std::vector<KernelSource>& kernels, const std::vector<ShapeFunction>& shapes,
                         expr::Context& ctx, const Target& target, const Options& options) {
  const int level = std::clamp(options.opt_level, 0, 3);
  // Kernels that differ only in names are one.
  const loop::BoundTrees bounds(ctx);
  std::map<std::string, size_t> known;
  std::vector<size_t> unique;  // indices of kernels
  std::vector<size_t> number_of(kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    poll_stop();
    auto [it, is_new] =
        known.try_emplace(loop::fingerprint(*kernels[i].function, kernels[i].ints, bounds, ctx), unique.size());
    if (is_new) unique.push_back(i);
    number_of[i] = it->second;
  }
  const std::vector<loop::Function> legal = TRY(make_legal(kernels, unique, ctx, target, options));

  std::vector<Unit> units;
  std::vector<std::string> symbols;
  for (size_t k = 0; k < unique.size(); ++k) {
    poll_stop();
    if (k % kKernelsPerUnit == 0) units.emplace_back("kernels" + std::to_string(units.size()), target, level);
    symbols.push_back("kernel" + std::to_string(k));
    units.back().add_kernel(KernelSource{&legal[k], kernels[unique[k]].ints}, symbols.back(), ctx);
  }
  if (!shapes.empty()) units.emplace_back("shapes", target, level);
  for (size_t k = 0; k < shapes.size(); ++k) {
    poll_stop();
    symbols.push_back("shape" + std::to_string(k));
    units.back().add_shape(shapes[k], symbols.back(), ctx);
  }
  std::vector<Status> done(units.size(), ok());
  run_parallel(units.size(), options.threads, [&](size_t i) { done[i] = units[i].compile(options.dump_dir); });
  for (Status& s : done) TRY(std::move(s));

  report_spills(units, symbols, kernels, unique, options);

  Compiled out;
  out.image.target = target.name;
  out.image.features = target.features;
  std::vector<const std::vector<std::byte>*> objects;
  for (const Unit& u : units) objects.push_back(&u.object());
  std::vector<uint64_t> offsets;
  link(objects, symbols, out.image, offsets);
  if (!options.dump_dir.empty()) TRY(write_map(options.dump_dir, symbols, offsets, kernels, number_of));
  for (size_t number : number_of) out.kernel_offsets.push_back(offsets[number]);
  out.shape_offsets.assign(offsets.begin() + static_cast<std::ptrdiff_t>(unique.size()), offsets.end());
  return out;
}

}  // namespace pliant::codegen
