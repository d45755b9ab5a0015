#include <gtest/gtest.h>

#include "loop/loop.h"

namespace pliant::loop {
namespace {

std::string fault_of(const std::string& text) {
  expr::Context ctx;
  auto f = parse(text, ctx);
  if (!f.ok()) return f.error().text();
  auto s = verify(f.value(), ctx);
  return s.ok() ? "" : s.error().diagnostics[0].message;
}

TEST(LoopVerify, AcceptsScheduledLoops) {
  EXPECT_EQ(fault_of(R"(kernel f(%x: f32[n], %y: f32[n] out) {
    for parallel a in n { for parallel b in 4 { local %t: f32[8] { for vector v in 8 {
      %t[v] = 0f32
      if index(v) < index(n) { %y[v] = %t[v] + %x[v] }
    } } } } })"),
            "");
}

TEST(LoopVerify, Refuses) {
  EXPECT_EQ(fault_of("kernel f(%x: f32[n] out) { for vector i in n { %x[i] = 1f32 } }"),
            "vector loop i has an extent that is not constant");
  EXPECT_EQ(fault_of("kernel f(%x: f32[n] out) { for i in n { for parallel j in n { %x[i] = 1f32 } } }"),
            "parallel loop j is not outermost");
  EXPECT_EQ(fault_of("kernel f(%x: f32[n] out) { for i in n { %x[i] = 1f32 } %x[i] = 2f32 }"),
            "variable i is read outside its loop");
  EXPECT_EQ(fault_of("kernel f(%x: f32[n] out) { for i in n { for i in n { %x[i] = 1f32 } } }"),
            "variable i is bound twice in one nest");
  EXPECT_EQ(fault_of("kernel f(%x: f32[n] out) { %x[] = 1f32 }"), "a store of %x has 0 indices for rank 1");
  EXPECT_EQ(fault_of("kernel f(%x: f32[n]) { %x[0] = 1f32 }"), "param %x is written but is not an output");
  EXPECT_EQ(fault_of("kernel f(%x: f32[n] out) { local %t: f32[n] { %x[0] = %t[0] } }"),
            "local buffer %t has a shape that is not constant");
  EXPECT_EQ(fault_of("kernel f(%x: f32[n] out) { for i in n { scratch %t: f32[i] { %x[0] = %t[0] } } }"),
            "the shape of %t uses the loop variable i");
  EXPECT_EQ(fault_of("kernel f(%x: f32[n] out) { bind k = 3 { scratch %t: f32[k] { %x[0] = %t[0] } } }"),
            "the shape of %t uses the loop variable k");
  EXPECT_EQ(fault_of("kernel f(%x: f32[n] out) { bind k = 3 { %x[0] = 1f32 } %x[k] = 2f32 }"),
            "variable k is read outside its loop");
  EXPECT_EQ(fault_of("kernel f(%x: f32[n] out) { while i in n { while i in n { %x[0] = 1f32 } } }"),
            "variable i is bound twice in one nest");
  EXPECT_EQ(fault_of("kernel f(%x: f32[n] out) { while i in n { for parallel j in n { %x[j] = 1f32 } } }"),
            "parallel loop j is not outermost");
  EXPECT_EQ(fault_of("kernel f(%x: f32[n] out) { check true trap 0 () }"), "a check names trap 0, which does not exist");
  EXPECT_EQ(fault_of("kernel f(%x: f32[n] out) { %x[0] and= 1f32 }"), "a logical store has a value that is not a bool");
  EXPECT_EQ(fault_of("kernel f(%x: f32[n] strides [1, 1] out) { }"), "strides of %x have another rank");
}

TEST(LoopVerify, FreeSymbolsAreThoseThatNoLoopBinds) {
  expr::Context ctx;
  auto f = parse(R"(kernel f(%x: f32[n, m] strides [ld, 1], %y: f32[n] out) {
    for i in n { scratch %t: f32[s] { %t[0] = %x[i, q] %y[i] = %t[0] } } })",
                 ctx);
  ASSERT_TRUE(f.ok()) << f.error().text();
  std::string names;
  for (SymbolId s : free_symbols(f.value())) names += ctx.info(s).name + " ";
  EXPECT_EQ(names, "n m ld s q ");
}

}  // namespace
}  // namespace pliant::loop
