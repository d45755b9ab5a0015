#include "ops/control/control.h"

#include <gtest/gtest.h>

#include "graph/control.h"
#include "ops/evaluate/run_op.h"

namespace pliant::ops {
namespace {

using graph::FunctionBuilder;
using graph::FunctionPtr;
using graph::make_tensor_type;

class ControlTest : public ::testing::Test {
 protected:
  ControlTest() : b("main", ctx) {
    n = input_axis("n", "x", 0);
    x = b.add_param(make_tensor_type(DType::F32, {n}), "x");
  }
  Dim input_axis(const char* name, const char* input, int64_t axis) {
    return ctx.symbol({.name = name, .origin = {expr::Origin::Kind::InputAxis, input, axis}});
  }
  LocPtr loc(const char* name) { return Loc::make_named(name, "onnx.Op"); }
  ValueId make(const std::string& op, Attrs attrs, std::vector<ValueId> inputs) {
    auto r = append_node(b, ctx, op, std::move(attrs), std::move(inputs), 1, loc(op.c_str()));
    PLIANT_CHECK(r.ok()) << r.error().text();
    return r.value()[0];
  }
  FunctionPtr finish(std::vector<ValueId> results) {
    std::vector<std::string> names;
    for (size_t i = 0; i < results.size(); ++i) names.push_back("y" + std::to_string(i));
    b.set_results(std::move(results), std::move(names));
    FunctionPtr f = b.finish();
    Status structure = graph::verify(*f, ctx);
    PLIANT_CHECK(structure.ok()) << structure.error().text() << print(*f, ctx);
    Status types = verify_types(*f, ctx);
    PLIANT_CHECK(types.ok()) << types.error().text() << print(*f, ctx);
    std::string text = print(*f, ctx);
    auto again = graph::parse_function(text, ctx, constants_of(*f));
    EXPECT_TRUE(again.ok()) << again.error().text() << text;
    EXPECT_EQ(again.ok() ? print(*again.value(), ctx) : "", text);
    return f;
  }
  std::vector<te::Array> run(const FunctionPtr& f, const std::vector<te::Array>& inputs) {
    std::vector<te::ArrayView> views;
    for (const te::Array& a : inputs) views.push_back({a.dtype, a.shape, a.data.data()});
    auto out = evaluate(*f, ctx, views);
    EXPECT_TRUE(out.ok()) << out.error().text() << print(*f, ctx);
    return out.ok() ? out.take() : std::vector<te::Array>{};
  }
  std::string type_text(ValueId v) { return print(b.peek().value(v).type); }

  expr::Context ctx;
  FunctionBuilder b;
  Dim n;
  ValueId x;
};

TEST_F(ControlTest, BranchesOfOtherSizesGiveABoundedSize) {
  auto concat = [&]() -> Result<std::optional<std::vector<ValueId>>> {
    return std::optional(std::vector{make("array.concat", {{"axis", int64_t{0}}}, {x, x})});
  };
  auto same = [&]() -> Result<std::optional<std::vector<ValueId>>> { return std::optional(std::vector{x}); };
  auto out = append_if(b, ctx, {.dim = expr::min(n, ctx.constant(1))}, concat, same, loc("if"));
  ASSERT_TRUE(out.ok()) << out.error().text();
  auto d = b.peek().tensor_type(out.value()[0]).shape[0].as_symbol();
  ASSERT_TRUE(d);
  EXPECT_EQ(ctx.info(*d).upper->str(), "n*2");
  FunctionPtr f = finish(out.value());
  EXPECT_EQ(values_of<float>(run(f, {f32({2}, {1, 2})})[0]), (std::vector<float>{1, 2, 1, 2}));
  EXPECT_EQ(run(f, {f32({0}, {})})[0].shape, std::vector<int64_t>{0});
}

TEST_F(ControlTest, ABranchThatFailsGivesNoTypes) {
  auto fails = [&]() -> Result<std::optional<std::vector<ValueId>>> {
    b.append(graph::Node{"core.fail", {{"message", std::string("not here")}}, {}, {}, {}, loc("fail")});
    return std::optional<std::vector<ValueId>>();
  };
  auto same = [&]() -> Result<std::optional<std::vector<ValueId>>> { return std::optional(std::vector{x}); };
  auto out = append_if(b, ctx, {.dim = n}, fails, same, loc("if"));
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(type_text(out.value()[0]), "f32[n]");
  FunctionPtr f = finish(out.value());
  run(f, {f32({0}, {})});
  te::Array one = f32({1}, {1});
  auto bad = evaluate(*f, ctx, {{one.dtype, one.shape, one.data.data()}});
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().text().find("\"fail\""), std::string::npos) << bad.error().text();
  EXPECT_NE(bad.error().text().find("not here"), std::string::npos);
}

TEST_F(ControlTest, BranchesOfOtherRanksAreAnError) {
  auto flat = [&]() -> Result<std::optional<std::vector<ValueId>>> {
    return std::optional(std::vector{make("array.reshape", {{"shape", std::vector<Dim>{n, ctx.constant(1)}}}, {x})});
  };
  auto same = [&]() -> Result<std::optional<std::vector<ValueId>>> { return std::optional(std::vector{x}); };
  auto out = append_if(b, ctx, {.dim = n}, flat, same, loc("if"));
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().diagnostics[0].id.name(), "branches-differ");
  EXPECT_EQ(b.open_regions(), 0u);
}

TEST_F(ControlTest, AGrowingAxisIsAffine) {
  ValueId empty =
      make("array.slice",
           {{"starts", std::vector<int64_t>{0}}, {"ends", std::vector<int64_t>{0}}, {"axes", std::vector<int64_t>{0}}}, {x});
  LoopSpec spec{.trip = n, .init = {empty, x}};
  auto out = append_loop(
      b, ctx, spec,
      [&](Dim i, const std::vector<ValueId>& s) -> Result<LoopBody> {
        Attrs at{{"starts", std::vector<Dim>{i}}, {"ends", std::vector<Dim>{i + 1}}, {"axes", std::vector<int64_t>{0}}};
        ValueId element = make("array.slice", at, {x});
        return LoopBody{.carried = {make("array.concat", {{"axis", int64_t{0}}}, {s[0], element}), s[1]},
                        .scans = {element}};
      },
      loc("loop"));
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ(type_text(out.value().carried[0]), "f32[n]");
  EXPECT_EQ(type_text(out.value().carried[1]), "f32[n]");
  EXPECT_EQ(type_text(out.value().scans[0]), "f32[n, 1]");
  EXPECT_EQ(out.value().count, n);
  FunctionPtr f = finish({out.value().carried[0], out.value().scans[0]});
  auto y = run(f, {f32({3}, {1, 2, 3})});
  EXPECT_EQ(values_of<float>(y[0]), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(y[1].shape, (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(run(f, {f32({0}, {})})[1].shape, (std::vector<int64_t>{0, 1}));
}

TEST_F(ControlTest, ADoublingAxisIsFresh) {
  LoopSpec spec{.trip = ctx.constant(3), .init = {x}};
  auto out = append_loop(
      b, ctx, spec,
      [&](Dim, const std::vector<ValueId>& s) -> Result<LoopBody> {
        return LoopBody{.carried = {make("array.concat", {{"axis", int64_t{0}}}, {s[0], s[0]})}};
      },
      loc("loop"));
  ASSERT_TRUE(out.ok()) << out.error().text();
  auto d = b.peek().tensor_type(out.value().carried[0]).shape[0].as_symbol();
  ASSERT_TRUE(d);
  EXPECT_EQ(ctx.info(*d).origin.kind, expr::Origin::Kind::Data);
  FunctionPtr f = finish(out.value().carried);
  EXPECT_EQ(run(f, {f32({2}, {1, 2})})[0].shape, std::vector<int64_t>{16});
}

TEST_F(ControlTest, AnAxisThatIsReplacedIsBounded) {
  ValueId head =
      make("array.slice",
           {{"starts", std::vector<int64_t>{0}}, {"ends", std::vector<int64_t>{2}}, {"axes", std::vector<int64_t>{0}}}, {x});
  LoopSpec spec{.trip = n, .init = {x}};
  auto out = append_loop(
      b, ctx, spec, [&](Dim, const std::vector<ValueId>&) -> Result<LoopBody> { return LoopBody{.carried = {head}}; },
      loc("loop"));
  ASSERT_TRUE(out.ok()) << out.error().text();
  auto d = b.peek().tensor_type(out.value().carried[0]).shape[0].as_symbol();
  ASSERT_TRUE(d);
  EXPECT_EQ(ctx.info(*d).upper->str(), "n");
  EXPECT_EQ(run(finish(out.value().carried), {f32({5}, {1, 2, 3, 4, 5})})[0].shape, std::vector<int64_t>{2});
}

TEST_F(ControlTest, AConditionalAppendIsBounded) {
  LoopSpec spec{.trip = n, .init = {x}};
  auto out = append_loop(
      b, ctx, spec,
      [&](Dim i, const std::vector<ValueId>& s) -> Result<LoopBody> {
        auto grow = [&]() -> Result<std::optional<std::vector<ValueId>>> {
          Attrs at{
              {"starts", std::vector<int64_t>{0}}, {"ends", std::vector<int64_t>{1}}, {"axes", std::vector<int64_t>{0}}};
          ValueId head = make("array.slice", at, {x});
          return std::optional(std::vector{make("array.concat", {{"axis", int64_t{0}}}, {s[0], head})});
        };
        auto keep = [&]() -> Result<std::optional<std::vector<ValueId>>> { return std::optional(std::vector{s[0]}); };
        auto branches = TRY(append_if(b, ctx, {.dim = expr::mod(i, 2)}, grow, keep, loc("if")));
        return LoopBody{.carried = {branches[0]}};
      },
      loc("loop"));
  ASSERT_TRUE(out.ok()) << out.error().text();
  auto d = b.peek().tensor_type(out.value().carried[0]).shape[0].as_symbol();
  ASSERT_TRUE(d);
  ASSERT_TRUE(ctx.info(*d).upper);
  FunctionPtr f = finish(out.value().carried);
  EXPECT_EQ(run(f, {f32({5}, {1, 2, 3, 4, 5})})[0].shape, std::vector<int64_t>{7});
}

TEST_F(ControlTest, FaultsNameTheIteration) {
  LoopSpec spec{.trip = ctx.constant(5), .init = {x}};
  auto out = append_loop(
      b, ctx, spec,
      [&](Dim i, const std::vector<ValueId>& s) -> Result<LoopBody> {
        b.add_constraint({graph::ShapeConstraint::Kind::LessEqual, i + 1, n, "{a} steps of {b}", loc("step")});
        return LoopBody{.carried = s};
      },
      loc("loop"));
  ASSERT_TRUE(out.ok());
  FunctionPtr f = finish(out.value().carried);
  EXPECT_TRUE(f->constraints.empty());
  te::Array two = f32({2}, {1, 2});
  auto bad = evaluate(*f, ctx, {{two.dtype, two.shape, two.data.data()}});
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().text().find("3 steps of 2, in iteration 2 of node \"loop\""), std::string::npos)
      << bad.error().text();
}

TEST_F(ControlTest, AChangingRankIsAnError) {
  LoopSpec spec{.trip = n, .init = {x}};
  auto out = append_loop(
      b, ctx, spec,
      [&](Dim, const std::vector<ValueId>& s) -> Result<LoopBody> {
        return LoopBody{.carried = {make("array.reshape", {{"shape", std::vector<Dim>{n, ctx.constant(1)}}}, {s[0]})}};
      },
      loc("loop"));
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().diagnostics[0].id.name(), "carried-type");
}

TEST_F(ControlTest, ConditionsEndLoops) {
  ValueId start =
      make("array.slice",
           {{"starts", std::vector<int64_t>{0}}, {"ends", std::vector<int64_t>{1}}, {"axes", std::vector<int64_t>{0}}}, {x});
  auto below = [&](ValueId v) {
    float limit = 100;
    ValueId c = b.append_const(graph::make_constant(DType::F32, {}, &limit, 4), loc("limit"));
    return make("math.lt", {}, {make("reduce.sum", {{"axes", std::vector<int64_t>{0}}, {"keepdims", false}}, {v}), c});
  };
  LoopSpec spec{.condition = below(start), .init = {start}};
  auto out = append_loop(
      b, ctx, spec,
      [&](Dim, const std::vector<ValueId>& s) -> Result<LoopBody> {
        ValueId next = make("math.add", {}, {s[0], s[0]});
        return LoopBody{.condition = below(next), .carried = {next}, .scans = {next}};
      },
      loc("loop"));
  ASSERT_TRUE(out.ok()) << out.error().text();
  FunctionPtr f = finish({out.value().carried[0], out.value().scans[0]});
  auto y = run(f, {f32({1}, {7})});
  EXPECT_EQ(values_of<float>(y[0]), std::vector<float>{112});
  EXPECT_EQ(values_of<float>(y[1]), (std::vector<float>{14, 28, 56, 112}));
  EXPECT_EQ(run(f, {f32({1}, {700})})[1].shape, (std::vector<int64_t>{0, 1}));
}

TEST(Calls, FitFunctionsOfTheModule) {
  auto m = graph::parse_module(R"(symbol n {origin=input_axis("x", 0)}
func @main(%0 "x": f32[n]) {
  %1 = core.call(%0) {callee="other"} : f32[n]
  return %1 "y"
}
func @twice(%0 "x": f32[n]) {
  %1 = core.call(%0, %0) {callee="main"} : f32[n]
  return %1 "y"
}
)");
  ASSERT_TRUE(m.ok()) << m.error().text();
  auto fault = [&](size_t f) {
    return verify_types(*m.value().functions[f], *m.value().ctx, &m.value()).error().diagnostics[0];
  };
  EXPECT_EQ(fault(0).id.name(), "unknown-function");
  EXPECT_EQ(fault(0).message, "there is no function \"other\"");
  EXPECT_EQ(fault(1).id.name(), "type-mismatch");
  EXPECT_EQ(fault(1).message, "function \"main\" takes 1 arguments and gives 1 results, but the call has 2 and 1");
}

}  // namespace
}  // namespace pliant::ops
