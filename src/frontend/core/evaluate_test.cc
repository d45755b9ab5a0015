// Known elements that a body gives are the reference's, for every sample of every operator.
#include "frontend/core/evaluate.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ops/samples.h"

namespace pliant::frontend {
namespace {

// Whether the elements are known.
bool compare(const ops::OpDef& op, const std::string& text) {
  expr::Context ctx;
  const ops::Sample sample = ops::parse_sample(op, text).value();
  auto f = ops::build_sample(op, sample, ctx, true);
  EXPECT_TRUE(f.ok()) << f.error().text();
  const std::vector<te::Array> data = ops::sample_data(sample, 11);
  std::vector<te::ArrayView> views;
  std::vector<Known> known;
  for (const te::Array& a : data) {
    views.push_back({a.dtype, a.shape, a.data.data()});
    auto k = known_of(*graph::make_constant(a.dtype, a.shape, a.data.data(), a.data.size()), ctx);
    if (!k) return false;
    known.push_back(std::move(*k));
  }
  const graph::Node& n = f.value()->nodes.back();
  std::vector<const Known*> inputs;
  for (size_t i = 0, next = 0; i < n.inputs.size(); ++i)
    inputs.push_back(n.inputs[i] == kNoValue ? nullptr : &known[next++]);
  ImportState state{ctx, graph::FunctionBuilder("main", ctx)};
  Conversion c(state, n.loc, {});
  const auto given = evaluate(c, op.name, n.attrs, inputs, n.outputs.size());
  if (!given) return false;
  auto wanted = ops::evaluate(*f.value(), ctx, views);
  EXPECT_TRUE(wanted.ok()) << wanted.error().text();
  if (!wanted.ok() || wanted.value().size() != given->size()) return false;
  for (size_t i = 0; i < given->size(); ++i) {
    const Known& k = (*given)[i];
    const te::Array& a = wanted.value()[i];
    EXPECT_TRUE(k.is_const());
    EXPECT_EQ(k.dtype, a.dtype);
    EXPECT_EQ(k.shape, a.shape);
    EXPECT_EQ(0, std::memcmp(constant_of(k)->data, a.data.data(), a.data.size()));
  }
  return true;
}

TEST(Evaluate, GivesTheValuesOfTheReference) {
  size_t compared = 0;
  for (const ops::OpDef& op : ops::all_ops()) {
    if (!op.compute || op.name == "core.const") continue;
    for (const std::string& text : op.samples) {
      SCOPED_TRACE(op.name + " " + text);
      compared += compare(op, text);
    }
  }
  EXPECT_GT(compared, 60u);
}

}  // namespace
}  // namespace pliant::frontend
