// links: pliant_graph pliant_ops pliant_partition pliant_bufferize

// `partition TARGET NAME=VALUE…`: the module with its kernels. It must verify and parse back to itself; the reference
// evaluator must give for it what it gives for the module, at the sizes; and the host IR of its text, for which every kernel
// is lowered again, must be that of the module for which lowering has been tried.
#include "partition/partition.h"

#include <cstring>
#include <random>

#include "bufferize/bufferize.h"
#include "golden/golden.h"
#include "lower/interpreted_nodes_test.h"
#include "ops/op.h"

namespace pliant::golden {
namespace {

// Small multiples of 1/8, so that sums are exact in f32 whatever their order; other types get small counts.
void fill(te::Array& a, std::mt19937& random) {
  std::uniform_int_distribution<int> pick(-16, 16);
  const auto size = static_cast<size_t>(byte_size(a.dtype));
  for (size_t i = 0; i < a.data.size() / size; ++i) {
    const float x = static_cast<float>(pick(random)) / 8;
    const auto n = static_cast<int64_t>(std::abs(x));
    std::memcpy(a.data.data() + i * size, a.dtype == DType::F32 ? static_cast<const void*>(&x) : &n, size);
  }
}

void check_values(const graph::Module& before, const graph::Module& after, const std::map<std::string, int64_t>& sizes) {
  std::mt19937 random{7};
  const lower::InterpretedNodes blank(before.main(), *before.ctx, sizes);
  std::vector<te::Array> inputs;
  std::vector<te::ArrayView> views;
  for (graph::ValueId v : before.main().params) {
    const graph::TensorType& t = before.main().tensor_type(v);
    fill(inputs.emplace_back(blank.blank_array(t.dtype, t.shape)), random);
  }
  for (const te::Array& a : inputs) views.push_back({a.dtype, a.shape, a.data.data()});
  const auto expected = ops::evaluate(before.main(), *before.ctx, views, &before);
  const auto actual = ops::evaluate(after.main(), *after.ctx, views, &after);
  PLIANT_CHECK(expected.ok()) << expected.error().text();
  PLIANT_CHECK(actual.ok()) << actual.error().text();
  for (size_t i = 0; i < expected.value().size(); ++i) {
    const auto at = lower::first_difference(actual.value()[i], expected.value()[i]);
    PLIANT_CHECK(!at) << "result " << before.main().result_names[i] << " differs at element " << *at;
  }
}

Result<std::string> host_text(const graph::Module& module, const target::Target& target, lower::LoweredKernels lowered) {
  const bufferize::Bufferized b = TRY(bufferize::bufferize(module, target, {}, std::move(lowered)));
  TRY(host::verify(b.module, *module.ctx));
  return host::print(b.module, *module.ctx);
}

}  // namespace

Command command_partition() {
  return {"partition", [](const Case& c) -> Result<std::string> {
            const graph::Module module = TRY(graph::parse_module(c.input));
            const target::Target* target = target::find_target(c.args.at(0));
            PLIANT_CHECK(target != nullptr) << "there is no target " << c.args[0];
            std::map<std::string, int64_t> sizes;
            for (size_t i = 1; i < c.args.size(); ++i) {
              const size_t at = c.args[i].find('=');
              PLIANT_CHECK(at != std::string::npos) << "expected NAME=VALUE, not " << c.args[i];
              sizes[c.args[i].substr(0, at)] = std::stoll(c.args[i].substr(at + 1));
            }
            std::string remarks;
            partition::Options options;
            options.remark = [&](const std::string& text) { remarks += "// " + text + "\n"; };
            partition::Partitioned p = TRY(partition::partition(module, *target, options));
            graph::ConstantTable constants;
            for (const graph::FunctionPtr& f : p.module.functions) {
              TRY(graph::verify(*f, *module.ctx));
              TRY(ops::verify_types(*f, *module.ctx, &p.module));
              constants.merge(graph::constants_of(*f));
            }
            const std::string text = graph::print(p.module);
            const graph::Module again = TRY(graph::parse_module(text, constants));
            PLIANT_CHECK(graph::print(again) == text) << "the text changes when it is parsed again:\n"
                                                      << graph::print(again);
            check_values(module, p.module, sizes);
            graph::PrintOptions with_locations;
            with_locations.with_locations = true;
            const graph::Module located = TRY(graph::parse_module(graph::print(p.module, with_locations), constants));
            const std::string lowered_again = TRY(host_text(located, *target, {}));
            const std::string host = TRY(host_text(p.module, *target, std::move(p.lowered)));
            PLIANT_CHECK(lowered_again == host) << "the host IR of the text is another:\n" << host << lowered_again;
            return remarks + text;
          }};
}

}  // namespace pliant::golden
