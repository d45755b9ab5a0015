#include <gtest/gtest.h>

#include "loop/loop.h"

namespace pliant::loop {
namespace {

Function parsed(const std::string& text, expr::Context& ctx) {
  auto f = parse(text, ctx);
  if (!f.ok()) throw std::runtime_error(f.error().text());
  return f.take();
}

void expect_round_trip(const std::string& text) {
  expr::Context ctx;
  Function f = parsed(text, ctx);
  EXPECT_EQ(print(f, ctx), text);
  // A second reading in the same context, and one in a fresh context.
  EXPECT_EQ(print(parsed(print(f, ctx), ctx), ctx), text);
  expr::Context other;
  EXPECT_EQ(print(parsed(print(f, ctx), other), other), text);
}

TEST(LoopText, Matmul) {
  expect_round_trip(R"(kernel matmul(%a: f32[m, k], %b: f32[k, n] const, %c: f32[m, n] out) {
  for parallel i in m {
    for j in n {
      %c[i, j] = 0f32
      for p in k {
        %c[i, j] += %a[i, p] * %b[p, j]
      }
      %c[i, j] = max(%c[i, j], 0f32)
    }
  }
}
)");
}

TEST(LoopText, EveryStatement) {
  expect_round_trip(R"(kernel `odd name`(%x: f32[n] strides [2], %i: i64[n], %y: f32[n] out, %z: bool[] out) flops 2.5 {
  trap "row {0} of \"x\" is not below {1}\nat all"
  local %t: f32[4, 8] {
    scratch %s: f32[n*8] {
      for unroll u in 4 {
        for vector v in 8 {
          %t[u, v] max= 1f32
        }
      }
      for o in floordiv(n + 3, 4) {
        for q in min(4, n - o*4) {
          check %i[o*4 + q] < index(n) trap 0 (value(%i[o*4 + q]), n)
          if index(q) < index(n - 2) && %i[q] == -3i64 {
            stream %y[o*4 + q] = %x[value(%i[o*4 + q])]
          } else if %z[] {
            %z[] or= false
          } else {
            %z[] and= true
            %y[0] *= 2f32
            %y[0] min= 1f32
          }
        }
      }
    }
  }
}
)");
}

TEST(LoopText, StateLoops) {
  expect_round_trip(R"(kernel w(%n: i64[1], %x: f32[m] out) {
  local %go: bool[] {
    %go[] = true
    while i in m when %go[] {
      bind k = value(%n[0]) - i {
        %x[i] = cast.f32(index(k))
      }
      %go[] = index(i) < 7i64
    }
    while j when %x[0] < 3f32 {
      %x[0] += 1f32
    }
    while `bind` in 3 {
      %x[0] += 1f32
    }
  }
}
)");
}

TEST(LoopText, Constants) {
  expect_round_trip(R"(kernel c(%a: f32[] out, %b: f64[] out, %h: f16[] out, %g: bf16[] out, %u: u64[] out, %i: i8[] out) {
  %a[] = 0.1f32
  %a[] = -0f32
  %a[] = 1e-45f32
  %a[] = 3.4028235e+38f32
  %a[] = inf.f32
  %a[] = -inf.f32
  %a[] = nan(0x7fc00001)f32
  %b[] = 0.1f64
  %b[] = 5e-324f64
  %h[] = 65504f16
  %h[] = -inf.f16
  %h[] = 5.9604645e-08f16
  %g[] = 3.3895314e+38bf16
  %g[] = nan(0x7fc0)bf16
  %u[] = 18446744073709551615u64
  %i[] = -128i8
}
)");
}

TEST(LoopText, Expressions) {
  expect_round_trip(R"(kernel e(%x: f32[n], %y: f32[n] out, %b: bool[n] out, %i: i32[n] out) {
  for i in n {
    %y[i] = (%x[i] + 1f32) * (%x[i] - (%x[i] - 2f32)) / %x[0]
    %y[i] = select(%x[i] < 0f32, neg(%x[i]), fma(%x[i], %x[i], 1f32))
    %b[i] = %x[i] < 0f32 && (%x[i] != 1f32 || is_nan(%x[i]))
    %i[i] = cast.i32(%x[i]) + bitcast.i32(%x[i])
  }
}
)");
}

TEST(LoopText, SharedSubexpressionsAreNamed) {
  expect_round_trip(R"(kernel l(%x: f32[n], %y: f32[n] out) {
  for i in n {
    let t0 = exp(%x[i])
    let t1 = t0 * t0 + 1f32
    %y[i] = t1 * t1
    let t0 = exp(%x[i])
    if t0 < t0 * 2f32 {
      %y[i] = 1f32
    } else {
      let t0 = exp(%x[i])
      if t0 < t0 * 3f32 {
        %y[i] = 2f32
      }
    }
  }
}
)");
}

// 2^60 paths from the root to the leaf, 60 nodes.
TEST(LoopText, SharingDoesNotExplode) {
  expr::Context ctx;
  Dim n = ctx.symbol({.name = "n"});
  BufferId x = ctx.fresh_tensor(), y = ctx.fresh_tensor();
  Scalar s = expr::make_load(ctx, x, DType::F32, {ctx.constant(0)});
  for (int k = 0; k < 60; ++k) s = expr::make_binary(expr::BinaryOp::Atan2, s, s);
  Function f{.name = "deep", .params = {{x, "x", DType::F32, {n}}, {y, "y", DType::F32, {n}}}};
  f.params[1].is_output = true;
  f.body = make_store(y, {ctx.constant(0)}, s);
  std::string text = print(f, ctx);
  EXPECT_LT(text.size(), 5000u);
  EXPECT_EQ(print(parsed(text, ctx), ctx), text);
}

TEST(LoopText, EqualBufferNamesAreToldApart) {
  expr::Context ctx;
  BufferId x = ctx.fresh_tensor(), y = ctx.fresh_tensor();
  Function f{.name = "f", .params = {{x, "x", DType::F32, {}}, {y, "x", DType::F32, {}}}};
  f.params[1].is_output = true;
  f.body = make_store(y, {}, expr::make_load(ctx, x, DType::F32, {}));
  EXPECT_EQ(print(f, ctx), "kernel f(%x: f32[], %x.1: f32[] out) {\n  %x.1[] = %x[]\n}\n");
}

TEST(LoopText, ErrorsNameTheLine) {
  expr::Context ctx;
  auto text = [&](const std::string& s) {
    auto f = parse(s, ctx);
    return f.ok() ? "" : f.error().text();
  };
  EXPECT_EQ(text("kernel f() {\n  %a[] = 1f32\n}"), "line 2: error: expected a buffer in scope at `a` [loop-syntax]");
  EXPECT_EQ(text("kernel f(%a: f32[] out) {\n  %a[] = 1f64\n}"),
            "line 3: error: a store to a buffer of f32 has a value of f64 at `}` [loop-syntax]");
  EXPECT_EQ(text("kernel f() {"), "line 1: error: expected a statement at the end [loop-syntax]");
  EXPECT_EQ(text("kernel f(%a: u8[] out) { %a[] = 256u8 }"),
            "line 1: error: the literal does not fit its dtype at `256` [loop-syntax]");
  EXPECT_NE(text("kernel f(%a: f32[] out) { %a[] = " + std::string(100000, '(')), "");
  EXPECT_NE(text(std::string("kernel f() { ") + "`"), "");
}

}  // namespace
}  // namespace pliant::loop
