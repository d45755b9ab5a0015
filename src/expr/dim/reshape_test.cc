// Reshapes as indices: a flat index taken apart by one grouping of the sizes and put together again is the flat index, and
// every part is proved to lie within its axis. The compiler sees through chains of reshapes by this.
#include <gtest/gtest.h>

#include <random>

#include "expr/expr.h"

namespace pliant::expr {
namespace {

using Shape = std::vector<Dim>;

Dim flatten(Context& ctx, const Shape& index, const Shape& shape) {
  Dim flat = ctx.constant(0);
  for (size_t i = 0; i < shape.size(); ++i) flat = flat * shape[i] + index[i];
  return flat;
}

Shape take_apart(Dim flat, const Shape& shape) {
  Shape index(shape.size());
  Dim inner = flat->ctx->constant(1);
  for (size_t i = shape.size(); i-- > 0;) {
    const Dim q = floordiv(flat, inner);
    index[i] = i == 0 ? q : mod(q, shape[i]);
    inner = inner * shape[i];
  }
  return index;
}

class Reshape : public ::testing::TestWithParam<uint32_t> {
 protected:
  // Neighbouring factors joined at random.
  Shape group(const Shape& factors) {
    Shape out{factors[0]};
    for (size_t i = 1; i < factors.size(); ++i) {
      if (rng_() % 2 == 0) {
        out.push_back(factors[i]);
      } else {
        out.back() = out.back() * factors[i];
      }
    }
    return out;
  }
  Shape indices(const Shape& shape) {
    Shape out;
    for (Dim extent : shape) out.push_back(ctx.index_symbol("i", extent));
    return out;
  }
  Context ctx;
  std::mt19937 rng_{GetParam()};
};

TEST_P(Reshape, ChainsCancel) {
  SymbolInfo info;
  info.name = "n";
  const Dim n = ctx.symbol(info), m = ctx.symbol(info), w = ctx.symbol(info);
  const Dim half = floordiv(w - 1, 2) + 1;
  const Dim pool[] = {n, m, half, ctx.constant(4), ctx.constant(12), w, ctx.constant(3)};
  for (int round = 0; round < 20; ++round) {
    Shape factors;
    for (int k = 0; k < 4; ++k) factors.push_back(pool[rng_() % std::size(pool)]);
    const Shape from = group(factors), through = group(factors), to = group(factors);
    const Dim flat = flatten(ctx, indices(from), from);
    const Shape parts = take_apart(flat, through);
    std::string text;
    for (Dim f : factors) text += f.str() + " | ";
    ASSERT_TRUE(ctx.proves_equal(flatten(ctx, parts, through), flat))
        << text << flatten(ctx, parts, through) << " is not " << flat;
    for (size_t k = 0; k < parts.size(); ++k) {
      ASSERT_TRUE(ctx.proves_less(parts[k], through[k])) << text << parts[k] << " in " << through[k];
      ASSERT_TRUE(ctx.proves_less_equal(ctx.constant(0), parts[k])) << text << parts[k];
    }
    const Shape again = take_apart(flatten(ctx, parts, through), to);
    const Shape direct = take_apart(flat, to);
    for (size_t k = 0; k < to.size(); ++k)
      ASSERT_TRUE(ctx.proves_equal(again[k], direct[k])) << text << again[k] << " is not " << direct[k];
    // From a single flat loop as well.
    const Dim k = ctx.index_symbol("k", product(ctx, factors));
    const Shape split = take_apart(k, through);
    ASSERT_TRUE(ctx.proves_equal(flatten(ctx, split, through), k)) << text << flatten(ctx, split, through);
    for (size_t a = 0; a < split.size(); ++a)
      ASSERT_TRUE(ctx.proves_less(split[a], through[a])) << text << split[a] << " in " << through[a];
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Reshape, ::testing::Range(0u, 20u));

}  // namespace
}  // namespace pliant::expr
