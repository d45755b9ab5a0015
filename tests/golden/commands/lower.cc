// links: pliant_graph pliant_ops pliant_lower pliant_loop

// `lower TARGET NAME=VALUE…`: the kernels of every node, after they were verified and run by the loop interpreter on random
// inputs at the given sizes, where they must give what the reference evaluator gives. With `naive` for a target: each node
// as its naive function, printed with the roles of its loops. `lower TARGET derivation NAME=VALUE…`: in the place of the
// kernels how they were made, as in the dump: naive function, rewrite, template with knobs and trace.
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>

#include "golden/golden.h"
#include "graph/graph.h"
#include "lower/interpreted_nodes_test.h"
#include "lower/version.h"
#include "ops/op.h"

namespace pliant::golden {
namespace {

// Small multiples of 1/8, so that sums are exact in f32 whatever their order; any bytes.
void fill(te::Array& a, std::mt19937& random) {
  if (a.dtype == DType::U8 || a.dtype == DType::I8) {
    std::uniform_int_distribution<int> byte(0, 255);
    for (std::byte& b : a.data) b = static_cast<std::byte>(byte(random));
    return;
  }
  std::uniform_int_distribution<int> pick(-16, 16);
  for (size_t i = 0; i < a.data.size() / static_cast<size_t>(byte_size(a.dtype)); ++i) {
    float x = static_cast<float>(pick(random)) / 8;
    std::byte* at = a.data.data() + i * static_cast<size_t>(byte_size(a.dtype));
    if (a.dtype == DType::F32) {
      std::memcpy(at, &x, 4);
    } else {
      PLIANT_CHECK(a.dtype == DType::I64) << "lower tests take f32, i64 and 8-bit inputs";
      auto n = static_cast<int64_t>(std::abs(x));
      std::memcpy(at, &n, 8);
    }
  }
}

// `target` null: naive functions.
Result<std::string> run(const graph::Function& f, expr::Context& ctx, const target::Target* target, bool derivation,
                        const std::map<std::string, int64_t>& sizes) {
  std::mt19937 random{7};
  lower::InterpretedNodes nodes(f, ctx, sizes);
  std::vector<te::Array> params;
  for (graph::ValueId v : f.params) {
    const graph::TensorType& t = f.tensor_type(v);
    fill(params.emplace_back(nodes.blank_array(t.dtype, t.shape)), random);
    nodes.memory(v) = params.back();
  }
  const lower::Options options{.derivations = derivation};
  auto lower = [&](const graph::Node& n, const lower::ConstantValues& constants) -> Result<lower::LoweredNode> {
    if (!target) return lower::naive_node({f, constants, ctx, codegen::native_target(), options}, n);
    if (n.op != "core.loop") return lower::lower_node({f, constants, ctx, *target, options}, n);
    std::string reason;
    auto native = TRY(lower::lower_loop({f, constants, ctx, *target, options}, n, &reason));
    if (!native) return make_error("not-native", describe(n.loc), reason);
    return std::move(*native);
  };
  std::string text;
  TRY(nodes.run(lower, [&](const lower::LoweredNode& low) {
    if (!target || derivation) text += low.derivation;
    for (const auto* kernels : {&low.kernels, &low.after_reads})
      for (const lower::LoweredKernel& k : *kernels) {
        if (derivation) text += describe(k);
        if (target && !derivation)
          text += (k.when.empty() ? "" : "// when " + lower::print(k.when) + "\n") + loop::print(k.function, ctx);
      }
  }));
  std::vector<te::ArrayView> inputs;
  for (const te::Array& a : params) inputs.push_back({a.dtype, a.shape, a.data.data()});
  const std::vector<te::Array> expected = TRY(ops::evaluate(f, ctx, inputs));
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto at = lower::first_difference(nodes.memory(f.results[i]), expected[i]);
    PLIANT_CHECK(!at) << "result " << f.result_names[i] << " differs from the reference at element " << *at;
  }
  return text;
}

}  // namespace

Command command_lower() {
  return {"lower", [](const Case& c) -> Result<std::string> {
            expr::Context ctx;
            graph::FunctionPtr f = TRY(graph::parse_function(c.input, ctx));
            PLIANT_CHECK(!c.args.empty()) << "lower needs a target";
            const target::Target* target = target::find_target(c.args[0]);
            PLIANT_CHECK(target || c.args[0] == "naive") << "there is no target " << c.args[0];
            const bool derivation = c.args.size() > 1 && c.args[1] == "derivation";
            std::map<std::string, int64_t> sizes;
            for (size_t i = derivation ? 2 : 1; i < c.args.size(); ++i) {
              size_t at = c.args[i].find('=');
              PLIANT_CHECK(at != std::string::npos) << "expected NAME=VALUE, not " << c.args[i];
              sizes[c.args[i].substr(0, at)] = std::stoll(c.args[i].substr(at + 1));
            }
            return run(*f, ctx, target, derivation, sizes);
          }};
}

}  // namespace pliant::golden
