// Kernels over outlined sizes do what they did, and are equal where only the sizes differed.
#include "loop/outline.h"

#include <gtest/gtest.h>

#include <regex>

#include "loop/compare/equivalence.h"
#include "loop/random_kernel.h"

namespace pliant::loop {
namespace {

Function read(const std::string& text, expr::Context& ctx) {
  auto f = parse(text, ctx);
  EXPECT_TRUE(f.ok()) << f.error().text();
  return f.take();
}

// The outlined function with the sizes computed in its body.
Function with_sizes(const Function& before, const Outlined& outlined) {
  Function f = outlined.function;
  f.params = before.params;
  for (const auto& [symbol, size] : outlined.sizes) f.body = make_let(symbol, size, f.body);
  return f;
}

void expect_same(const Function& f, expr::Context& ctx, uint32_t seed) {
  const Outlined outlined = outline_sizes(f, ctx);
  const Status verified = verify(outlined.function, ctx);
  EXPECT_TRUE(verified.ok()) << verified.error().text() << print(outlined.function, ctx);
  const std::vector<Dim> sizes = outlined_sizes(f, ctx);
  ASSERT_EQ(sizes.size(), outlined.sizes.size()) << print(f, ctx);
  for (size_t k = 0; k < sizes.size(); ++k) EXPECT_EQ(sizes[k].str(), outlined.sizes[k].second.str());
  const Status same = check_equivalence(f, with_sizes(f, outlined), ctx, seed, 4);
  EXPECT_TRUE(same.ok()) << same.error().text() << print(f, ctx) << "\nbecame\n" << print(outlined.function, ctx);
}

// Part k of a row of n that is cut into parts of floordiv(n + 6, 7).
std::string part(int k) {
  const std::string size = "floordiv(n + 6, 7)", begin = "min(" + size + "*" + std::to_string(k) + ", n)",
                    end = "min(" + size + "*" + std::to_string(k + 1) + ", n)";
  std::string text =
      "kernel part(%x: f32[m*n], %y: f32[m*(END) - m*(BEGIN)] out) { for parallel r in m { for o in floordiv(END - BEGIN + "
      "7, 8) {"
      " for vector v in 8 { if index(o*8 + v) < index(END - BEGIN) {"
      " %y[r*(END) - r*(BEGIN) + o*8 + v] = %x[r*n + BEGIN + o*8 + v] } } } } }";
  text = std::regex_replace(text, std::regex("BEGIN"), begin);
  return std::regex_replace(text, std::regex("END"), end);
}

TEST(Outline, KeepsWhatKernelsDo) {
  for (uint32_t seed = 1; seed <= 40 && !HasFailure(); ++seed) {
    expr::Context ctx;
    expect_same(read(RandomKernel(seed).text(), ctx), ctx, seed);
  }
  for (int k = 1; k < 7; ++k) {
    expr::Context ctx;
    expect_same(read(part(k), ctx), ctx, static_cast<uint32_t>(k));
  }
}

TEST(Outline, KernelsOfOneFormBecomeEqual) {
  auto form = [](const Function& f, expr::Context& ctx) {
    return std::regex_replace(print(f, ctx), std::regex("_[0-9]+"), "");
  };
  expr::Context ctx;
  const Function two = read(part(2), ctx), five = read(part(5), ctx);
  EXPECT_NE(form(two, ctx), form(five, ctx));
  EXPECT_EQ(outline_key(two), outline_key(five));
  EXPECT_EQ(outlined_sizes(two, ctx).size(), 4U);  // of the buffer, the number of vectors, the length, the begin
  EXPECT_EQ(form(outline_sizes(two, ctx).function, ctx), form(outline_sizes(five, ctx).function, ctx));
}

TEST(Outline, LeavesShortSizes) {
  expr::Context ctx;
  const Function f = read("kernel k(%x: f32[n*m + m], %y: f32[n*m + m] out) { for i in n*m + m { %y[i] = %x[i] } }", ctx);
  EXPECT_TRUE(outlined_sizes(f, ctx).empty());
}

}  // namespace
}  // namespace pliant::loop
