// If, Loop and Scan: what they become, and what the reference gives for them.
#include "graph/control.h"

#include <gtest/gtest.h>

#include <cstring>

#include "frontend/onnx/import.h"
#include "frontend/onnx/model_builder.h"
#include "ops/evaluate/run_op.h"

namespace pliant::frontend::onnx {
namespace {

using namespace testing;  // the model builder
using ops::f32;
using ops::i64;
using ops::values_of;

Result<graph::Module> import_model(const std::string& bytes) {
  auto m = import_bytes(bytes.data(), bytes.size(), "", "test.onnx", {});
  if (!m.ok()) return m;
  const graph::Function& f = m.value().main();
  Status structure = graph::verify(f, *m.value().ctx), types = ops::verify_types(f, *m.value().ctx);
  EXPECT_TRUE(structure.ok()) << structure.error().text() << print(m.value());
  EXPECT_TRUE(types.ok()) << types.error().text() << print(m.value());
  return m;
}
std::string error_of(const std::string& bytes) {
  auto m = import_model(bytes);
  return m.ok() ? "no error" : m.error().text();
}
// The results, or the error as the only text.
struct Outcome {
  std::vector<te::Array> results;
  std::string error;
  std::string types;  // of the outputs
  size_t ifs = 0, loops = 0;
};
Outcome run(const std::string& bytes, const std::vector<te::Array>& inputs) {
  Outcome out;
  auto m = import_model(bytes);
  if (!m.ok()) return {{}, m.error().text(), "", 0, 0};
  const graph::Function& f = m.value().main();
  for (graph::ValueId v : f.results) out.types += graph::print(f.value(v).type) + " ";
  graph::for_each_node(f, [&](const graph::Node& n) {
    out.ifs += n.op == "core.if";
    out.loops += n.op == "core.loop";
  });
  std::vector<te::ArrayView> views;
  for (const te::Array& a : inputs) views.push_back({a.dtype, a.shape, a.data.data()});
  auto r = ops::evaluate(f, *m.value().ctx, views);
  if (r.ok())
    out.results = r.take();
  else
    out.error = r.error().text();
  return out;
}

std::string f32_value(const std::string& name, const std::vector<Axis>& axes) {
  return value_info(name, ElemType::Float, axes);
}
std::string if_node(const std::string& cond, const std::vector<std::string>& outputs, const Graph& then,
                    const Graph& otherwise, const std::string& name = "choice") {
  return node("If", {cond}, outputs, name,
              {graph_attr("then_branch", then.bytes()), graph_attr("else_branch", otherwise.bytes())});
}
Graph branch(const std::vector<std::string>& nodes, const std::string& output) {
  Graph g;
  g.nodes = nodes;
  g.outputs = {f32_value(output, {})};
  return g;
}
// A Loop's body over one carried value "c" that becomes "c2".
Graph body(const std::vector<std::string>& nodes, const std::vector<std::string>& outputs = {"go2", "c2"}) {
  Graph g;
  g.inputs = {value_info("i", ElemType::Int64, {}), value_info("go", ElemType::Bool, {}), f32_value("c", {"?"})};
  for (const std::string& o : outputs) g.outputs.push_back(f32_value(o, {}));
  g.nodes = nodes;
  g.nodes.push_back(node("Identity", {"go"}, {"go2"}));
  return g;
}
std::string loop_node(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs, const Graph& g) {
  return node("Loop", inputs, outputs, "loop", {graph_attr("body", g.bytes())});
}

// Inputs "x" f32[n], "c" bool[], "k" i64[].
Graph graph_of(const std::vector<std::string>& nodes, const std::vector<std::string>& outputs) {
  Graph g;
  g.inputs = {f32_value("x", {"n"}), value_info("flag", ElemType::Bool, {}), value_info("k", ElemType::Int64, {})};
  for (const std::string& o : outputs) g.outputs.push_back(f32_value(o, {}));
  g.nodes = nodes;
  g.initializers = {i64_tensor("zero", {1}, {0}), i64_tensor("one", {}, {1}), f32_tensor("none", {0}, {})};
  return g;
}
std::vector<te::Array> inputs_of(std::vector<float> x, bool flag, int64_t k) {
  auto n = static_cast<int64_t>(x.size());
  return {f32({n}, std::move(x)), ops::bools({}, {flag}), i64({}, {k})};
}

TEST(If, BranchesOfDataBecomeRegions) {
  Graph then = branch({node("Neg", {"x"}, {"t"}, "neg")}, "t");
  Graph otherwise = branch({node("Concat", {"x", "x"}, {"e"}, "cat", {int_attr("axis", 0)})}, "e");
  std::string m = model(graph_of({if_node("flag", {"y"}, then, otherwise)}, {"y"}));
  Outcome yes = run(m, inputs_of({1, 2}, true, 0)), no = run(m, inputs_of({1, 2}, false, 0));
  EXPECT_EQ(yes.ifs, 1u);
  ASSERT_EQ(yes.error + no.error, "");
  EXPECT_EQ(values_of<float>(yes.results[0]), (std::vector<float>{-1, -2}));
  EXPECT_EQ(values_of<float>(no.results[0]), (std::vector<float>{1, 2, 1, 2}));
}

TEST(If, AnElementOfAnInputDecidesWithoutATensor) {
  Graph then = branch({node("Neg", {"x"}, {"t"})}, "t"), otherwise = branch({}, "x");
  auto m = import_model(model(graph_of({node("Equal", {"k", "one"}, {"c"}), if_node("c", {"y"}, then, otherwise)}, {"y"})));
  ASSERT_TRUE(m.ok()) << m.error().text();
  for (const graph::Node& n : m.value().main().nodes) {
    if (n.op != "core.if") continue;
    EXPECT_EQ(graph::if_parts(n).condition, graph::kNoValue);
    ASSERT_TRUE(graph::if_parts(n).cond);
    EXPECT_EQ(expr::symbols_of(*graph::if_parts(n).cond).size(), 1u);
  }
}

TEST(If, BranchesOfOtherRanksTakeWhatFollowsAlong) {
  Graph then = branch({node("Unsqueeze", {"x", "zero"}, {"t"})}, "t"), otherwise = branch({}, "x");
  std::string m = model(graph_of({if_node("flag", {"v"}, then, otherwise), node("Neg", {"v"}, {"w"}, "after"),
                                  node("ReduceSum", {"w"}, {"y"}, "sum", {int_attr("keepdims", 0)})},
                                 {"y"}));
  Outcome yes = run(m, inputs_of({1, 2}, true, 0)), no = run(m, inputs_of({1, 2}, false, 0));
  ASSERT_EQ(yes.error + no.error, "");
  EXPECT_EQ(yes.ifs, 1u);
  EXPECT_EQ(values_of<float>(yes.results[0]), std::vector<float>{-3});
  EXPECT_EQ(values_of<float>(no.results[0]), std::vector<float>{-3});
  // At the model's outputs there is nothing to go on with: they are optionals, whose tensors have the rank of the run.
  EXPECT_EQ(error_of(model(graph_of({if_node("flag", {"y"}, then, otherwise)}, {"y"}))), "no error");
}

// The inner If's ranks differ up to the end of its branch, and only the outer If's follower makes them one type.
TEST(If, NestedBranchesReachBeyondTheOuterBranch) {
  Graph flat = branch({}, "x"), deep = branch({node("Unsqueeze", {"x", "zero"}, {"t"})}, "t");
  Graph then = branch(
      {node("Greater", {"k", "one"}, {"c"}), if_node("c", {"v"}, deep, flat, "inner"), node("Exp", {"v"}, {"in_branch"})},
      "in_branch");
  Graph otherwise = branch({node("Neg", {"x"}, {"e"})}, "e");
  std::string m = model(graph_of(
      {if_node("flag", {"v"}, then, otherwise), node("ReduceSum", {"v"}, {"y"}, "sum", {int_attr("keepdims", 0)})}, {"y"}));
  for (int64_t k : {1, 2}) {
    Outcome out = run(m, inputs_of({0, 0, 0}, true, k));
    ASSERT_EQ(out.error, "");
    EXPECT_EQ(out.ifs, 2u);
    EXPECT_EQ(values_of<float>(out.results[0]), std::vector<float>{3});
  }
  EXPECT_EQ(values_of<float>(run(m, inputs_of({1, 1}, false, 1)).results[0]), std::vector<float>{-2});
}

// A function's body goes on in its caller.
TEST(If, BranchesInFunctionsReachIntoTheCaller) {
  Graph then = branch({node("Unsqueeze", {"a", "zeros"}, {"t"})}, "t"), otherwise = branch({}, "a");
  std::string f =
      function("local", "F", {"a", "c", "zeros"}, {"b"}, {if_node("c", {"v"}, then, otherwise), node("Neg", {"v"}, {"b"})});
  std::string m = model(graph_of({node("F", {"x", "flag", "zero"}, {"v"}, "call", {}, "local"),
                                  node("ReduceSum", {"v"}, {"y"}, "sum", {int_attr("keepdims", 0)})},
                                 {"y"}),
                        18, 8, {f});
  for (bool flag : {true, false}) {
    Outcome out = run(m, inputs_of({1, 2}, flag, 0));
    ASSERT_EQ(out.error, "");
    EXPECT_EQ(values_of<float>(out.results[0]), std::vector<float>{-3});
  }
}

TEST(If, ABranchThatCannotRunFailsThere) {
  Graph bad = branch({node("Transpose", {"x"}, {"t"}, "turn", {ints_attr("perm", {1, 0})})}, "t"), good = branch({}, "x");
  std::string m = model(graph_of({if_node("flag", {"y"}, bad, good)}, {"y"}));
  Outcome yes = run(m, inputs_of({1}, true, 0)), no = run(m, inputs_of({1}, false, 0));
  EXPECT_EQ(no.error, "");
  EXPECT_EQ(no.types, "f32[n] ");
  EXPECT_NE(yes.error.find("\"choice\""), std::string::npos) << yes.error;
  EXPECT_NE(yes.error.find("\"turn\""), std::string::npos) << yes.error;
  std::string both = error_of(model(graph_of({if_node("flag", {"y"}, bad, bad)}, {"y"})));
  EXPECT_NE(both.find("node \"turn\" (onnx.Transpose)"), std::string::npos) << both;
  Graph odd = branch({node("Odd", {"x"}, {"t"})}, "t");
  EXPECT_NE(error_of(model(graph_of({if_node("flag", {"y"}, odd, good)}, {"y"}))).find("operator Odd"), std::string::npos);
}

TEST(If, ADecidedConditionDecidesInside) {
  Graph a = branch({node("Neg", {"x"}, {"a"})}, "a"), b = branch({node("Odd", {"x"}, {"b"})}, "b");
  Graph then = branch(
      {node("Shape", {"x"}, {"s2"}), node("Equal", {"s2", "zero"}, {"c2"}), if_node("c2", {"t"}, a, b, "inner")}, "t");
  std::string m = model(graph_of(
      {node("Shape", {"x"}, {"s"}), node("Equal", {"s", "zero"}, {"c"}), if_node("c", {"y"}, then, branch({}, "x"))},
      {"y"}));
  Outcome out = run(m, inputs_of({}, true, 0));
  EXPECT_EQ(out.error, "");
  EXPECT_EQ(out.ifs, 1u);
}

// A node whose rank depends on a count that only a run knows is imported once for each count, and a few times more to find
// out how far the branches go on: not once for each way through the Ifs.
TEST(If, OpenRanksAreImportedAFewTimesForEachCount) {
  auto symbols = [](size_t rank) {
    Graph g;
    std::vector<Axis> axes;
    for (size_t k = 0; k < rank; ++k) axes.emplace_back(("d" + std::to_string(k)).c_str());
    g.inputs = {f32_value("x", axes), value_info("axes", ElemType::Int64, {"m"})};
    g.outputs = {f32_value("y", {})};
    g.nodes = {node("ReduceMax", {"x", "axes"}, {"y"}, "reduce", {int_attr("keepdims", 0)})};
    auto m = import_model(model(g));
    EXPECT_TRUE(m.ok()) << (m.ok() ? "" : m.error().text());
    return m.ok() ? m.value().ctx->symbol_count() : 0;
  };
  EXPECT_LE(symbols(6), symbols(3) * 8);
}

TEST(If, SizesThatBranchesGiveStayKnown) {
  Graph then = branch({node("Shape", {"x"}, {"t"})}, "t"), otherwise = branch({}, "zero");
  std::string m = model(graph_of({node("Shape", {"x"}, {"s"}), node("Greater", {"s", "one"}, {"c"}),
                                  if_node("c", {"v"}, then, otherwise), node("ConstantOfShape", {"v"}, {"y"})},
                                 {"y"}));
  EXPECT_EQ(run(m, inputs_of({1, 2, 3}, true, 0)).results[0].shape, std::vector<int64_t>{3});
  EXPECT_EQ(run(m, inputs_of({1}, true, 0)).results[0].shape, std::vector<int64_t>{0});
}

TEST(Loop, GrowthIsAffine) {
  std::string m = model(graph_of(
      {loop_node({"k", "", "none"}, {"y"}, body({node("Concat", {"c", "x"}, {"c2"}, "cat", {int_attr("axis", 0)})}))},
      {"y"}));
  Outcome out = run(m, inputs_of({1, 2}, true, 3));
  ASSERT_EQ(out.error, "");
  EXPECT_EQ(out.types, "f32[max(0, k)*n] ");
  EXPECT_EQ(values_of<float>(out.results[0]), (std::vector<float>{1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(run(m, inputs_of({1, 2}, true, -5)).results[0].shape, std::vector<int64_t>{0});
}

TEST(Loop, TheIterationIsASize) {
  std::vector<std::string> nodes{node("Gather", {"x", "i"}, {"e"}, "pick"), node("Add", {"c", "e"}, {"c2"})};
  std::string m = model(graph_of({node("Shape", {"x"}, {"s"}), node("Squeeze", {"s"}, {"t"}),
                                  loop_node({"t", "", "x"}, {"y", "z"}, body(nodes, {"go2", "c2", "e"}))},
                                 {"y", "z"}));
  Outcome out = run(m, inputs_of({1, 2, 3}, true, 0));
  ASSERT_EQ(out.error, "");
  EXPECT_EQ(out.types, "f32[n] f32[n] ");
  EXPECT_EQ(values_of<float>(out.results[0]), (std::vector<float>{7, 8, 9}));
  EXPECT_EQ(values_of<float>(out.results[1]), (std::vector<float>{1, 2, 3}));
}

TEST(Loop, CarriedCountersStayKnown) {
  Graph g =
      body({node("Add", {"c", "one"}, {"c2"}), node("Unsqueeze", {"c", "zero"}, {"u"}),
            node("ConstantOfShape", {"u"}, {"part"}), node("Concat", {"d", "part"}, {"d2"}, "cat", {int_attr("axis", 0)})},
           {"go2", "c2", "d2"});
  g.inputs = {value_info("i", ElemType::Int64, {}), value_info("go", ElemType::Bool, {}),
              value_info("c", ElemType::Int64, {}), f32_value("d", {"?"})};
  std::string m = model(graph_of({loop_node({"k", "", "one", "none"}, {"n", "d"}, g),
                                  node("Unsqueeze", {"n", "zero"}, {"u"}), node("ConstantOfShape", {"u"}, {"y"})},
                                 {"y", "d"}));
  Outcome out = run(m, inputs_of({1}, true, 3));
  ASSERT_EQ(out.error, "");
  EXPECT_EQ(out.results[0].shape, std::vector<int64_t>{4});
  EXPECT_EQ(out.results[1].shape, std::vector<int64_t>{6});
  EXPECT_EQ(out.types.substr(0, out.types.find(' ')), "f32[max(0,");
}

TEST(Loop, ConditionsEndIt) {
  Graph g;
  g.inputs = {value_info("i", ElemType::Int64, {}), value_info("go", ElemType::Bool, {}), f32_value("c", {"?"})};
  g.outputs = {value_info("go2", ElemType::Bool, {}), f32_value("c2", {"?"}), f32_value("i2", {})};
  g.nodes = {node("Add", {"c", "c"}, {"c2"}), node("ReduceMax", {"c2"}, {"m"}, "max", {int_attr("keepdims", 0)}),
             node("Less", {"m", "limit"}, {"go2"}), node("Identity", {"i"}, {"i2"})};
  for (const char* trip : {"", "k"}) {
    Graph outer = graph_of({loop_node({trip, "flag", "x"}, {"y", "steps"}, g)}, {"y", "steps"});
    outer.outputs[1] = value_info("steps", ElemType::Int64, {"?"});
    outer.initializers.push_back(f32_tensor("limit", {}, {10}));
    Outcome out = run(model(outer), inputs_of({1}, true, 100));
    ASSERT_EQ(out.error, "");
    EXPECT_EQ(values_of<float>(out.results[0]), std::vector<float>{16});
    EXPECT_EQ(values_of<int64_t>(out.results[1]), (std::vector<int64_t>{0, 1, 2, 3}));
    out = run(model(outer), inputs_of({1}, false, 100));
    EXPECT_EQ(values_of<float>(out.results[0]), std::vector<float>{1});
    EXPECT_EQ(out.results[1].shape, std::vector<int64_t>{0});
  }
}

TEST(Loop, FaultsNameTheIteration) {
  std::vector<std::string> nodes{node("Gather", {"x", "i"}, {"e"}, "pick"), node("Add", {"c", "e"}, {"c2"})};
  std::string m = model(graph_of({loop_node({"k", "", "x"}, {"y"}, body(nodes))}, {"y"}));
  Outcome out = run(m, inputs_of({1, 2}, true, 5));
  EXPECT_NE(out.error.find("node \"pick\""), std::string::npos) << out.error;
  EXPECT_NE(out.error.find("in iteration 2 of node \"loop\""), std::string::npos) << out.error;
}

TEST(Loop, MalformedBodiesNameTheNode) {
  auto text = [](const Graph& g) { return error_of(model(graph_of({loop_node({"k", "", "x"}, {"y"}, g)}, {"y"}))); };
  std::string where = "node \"loop\" (onnx.Loop): error: ";
  EXPECT_EQ(text(body({}, {"go2"})),
            where + "the Loop carries 1 value, so its body outputs at least 2 but has 1 output [malformed-model]");
  Graph few = body({}, {"go2", "x"});
  few.inputs.pop_back();
  EXPECT_EQ(text(few), where + "the Loop carries 1 value, so its body needs 3 inputs but has 2 [malformed-model]");
  std::string rank = text(body({node("Unsqueeze", {"c", "zero"}, {"c2"})}));
  EXPECT_EQ(rank, where +
                      "carried value 0 ('c') starts as f32[n] but becomes f32[1, n] in the body; what a loop carries keeps "
                      "its rank and element type: give it those before the loop [carried-type]");
}

TEST(Loop, BodiesSeeAndShadowOuterValues) {
  // "x" inside is an initialiser of the body.
  Graph g = body({node("Add", {"c", "x"}, {"c2"}), node("Add", {"c2", "flagged"}, {"s"})}, {"go2", "c2", "s"});
  g.initializers = {f32_tensor("x", {1}, {10})};
  std::string m = model(
      graph_of({node("Cast", {"flag"}, {"flagged"}, "cast", {int_attr("to", 1)}), loop_node({"k", "", "x"}, {"y", "z"}, g)},
               {"y", "z"}));
  Outcome out = run(m, inputs_of({1}, true, 2));
  ASSERT_EQ(out.error, "");
  EXPECT_EQ(values_of<float>(out.results[0]), std::vector<float>{21});
  EXPECT_EQ(values_of<float>(out.results[1]), (std::vector<float>{12, 22}));
}

TEST(Loop, LoopsNest) {
  Graph inner = body({node("Add", {"c", "x"}, {"c2"})});
  inner.inputs = {value_info("j", ElemType::Int64, {}), value_info("go", ElemType::Bool, {}), f32_value("c", {"?"})};
  // The inner loop runs as often as the outer one has run.
  Graph outer = body({loop_node({"i", "go", "c"}, {"c2"}, inner)});
  Outcome out = run(model(graph_of({loop_node({"k", "", "x"}, {"y"}, outer)}, {"y"})), inputs_of({1, 2}, true, 4));
  ASSERT_EQ(out.error, "");
  EXPECT_EQ(out.loops, 2u);
  EXPECT_EQ(values_of<float>(out.results[0]), (std::vector<float>{7, 14}));
}

Graph scan_body() {
  Graph g;
  g.inputs = {f32_value("s", {2}), f32_value("e", {2})};
  g.outputs = {f32_value("s2", {2}), f32_value("o", {2})};
  g.nodes = {node("Add", {"s", "e"}, {"s2"}), node("Identity", {"s2"}, {"o"})};
  return g;
}

TEST(Scan, AxesAndDirections) {
  Graph g;
  g.inputs = {f32_value("s0", {2}), f32_value("x", {2, "t"})};
  g.outputs = {f32_value("y", {2}), f32_value("z", {2, "t"})};
  g.nodes = {node("Scan", {"s0", "x"}, {"y", "z"}, "scan",
                  {graph_attr("body", scan_body().bytes()), int_attr("num_scan_inputs", 1),
                   ints_attr("scan_input_axes", {-1}), ints_attr("scan_input_directions", {1}),
                   ints_attr("scan_output_axes", {1}), ints_attr("scan_output_directions", {1})})};
  Outcome out = run(model(g), {f32({2}, {0, 10}), f32({2, 3}, {1, 2, 3, 4, 5, 6})});
  ASSERT_EQ(out.error, "");
  EXPECT_EQ(out.types, "f32[2] f32[2, t] ");
  EXPECT_EQ(values_of<float>(out.results[0]), (std::vector<float>{6, 25}));
  EXPECT_EQ(values_of<float>(out.results[1]), (std::vector<float>{6, 5, 3, 25, 21, 16}));
}

// No step can be taken out of a sequence of none.
TEST(Scan, ASequenceOfNoSteps) {
  Graph g;
  g.inputs = {f32_value("s0", {2}), f32_value("x", {0, 2})};
  g.outputs = {f32_value("y", {2}), f32_value("z", {0, 2})};
  g.nodes = {node("Scan", {"s0", "x"}, {"y", "z"}, "scan",
                  {graph_attr("body", scan_body().bytes()), int_attr("num_scan_inputs", 1)})};
  Outcome out = run(model(g), {f32({2}, {1, 2}), f32({0, 2}, {})});
  ASSERT_EQ(out.error, "");
  EXPECT_EQ(out.types, "f32[2] f32[0, 2] ");
  auto m = import_model(model(g));
  EXPECT_EQ(m.value().main().value(m.value().main().params[0]).name, "s0");
  EXPECT_EQ(values_of<float>(out.results[0]), (std::vector<float>{1, 2}));
}

TEST(Scan, BatchesOfOpset8HaveLengths) {
  Graph g;
  g.inputs = {value_info("lengths", ElemType::Int64, {"b"}), f32_value("s0", {"b", 2}), f32_value("x", {"b", "t", 2})};
  g.outputs = {f32_value("y", {"b", 2}), f32_value("z", {"b", "t", 2})};
  for (const char* lengths : {"lengths", ""}) {
    g.nodes = {node("Scan", {lengths, "s0", "x"}, {"y", "z"}, "scan",
                    {graph_attr("body", scan_body().bytes()), int_attr("num_scan_inputs", 1)})};
    Outcome out = run(model(g, 8), {i64({2}, {1, 2}), f32({2, 2}, {0, 0, 1, 1}), f32({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})});
    ASSERT_EQ(out.error, "");
    bool all = lengths[0] == 0;
    EXPECT_EQ(values_of<float>(out.results[0]), (all ? std::vector<float>{4, 6, 13, 15} : std::vector<float>{1, 2, 13, 15}));
    EXPECT_EQ(values_of<float>(out.results[1]),
              (all ? std::vector<float>{1, 2, 4, 6, 6, 7, 13, 15} : std::vector<float>{1, 2, 0, 0, 6, 7, 13, 15}));
  }
}

}  // namespace
}  // namespace pliant::frontend::onnx
