// Random sizes inside loops: a bound holds at every point that runs, and where it says that a point needs it, one does.
#include "expr/dim/size_bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace pliant::expr {
namespace {

// for i in n { for j in i + 1 { while k < limit … { d is read } } }
class Sizes {
 public:
  explicit Sizes(uint32_t seed) : rng_(seed) {
    n = ctx.symbol({.name = "n"});
    limit = ctx.symbol({.name = "limit"});
    i = ctx.symbol({.name = "i", .upper = n - 1});
    j = ctx.symbol({.name = "j", .upper = i});
    k = ctx.symbol({.name = "k", .upper = limit - 1});
    d = ctx.symbol({.name = "d", .hi = 5});
    bounds.add(*i.as_symbol(), SizeBounds::Kind::Index, n - 1);
    bounds.add(*j.as_symbol(), SizeBounds::Kind::Index, i);
    bounds.add(*k.as_symbol(), SizeBounds::Kind::Idle, limit - 1);
    bounds.add(*d.as_symbol(), SizeBounds::Kind::Data, ctx.constant(5));
  }
  int pick(int count) { return static_cast<int>(rng_() % static_cast<uint32_t>(count)); }

  Dim tree(int depth) {
    if (depth == 0) {
      const Dim leaves[] = {i, j, k, d, n, ctx.constant(pick(9) - 3), i, n};
      return leaves[pick(8)];
    }
    const Dim a = tree(depth - 1), b = tree(depth - 1);
    switch (pick(8)) {
      case 0: return a + b;
      case 1: return a - b;
      case 2: return a * b;
      case 3: return min(a, b);
      case 4: return max(a, b);
      case 5: return floordiv(a, 1 + pick(4));
      case 6: return mod(a, 1 + pick(5));
      default: return a * (1 + pick(3));
    }
  }
  int64_t value(Dim size, const std::vector<std::pair<Dim, int64_t>>& at) const {
    auto v = evaluate(size, [&](SymbolId s) -> std::optional<int64_t> {
      for (const auto& [symbol, x] : at)
        if (*symbol.as_symbol() == s) return x;
      return std::nullopt;
    });
    EXPECT_TRUE(v) << size;
    return v.value_or(0);
  }
  // The largest value among the points that run, where the condition ends the inner loop after `runs` iterations.
  int64_t largest(Dim size, int64_t n_is, int64_t limit_is, int64_t runs) const {
    int64_t out = INT64_MIN;
    for (int64_t x = 0; x < n_is; ++x)
      for (int64_t y = 0; y <= x; ++y)
        for (int64_t z = 0; z < std::min(runs, limit_is); ++z)
          for (int64_t w : {0, 3, 5})
            out = std::max(out, value(size, {{n, n_is}, {limit, limit_is}, {i, x}, {j, y}, {k, z}, {d, w}}));
    return out;
  }

  Context ctx;
  SizeBounds bounds{ctx};
  Dim n, limit, i, j, k, d;

 private:
  std::mt19937 rng_;
};

class RandomSizes : public ::testing::TestWithParam<uint32_t> {};

TEST_P(RandomSizes, BoundsHoldWhereTheLoopRuns) {
  Sizes s(GetParam());
  int found = 0;
  for (int repeat = 0; repeat < 40; ++repeat) {
    const Dim size = s.tree(1 + s.pick(3));
    for (const bool limits : {false, true}) {
      SizeBounds::Query q{limits};
      const std::optional<Dim> bound = s.bounds.upper(size, q);
      if (!bound) continue;
      ++found;
      EXPECT_TRUE(s.bounds.is_outer(*bound)) << size << " has the bound " << *bound;
      for (const auto& [n, limit, runs] : {std::array<int64_t, 3>{1, 4, 4}, {4, 3, 2}, {6, 1000000007, 5}})
        EXPECT_LE(s.largest(size, n, limit, runs), s.value(*bound, {{s.n, n}, {s.limit, limit}}))
            << size << " has the bound " << *bound << " at n = " << n << ", limit = " << limit;
    }
  }
  EXPECT_GT(found, 20);
}
INSTANTIATE_TEST_SUITE_P(Random, RandomSizes, ::testing::Range(0u, 12u));

TEST(SizeBounds, SaysWhatSomePointNeeds) {
  Sizes s(0);
  const auto is = [&](Dim size, bool limits, Dim expected, bool is_reached) {
    SizeBounds::Query q{limits};
    const std::optional<Dim> bound = s.bounds.upper(size, q);
    ASSERT_TRUE(bound) << size;
    EXPECT_EQ(*bound, expected) << size;
    EXPECT_EQ(q.is_reached, is_reached) << size;
  };
  is(s.i * 3 + 2, false, s.n * 3 - 1, true);
  is(s.n - s.i, false, s.n, true);
  is(s.j, false, s.n - 1, true);
  is(s.n - s.k, false, s.n, true);       // at its first iteration
  is(min(s.k, s.n), false, s.n, false);  // it may end before
  is(s.k + 1, true, s.limit, false);     // it may end before
  is(6 - min(s.k, s.ctx.constant(6)), true, s.ctx.constant(6), true);
  is(s.n - s.d, false, s.n, false);
  SizeBounds::Query q;
  EXPECT_FALSE(s.bounds.upper(s.k + 1, q));
}

}  // namespace
}  // namespace pliant::expr
