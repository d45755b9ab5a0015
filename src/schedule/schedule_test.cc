#include "schedule/schedule.h"

#include <gtest/gtest.h>

#include "loop/walk.h"
#include "schedule/equivalence_test.h"

namespace pliant::schedule {
namespace {

const char* kMatmul = R"(kernel matmul(%a: f32[m, k], %b: f32[k, n] const, %bias: f32[n], %c: f32[m, n] out) {
  for i in m {
    for j in n {
      %c[i, j] = 0f32
      for p in k {
        %c[i, j] += %a[i, p] * %b[p, j]
      }
      %c[i, j] = max(%c[i, j] + %bias[j], 0f32)
    }
  }
}
)";

class Scheduled {
 public:
  explicit Scheduled(const std::string& kernel) : before_(parsed(kernel)), s(before_, ctx) {}
  loop::Function parsed(const std::string& kernel) {
    auto f = loop::parse(kernel, ctx);
    if (!f.ok()) throw std::runtime_error(f.error().text());
    return f.take();
  }
  std::string apply(const std::string& trace) {
    auto r = s.replay(trace);
    return r.ok() ? "" : r.error().diagnostics[0].message;
  }
  std::string fault(int rounds) {
    auto r = check_equivalence(before_, s, 7, rounds);
    return r.ok() ? "" : r.error().text();
  }
  std::string text() { return loop::print(s.function(), ctx); }

  expr::Context ctx;

 private:
  loop::Function before_;

 public:
  Schedule s;
};

TEST(Schedule, ARefusedPrimitiveLeavesNamesFree) {
  Scheduled k(kMatmul);
  const std::string before = k.text();
  EXPECT_EQ(k.apply("vectorize p 8 -> v j t"), "there already is a loop j");
  // Found out when the axes of %a and %c are merged.
  EXPECT_EQ(k.apply("collapse i j -> v"), "%bias is not walked through in even steps");
  EXPECT_EQ(k.text(), before);
  EXPECT_EQ(k.apply("split p 8 -> v l"), "");
  EXPECT_EQ(k.s.trace(), "split p 8 -> v l\n");
}

TEST(Schedule, RegisterTilesOfEveryHeight) {
  Scheduled k(kMatmul);
  EXPECT_EQ(k.apply(R"(
    repack b 1 32 [1, 0, 2] -> bp
    split i 14 -> io ii
    split j 32 -> jo ji
    reorder jo io ii ji
    fission ji
    fission ii
    reorder p ii.1 ji.1
    cache_write c at io -> acc local
    pad ji 32
    pad ji.1 32
    vectorize ji
    vectorize ji.1
    vectorize ji.2
    parallel jo
    parallel io
    specialize ii at io unroll)"),
            "");
  EXPECT_EQ(k.fault(60), "");
  int tiles = 0, unrolled = 0, vectors = 0, others = 0;
  loop::for_each(k.s.function().body, [&](const loop::Stmt& s) {
    tiles += s.kind == loop::StmtKind::Alloc;
    if (s.kind != loop::StmtKind::For) return;
    unrolled += s.for_kind == loop::ForKind::Unroll;
    vectors += s.for_kind == loop::ForKind::Vector;
    others += s.for_kind == loop::ForKind::Serial;
  });
  EXPECT_EQ(tiles, 14);
  EXPECT_EQ(unrolled, 3 * 14);
  EXPECT_EQ(vectors, 3 * 14);
  EXPECT_EQ(others, 14) << "only the loops over k run";
}

TEST(Schedule, AnEquivalenceCheckFindsADifference) {
  expr::Context ctx;
  auto a = loop::parse("kernel f(%x: f32[n], %y: f32[n] out) { for i in n { %y[i] = %x[i] } }", ctx);
  auto b = loop::parse("kernel f(%x: f32[n], %y: f32[n] out) { for i in n { if index(i) != 3i64 { %y[i] = %x[i] } } }", ctx);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_FALSE(check_equivalence(a.value(), Schedule(b.value(), ctx), 1, 20).ok());
}

TEST(Schedule, EqualNamesAreToldApart) {
  Scheduled k("kernel f(%x: f32[n], %y: f32[n] out) { for i in n { %y[i] = %x[i] } for i in n { %y[i] += %x[i] } }");
  std::vector<std::string> names;
  for (const LoopInfo& l : k.s.loops()) names.push_back(l.name);
  EXPECT_EQ(names, (std::vector<std::string>{"i", "i.1"}));
  EXPECT_EQ(k.apply("merge i i.1\nsplit i 4 -> io ii"), "");
  EXPECT_EQ(k.fault(10), "");
}

TEST(Schedule, NamesDoNotDependOnTheContext) {
  std::string kernel = "kernel f(%x: f32[n], %y: f32[n] out) { for i in n { %y[i] = %x[i] } }",
              trace = "split i 4 -> io ii\nvectorize ii\n";
  expr::Context ctx;
  for (const char* taken : {"io", "ii", "io_1"}) ctx.symbol({.name = taken});
  auto f = loop::parse(kernel, ctx);
  ASSERT_TRUE(f.ok());
  Schedule first(f.value(), ctx), second(f.value(), ctx);
  ASSERT_TRUE(first.replay(trace).ok());
  ASSERT_TRUE(second.replay(first.trace()).ok());
  EXPECT_EQ(loop::print(first.function(), ctx), loop::print(second.function(), ctx));
}

TEST(Schedule, RefusalsSayWhy) {
  auto why = [](const std::string& kernel, const std::string& trace) {
    Scheduled k(kernel);
    std::string before = k.text(), message = k.apply(trace);
    EXPECT_EQ(k.s.trace().empty(), k.text() == before);
    return message;
  };
  const char* copy = "kernel f(%x: f32[n], %y: f32[n] out) { for i in n { %y[i] = %x[i] } }";
  EXPECT_EQ(why(copy, "split q 4 -> a b"), "there is no loop q; the loops are i");
  EXPECT_EQ(why(copy, "split i 0 -> a b"), "the factor is not positive");
  EXPECT_EQ(why(copy, "split i 4 -> a i"), "there already is a loop i");
  EXPECT_EQ(why(copy, "unroll i"), "the extent of loop i is not constant; `mask`, `pad` or `specialize` make it so");
  EXPECT_EQ(why(copy, "vectorize i"), "the extent of loop i has no constant bound");
  EXPECT_EQ(why(copy, "fission i"), "loop i holds one statement");
  EXPECT_EQ(why(copy, "cache_write z at i -> t local"), "there is no buffer z");
  EXPECT_EQ(why(copy, "repack y 0 4 [0, 1] -> q"), "%y is not a param that is only read");
  EXPECT_EQ(why(copy, "repack x 0 4 [0, 2] -> q"), "the order is not a permutation of 2 dims");
  EXPECT_EQ(why(copy, "compute_at x at i"), "%x is not an allocated buffer");

  EXPECT_EQ(why(copy, "partition i 3 -> a b"), "3 is not known to be 0 to the number of iterations");
  EXPECT_EQ(why(copy, "let i at i -> f c"), "loop i does not run over a tile of a split");
  EXPECT_EQ(why(copy, "split i 4 -> a b\nlet b at a -> f c"), "the tiles of b depend on a");
  EXPECT_EQ(why(copy, "split_blocks i 8 3 -> a b"), "8 is not a multiple of 3");
  EXPECT_EQ(why(copy, "split_blocks i [n] 1 -> a b"), "a block is not known to hold 1 iterations");
  EXPECT_EQ(why(copy, "pad i 8"), "loop i may have more iterations than 8");
  EXPECT_EQ(why(copy, "expand x at i"), "loop i does not allocate %x");
  EXPECT_EQ(why(copy, "version i [7] 4"), "the size is known");
  EXPECT_EQ(why(copy, "version i [q] 4"), "q is no symbol of the kernel");
  EXPECT_EQ(why(copy, "scan i 3"), "the lanes are not 2, 4, 8 … 4096");
  EXPECT_EQ(why(copy, "scan i 4"), "loop i does not update a running value and store what follows from it");
  EXPECT_EQ(why(copy, "transpose i i 4"), "loop i holds more than loop i of one assignment");

  EXPECT_EQ(why(copy, "split_widths i [8, 3] -> v l"), "width 3 does not divide the one before it");
  EXPECT_EQ(why(copy, "split_widths i [0] -> v l"), "tiles have 1 to 4096 iterations");
  EXPECT_EQ(why(copy, "partition_widths i vectorize"), "loop i is not one of tiles that split_widths made");
  EXPECT_EQ(why(copy, "split_widths i [4] -> v l\nsplit v 2 -> a b\npartition_widths b vectorize"),
            "loop b is not one of tiles that split_widths made");
  EXPECT_EQ(why(copy, "unswitch i"), "loop i is not all under one condition");
  EXPECT_EQ(why(copy, "interior i"), "the nest of loop i is not all under one condition");
  EXPECT_EQ(why(copy, "clip i at i"), "the nest of loop i is not all under one condition");
  const char* add = "kernel f(%x: f32[n], %y: f32[n] out) { for i in n { %y[i] += %x[i] } }";
  EXPECT_EQ(why(add, "split_widths i [4] -> v l\npartition_widths v vectorize back"),
            "what loop v writes follows from what was there");
  EXPECT_EQ(why(add, "split_widths i [4] -> v l\npartition_widths v vectorize"), "");
  const char* guarded =
      "kernel f(%x: f32[n], %y: f32[n, m] out) { for i in n { for j in m { if %x[j] < 0f32 && index(j*i) < index(n) { %y[i, "
      "j] = 0f32 } } } }";
  EXPECT_EQ(why(guarded, "unswitch j"), "no part of the condition is the same in all iterations");
  EXPECT_EQ(why(guarded, "interior j"), "the condition has no bounds that are known before the nest");
  EXPECT_EQ(why(guarded, "clip j at j"), "no condition bounds loop j alone");
  EXPECT_EQ(why(guarded, "clip i at j"), "loop i is not inside j");

  const char* scan = "kernel f(%y: f32[n + 1, m] out) { for i in n { for j in m { %y[i + 1, j] = %y[i, j] + 1f32 } } }";
  EXPECT_EQ(why(scan, "parallel i"), "iterations of loop i touch the same elements of %y");
  EXPECT_EQ(why(scan, "split i 4 -> a b\nvectorize b"), "iterations of loop b touch the same elements of %y");
  EXPECT_EQ(why(scan, "reorder j i\nparallel j"), "");
  const char* skewed = "kernel f(%y: f32[n + 1, m + 1] out) { for i in n { for j in m { %y[i + 1, j] = %y[i, j + 1] } } }";
  EXPECT_EQ(why(skewed, "reorder j i"), "iterations touch the same elements of %y in an order that would change");
  const char* last = "kernel f(%x: f32[n, m], %y: f32[n] out) { for i in n { for j in m { %y[i] = %x[i, j] } } }";
  EXPECT_EQ(why(last, "reorder j i"), "");
  EXPECT_EQ(why(last, "split j 4 -> a b\nreorder b a"), "the extent of loop b depends on a");
  EXPECT_EQ(why(last, "split j 4 -> a b\nmask b\nreorder b a"),
            "iterations touch the same elements of %y in an order that would change");
  EXPECT_EQ(why(kMatmul, "reorder p i"), "loop j holds more than the next loop; `fission` may separate it");
  EXPECT_EQ(why(last, "parallel j"), "loop j is not outermost among parallel loops");
  EXPECT_EQ(why(last, "parallel i\nreorder j i"), "the result would be malformed: parallel loop i is not outermost");

  const char* sum = "kernel f(%x: f32[n], %y: f32[] out) { for i in n { %y[] += %x[i] } }";
  EXPECT_EQ(why(sum, "parallel i"), "iterations of loop i touch the same elements of %y");
  EXPECT_EQ(why(sum, "split i 8 -> a b\nvectorize b"), "");
  EXPECT_EQ(why(sum, "split i 8 -> a b\npad b 8"), "the body reads %x, which may end before iteration 7 of b");

  const char* shifted =
      "kernel f(%x: f32[n], %y: f32[n + 1] out, %z: f32[n] out) { for i in n { %y[i + 1] = %x[i] %z[i] = %y[i] } }";
  EXPECT_EQ(why(shifted, "fission i"), "statements 1 and 2 of loop i touch the same elements of %y in different iterations");
  EXPECT_EQ(why(kMatmul, "split j 8 -> a b\npad b 8"), "the body writes %c, which may end before iteration 7 of b");
  EXPECT_EQ(why(kMatmul, "split j 8 -> a b\nmask b\ncache_write c at a -> t local"),
            "no statement of the body assigns all of its part of %c, each element once");
  EXPECT_EQ(why(kMatmul, "cache_read a at i -> t local"), "a tile of %a has no constant size");
  EXPECT_EQ(why(kMatmul, "cache_read c at i -> t scratch"), "the body of i writes %c");
  EXPECT_EQ(why(kMatmul, "specialize i at j unroll"), "the extent of loop i is constant or has no constant bound");
}

TEST(Schedule, InstructionsReplaceWhatTheyCompute) {
  const char* kernel =
      "kernel f(%a: u8[m, k*4], %b: i8[k, 16, 4], %c: i32[m, 16] out) { for i in m { for o in k { for v in 16 { for e in 4 "
      "{ "
      "%c[i, v] += cast.i32(%a[i, o*4 + e]) * cast.i32(%b[o, v, e]) } } } } }";
  Scheduled k(kernel);
  EXPECT_EQ(k.apply("tensorize v dot5"),
            "there is no instruction dot5; the instructions are dot2, dot2_bf16, dot4, fma_f32, fma_f64");
  EXPECT_EQ(k.apply("tensorize v dot2"), "the nest of loop v is not what dot2 computes: loop e does not run 2 times");
  EXPECT_EQ(k.apply("tensorize o dot4"),
            "the nest of loop o is not what dot4 computes: the extent of loop o is not constant");
  EXPECT_EQ(k.apply("tensorize v dot4\nparallel i"), "");
  EXPECT_EQ(k.fault(20), "");
  EXPECT_EQ(k.s.trace(), "tensorize v dot4\nparallel i\n");
  // The nest is one thing from then on.
  EXPECT_EQ(k.apply("split v 4 -> a b"), "loop v is the instruction dot4");
  EXPECT_EQ(k.apply("unroll e"), "loop v is the instruction dot4");
  EXPECT_EQ(k.apply("repack b 1 16 [0, 1, 3, 2] -> bp"),
            "loop v would no longer be the instruction dot4: the elements of %bp do not lie side by side");
  EXPECT_EQ(k.apply("split i 4 -> io ii"), "");
  EXPECT_EQ(k.fault(20), "");
}

TEST(Schedule, InstructionsHaveLanes) {
  auto why = [](const std::string& lanes) {
    Scheduled k("kernel f(%a: i16[2], %b: i16[" + lanes + ", 2], %c: i32[" + lanes + "] out) { for o in m { for v in " +
                lanes + " { for e in 2 { %c[v] += cast.i32(%a[e]) * cast.i32(%b[v, e]) } } } }");
    return k.apply("tensorize v dot2");
  };
  EXPECT_EQ(why("8"), "");
  EXPECT_EQ(why("12"), "dot2 has 4, 8 or 16 lanes, loop v 12");
  Scheduled none(
      "kernel f(%a: f32[n], %b: f32[n], %c: f32[n] out) { for o in n { for v in 0 { %c[v] += %a[v] * %b[v] } } }");
  EXPECT_EQ(none.apply("tensorize v fma_f32"), "fma_f32 has 1 to 64 lanes, loop v 0");
  Scheduled vector(
      "kernel f(%a: f32[n], %b: f32[n], %c: f32[n] out) { for o in n { for v in 8 { %c[v] += %a[v] * %b[v] } } }");
  EXPECT_EQ(vector.apply("vectorize v\ntensorize v fma_f32"), "loop v is vector");
  Scheduled inside(
      "kernel f(%a: f32[64], %b: f32[64], %c: f32[64] out) { for o in 8 { for v in 8 { %c[o*8 + v] += %a[v] * "
      "%b[v] } } }");
  EXPECT_EQ(inside.apply("tensorize v fma_f32\nvectorize o"),
            "the result would be malformed: instruction fma_f32 of loop v is inside a vector loop");
}

TEST(Schedule, AnInstructionThatDiffersIsItsDescription) {
  Scheduled k(
      "kernel f(%a: bf16[k*2], %b: bf16[k, 8, 2], %c: f32[8] out) { for o in k { for v in 8 { for e in 2 { %c[v] += "
      "cast.f32(%a[o*2 + e]) * cast.f32(%b[o, v, e]) } } } }");
  EXPECT_EQ(k.apply("tensorize v dot2_bf16"), "");
  EXPECT_EQ(k.fault(20), "");
  // The second of two neighbours first, rounded once.
  EXPECT_NE(k.text().find("cast.f32(%a[o*2 - e + 1])"), std::string::npos) << k.text();
  EXPECT_NE(k.text().find("fma("), std::string::npos) << k.text();
}

TEST(Schedule, SyntaxErrorsAreTold) {
  Scheduled k(kMatmul);
  EXPECT_EQ(k.apply("dance i"), "there is no primitive `dance`");
  EXPECT_EQ(k.apply("split i"), "expected an integer where the line ends");
  EXPECT_EQ(k.apply("split i 4 -> a b c"), "expected the end of the line where `c` stands");
  EXPECT_EQ(k.apply("split i 99999999999999999999 -> a b"), "expected an integer where `99999999999999999999` stands");
  EXPECT_EQ(k.apply("cache_write c at i -> t nowhere"), "expected `local` or `scratch` where `nowhere` stands");
  EXPECT_EQ(k.apply("  # a comment\n\n"), "");
  EXPECT_EQ(k.s.trace(), "");
}

}  // namespace
}  // namespace pliant::schedule
