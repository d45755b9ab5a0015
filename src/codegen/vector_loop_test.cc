// Vector loops: contiguous, masked, strided, gathered and reduced accesses, at sizes around the number of lanes.
#include "codegen/kernel_harness_test.h"

namespace pliant::codegen {
namespace {

const int64_t kSizes[] = {0, 1, 7, 15, 16, 17, 33, 100};

TEST(VectorLoop, ElementwiseWithMaskedTail) {
  Kernel k(R"(kernel add(%x: f32[n], %y: f32[n], %z: f32[n] out) {
    for o in floordiv(n + 15, 16) { for vector v in 16 {
      if index(o*16 + v) < index(n) { %z[o*16 + v] = max(%x[o*16 + v] + %y[o*16 + v] * 2f32, 0f32) }
    } } })");
  for (int64_t n : kSizes) k.expect_same({{"n", n}});
}

TEST(VectorLoop, ScalarOperandIsSplat) {
  Kernel k(R"(kernel bias(%x: f32[m, n], %b: f32[m], %z: f32[m, n] out) {
    for parallel i in m { for o in floordiv(n + 7, 8) { for vector v in 8 {
      if index(o*8 + v) < index(n) { %z[i, o*8 + v] = %x[i, o*8 + v] - %b[i] }
    } } } })");
  for (int64_t n : kSizes) k.expect_same({{"m", 5}, {"n", n}});
  k.expect_same({{"m", 0}, {"n", 9}});
}

TEST(VectorLoop, StreamsWhatIsAlignedAndOnlyThat) {
  // Rows of every length, whole vectors and masked ends, at every offset from a multiple of a vector.
  Kernel k(R"(kernel stream(%x: f32[m] , %y: f32[n*m] out, %b: i8[n*m] out) {
    while i in n {
      for v in floordiv(m, 16) { for vector l in 16 {
        stream %y[i*m + v*16 + l] = %x[v*16 + l] + cast.f32(index(i))
        stream %b[i*m + v*16 + l] = cast.i8(index(v + l))
      } }
      for vector t in 16 { if index(t) < index(mod(m, 16)) {
        stream %y[i*m + floordiv(m, 16)*16 + t] = %x[floordiv(m, 16)*16 + t]
        stream %b[i*m + floordiv(m, 16)*16 + t] = 1i8
      } }
    } })");
  for (int64_t m : {1, 15, 16, 17, 31, 32, 48, 64, 100})
    for (int64_t n : {0, 1, 7, 40}) k.expect_same({{"m", m}, {"n", n}});
}

TEST(VectorLoop, StridedAndReversedAndTransposed) {
  Kernel k(R"(kernel t(%x: f32[m, n], %y: f32[n, m] out, %r: f32[m, n] out, %s: f32[n] out) {
    for i in m { for o in floordiv(n + 15, 16) { for vector v in 16 {
      if index(o*16 + v) < index(n) {
        %y[o*16 + v, i] = %x[i, o*16 + v]
        %r[i, o*16 + v] = %x[i, n - 1 - o*16 - v]
        %s[o*16 + v] = %x[floordiv(o*16 + v, 3), mod(5*o*16 + 5*v, n)]
      }
    } } } })");
  for (int64_t n : kSizes) k.expect_same({{"m", 40}, {"n", n}});
}

TEST(VectorLoop, StepsOfZeroOrOneThatTheRunDecides) {
  Kernel k(R"(kernel s(%x: f32[n], %h: f16[n], %b: bool[n], %i: i64[n], %y: f32[n] out, %c: bool[n] out, %g: f16[n] out,
      %j: i64[n] out) {
    for o in floordiv(n + 15, 16) { for vector v in 16 {
      if index(o*16 + v) < index(n) {
        %y[o*16 + v] = %x[(o*16 + v)*max(0, min(1, s - 1))] * 2f32
        %c[o*16 + v] = %b[(o*16 + v)*max(0, min(1, s - 1))]
        %g[o*16 + v] = select(index(o*16 + v) >= 3i64, %h[(o*16 + v - 3)*max(0, min(1, s - 1))], 1f16)
        %j[o*16 + v] = select(index(s) >= 1i64, %i[n - 1 - (n - 1)*max(0, min(1, s - 1)) + (o*16 + v)*max(0, min(1, s - 1))], 7i64)
      }
    } } })");
  for (int64_t n : kSizes)
    for (int64_t s : {0, 1, 2, 9}) k.expect_same({{"n", n}, {"s", s}});
}

TEST(VectorLoop, ShortStrides) {
  Kernel k(R"(kernel s(%x: f32[4*n], %h: f16[3*n], %b: bool[2*n], %y: f32[6, n] out, %c: bool[n] out, %g: f16[n] out) {
    for o in floordiv(n, 16) { for vector v in 16 {
      %y[0, o*16 + v] = %x[2*(o*16 + v)] + %x[2*(o*16 + v) + 1]
      %y[1, o*16 + v] = %x[3*(o*16 + v) + 2]
      %y[2, o*16 + v] = %x[4*(o*16 + v) + 3]
      %y[3, o*16 + v] = %x[2*(n - 1) - 2*(o*16 + v)]
      %y[4, o*16 + v] = %x[4*n - 1 - 4*(o*16 + v)]
      %y[5, o*16 + v] = select(index(o) < 1i64, %x[3*n - 3 - 3*(o*16 + v)], 0f32)
      %c[o*16 + v] = %b[2*(o*16 + v) + 1]
      %g[o*16 + v] = %h[3*(o*16 + v) + 1]
    } } })");
  for (int64_t n : {0, 16, 48}) k.expect_same({{"n", n}});
}

TEST(VectorLoop, IndicesTakenApart) {
  Kernel k(R"(kernel t(%x: f32[a, b, c], %y: f32[c, a, b] out, %z: f32[a*b*c] out) {
    for o in floordiv(a*b*c + 7, 8) { for vector v in 8 {
      if index(o*8 + v) < index(a*b*c) {
        %y[floordiv(o*8 + v, a*b), mod(floordiv(o*8 + v, b), a), mod(o*8 + v, b)] =
            %x[mod(floordiv(o*8 + v, b), a), mod(o*8 + v, b), floordiv(o*8 + v, a*b)]
        %z[o*8 + v] = cast.f32(index(mod(floordiv(o*8 + v, 3), 5))) + cast.f32(index(floordiv(o*8 + v, b*c)))
      }
    } } })");
  for (int64_t a : {0, 1, 3, 8}) {
    for (int64_t b : {1, 2, 9}) {
      for (int64_t c : {1, 5, 17}) k.expect_same({{"a", a}, {"b", b}, {"c", c}});
    }
  }
}

TEST(VectorLoop, GatherByValue) {
  Kernel k(R"(kernel g(%i: i64[n], %j: i32[n], %x: f32[41], %y: f32[n] out, %h: f16[41], %z: f16[n] out) {
    for o in floordiv(n + 15, 16) { for vector v in 16 {
      if index(o*16 + v) < index(n) {
        %y[o*16 + v] = %x[value(%i[o*16 + v]) + 20]
        %z[o*16 + v] = %h[value(%j[o*16 + v]) + 20]
      }
    } } })");
  for (int64_t n : kSizes) k.expect_same({{"n", n}});
}

TEST(VectorLoop, ScatterAndHistogram) {
  Kernel k(R"(kernel s(%i: i64[n], %x: f32[n], %y: f32[41] out, %c: i32[41] out) {
    for o in floordiv(n + 7, 8) { for vector v in 8 {
      if index(o*8 + v) < index(n) {
        %c[value(%i[o*8 + v]) + 20] += 1i32
      }
    } }
    for o in 5 { for vector v in 8 { %y[40 - o*8 - v] = 3f32 } } })");
  for (int64_t n : kSizes) k.expect_same({{"n", n}});
}

TEST(VectorLoop, PaddingGuardsLoads) {
  Kernel k(R"(kernel pad(%x: f32[n], %y: f32[n + 5] out, %z: f32[n + 5] out) {
    for o in floordiv(n + 20, 16) { for vector v in 16 {
      if index(o*16 + v) < index(n + 5) {
        %y[o*16 + v] = select(2i64 <= index(o*16 + v) && index(o*16 + v) < index(n + 2), %x[o*16 + v - 2] + 1f32, 0.5f32)
        %z[o*16 + v] = %x[max(min(o*16 + v - 2, n - 1), 0)]
      }
    } } })");
  for (int64_t n : kSizes) {
    if (n > 0) k.expect_same({{"n", n}});
  }
}

TEST(VectorLoop, UniformConditionGuardsLoads) {
  Kernel k(R"(kernel rows(%x: f32[h, 8], %y: f32[h + 2, 8] out) {
    for i in h + 2 { for vector v in 8 {
      %y[i, v] = select(1i64 <= index(i) && index(i) <= index(h), %x[i - 1, v], neg(1f32))
    } } })");
  for (int64_t h : {0, 1, 4}) k.expect_same({{"h", h}});
}

TEST(VectorLoop, MasksFromData) {
  Kernel k(R"(kernel m(%x: f32[n], %b: bool[n], %y: f32[n] out, %c: bool[n] out, %w: f32[n] out) {
    for o in floordiv(n + 15, 16) { for vector v in 16 {
      if index(o*16 + v) < index(n) {
        if %b[o*16 + v] { %y[o*16 + v] = %x[o*16 + v] * 2f32 } else { %y[o*16 + v] = sqrt(abs(%x[o*16 + v])) }
        %c[o*16 + v] = %b[o*16 + v] && %x[o*16 + v] < 0.25f32 || not(%b[o*16 + v])
        if %x[o*16 + v] < 0f32 && index(o*16 + v) != 3i64 { %w[o*16 + v] += 1f32 }
      }
    } } })");
  for (int64_t n : kSizes) k.expect_same({{"n", n}});
}

TEST(VectorLoop, MaskedLoadsStayMasked) {
  // Sums under one mask end as masked operations on a masked load, which must not become a plain one: the buffers end at a
  // page's end.
  Kernel k(R"(kernel twice(%x: f32[n], %w: f32[n], %y: f32[n] out) {
    for o in floordiv(n + 15, 16) { for vector v in 16 { if index(o*16 + v) < index(n) {
      %y[o*16 + v] += exp(%x[o*16 + v]) * %w[o*16 + v]
      %y[o*16 + v] += %x[o*16 + v] * sqrt(abs(%w[o*16 + v]))
      %y[o*16 + v] += exp(%x[o*16 + v]) * %w[o*16 + v]
      %y[o*16 + v] += %x[o*16 + v] * sqrt(abs(%w[o*16 + v]))
    } } } })");
  for (int64_t n : kSizes) k.expect_same({{"n", n}}, 1e-6);
}

TEST(VectorLoop, ReductionsIntoOnePlace) {
  Kernel k(
      R"(kernel r(%x: f32[m, n], %s: f32[m] out, %p: f32[m] out, %q: f32[m] out, %i: i32[m, n], %j: i32[m] out, %b: bool[m] out) {
    for parallel r in m {
      %s[r] = 0f32
      %p[r] = -inf.f32
      for o in floordiv(n + 15, 16) { for vector v in 16 {
        if index(o*16 + v) < index(n) {
          %s[r] += %x[r, o*16 + v] * %x[r, o*16 + v]
          %p[r] max= %x[r, o*16 + v]
          %q[r] min= %x[r, o*16 + v]
          %j[r] += %i[r, o*16 + v]
          %b[r] or= 19i32 < %i[r, o*16 + v]
        }
      } }
    } })");
  for (int64_t n : kSizes) k.expect_same({{"m", 4}, {"n", n}}, 1e-5);
}

TEST(VectorLoop, ReductionsOfHalvesRoundEachStep) {
  Kernel k(R"(kernel h(%x: f16[n], %b: bool[n], %s: f16[2] out) {
    for o in floordiv(n + 7, 8) { for vector v in 8 { if index(o*8 + v) < index(n) {
      %s[0] += %x[o*8 + v]
      if %b[o*8 + v] { %s[1] max= %x[o*8 + v] }
    } } } })");
  for (int64_t n : kSizes) k.expect_same({{"n", n}});
}

TEST(VectorLoop, LocalAccumulators) {
  Kernel k(R"(kernel softmax(%x: f32[m, n], %y: f32[m, n] out) {
    for parallel r in m {
      local %top: f32[16] { local %t: f32[1] {
        for vector v in 16 { %top[v] = -inf.f32 }
        for o in floordiv(n + 15, 16) { for vector v in 16 {
          if index(o*16 + v) < index(n) { %top[v] max= %x[r, o*16 + v] }
        } }
        %t[0] = -inf.f32
        for vector v in 16 { %t[0] max= %top[v] }
        for o in floordiv(n + 15, 16) { for vector v in 16 {
          if index(o*16 + v) < index(n) { %y[r, o*16 + v] = %x[r, o*16 + v] - %t[0] }
        } }
      } }
    } })");
  for (int64_t n : kSizes) k.expect_same({{"m", 3}, {"n", n}});
}

TEST(VectorLoop, LocalsOfEachLaneAndLoopsInside) {
  Kernel k(R"(kernel l(%x: f32[n, 5], %i: i64[n], %y: f32[n] out) {
    for o in floordiv(n + 7, 8) { for vector v in 8 {
      if index(o*8 + v) < index(n) {
        local %t: f32[5] {
          for p in 5 { %t[p] = %x[o*8 + v, p] * 2f32 }
          %y[o*8 + v] = 0f32
          for p in 5 { %y[o*8 + v] += %t[4 - p] }
          %y[o*8 + v] += %t[mod(value(%i[o*8 + v]), 5)]
        }
      }
    } } })");
  for (int64_t n : kSizes) k.expect_same({{"n", n}}, 1e-6);
}

TEST(VectorLoop, LoopWhoseExtentDiffersByLane) {
  Kernel k(R"(kernel tri(%x: f32[16, 16], %y: f32[16] out) {
    for vector v in 16 { %y[v] = 0f32 for p in v + 1 { %y[v] += %x[v, p] } } })");
  k.expect_same({}, 1e-6);
}

TEST(VectorLoop, MaskedStoresStayInsideALocal) {
  // The last row ends with the buffer: lanes beyond the mask have no memory there.
  Kernel k(R"(kernel rows(%x: f32[n], %y: f32[15] out) {
    local %t: f32[15] { local %u: f32[8] {
      for vector v in 8 { %u[v] = 1f32 }
      for i in 3 { for vector v in 8 { if index(v) < 5i64 { %t[i*5 + v] = %x[i + v] } } }
      for i in 3 { for vector v in 8 { if index(v) < 5i64 { %t[i*5 + v] += %u[v] } } }
      for k in 15 { %y[k] = %t[k] + %u[mod(k, 8)] }
    } } })");
  k.expect_same({{"n", 10}});
}

}  // namespace
}  // namespace pliant::codegen
