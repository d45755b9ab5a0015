#include "lower/memo.h"

#include <gtest/gtest.h>

#include <cstring>

#include "lower/interpreted_nodes_test.h"
#include "ops/op.h"

namespace pliant::lower {
namespace {

class Lowered {
 public:
  explicit Lowered(const std::string& text) : module_(parsed(text)) {}

  const graph::Function& f() const { return module_.main(); }
  expr::Context& ctx() const { return *module_.ctx; }
  const target::Target& target() const { return *target::find_target("x86-64-v3"); }
  size_t count() const {
    size_t n = 0;
    for (const auto& [key, equal] : memo_.made) n += equal.size();
    return n;
  }
  Result<LoweredNode> lower(const graph::Node& n, const ConstantValues& constants) {
    return lower_node({f(), constants, ctx(), target(), options_, &memo_}, n);
  }
  // How many schedules each node but constants made; all results are those of the reference.
  std::vector<size_t> run(int64_t n, int64_t m) {
    InterpretedNodes nodes(f(), ctx(), {{"n", n}, {"m", m}});
    std::vector<te::ArrayView> views;
    for (graph::ValueId v : f().params) {
      te::Array& a = nodes.memory(v) = nodes.blank_array(DType::F32, f().tensor_type(v).shape);
      for (size_t i = 0; i < a.data.size() / 4; ++i) {
        const auto x = static_cast<float>(static_cast<int64_t>(i * (3 + v) % 17) - 8) / 8;
        std::memcpy(a.data.data() + 4 * i, &x, 4);
      }
      views.push_back({a.dtype, a.shape, a.data.data()});
    }
    std::vector<size_t> made;
    size_t before = count();
    const Status done = nodes.run([&](const auto& node, const auto& constants) { return lower(node, constants); },
                                  [&](const LoweredNode&) {
                                    made.push_back(count() - before);
                                    before = count();
                                  });
    EXPECT_TRUE(done.ok()) << done.error().text();
    const auto wanted = ops::evaluate(f(), ctx(), views);
    EXPECT_TRUE(wanted.ok()) << wanted.error().text();
    for (size_t i = 0; i < wanted.value().size(); ++i)
      EXPECT_FALSE(first_difference(nodes.memory(f().results[i]), wanted.value()[i])) << "result " << i;
    return made;
  }

 private:
  static graph::Module parsed(const std::string& text) {
    Result<graph::Module> m = graph::parse_module(text);
    EXPECT_TRUE(m.ok()) << m.error().text();
    return m.take();
  }
  graph::Module module_;
  Options options_;
  ScheduleMemo memo_;
};

const std::string kSizes = R"(symbol n {origin=input_axis("x", 0)}
symbol m {origin=input_axis("z", 0)}
)";

TEST(ScheduleMemo, EqualKernelsAreScheduledOnce) {
  const std::string text = kSizes + R"(func @main(%0 "x": f32[n, 9], %1 "ro.12": f32[n, 9], %2 "z": f32[m, 9]) {
  %3 = core.const() {value=f32[9, 21] dense<random 1>} : f32[9, 21]
  %4 = core.const() {value=f32[9, 21] dense<random 2>} : f32[9, 21]
  %5 = core.const() {value=f32[9, 22] dense<random 3>} : f32[9, 22]
  %6 "a" = nn.matmul(%0, %3) : f32[n, 21]
  %7 "b" = nn.matmul(%1, %4) : f32[n, 21]
  %8 "c" = nn.matmul(%2, %4) : f32[m, 21]
  %9 "d" = nn.matmul(%0, %5) : f32[n, 22]
  %10 "e" = math.exp(%6) : f32[n, 21]
  %11 "f" = math.exp(%7) : f32[n, 21]
  %12 "g" = math.neg(%7) : f32[n, 21]
  return %6 "a", %7 "b", %8 "c", %9 "d", %10 "e", %11 "f", %12 "g"
}
)";
  for (const auto& [n, m] : {std::pair{0, 3}, {1, 1}, {7, 0}, {33, 8}}) {
    const std::vector<size_t> made = Lowered(text).run(n, m);
    ASSERT_EQ(made.size(), 7u);
    EXPECT_GE(made[0], 1u);
    EXPECT_EQ(made[1], 0u);
    EXPECT_EQ(made[2], made[0]) << "another symbol";
    EXPECT_EQ(made[3], made[0]) << "another size";
    EXPECT_EQ(std::vector<size_t>(made.begin() + 4, made.end()), (std::vector<size_t>{1, 0, 1}));
  }
}

TEST(ScheduleMemo, ConstantsOfTheBodyAndNamesThatSchedulesUseTellKernelsApart) {
  // Tasks of maps are a loop t.
  const std::string text =
      kSizes + R"(func @main(%0 "x": f32[n, 9], %1 "row": f32[n, 9], %2 "t": f32[n, 9], %3 "z": f32[m, 9]) {
  %4 = nn.leaky_relu(%0) {alpha=0.25} : f32[n, 9]
  %5 = nn.leaky_relu(%1) {alpha=0.5} : f32[n, 9]
  %6 = math.exp(%0) : f32[n, 9]
  %7 = math.exp(%1) : f32[n, 9]
  %8 = math.exp(%2) : f32[n, 9]
  return %4 "a", %5 "b", %6 "c", %7 "d", %8 "e"
}
)";
  EXPECT_EQ(Lowered(text).run(5, 1), (std::vector<size_t>{1, 1, 1, 0, 1}));
}

TEST(ScheduleMemo, WhatIsKnownOfSymbolsTellsKernelsApart) {
  Lowered l(kSizes + R"(func @main(%0 "x": f32[n, 9], %1 "z": f32[m, 9]) {
  %2 = math.exp(%0) : f32[n, 9]
  return %2 "y"
}
)");
  const graph::Node& exp = l.f().nodes[0];
  for (size_t expected : {1u, 1u}) {
    ASSERT_TRUE(l.lower(exp, {}).ok());
    EXPECT_EQ(l.count(), expected);
  }
  l.ctx().mutable_info(*l.f().tensor_type(l.f().params[0]).shape[0].as_symbol()).hi = 4;
  ASSERT_TRUE(l.lower(exp, {}).ok());
  EXPECT_EQ(l.count(), 2u);
}

}  // namespace
}  // namespace pliant::lower
