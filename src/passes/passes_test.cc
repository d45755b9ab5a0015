#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/op.h"
#include "passes/layouts/min_cut.h"
#include "passes/pass.h"
#include "passes/rewrite/random_function_test.h"

namespace pliant::passes {
namespace {

struct Sizes {
  int64_t n, h, w;
};
constexpr Sizes kSizes[] = {{2, 5, 4}, {1, 4, 6}, {0, 5, 5}, {4, 4, 4}};
constexpr uint64_t kSeeds = 150;

Result<std::vector<te::Array>> evaluate_at(const Function& f, expr::Context& ctx, Sizes s) {
  te::Array x = random_array({s.n, 4, s.h, s.w}, 1), v = random_array({s.n, 6}, 2);
  return ops::evaluate(f, ctx, {{x.dtype, x.shape, x.data.data()}, {v.dtype, v.shape, v.data.data()}});
}

// Different to the largest of the two sides' magnitudes; NaN equals NaN.
void expect_close(const te::Array& a, const te::Array& b, const std::string& what) {
  ASSERT_EQ(a.shape, b.shape) << what;
  ASSERT_EQ(a.dtype, DType::F32) << what;
  size_t n = a.data.size() / sizeof(float);
  std::vector<float> x(n), y(n);
  std::memcpy(x.data(), a.data.data(), a.data.size());
  std::memcpy(y.data(), b.data.data(), b.data.size());
  float size = 1e-3f;
  for (float v : x) size = std::max(size, std::isfinite(v) ? std::abs(v) : 0);
  for (size_t i = 0; i < n; ++i) {
    if (std::isnan(x[i]) && std::isnan(y[i])) continue;
    if (x[i] == y[i]) continue;
    ASSERT_LE(std::abs(x[i] - y[i]), 2e-4f * size) << what << ", element " << i;
  }
}

// Each pass by itself, and all of them in an order like the compiler's, give what the function gave before.
class PassEquivalence : public testing::TestWithParam<uint64_t> {
 protected:
  void check(const FunctionPtr& before, const FunctionPtr& after, const std::string& what) {
    auto structure = verify(*after, ctx_);
    ASSERT_TRUE(structure.ok()) << what << "\n" << structure.error().text() << print(*after, ctx_);
    auto types = ops::verify_types(*after, ctx_);
    ASSERT_TRUE(types.ok()) << what << "\n" << types.error().text() << print(*after, ctx_);
    std::string text = print(*after, ctx_);
    auto parsed = graph::parse_function(text, ctx_, constants_of(*after));
    ASSERT_TRUE(parsed.ok()) << parsed.error().text();
    ASSERT_EQ(print(*parsed.value(), ctx_), text);
    for (Sizes s : kSizes) {
      auto want = evaluate_at(*before, ctx_, s);
      if (!want.ok()) continue;  // these sizes do not fit the function
      auto got = evaluate_at(*after, ctx_, s);
      ASSERT_TRUE(got.ok()) << what << "\n" << got.error().text() << print(*after, ctx_);
      for (size_t i = 0; i < want.value().size(); ++i) {
        expect_close(want.value()[i], got.value()[i], what + "\n" + print(*before, ctx_) + "\nto\n" + text);
      }
    }
  }
  expr::Context ctx_;
};

TEST_P(PassEquivalence, KeepsWhatTheFunctionComputes) {
  FunctionPtr f = make_random_function(ctx_, GetParam());
  PassContext c{ctx_};
  for (const PassDef& pass : all_passes()) {
    auto once = pass.run(f, c);
    ASSERT_TRUE(once.ok()) << pass.name << "\n" << once.error().text();
    if (once.value() != f) check(f, once.value(), pass.name);
    auto twice = pass.run(once.value(), c);
    ASSERT_TRUE(twice.ok()) << pass.name << "\n" << twice.error().text();
    EXPECT_EQ(twice.value(), once.value()) << pass.name << " changes its own result\n"
                                           << print(*once.value(), ctx_) << print(*twice.value(), ctx_);
    if (HasFailure()) return;
  }
  FunctionPtr current = f;
  for (const char* name : {"expand-composites", "simplify", "fold-constants", "fold-batch-norm", "simplify", "layout",
                           "fold-constants", "simplify", "cse", "dce"}) {
    auto next = find_pass(name)->run(current, c);
    ASSERT_TRUE(next.ok()) << name << "\n" << next.error().text();
    current = next.value();
  }
  check(f, current, "all passes");
}

INSTANTIATE_TEST_SUITE_P(Random, PassEquivalence, testing::Range<uint64_t>(0, kSeeds));

// Some functions ask for sizes that the test does not try.
TEST(RandomFunction, MostCanBeEvaluated) {
  uint64_t evaluated = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    expr::Context ctx;
    FunctionPtr f = make_random_function(ctx, seed);
    evaluated += std::any_of(std::begin(kSizes), std::end(kSizes), [&](Sizes s) { return evaluate_at(*f, ctx, s).ok(); });
  }
  EXPECT_GE(evaluated, kSeeds * 4 / 5);
}

TEST(Passes, NamesAreUniqueAndSummarised) {
  std::vector<std::string> names;
  for (const PassDef& pass : all_passes()) {
    EXPECT_FALSE(pass.summary.empty()) << pass.name;
    EXPECT_EQ(std::count(names.begin(), names.end(), pass.name), 0) << pass.name;
    names.push_back(pass.name);
  }
  EXPECT_EQ(find_pass("no-such-pass"), nullptr);
}

// Joining a chain of concats makes no node of more inputs than a few, so that its cost is linear in the chain.
TEST(Simplify, JoinsAChainOfConcatsPieceByPiece) {
  constexpr int kConcats = 300;
  expr::Context ctx;
  std::string text = "symbol n {origin=input_axis(\"x\", 0)}\nfunc @main(%0 \"x\": f32[n]) {\n";
  for (int k = 1; k <= kConcats; ++k)
    text += "  %" + std::to_string(k) + " = array.concat(%" + std::to_string(k - 1) + ", %0) {axis=0} : f32[n*" +
            std::to_string(k + 1) + "]\n";
  auto f = graph::parse_function(text + "  return %" + std::to_string(kConcats) + " \"y\"\n}\n", ctx);
  ASSERT_TRUE(f.ok()) << f.error().text();
  PassContext c{ctx};
  auto joined = find_pass("simplify")->run(f.value(), c);
  ASSERT_TRUE(joined.ok()) << joined.error().text();
  auto left = find_pass("dce")->run(joined.value(), c);
  ASSERT_TRUE(left.ok()) << left.error().text();
  size_t most = 0;
  for (const Node& n : left.value()->nodes) most = std::max(most, n.inputs.size());
  EXPECT_LE(left.value()->nodes.size(), 6u);
  EXPECT_LE(most, 64u);
  te::Array x = random_array({2}, 1);
  auto want = ops::evaluate(*f.value(), ctx, {{x.dtype, x.shape, x.data.data()}});
  auto got = ops::evaluate(*left.value(), ctx, {{x.dtype, x.shape, x.data.data()}});
  ASSERT_TRUE(want.ok() && got.ok());
  EXPECT_EQ(want.value()[0].data, got.value()[0].data);
}

TEST(MinCut, TakesTheCheapestEdgesAndTheLargestSourceSide) {
  MinCut cut;
  size_t a = cut.add_vertex(), b = cut.add_vertex(), c = cut.add_vertex();
  cut.add_edge(MinCut::kSource, a, 10);
  cut.add_edge(a, b, 3);
  cut.add_edge(b, c, 3);
  cut.add_edge(c, MinCut::kSink, 10);
  std::vector<bool> side = cut.source_side();
  EXPECT_TRUE(side[a]);
  EXPECT_TRUE(side[b]);
  EXPECT_FALSE(side[c]);
}

}  // namespace
}  // namespace pliant::passes
