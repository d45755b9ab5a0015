#include "expr/dim/weight.h"

#include <gtest/gtest.h>

namespace pliant::expr {
namespace {

Dim symbol(Context& ctx, const std::string& name) {
  SymbolInfo info;
  info.name = name;
  return ctx.symbol(std::move(info));
}

TEST(Weight, CountsTermsAndFactors) {
  Context ctx;
  const Dim n = symbol(ctx, "n"), m = symbol(ctx, "m");
  EXPECT_EQ(weight_of(ctx.constant(0)), 0);
  EXPECT_EQ(weight_of(ctx.constant(7)), 1);
  EXPECT_EQ(weight_of(n), 2);
  EXPECT_EQ(weight_of(n * m + 3), 4);
  EXPECT_EQ(weight_of(n * n * n), 4);
}

TEST(Weight, CountsSharedPartsEachTime) {
  Context ctx;
  const Dim n = symbol(ctx, "n");
  Dim d = n;
  int64_t last = weight_of(d);
  for (int k = 0; k < 8; ++k) {
    d = floordiv(d * d + d + 1, 3);
    EXPECT_GT(weight_of(d), 2 * last);
    last = weight_of(d);
  }
}

TEST(Weight, HasAMostValue) {
  Context ctx;
  Dim d = symbol(ctx, "n");
  for (int k = 0; k < 64; ++k) d = floordiv(d * d + d + 1, 3);
  EXPECT_EQ(weight_of(d), kHeaviest);
}

TEST(Weight, SetsOfManyAreHeavierThanTheirParts) {
  Context ctx;
  Dim few = symbol(ctx, "n"), many = few;
  for (int k = 0; k < 24; ++k) {
    const Dim s = symbol(ctx, "s" + std::to_string(k));
    if (k < 2) few = broadcast(few, s);
    many = broadcast(many, s);
  }
  EXPECT_LT(weight_of(few), 10);
  EXPECT_GT(weight_of(many), 8 * weight_of(few) + 24 * 2);
}

}  // namespace
}  // namespace pliant::expr
