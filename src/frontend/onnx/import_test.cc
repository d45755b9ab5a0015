#include "frontend/onnx/import.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "frontend/onnx/model_builder.h"
#include "ops/op.h"

namespace pliant::frontend::onnx {
namespace {

using namespace testing;  // the model builder

Result<graph::Module> import_model(const std::string& bytes, const ImportOptions& options = {},
                                   const std::string& directory = "") {
  auto m = import_bytes(bytes.data(), bytes.size(), directory, "test.onnx", options);
  if (m.ok()) {
    Status s = graph::verify(m.value().main(), *m.value().ctx);
    EXPECT_TRUE(s.ok()) << s.error().text();
  }
  return m;
}
std::string error_of(const std::string& bytes, const ImportOptions& options = {}) {
  auto m = import_model(bytes, options);
  return m.ok() ? "no error" : m.error().text();
}
std::string output_type(const std::string& bytes) {
  auto m = import_model(bytes);
  if (!m.ok()) return m.error().text();
  return graph::print(m.value().main().value(m.value().main().results[0]).type);
}

Graph add_graph() {
  Graph g;
  g.inputs = {value_info("x", ElemType::Float, {"batch", 4})};
  g.outputs = {value_info("y", ElemType::Float, {"batch", 4})};
  g.initializers = {f32_tensor("w", {4}, {1, 2, 3, 4})};
  g.nodes = {node("Add", {"x", "w"}, {"y"}, "sum")};
  return g;
}

TEST(Import, InputsKeepTheirSymbols) {
  auto m = import_model(model(add_graph()));
  ASSERT_TRUE(m.ok()) << m.error().text();
  const graph::Function& f = m.value().main();
  EXPECT_EQ(graph::print(f.value(f.params[0]).type), "f32[batch, 4]");
  EXPECT_EQ(f.result_names, std::vector<std::string>{"y"});
  const expr::SymbolInfo& info = m.value().ctx->info(*m.value().ctx->find_symbol("batch"));
  EXPECT_EQ(info.origin.kind, expr::Origin::Kind::InputAxis);
  EXPECT_EQ(info.origin.name, "x");
  EXPECT_EQ(info.lo, 0);
  EXPECT_EQ(describe(f.nodes.back().loc), "node \"sum\" (onnx.Add)");
}

TEST(Import, DimsWithoutANameAreDifferent) {
  Graph g;
  g.inputs = {value_info("x", ElemType::Float, {"?", "", "?", "x_0"})};
  g.outputs = {value_info("y", ElemType::Float, {"", "", "", ""})};
  g.nodes = {node("Neg", {"x"}, {"y"})};
  auto m = import_model(model(g));
  ASSERT_TRUE(m.ok()) << m.error().text();
  const graph::Shape& s = m.value().main().tensor_type(m.value().main().params[0]).shape;
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_FALSE(s[i] == s[j]) << i << ", " << j;
  }
}

TEST(Import, OptionsRenameAndBoundSymbols) {
  ImportOptions options;
  options.shapes["x"] = {"n", "4"};
  options.bounds["n"] = {1, 64};
  options.likely["n"] = {1, 8};
  auto m = import_model(model(add_graph()), options);
  ASSERT_TRUE(m.ok()) << m.error().text();
  const expr::SymbolInfo& info = m.value().ctx->info(*m.value().ctx->find_symbol("n"));
  EXPECT_EQ(info.lo, 1);
  EXPECT_EQ(info.hi, 64);
  EXPECT_EQ(info.likely, (std::vector<int64_t>{1, 8}));
  options.bounds["m"] = {1, 2};
  options.shapes["z"] = {"1"};
  std::string text = error_of(model(add_graph()), options);
  EXPECT_NE(text.find("bound of 'm'"), std::string::npos) << text;
  EXPECT_NE(text.find("input \"z\""), std::string::npos) << text;
}

TEST(Import, UnsortedNodesAreSorted) {
  Graph g = add_graph();
  g.nodes = {node("Relu", {"t"}, {"y"}, "last"), node("Add", {"x", "w"}, {"t"}, "first")};
  EXPECT_EQ(output_type(model(g)), "f32[batch, 4]");
}

TEST(Import, BrokenGraphsNameTheNode) {
  Graph g = add_graph();
  g.nodes = {node("MatMul", {"x", "w_typo"}, {"y"}, "proj")};
  EXPECT_EQ(error_of(model(g)), "node \"proj\" (onnx.MatMul): error: uses 'w_typo', which nothing defines [missing-value]");
  g.nodes = {node("Add", {"x", "b"}, {"a"}, "one"), node("Neg", {"a"}, {"b"}, "two"), node("Neg", {"b"}, {"y"}, "three")};
  EXPECT_EQ(error_of(model(g)),
            "node \"one\" (onnx.Add): error: is part of a cycle: it waits for node \"two\", which waits for it [cycle]");
  g.nodes = {node("Neg", {"x"}, {"y"}, "one"), node("Abs", {"x"}, {"y"}, "two")};
  EXPECT_EQ(error_of(model(g)),
            "node \"two\" (onnx.Abs): error: defines 'y', which another node defines too [duplicate-value]");
}

TEST(Import, OutputsHaveNamesOfTheirOwn) {
  Graph g = add_graph();
  g.outputs.push_back(g.outputs[0]);
  EXPECT_EQ(error_of(model(g)), "output \"y\": error: the model has two outputs of this name [duplicate-value]");
}

TEST(Import, EveryUnsupportedOperatorIsReportedAtOnce) {
  Graph g = add_graph();
  g.nodes = {node("Foo", {"x"}, {"a"}, "foo1"), node("Bar", {"a"}, {"b"}, "bar1", {}, "my.domain"),
             node("Foo", {"b"}, {"c"}, "foo2"), node("StringSplit", {"c"}, {"d"}, "split"),
             node("Add", {"d", "w"}, {"y"}, "sum")};
  EXPECT_EQ(error_of(model(g)),
            "test.onnx: error: operator Bar (domain my.domain, opset 0) is not supported; 1 node: \"bar1\" "
            "[unsupported-operator]\n"
            "test.onnx: error: operator Foo (domain ai.onnx, opset 18) is not supported; 2 nodes: \"foo1\", \"foo2\" "
            "[unsupported-operator]\n"
            "test.onnx: error: operator StringSplit (domain ai.onnx, opset 18) is not supported; 1 node: \"split\" "
            "[unsupported-operator]");
}

TEST(Import, OpsetsOutsideTheRangeAreRefused) {
  EXPECT_NE(error_of(model(add_graph(), 6)).find("opset 6"), std::string::npos);
  EXPECT_NE(error_of(model(add_graph(), 99)).find("opset 99"), std::string::npos);
}

// Cutting a file anywhere gives an error or, between two fields, a smaller model; never a crash.
TEST(Import, TruncatedAndDamagedFilesGiveErrors) {
  std::string bytes = model(add_graph());
  size_t early = 0;
  for (size_t n = 0; n < bytes.size(); ++n) {
    auto m = import_bytes(bytes.data(), n, "", "cut.onnx", {});
    if (m.ok()) continue;
    std::string text = m.error().text();
    EXPECT_NE(text.find("cut.onnx"), std::string::npos) << text;
    if (text.find("ends early") != std::string::npos) ++early;
  }
  EXPECT_GT(early, bytes.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int flip : {0x01, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      auto m = import_bytes(damaged.data(), damaged.size(), "", "damaged.onnx", {});
      EXPECT_TRUE(m.ok() || !m.error().diagnostics.empty());
    }
  }
}

TEST(Import, NestedGraphsHaveALimit) {
  Graph inner = add_graph();
  for (int i = 0; i < 200; ++i) {
    Graph outer = add_graph();
    outer.nodes = {node("If", {"x"}, {"y"}, "n", {graph_attr("then_branch", inner.bytes())})};
    inner = outer;
  }
  EXPECT_NE(error_of(model(inner)).find("nested too deeply"), std::string::npos);
}

TEST(Import, WeightsMustHaveAsManyBytesAsTheyNeed) {
  Graph g = add_graph();
  std::vector<float> ten(10);
  g.initializers = {raw_tensor("w", ElemType::Float, {8, 4}, ten.data(), 40)};
  EXPECT_EQ(error_of(model(g)), "initialiser 'w': error: 128 bytes wanted, 40 found [weight-size]\n  note: in test.onnx");
  g.initializers = {raw_tensor("w", ElemType::Float, {INT64_MAX, INT64_MAX}, ten.data(), 40)};
  EXPECT_NE(error_of(model(g)).find("is not one that a tensor can have"), std::string::npos);
  g.initializers = {raw_tensor("w", ElemType::Complex64, {5}, ten.data(), 40)};
  EXPECT_NE(error_of(model(g)).find("complex64"), std::string::npos);
  // One that nothing uses may be of any type.
  g = add_graph();
  g.initializers.push_back(raw_tensor("unused", ElemType::Complex64, {5}, ten.data(), 40));
  EXPECT_EQ(output_type(model(g)), "f32[batch, 4]");
}

std::string external_tensor(const std::string& location, int64_t offset) {
  std::string out, entry;
  protozero::pbf_writer w(out);
  w.add_int64(1, 4);
  w.add_int32(2, 1);
  w.add_string(8, "w");
  for (const auto& [key, value] :
       {std::pair{std::string("location"), location}, std::pair{std::string("offset"), std::to_string(offset)}}) {
    entry.clear();
    protozero::pbf_writer e(entry);
    e.add_string(1, key);
    e.add_string(2, value);
    w.add_message(13, entry);
  }
  w.add_int32(14, 1);
  return out;
}

TEST(Import, ExternalDataIsMappedAndChecked) {
  std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "pliant_external";
  std::filesystem::create_directories(folder);
  std::vector<float> data = {0, 0, 5, 6, 7, 8};
  std::ofstream(folder / "w.bin", std::ios::binary).write(reinterpret_cast<const char*>(data.data()), 24);
  auto import_with = [&](const std::string& tensor) {
    Graph g = add_graph();
    g.initializers = {tensor};
    return import_model(model(g), {}, folder.string());
  };
  auto good = import_with(external_tensor("w.bin", 8));
  ASSERT_TRUE(good.ok()) << good.error().text();
  graph::ConstantPtr w = good.value().main().nodes[0].attrs.constant("value");
  EXPECT_EQ(0, std::memcmp(w->data, data.data() + 2, 16));
  auto text = [&](const std::string& tensor) {
    auto m = import_with(tensor);
    return m.ok() ? std::string("no error") : m.error().text();
  };
  EXPECT_EQ(text(external_tensor("w.bin", 12)),
            "initialiser 'w': error: 'w.bin' is too short: 16 bytes wanted at offset 12, 12 found [external-data]");
  EXPECT_NE(text(external_tensor("../w.bin", 0)).find("outside the model's folder"), std::string::npos);
  EXPECT_NE(text(external_tensor("/etc/hostname", 0)).find("outside the model's folder"), std::string::npos);
  EXPECT_NE(text(external_tensor("a/../../w.bin", 0)).find("outside the model's folder"), std::string::npos);
  EXPECT_NE(text(external_tensor("none.bin", 0)).find("none.bin"), std::string::npos);
}

TEST(Import, InitialisersAmongTheInputsAreDefaults) {
  Graph g = add_graph();
  g.inputs.push_back(value_info("w", ElemType::Float, {4}));
  auto m = import_model(model(g, 18, 8));
  ASSERT_TRUE(m.ok()) << m.error().text();
  EXPECT_EQ(m.value().main().params.size(), 2u);
  ASSERT_NE(m.value().main().default_values[1], nullptr);
  EXPECT_EQ(m.value().main().default_values[0], nullptr);
  auto old = import_model(model(g, 8, 3));
  ASSERT_TRUE(old.ok()) << old.error().text();
  EXPECT_EQ(old.value().main().params.size(), 1u);
}

TEST(Import, FunctionsAreInlinedWithTheirAttributes) {
  Graph g = add_graph();
  g.nodes = {node("Twice", {"x"}, {"y"}, "call", {int_attr("which", 1)}, "local")};
  std::string f = function("local", "Twice", {"a", "unused"}, {"b"},
                           {node("Concat", {"a", "a"}, {"b"}, "join", {ref_attr("axis", "which", 2)})}, {"which"});
  auto m = import_model(model(g, 18, 8, {f}));
  ASSERT_TRUE(m.ok()) << m.error().text();
  EXPECT_EQ(describe(m.value().main().nodes[0].loc), "node \"call/join\" (onnx.Concat)");
  EXPECT_EQ(graph::print(m.value().main().value(m.value().main().results[0]).type), "f32[batch, 8]");
  std::string recursive = function("local", "Twice", {"a"}, {"b"}, {node("Twice", {"a"}, {"b"}, "again", {}, "local")});
  EXPECT_NE(error_of(model(g, 18, 8, {recursive})).find("call each other too deeply"), std::string::npos);
}

TEST(Import, ConstantConditionsTakeTheirBranch) {
  Graph then_branch, else_branch, g = add_graph();
  then_branch.outputs = {value_info("t", ElemType::Float, {"batch", 4})};
  then_branch.nodes = {node("Neg", {"x"}, {"t"}, "neg")};
  else_branch.outputs = {value_info("e", ElemType::Float, {"batch", 4})};
  else_branch.nodes = {node("Unknown", {"x"}, {"e"}, "odd")};
  // The rank of x decides: size(shape(x)) == 2.
  g.initializers = {i64_tensor("two", {}, {2})};
  g.nodes = {node("Shape", {"x"}, {"s"}), node("Size", {"s"}, {"n"}), node("Equal", {"n", "two"}, {"c"}),
             node("If", {"c"}, {"y"}, "choice",
                  {graph_attr("then_branch", then_branch.bytes()), graph_attr("else_branch", else_branch.bytes())})};
  EXPECT_EQ(output_type(model(g)), "f32[batch, 4]");
  g.initializers = {i64_tensor("two", {}, {3})};
  EXPECT_NE(error_of(model(g)).find("operator Unknown"), std::string::npos);
}

}  // namespace
}  // namespace pliant::frontend::onnx
