// Holds the kernels of models to how they say that they were made: the trace of each replays on its naive function to its
// loops, and on random inputs of small sizes the kernels of a node give what the naive function of the node gives, both
// interpreted. Prints what was done; exit status 1 with the first fault.
//
//   replay_model TARGET MODEL…
#include <cstdio>
#include <random>

#include "driver/pipeline.h"
#include "graph/kernel.h"
#include "lower/interpreted_nodes_test.h"
#include "lower/view.h"
#include "ops/op.h"

namespace pliant {
namespace {

constexpr int64_t kUsualSize = 3;  // of an axis that the model leaves open
constexpr double kMostWork = 4e6;  // of a node that is interpreted, in scalar operations

struct Counts {
  int nodes = 0, kernels = 0, traces = 0, interpreted = 0;
};

class Replay {
 public:
  Replay(const graph::Function& f, expr::Context& ctx, const target::Target& target) : f_(f), ctx_(ctx), target_(target) {
    graph::for_each_node(f, [&](const graph::Node& n) {
      if (n.op == "core.const") constants_.set(n.outputs[0], n.attrs.constant("value"));
    });
    for (const graph::Value& v : f.values)
      if (const graph::TensorType* t = v.type.tensor())
        for (expr::Dim d : t->shape)
          for (expr::SymbolId s : expr::symbols_of(d)) {
            const expr::SymbolInfo& info = ctx.info(s);
            sizes_[info.name] = std::clamp(kUsualSize, info.lo, info.hi);
          }
  }

  Status run(Counts& counts) { return run(f_.nodes, counts); }

 private:
  Status run(const std::vector<graph::Node>& nodes, Counts& counts) {
    for (const graph::Node& n : nodes) {
      if (has_kernels(n)) {
        TRY(run_node(n, counts));
        continue;
      }
      if (graph::is_kernel(n)) {
        TRY(run(graph::inlined_nodes(n), counts));
        continue;
      }
      for (const auto& region : n.regions) TRY(run(region->nodes, counts));
    }
    return ok();
  }

  bool has_kernels(const graph::Node& n) const {
    if (graph::is_kernel(n)) return graph::kernel_form(n) == graph::KernelForm::Group;
    const ops::OpDef* op = ops::find_op(n.op);
    return op != nullptr && op->compute && !lower::view_of(n, f_, ctx_);
  }

  // Whether no tensor of the node has an axis below 0 at these sizes.
  bool is_possible(const graph::Node& n, const lower::LoweredNode& low) const {
    const lower::InterpretedNodes nodes(f_, ctx_, sizes_);
    auto all = [&](const std::vector<expr::Dim>& shape) {
      return std::all_of(shape.begin(), shape.end(), [&](expr::Dim d) { return nodes.value_of(d) >= 0; });
    };
    for (const auto* values : {&n.inputs, &n.outputs})
      for (graph::ValueId v : *values)
        if (v != graph::kNoValue && !all(f_.tensor_type(v).shape)) return false;
    return std::all_of(low.temporaries.begin(), low.temporaries.end(), [&](const auto& t) { return all(t.shape); });
  }

  te::Array input(const lower::InterpretedNodes& nodes, graph::ValueId v) {
    if (const graph::ConstantPtr c = constants_[v]) return {c->dtype, c->shape, {c->data, c->data + c->bytes}};
    te::Array a = nodes.blank_array(f_.tensor_type(v).dtype, f_.tensor_type(v).shape);
    const auto width = static_cast<size_t>(byte_size(a.dtype));
    for (size_t at = 0; at < a.data.size(); at += width) {
      const auto k = static_cast<int64_t>(random_() % 17) - 8;
      const auto small = static_cast<float>(k) / 8;
      const double wide = small;
      const uint16_t half = a.dtype == DType::F16 ? f32_to_f16(small) : f32_to_bf16(small);
      const int64_t integer = k & 1;
      const void* from = a.dtype == DType::F32   ? static_cast<const void*>(&small)
                         : a.dtype == DType::F64 ? static_cast<const void*>(&wide)
                         : is_float(a.dtype)     ? static_cast<const void*>(&half)
                                                 : static_cast<const void*>(&integer);
      std::memcpy(a.data.data() + at, from, width);
    }
    return a;
  }

  Status run_node(const graph::Node& n, Counts& counts) {
    const lower::Options options{.derivations = true};
    const lower::LoweredNode low = TRY(lower::lower_node({f_, constants_, ctx_, target_, options}, n));
    ++counts.nodes;
    lower::InterpretedNodes made(f_, ctx_, sizes_), naive(f_, ctx_, sizes_);
    double work = 0;
    for (const auto* kernels : {&low.kernels, &low.after_reads})
      for (const lower::LoweredKernel& k : *kernels) {
        TRY(lower::replay(k, ctx_));
        ++counts.kernels;
        counts.traces += k.naive.empty() ? 0 : 1;
        work += static_cast<double>(made.value_of(k.work));
      }
    if (work > kMostWork || !is_possible(n, low)) return ok();
    for (graph::ValueId v : n.inputs)
      if (v != graph::kNoValue) made.memory(v) = naive.memory(v) = input(made, v);
    const Status first = made.run_node(n, low);
    const Status second = naive.run_node(n, TRY(lower::naive_node({f_, constants_, ctx_, target_, options}, n)));
    if (first.ok() != second.ok())
      return make_error("loop-equivalence", describe(n.loc),
                        "stops " + std::string(first.ok() ? "in the naive function alone" : first.error().text()));
    ++counts.interpreted;
    for (graph::ValueId v : n.outputs) {
      if (!first.ok() || v == graph::kNoValue) continue;
      const auto at = lower::first_difference(made.memory(v), naive.memory(v));
      if (at)
        return make_error("loop-equivalence", describe(n.loc),
                          "differs from its naive function at element " + std::to_string(*at));
    }
    return ok();
  }

  const graph::Function& f_;
  expr::Context& ctx_;
  const target::Target& target_;
  lower::ConstantValues constants_;
  std::map<std::string, int64_t> sizes_;
  std::mt19937_64 random_{7};
};

Status run(const target::Target& target, const char* path) {
  driver::CompileOptions options;
  const graph::Module imported = TRY(driver::import_model(path, options));
  const graph::Module optimised = TRY(driver::run_passes(imported, options));
  const graph::Module module = TRY(driver::run_partition(optimised, target, options, {})).module;
  Counts counts;
  for (const graph::FunctionPtr& f : module.functions) TRY(Replay(*f, *module.ctx, target).run(counts));
  std::printf("%s: %d nodes, %d kernels, %d traces replayed, %d nodes interpreted\n", path, counts.nodes, counts.kernels,
              counts.traces, counts.interpreted);
  std::fflush(stdout);
  return ok();
}

}  // namespace
}  // namespace pliant

int main(int argc, char** argv) {
  const pliant::target::Target* target = argc > 2 ? pliant::target::find_target(argv[1]) : nullptr;
  if (target == nullptr) {
    std::fprintf(stderr, "replay_model TARGET MODEL…\n");
    return 2;
  }
  for (int i = 2; i < argc; ++i) {
    const pliant::Status done = pliant::run(*target, argv[i]);
    if (done.ok()) continue;
    std::fprintf(stderr, "%s: %s\n", argv[i], done.error().text().c_str());
    return 1;
  }
}
