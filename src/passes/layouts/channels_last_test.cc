// Every operator's channels-last form gives what the operator gives, on the samples of its definition.
#include "passes/layouts/channels_last.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ops/evaluate/reference.h"
#include "ops/op.h"
#include "ops/samples.h"

namespace pliant::passes {
namespace {

ValueId moved(FunctionBuilder& b, expr::Context& ctx, ValueId v, std::vector<int64_t> perm) {
  return ops::append_node(b, ctx, "array.transpose", {{"perm", std::move(perm)}}, {v}, 1, Loc::make_named("t", "t"))
      .take()[0];
}

// The value with ones in front of its axes.
ValueId extended(FunctionBuilder& b, expr::Context& ctx, ValueId v, size_t rank) {
  Shape shape = b.peek().tensor_type(v).shape;
  shape.insert(shape.begin(), rank - shape.size(), ctx.constant(1));
  return ops::append_node(b, ctx, "array.reshape", {{"shape", shape}}, {v}, 1, Loc::make_named("t", "t")).take()[0];
}

// The sample's function, whose last node runs channels-last between transpositions.
FunctionPtr in_form(const Function& f, const ChannelsLast& form, expr::Context& ctx) {
  FunctionBuilder b = FunctionBuilder::rewriting(f);
  for (size_t i = 0; i + 1 < f.nodes.size(); ++i) b.append(f.nodes[i]);
  const Node& n = f.nodes.back();
  std::vector<ValueId> inputs = n.inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == kNoValue || form.inputs[i] == Form::AsIs) continue;
    if (form.inputs[i] == Form::Full) inputs[i] = extended(b, ctx, inputs[i], form.rank);
    inputs[i] = moved(b, ctx, inputs[i], to_last(b.peek().tensor_type(inputs[i]).shape.size()));
  }
  auto made = ops::append_node(b, ctx, n.op, form.attrs, inputs, n.outputs.size(), n.loc);
  EXPECT_TRUE(made.ok()) << made.error().text();
  std::vector<ValueId> results = made.take();
  for (size_t k = 0; k < results.size(); ++k)
    if (form.outputs[k] == Form::Last)
      results[k] = moved(b, ctx, results[k], to_first(b.peek().tensor_type(results[k]).shape.size()));
  b.set_results(results, f.result_names);
  return b.finish();
}

void expect_close(const te::Array& a, const te::Array& b) {
  ASSERT_EQ(a.shape, b.shape);
  ASSERT_EQ(a.dtype, b.dtype);
  if (!is_float(a.dtype)) {
    EXPECT_EQ(a.data, b.data);
    return;
  }
  const te::ArrayView x{a.dtype, a.shape, a.data.data()}, y{b.dtype, b.shape, b.data.data()};
  const double tolerance = byte_size(a.dtype) == 2 ? 4e-3 : 1e-5;  // sums take their terms in another order
  for (size_t i = 0; i < a.data.size() / static_cast<size_t>(byte_size(a.dtype)); ++i) {
    const auto v = static_cast<double>(ops::number_at(x, static_cast<int64_t>(i)));
    const auto w = static_cast<double>(ops::number_at(y, static_cast<int64_t>(i)));
    if (v == w || (std::isnan(v) && std::isnan(w))) continue;
    ASSERT_LE(std::abs(v - w), tolerance * (1 + std::abs(w))) << "element " << i;
  }
}

// Whether the sample has a channels-last form and runs.
bool compare(const ops::OpDef& op, const ops::Sample& sample) {
  expr::Context ctx;
  Result<FunctionPtr> f = ops::build_sample(op, sample, ctx, false);
  if (!f.ok() || f.value()->nodes.empty() || f.value()->nodes.back().op != op.name) return false;
  if (f.value()->results != f.value()->nodes.back().outputs) return false;
  const auto form = channels_last(*f.value(), f.value()->nodes.back(), ctx);
  EXPECT_TRUE(form.ok()) << form.error().text();
  if (!form.ok() || !form.value()) return false;
  const FunctionPtr g = in_form(*f.value(), *form.value(), ctx);
  const std::vector<te::Array> data = ops::sample_data(sample, 7);
  std::vector<te::ArrayView> views;
  for (const te::Array& a : data) views.push_back({a.dtype, a.shape, a.data.data()});
  const auto wanted = ops::evaluate(*f.value(), ctx, views), got = ops::evaluate(*g, ctx, views);
  EXPECT_EQ(wanted.ok(), got.ok()) << (got.ok() ? "" : got.error().text());
  if (!wanted.ok() || !got.ok()) return false;
  for (size_t k = 0; k < wanted.value().size(); ++k) expect_close(got.value()[k], wanted.value()[k]);
  return true;
}

TEST(ChannelsLast, EveryFormGivesWhatTheOperatorGives) {
  std::set<std::string> with_form;
  for (const ops::OpDef& op : ops::all_ops())
    for (const std::string& text : op.samples) {
      SCOPED_TRACE(op.name + " " + text);
      const Result<ops::Sample> sample = ops::parse_sample(op, text);
      ASSERT_TRUE(sample.ok());
      if (compare(op, sample.value())) with_form.insert(op.name);
    }
  for (const char* name :
       {"nn.conv", "nn.conv_transpose", "quant.qlinear_conv", "quant.conv_integer", "nn.max_pool", "nn.avg_pool",
        "nn.global_avg_pool", "nn.batch_norm", "reduce.sum", "reduce.log_sum_exp", "math.add"})
    EXPECT_TRUE(with_form.count(name)) << name;
}

bool is_wanted(const std::string& x, const std::string& w, const std::string& node, const std::string& y) {
  expr::Context ctx;
  const auto f = graph::parse_function(
      "func @main(%0 \"x\": " + x + ", %1 \"w\": " + w + ") {\n  %2 = " + node + " : " + y + "\n  return %2 \"y\"\n}\n",
      ctx);
  EXPECT_TRUE(f.ok()) << f.error().text();
  const auto form = channels_last(*f.value(), f.value()->nodes[0], ctx);
  EXPECT_TRUE(form.ok() && form.value());
  return form.value()->wanted;
}

TEST(ChannelsLast, IsWantedForSumsOverChannels) {
  EXPECT_TRUE(is_wanted("f32[2, 4, 5, 5]", "f32[8, 4, 3, 3]", "nn.conv(%0, %1)", "f32[2, 8, 3, 3]"));
  EXPECT_TRUE(is_wanted("f32[2, 4, 5, 5]", "f32[8, 2, 3, 3]", "nn.conv(%0, %1) {group=2}", "f32[2, 8, 3, 3]"));
  EXPECT_TRUE(is_wanted("f32[2, 4, 5, 5]", "f32[1, 4, 3, 3]", "nn.conv(%0, %1)", "f32[2, 1, 3, 3]"));
  EXPECT_TRUE(is_wanted("f32[2, 4, 5, 5]", "f32[4, 3, 2, 2]", "nn.conv_transpose(%0, %1)", "f32[2, 3, 6, 6]"));
  EXPECT_FALSE(is_wanted("f32[2, 4, 5, 5]", "f32[4, 1, 3, 3]", "nn.conv(%0, %1) {group=4}", "f32[2, 4, 3, 3]"));
  EXPECT_FALSE(is_wanted("f32[2, 4, 5, 5]", "f32[8, 1, 3, 3]", "nn.conv(%0, %1) {group=4}", "f32[2, 8, 3, 3]"));
  EXPECT_FALSE(is_wanted("f32[2, 4, 5, 5]", "f32[4, 1, 2, 2]", "nn.conv_transpose(%0, %1) {group=4}", "f32[2, 4, 6, 6]"));
}

}  // namespace
}  // namespace pliant::passes
