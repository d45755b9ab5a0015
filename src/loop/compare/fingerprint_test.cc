#include "loop/compare/fingerprint.h"

#include <gtest/gtest.h>

namespace pliant::loop {
namespace {

// Kernels over symbols whose facts the tests choose.
class FingerprintTest : public ::testing::Test {
 protected:
  expr::Dim symbol(const std::string& name, std::optional<expr::Dim> upper = {}) {
    expr::SymbolInfo info{.name = name};
    info.upper = upper;
    if (upper) info.hi = ctx.range(*upper).hi;
    return ctx.symbol(std::move(info));
  }
  // Copies `to` elements out of `from`.
  std::string print_of(const std::string& from, const std::string& to) {
    const std::string i = "i" + std::to_string(kernels_++);
    auto f = parse("kernel k(%x: f32[" + from + "], %y: f32[" + to + "] out) { for " + i + " in " + to + " { %y[" + i +
                       "] = %x[" + i + "] } }",
                   ctx);
    EXPECT_TRUE(f.ok());
    const Function function = f.take();
    return fingerprint(function, free_symbols(function), BoundTrees(ctx), ctx);
  }
  expr::Context ctx;

 private:
  int kernels_ = 0;
};

TEST_F(FingerprintTest, BoundsOfOtherKernelsSymbolsDoNotCount) {
  expr::Dim above = symbol("n");
  for (int i = 0; i < 1000; ++i) above = symbol("m" + std::to_string(i), above);
  const std::string first = print_of("m0", "m1");
  EXPECT_EQ(print_of("m1", "m2"), first);
  EXPECT_EQ(print_of("m998", "m999"), first);
  // Through symbols that are not the kernel's.
  EXPECT_EQ(print_of("m3", "m7"), first);
  EXPECT_LT(print_of("m1", "m999").size(), 2 * first.size());
}

TEST_F(FingerprintTest, BoundsWithinTheKernelCount) {
  const expr::Dim n = symbol("n"), m = symbol("m", n);
  symbol("l", m);
  symbol("other");
  EXPECT_NE(print_of("n", "m"), print_of("m", "n"));
  EXPECT_NE(print_of("n", "m"), print_of("other", "m"));
  EXPECT_EQ(print_of("n", "m"), print_of("n", "l"));
}

TEST_F(FingerprintTest, NumbersThatBoundAreKnownThroughOthers) {
  const expr::Dim n = symbol("n");
  expr::SymbolInfo few{.name = "few", .hi = 8};
  symbol("a", symbol("b", ctx.symbol(std::move(few))));
  symbol("c", symbol("d", n));
  EXPECT_NE(print_of("b", "a"), print_of("d", "c"));
}

TEST_F(FingerprintTest, SizesMadeOfSizesAreWrittenOnce) {
  expr::Dim d = symbol("n");
  auto f = parse("kernel k(%x: f32[n], %y: f32[n] out) { for i in n { %y[i] = %x[i] } }", ctx);
  ASSERT_TRUE(f.ok());
  Function function = f.take();
  const size_t plain = fingerprint(function, free_symbols(function), BoundTrees(ctx), ctx).size();
  for (int i = 0; i < 40; ++i) d = expr::floordiv(d * d + d + 1, 3);
  function.params[0].shape = {d};
  EXPECT_LT(fingerprint(function, free_symbols(function), BoundTrees(ctx), ctx).size(), plain + 40 * 512);
}

TEST_F(FingerprintTest, OrderOfMakingDoesNotCount) {
  const expr::Dim n = symbol("n"), m = symbol("m");
  ASSERT_TRUE(expr::floordiv(m, 3) != expr::floordiv(n, 3));  // made in this order
  const auto print = [&](expr::Dim a, expr::Dim b) {
    auto f = parse("kernel k(%x: f32[q], %y: f32[q] out) { for i in q { %y[i] = %x[i] } }", ctx);
    EXPECT_TRUE(f.ok());
    Function function = f.take();
    const expr::Dim c = expr::floordiv(a, 3), d = expr::floordiv(b, 3);
    function.params[0].shape = {expr::min(c, d), expr::max(c, d), c * d + d};
    return fingerprint(function, {*a.as_symbol(), *b.as_symbol()}, BoundTrees(ctx), ctx);
  };
  EXPECT_EQ(print(n, m), print(m, n));
}

TEST_F(FingerprintTest, BoundsThatAreExpressions) {
  const expr::Dim n = symbol("n");
  expr::Dim above = n;
  for (int i = 0; i < 100; ++i) above = symbol("m" + std::to_string(i), above + 1);
  EXPECT_EQ(print_of("n", "m0"), print_of("n", "m0"));
  EXPECT_NE(print_of("n", "m0"), print_of("n", "m1"));
  EXPECT_NE(print_of("n", "m80"), print_of("n", "m81"));
}

TEST_F(FingerprintTest, AnIndexThatBoundsAnother) {
  auto text = [](const std::string& inner) {
    expr::Context other;
    auto f = parse("kernel k(%y: f32[n, n] out) { for i in n { for j in " + inner + " { %y[i, j] = 1f32 } } }", other);
    EXPECT_TRUE(f.ok());
    const Function function = f.take();
    return fingerprint(function, free_symbols(function), BoundTrees(other), other);
  };
  EXPECT_NE(text("i + 1"), text("n"));
}

}  // namespace
}  // namespace pliant::loop
