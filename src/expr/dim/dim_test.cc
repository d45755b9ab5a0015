// Canonical forms of Dims and the simplifications that the compiler counts on.
#include <gtest/gtest.h>

#include <thread>

#include "expr/expr.h"

namespace pliant::expr {
namespace {

class DimTest : public ::testing::Test {
 protected:
  Dim sym(const std::string& name, int64_t lo = 0) {
    SymbolInfo info;
    info.name = name;
    info.lo = lo;
    return ctx.symbol(std::move(info));
  }
  Dim c(int64_t v) { return ctx.constant(v); }
  Context ctx;
  Dim n = sym("n"), m = sym("m"), h = sym("h"), w = sym("w");
};

TEST_F(DimTest, EqualFormsAreOneNode) {
  EXPECT_EQ(n * m + n, n * (m + 1));
  EXPECT_EQ((n + m) * (n - m), n * n - m * m);
  EXPECT_EQ(n - n, c(0));
  EXPECT_TRUE((n + 3 - n).is_const(3));
  EXPECT_EQ((h * w + 3).str(), "h*w + 3");
  EXPECT_EQ((3 - h * 2).str(), "-h*2 + 3");
}

TEST_F(DimTest, QuotientsOfMultiples) {
  EXPECT_EQ(floordiv(n * 4 + m + 9, 4), n + floordiv(m + 1, 4) + 2);
  EXPECT_EQ(floordiv(h * w * n, h * w), n);
  EXPECT_EQ(floordiv(h * w * 6, h * 2), w * 3);
  EXPECT_EQ(mod(h * w * n, h * w), c(0));
  EXPECT_EQ(floordiv(floordiv(n, 2), 3), floordiv(n, 6));
  EXPECT_EQ(floordiv(n * 4, 6), floordiv(n * 2, 3));
  EXPECT_EQ(mod(n * 4 + 1, 6), mod(n * 2, 3) * 2 + 1);
  EXPECT_EQ(mod(mod(n, 12), 4), mod(n, 4));
}

TEST_F(DimTest, QuotientTimesDivisor) {
  EXPECT_EQ(floordiv(n, 4) * 4 + mod(n, 4), n);
  EXPECT_EQ(floordiv(n, w) * w + mod(n, w), n);
  EXPECT_EQ(floordiv(n, w) * w * h + mod(n, w) * h, n * h);
  EXPECT_EQ(floordiv(n - mod(n, 4), 4), floordiv(n, 4));
  SymbolInfo info;
  info.name = "k";
  info.multiple_of = 16;
  const Dim k = ctx.symbol(info);
  EXPECT_EQ(floordiv(k, 16) * 16, k);
  EXPECT_EQ(mod(k + 3, 8), c(3));
}

TEST_F(DimTest, FlattenedIndexIsTakenApart) {
  const Dim i = ctx.index_symbol("i", n), y = ctx.index_symbol("y", h), x = ctx.index_symbol("x", w);
  const Dim flat = (i * h + y) * w + x;
  EXPECT_EQ(mod(flat, w), x);
  EXPECT_EQ(floordiv(flat, w), i * h + y);
  EXPECT_EQ(floordiv(flat, h * w), i);
  EXPECT_EQ(mod(flat, h * w), y * w + x);
  EXPECT_EQ(mod(floordiv(flat, w), h), y);
  EXPECT_EQ(floordiv(mod(flat, h * w), w), y);
}

TEST_F(DimTest, FlatIndexInRange) {
  const Dim k = ctx.index_symbol("k", h * w);
  EXPECT_TRUE(ctx.proves_less(floordiv(k, w), h));
  EXPECT_TRUE(ctx.proves_less(mod(k, w), w));
  EXPECT_EQ(floordiv(k, w) * w + mod(k, w), k);
}

TEST_F(DimTest, TakenApartIndexIsPutTogether) {
  const Dim k = ctx.index_symbol("k", n * h * w);
  EXPECT_EQ((floordiv(k, h * w) * h + mod(floordiv(k, w), h)) * w + mod(k, w), k);
  EXPECT_EQ(floordiv(floordiv(k, w), h) * h + mod(floordiv(k, w), h), floordiv(k, w));
  EXPECT_TRUE(ctx.proves_less(mod(floordiv(k, w), h), h));
  EXPECT_EQ(mod(floordiv(k, 4), 3) * 4 + mod(k, 4), mod(k, 12));
}

TEST_F(DimTest, DivisorsOfSeveralTerms) {
  const Dim ow = floordiv(w - 1, 2) + 1, oh = floordiv(h - 1, 2) + 1;
  const Dim k = ctx.index_symbol("k", oh * ow), i = ctx.index_symbol("i", oh), j = ctx.index_symbol("j", ow);
  EXPECT_EQ(floordiv(k, ow) * ow + mod(k, ow), k);
  EXPECT_EQ(floordiv(i * ow + j, ow), i);
  EXPECT_EQ(mod(i * ow + j, ow), j);
  EXPECT_EQ(floordiv(n * oh * ow, oh * ow), n);
  EXPECT_TRUE(ctx.proves_less(floordiv(k, ow), oh));
  EXPECT_TRUE(ctx.proves_less(mod(k, ow), ow));
}

TEST_F(DimTest, StridedWindowsStayInside) {
  // A convolution without padding reads within its input.
  const Dim a = sym("a", 3);
  const Dim oh = floordiv(a - 3, 2) + 1;
  const Dim y = ctx.index_symbol("y", oh), r = ctx.index_symbol("r", c(3));
  EXPECT_TRUE(ctx.proves_less(y * 2 + r, a));
  EXPECT_TRUE(ctx.proves_less_equal(c(0), y * 2 + r));
}

TEST_F(DimTest, MinMaxBroadcast) {
  EXPECT_EQ(broadcast(c(1), n), n);
  EXPECT_EQ(broadcast(n, c(7)), c(7));
  EXPECT_EQ(broadcast(n, n), n);
  EXPECT_EQ(broadcast(n, m), broadcast(m, n));
  EXPECT_EQ(broadcast(n, min(n, c(512))), n);
  EXPECT_NE(broadcast(n, min(n, m)), n);  // m may be 0
  EXPECT_EQ(min(n, n + 1), n);
  EXPECT_EQ(max(n, c(0)), n);
  EXPECT_EQ(max(max(n, m), n), max(m, n));
  const Dim i = ctx.index_symbol("i", n);
  EXPECT_EQ(min(i, n - 1), i);
  EXPECT_EQ(min(i, n - 1), i);
}

TEST_F(DimTest, Proofs) {
  const Dim a = sym("a", 1), b = sym("b", 1);
  EXPECT_EQ(ctx.less_equal(a, a * b), Tri::Yes);
  EXPECT_EQ(ctx.less_equal(m, m * n), Tri::Unknown);
  EXPECT_EQ(ctx.less_equal(a, a * a), Tri::Yes);
  EXPECT_EQ(ctx.less_equal(n * m * 768, n * m * 3072), Tri::Yes);
  EXPECT_EQ(ctx.less_equal(n * n * 12, n * 768), Tri::Unknown);
  EXPECT_EQ(ctx.less_equal(n, ceildiv(n, 16) * 16), Tri::Yes);
  EXPECT_EQ(ctx.less_equal(n, max(n, m)), Tri::Yes);
  EXPECT_EQ(ctx.less_equal(min(n, m), n), Tri::Yes);
  EXPECT_EQ(ctx.equal(n * 2, m * 2 + 1), Tri::No);
  EXPECT_EQ(ctx.equal(n + 1, n), Tri::No);
  EXPECT_EQ(ctx.equal(n, m), Tri::Unknown);
  const Dim i = ctx.index_symbol("i", m);
  EXPECT_EQ(ctx.less(n + i * 4, n + m * 4), Tri::Yes);
  EXPECT_EQ(ctx.less_equal(m, i), Tri::No);
}

TEST_F(DimTest, OverflowStaysOpaque) {
  const Dim big = c(int64_t{1} << 62) * n;
  const Dim product = big * 8;
  EXPECT_FALSE(evaluate(product, [](SymbolId) { return 1; }).has_value());
  EXPECT_EQ(product, big * 8);
  EXPECT_EQ(ctx.parse_dim(product.str()).value(), product);
}

TEST_F(DimTest, PrintAndParse) {
  SymbolInfo odd;
  odd.name = "past length`1";
  const Dim q = ctx.symbol(odd);
  for (Dim d :
       {h * w * 3 - 7, floordiv(h + 1, 2) * w, min(h, w) - mod(h, w), broadcast(h, w), max(q, n) * q, -n, c(-3), c(0)}) {
    const Result<Dim> back = ctx.parse_dim(d.str());
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(back.value(), d) << d.str();
  }
  EXPECT_FALSE(ctx.parse_dim("h +").ok());
  EXPECT_FALSE(ctx.parse_dim("unknown_symbol").ok());
  EXPECT_TRUE(ctx.parse_dim("unknown_symbol*2", true).ok());
}

TEST_F(DimTest, Substitute) {
  DimMap map{{*n.as_symbol(), m + 1}};
  EXPECT_EQ(substitute(n * n, map), m * m + m * 2 + 1);
  EXPECT_EQ(substitute(floordiv(n, 2), {{*n.as_symbol(), c(9)}}), c(4));
  EXPECT_EQ(coefficient_of(n * w + h, *n.as_symbol()), w);
  EXPECT_FALSE(coefficient_of(n * n, *n.as_symbol()).has_value());
  EXPECT_FALSE(coefficient_of(mod(n, w) + n, *n.as_symbol()).has_value());
  EXPECT_EQ(ctx.divide_exact(h * w * 12, h * 4), w * 3);
  EXPECT_FALSE(ctx.divide_exact(h + 1, w).has_value());
}

TEST_F(DimTest, MoreProofs) {
  const Dim a = sym("a", 1), b = sym("b", 1), x = sym("x", -100);
  const Dim i = ctx.index_symbol("i", b);
  // A nearest-neighbour read: floordiv(i * a, b) < a for i < b.
  EXPECT_TRUE(ctx.proves_less(floordiv(i * a, b), a));
  // Clamped slice bounds.
  const Dim start = max(min(x, n), c(0));
  EXPECT_TRUE(ctx.proves_less_equal(start, n));
  EXPECT_TRUE(ctx.proves_less_equal(c(0), n - start));
  const Dim j = ctx.index_symbol("j", n - start);
  EXPECT_TRUE(ctx.proves_less(j + start, n));
  // Split parts cover the whole.
  EXPECT_EQ(floordiv(n, 2) + (n - floordiv(n, 2)), n);
  EXPECT_TRUE(ctx.proves_less_equal(floordiv(n, 2), n));
  EXPECT_TRUE(ctx.proves_less_equal(ceildiv(n, 3) * 2, n * 2));
  // Triangular loops.
  const Dim row = ctx.index_symbol("row", n), col = ctx.index_symbol("col", row + 1);
  EXPECT_TRUE(ctx.proves_less(col, n));
  EXPECT_TRUE(ctx.proves_less(row * n + col, n * n));
  // A data-dependent count below a symbolic bound.
  SymbolInfo count;
  count.name = "count";
  count.upper = n * m;
  const Dim u = ctx.symbol(count);
  EXPECT_TRUE(ctx.proves_less_equal(u * 4 + 3, n * m * 4 + 3));
  EXPECT_EQ(ctx.less_equal(n * m, u), Tri::Unknown);
}

TEST_F(DimTest, FactsThatChangeChangeAnswers) {
  EXPECT_EQ(ctx.less_equal(m, n * m), Tri::Unknown);
  ctx.mutable_info(*n.as_symbol()).lo = 1;
  EXPECT_EQ(ctx.less_equal(m, n * m), Tri::Yes);
}

TEST_F(DimTest, ThreadsShareNodes) {
  std::vector<std::thread> threads;
  std::vector<std::vector<Dim>> results(4);
  for (size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int k = 1; k < 200; ++k) {
        const Dim d = floordiv(n * k + m, k + 1) * w + min(h, n + k);
        EXPECT_EQ(ctx.less_equal(n, n + k), Tri::Yes);
        EXPECT_EQ(ctx.parse_dim(d.str()).value(), d);
        results[t].push_back(d);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (const std::vector<Dim>& r : results) EXPECT_EQ(r, results[0]);
}

TEST_F(DimTest, NamesAreMadeUnique) {
  EXPECT_EQ(sym("n").str(), "n_1");
  EXPECT_EQ(sym("n").str(), "n_2");
}

// How many dims have been made so far.
uint32_t dims_made(Context& ctx) {
  static int64_t fresh = int64_t{1} << 40;
  return ctx.constant(++fresh)->id;
}

// The rows of a task of 4,096 elements, and what the last task has: neither bounds the other, which large sizes show without
// a search.
TEST(Extremum, BlocksOfResizedImagesAreNotProvedAtLength) {
  Context ctx;
  Dim h = ctx.symbol({.name = "h", .lo = 1}), w = ctx.symbol({.name = "w", .lo = 1});
  for (int k = 0; k < 4; ++k) {
    h = floordiv(h * 7, 10) + floordiv(h * 7, 20);
    w = floordiv(w * 3, 2) - floordiv(w, 4);
  }
  const Dim rows = max(ctx.constant(1), floordiv(ctx.constant(4096), max(ctx.constant(1), w)));
  const Dim block = ctx.index_symbol("b", ceildiv(h, rows));
  const uint32_t before = dims_made(ctx);
  EXPECT_TRUE(ctx.proves_less_equal(min(rows, h - block * rows), rows));
  EXPECT_LT(dims_made(ctx) - before, 100u);
}

}  // namespace
}  // namespace pliant::expr
