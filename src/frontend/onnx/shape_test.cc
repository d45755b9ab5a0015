// Shape arithmetic: what becomes of it in the types of imported graphs.
#include <gtest/gtest.h>

#include "frontend/onnx/import.h"
#include "frontend/onnx/model_builder.h"

namespace pliant::frontend::onnx {
namespace {

using namespace testing;  // the model builder

// A model over x: f32[batch, seq, 12] (and k: i64[2], n: i64[]) whose output is y.
struct Outcome {
  std::string type, error;
  size_t nodes = 0, constraints = 0;
};
Outcome import_nodes(const std::vector<std::string>& nodes, const std::vector<std::string>& initializers,
                     int64_t version = 18) {
  Graph g;
  g.inputs = {value_info("x", ElemType::Float, {"batch", "seq", 12}), value_info("k", ElemType::Int64, {2}),
              value_info("n", ElemType::Int64, {})};
  g.outputs = {value_info("y", ElemType::Float, {"", "", ""})};
  g.nodes = nodes;
  g.initializers = initializers;
  std::string bytes = model(g, version);
  auto m = import_bytes(bytes.data(), bytes.size(), "", "test.onnx", {});
  if (!m.ok()) return {"", m.error().text()};
  const graph::Function& f = m.value().main();
  Status s = graph::verify(f, *m.value().ctx);
  EXPECT_TRUE(s.ok()) << s.error().text();
  return {graph::print(f.value(f.results[0]).type), "", f.nodes.size(), f.constraints.size()};
}

TEST(ShapeFolding, TheUsualChainLeavesOneReshape) {
  Outcome o =
      import_nodes({node("Shape", {"x"}, {"s"}), node("Gather", {"s", "i0"}, {"b"}), node("Gather", {"s", "i1"}, {"t"}),
                    node("Unsqueeze", {"b", "ax"}, {"b1"}), node("Unsqueeze", {"t", "ax"}, {"t1"}),
                    node("Concat", {"b1", "t1", "heads", "rest"}, {"to"}, "", {int_attr("axis", 0)}),
                    node("Reshape", {"x", "to"}, {"y"})},
                   {i64_tensor("i0", {}, {0}), i64_tensor("i1", {}, {1}), i64_tensor("ax", {1}, {0}),
                    i64_tensor("heads", {1}, {3}), i64_tensor("rest", {1}, {-1})});
  EXPECT_EQ(o.error, "");
  EXPECT_EQ(o.type, "f32[batch, seq, 3, 4]");
  EXPECT_EQ(o.nodes, 1u);
  EXPECT_EQ(o.constraints, 0u);
}

TEST(ShapeFolding, ReshapeCopiesAndInfers) {
  EXPECT_EQ(import_nodes({node("Reshape", {"x", "to"}, {"y"})}, {i64_tensor("to", {2}, {0, -1})}).type,
            "f32[batch, seq*12]");
  EXPECT_EQ(import_nodes({node("Reshape", {"x", "to"}, {"y"})}, {i64_tensor("to", {3}, {-1, 2, 6})}).type,
            "f32[batch*seq, 2, 6]");
  // Not every size divides by 5: the rest is checked when it is known.
  Outcome o = import_nodes({node("Reshape", {"x", "to"}, {"y"})}, {i64_tensor("to", {2}, {-1, 5})});
  EXPECT_EQ(o.type, "f32[batch*seq*2 + floordiv(batch*seq*2, 5), 5]");
  EXPECT_EQ(o.constraints, 1u);
  EXPECT_NE(import_nodes({node("Reshape", {"x", "to"}, {"y"})}, {i64_tensor("to", {2}, {-1, -1})}).error, "");
}

TEST(ShapeFolding, InputsUsedAsSizesAreSymbols) {
  Outcome o = import_nodes({node("Expand", {"one", "k"}, {"y"})}, {f32_tensor("one", {}, {1})});
  EXPECT_EQ(o.error, "");
  EXPECT_EQ(o.type, "f32[k_0, k_1]");
  o = import_nodes({node("Range", {"zero", "n", "one"}, {"r"}), node("Cast", {"r"}, {"y"}, "", {int_attr("to", 1)})},
                   {i64_tensor("zero", {}, {0}), i64_tensor("one", {}, {1})});
  EXPECT_EQ(o.type, "f32[max(0, n)]");
}

TEST(ShapeFolding, SizesFromDataAreRead) {
  // The sum of k's elements is data: the size is read from the tensor when it is there.
  Outcome o = import_nodes({node("ReduceMax", {"x"}, {"m"}, "", {int_attr("keepdims", 0)}),
                            node("Cast", {"m"}, {"c"}, "cast", {int_attr("to", 7)}), node("Unsqueeze", {"c", "ax"}, {"c1"}),
                            node("Expand", {"one", "c1"}, {"y"}, "grow")},
                           {f32_tensor("one", {1}, {1}), i64_tensor("ax", {1}, {0})});
  EXPECT_EQ(o.error, "");
  EXPECT_EQ(o.type, "f32[grow_0]");
}

TEST(ShapeFolding, FoldedSizesCanBeData) {
  Outcome o = import_nodes(
      {node("Shape", {"x"}, {"s"}), node("Cast", {"s"}, {"f"}, "", {int_attr("to", 1)}), node("Sqrt", {"f"}, {"y"})}, {});
  EXPECT_EQ(o.error, "");
  EXPECT_EQ(o.type, "f32[3]");
}

TEST(ShapeFolding, FoldedFloatsBesideConstantsKeepTheirValues) {
  Outcome o = import_nodes({node("Shape", {"x"}, {"s"}), node("Cast", {"s"}, {"f"}, "", {int_attr("to", 1)}),
                            node("Concat", {"f", "half"}, {"y"}, "", {int_attr("axis", 0)})},
                           {f32_tensor("half", {1}, {0.5f})});
  EXPECT_EQ(o.error, "");
  EXPECT_EQ(o.type, "f32[4]");
  // The sizes, their cast, the mask, the constants and the choice.
  EXPECT_EQ(o.nodes, 5u);
}

TEST(ShapeFolding, AxesMovedFromAttributesToInputs) {
  EXPECT_EQ(import_nodes({node("Unsqueeze", {"x"}, {"y"}, "", {ints_attr("axes", {0, -1})})}, {}, 11).type,
            "f32[1, batch, seq, 12, 1]");
  EXPECT_EQ(import_nodes({node("Unsqueeze", {"x", "a"}, {"y"})}, {i64_tensor("a", {2}, {0, -1})}, 13).type,
            "f32[1, batch, seq, 12, 1]");
  EXPECT_EQ(
      import_nodes({node("ReduceSum", {"x"}, {"y"}, "", {ints_attr("axes", {1}), int_attr("keepdims", 0)})}, {}, 11).type,
      "f32[batch, 12]");
  EXPECT_EQ(import_nodes({node("ReduceSum", {"x", "a"}, {"y"})}, {i64_tensor("a", {1}, {1})}, 13).type, "f32[batch, 1, 12]");
  EXPECT_EQ(import_nodes({node("ReduceMean", {"x", "a"}, {"y"})}, {i64_tensor("a", {1}, {-1})}, 18).type,
            "f32[batch, seq, 1]");
  EXPECT_EQ(import_nodes({node("Slice", {"x"}, {"y"}, "",
                               {ints_attr("starts", {2}), ints_attr("ends", {7}), ints_attr("axes", {2})})},
                         {}, 9)
                .type,
            "f32[batch, seq, 5]");
}

TEST(ShapeFolding, SoftmaxBefore13Flattens) {
  EXPECT_EQ(import_nodes({node("Softmax", {"x"}, {"y"})}, {}, 11).nodes, 3u);
  EXPECT_EQ(import_nodes({node("Softmax", {"x"}, {"y"}, "", {int_attr("axis", 2)})}, {}, 11).nodes, 1u);
  EXPECT_EQ(import_nodes({node("Softmax", {"x"}, {"y"})}, {}, 13).nodes, 1u);
}

}  // namespace
}  // namespace pliant::frontend::onnx
