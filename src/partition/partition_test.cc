#include "partition/partition.h"

#include <gtest/gtest.h>

#include <cstring>

#include "graph/kernel.h"
#include "lower/native_loop/random_loops_test.h"
#include "ops/op.h"

namespace pliant::partition {
namespace {

using graph::KernelForm;

// The module with its kernels, as a text that holds no more than them: it verifies, and parses back to itself.
graph::Module partitioned(const graph::Module& module, const Options& options) {
  Result<Partitioned> p = partition(module, target::native_target(), options);
  EXPECT_TRUE(p.ok()) << p.error().text();
  for (const graph::FunctionPtr& f : p.value().module.functions) {
    EXPECT_TRUE(graph::verify(*f, *module.ctx).ok()) << graph::verify(*f, *module.ctx).error().text();
    EXPECT_TRUE(ops::verify_types(*f, *module.ctx, &p.value().module).ok());
  }
  const std::string text = graph::print(p.value().module);
  const Result<graph::Module> again = graph::parse_module(text, graph::constants_of(p.value().module.main()));
  EXPECT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(graph::print(again.value()), text);
  return p.value().module;
}

graph::Module parsed(const std::string& text) {
  Result<graph::Module> m = graph::parse_module(text);
  EXPECT_TRUE(m.ok()) << m.error().text();
  return m.take();
}

// What the nodes outside of kernels are, in order; kernels by their form.
std::string outline(const std::vector<graph::Node>& nodes) {
  std::string out;
  for (const graph::Node& n : nodes) {
    if (n.op == "core.const") continue;
    out += out.empty() ? "" : " ";
    if (!graph::is_kernel(n)) {
      out += n.op;
      for (const auto& r : n.regions) out += "(" + outline(r->nodes) + ")";
      continue;
    }
    const char* names[] = {"group", "chain", "loop"};
    out += names[static_cast<size_t>(graph::kernel_form(n))] + std::to_string(n.regions[0]->nodes.size());
  }
  return out;
}
std::string outline(const std::string& text, const Options& options = {}) {
  return outline(partitioned(parsed(text), options).main().nodes);
}

const std::string kSizes = "symbol n {origin=input_axis(\"x\", 0)}\n";
const std::string kElementwise = kSizes + R"(func @main(%0 "x": f32[n]) {
  %1 = math.exp(%0) : f32[n]
  %2 = array.reshape(%1) {shape=dims(1, n)} : f32[1, n]
  %3 = math.neg(%2) : f32[1, n]
  %4 = math.abs(%3) : f32[1, n]
  return %4 "y"
}
)";

TEST(Partition, NodesShareKernelsFromLevelTwoOn) {
  Options options;
  for (int level : {0, 1}) {
    options.lower.opt_level = level;
    EXPECT_EQ(outline(kElementwise, options), "group1 array.reshape group1 group1");
  }
  for (int level : {2, 3}) {
    options.lower.opt_level = level;
    EXPECT_EQ(outline(kElementwise, options), "group1 array.reshape group2");
  }
}

std::string small_nodes(int count, const std::string& size) {
  std::string text = kSizes + "func @main(%0 \"x\": f32[" + size + "]) {\n";
  for (int i = 1; i <= count; ++i)
    text += "  %" + std::to_string(i) + " = array.cumsum(%" + std::to_string(i - 1) + ") {axis=0} : f32[" + size + "]\n";
  return text + "  return %" + std::to_string(count) + " \"y\"\n}\n";
}

TEST(Partition, ChainsAreOfConstantSmallWork) {
  EXPECT_EQ(outline(small_nodes(1, "8")), "group1");
  EXPECT_EQ(outline(small_nodes(3, "8")), "chain3");
  EXPECT_EQ(outline(small_nodes(3, "0")), "chain3");
  EXPECT_EQ(outline(small_nodes(3, "16384")), "chain3");
  EXPECT_EQ(outline(small_nodes(3, "16385")), "group1 group1 group1");
  EXPECT_EQ(outline(small_nodes(3, "n")), "group1 group1 group1");
  EXPECT_EQ(outline(small_nodes(50, "8")), "chain48 chain2");
}

// A packed product that is worth sharing among threads has tasks for them; a smaller one joins what stands around it.
TEST(Partition, ProductsThatThreadsShareAreNoPartOfAChain) {
  auto product = [](const std::string& columns) {
    const std::string type = "f32[1, " + columns + "]";
    return outline(
        "func @main(%0 \"x\": f32[1, 64]) {\n  %1 = array.cumsum(%0) {axis=1} : f32[1, 64]\n"
        "  %2 = core.const() {value=f32[64, " +
        columns + "] dense<random 1>} : f32[64, " + columns +
        "]\n"
        "  %3 = nn.matmul(%1, %2) : " +
        type + "\n  %4 = array.cumsum(%3) {axis=1} : " + type +
        "\n"
        "  return %4 \"y\"\n}\n");
  };
  EXPECT_EQ(product("960"), "chain3");
  EXPECT_EQ(product("1024"), "group1 group1 group1");
  EXPECT_EQ(product("0"), "chain3");
}

// What was tried for a chain, and is too large for one, was lowered with the weights that stand between the nodes.
TEST(Partition, NodesAreTriedWithTheConstantsBeforeThem) {
  const graph::Module m = parsed(R"(func @main(%0 "x": f32[1, 256]) {
  %1 "a" = array.cumsum(%0) {axis=0} : f32[1, 256]
  %2 = core.const() {value=f32[256, 512] dense<random 1>} : f32[256, 512]
  %3 "b" = nn.matmul(%0, %2) : f32[1, 512]
  return %1 "a", %3 "b"
}
)");
  const Result<Partitioned> p = partition(m, target::native_target(), {});
  ASSERT_TRUE(p.ok()) << p.error().text();
  const graph::Node& product = p.value().module.main().nodes.back();
  const auto tried = p.value().lowered.find(product.regions[0].get());
  ASSERT_NE(tried, p.value().lowered.end());
  size_t packed = 0;
  for (const lower::LoweredKernel& k : tried->second.kernels)
    for (const lower::KernelArg& a : k.args) {
      EXPECT_NE(a.value, product.inputs[1]);
      packed += a.constant != nullptr ? 1 : 0;
    }
  EXPECT_GT(packed, 0u);
}

// A loop whose body is `body`, over f32[4], in a module with a function of such a value.
std::string loop_of(const std::string& body) {
  return kSizes + "symbol i {upper=dim(n - 1), origin=loop_index(\"l\", 0)}\n" +
         "func @main(%0 \"x\": f32[n], %1 \"h\": f32[4]) {\n  %2 = core.const() {value=bool[] dense<true>} : bool[]\n"
         "  %3 = core.loop(_, %1) {count=dim(max(0, n)), index=dim(i), trip=dim(n)} : f32[4]\n    region(%4: f32[4]) {\n" +
         body +
         "    }\n  return %3 \"y\"\n}\nfunc @g(%0 \"v\": f32[4]) {\n  %1 = math.neg(%0) : f32[4]\n  return %1 \"w\"\n}\n";
}

TEST(Partition, LoopsAreKernelsWhereTheyCanBe) {
  const std::string plain = loop_of("      %5 = math.tanh(%4) : f32[4]\n      yield %2, %5\n");
  EXPECT_EQ(outline(plain), "loop2");
  Options options;
  options.native_loops = false;
  EXPECT_EQ(outline(plain, options), "core.loop(group1)");
  std::string remarks;
  options.native_loops = true;
  options.remark = [&](const std::string& text) { remarks += text; };
  const std::string calls = loop_of("      %5 = core.call(%4) {callee=\"g\"} : f32[4]\n      yield %2, %5\n");
  EXPECT_EQ(outline(calls, options), "core.loop(core.call)");
  EXPECT_NE(remarks.find("it calls a function"), std::string::npos) << remarks;
}

TEST(Partition, FunctionsThatDoNotRunStayAsTheyAre) {
  const graph::Module m = parsed(loop_of("      %5 = math.tanh(%4) : f32[4]\n      yield %2, %5\n"));
  EXPECT_EQ(partitioned(m, {}).functions[1], m.functions[1]);
  const graph::Module called = parsed(loop_of("      %5 = core.call(%4) {callee=\"g\"} : f32[4]\n      yield %2, %5\n"));
  EXPECT_EQ(outline(partitioned(called, {}).functions[1]->nodes), "group1");
}

// The kernels of the partitioned module evaluate to what the module gives, and each is lowered from its text.
void expect_same(const std::string& text, int64_t n, int64_t m) {
  const graph::Module module = parsed(text);
  const graph::Module with_kernels = partitioned(module, {});
  std::vector<te::Array> inputs;
  std::vector<te::ArrayView> views;
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{}, {4}, {m}, {n}}) {
    te::Array& a = inputs.emplace_back();
    a.dtype = DType::F32;
    a.shape = shape;
    const int64_t count = shape.empty() ? 1 : shape[0];
    for (int64_t i = 0; i < count; ++i) {
      const float x = static_cast<float>((i * 7 + 3) % 11) / 4 - 1;
      const auto* bytes = reinterpret_cast<const std::byte*>(&x);
      a.data.insert(a.data.end(), bytes, bytes + sizeof x);
    }
  }
  for (const te::Array& a : inputs) views.push_back({a.dtype, a.shape, a.data.data()});
  auto wanted = ops::evaluate(module.main(), *module.ctx, views, &module);
  auto got = ops::evaluate(with_kernels.main(), *module.ctx, views, &with_kernels);
  ASSERT_TRUE(wanted.ok()) << wanted.error().text();
  ASSERT_TRUE(got.ok()) << got.error().text();
  for (size_t k = 0; k < wanted.value().size(); ++k) {
    EXPECT_EQ(got.value()[k].shape, wanted.value()[k].shape);
    EXPECT_EQ(got.value()[k].data, wanted.value()[k].data);
  }
}

TEST(Partition, RandomLoopsKeepTheirValues) {
  for (uint32_t seed = 1; seed <= 40 && !testing::Test::HasFailure(); ++seed) {
    const std::string text = lower::RandomLoops(seed).graph();
    SCOPED_TRACE(text);
    for (int64_t n : {0, 1, 3}) expect_same(text, n, n == 1 ? 0 : 9);
  }
}

TEST(LowerKernel, RefusesAnotherBackEnd) {
  const graph::Module m = parsed(R"(func @main(%0 "x": f32[4]) {
  %1 "y" = core.kernel(%0) {backend="fpga"} : f32[4]
    region(%2: f32[4]) {
      %3 = math.neg(%2) : f32[4]
      yield %3
    }
  return %1 "y"
}
)");
  lower::ConstantValues constants;
  const auto low = lower::lower_kernel({m.main(), constants, *m.ctx, target::native_target(), {}}, m.main().nodes[0]);
  ASSERT_FALSE(low.ok());
  EXPECT_NE(low.error().text().find("there is no back end \"fpga\""), std::string::npos) << low.error().text();
}

}  // namespace
}  // namespace pliant::partition
