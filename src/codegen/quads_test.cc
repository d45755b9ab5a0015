// Sums of products of four bytes by four.
#include "codegen/kernel_harness.h"
#include "expr/quad.h"

namespace pliant::codegen {
namespace {

std::string quad_product(const std::string& a, const std::string& b) {
  std::string out = "bit_and(" + a + ", 255i32) * cast.i32(cast.i8(" + b + "))";
  for (const char* by : {"8i32", "16i32", "24i32"})
    out += " + bit_and(shr(" + a + ", " + by + "), 255i32) * cast.i32(cast.i8(shr(" + b + ", " + by + ")))";
  return out;
}

// Four neighbouring bytes of %a from `first` on.
std::string quad_of_bytes(const std::string& first) {
  return "bit_or(bit_or(bit_or(cast.i32(%a[" + first + "]), shl(cast.i32(%a[" + first + " + 1]), 8i32)), shl(cast.i32(%a[" +
         first + " + 2]), 16i32)), shl(cast.i32(%a[" + first + " + 3]), 24i32))";
}

std::string product_of(int rows, int lanes) {
  const std::string r = std::to_string(rows), l = std::to_string(lanes);
  return "kernel gemm(%a: u8[m*" + r + "*k*4], %b: i32[k*n*" + l + "], %c: i32[m*" + r + "*n*" + l + "] out) {" +
         " for parallel j in n { for parallel i in m { local %acc: i32[" + r + "*" + l + "] {" + " for unroll r in " + r +
         " { for vector v in " + l + " { %acc[r*" + l + " + v] = 0i32 } }" + " for p in k { for unroll r in " + r +
         " { for vector v in " + l + " { %acc[r*" + l +
         " + v] += " + quad_product(quad_of_bytes("(i*" + r + " + r)*k*4 + p*4"), "%b[(j*k + p)*" + l + " + v]") + " } } }" +
         " for unroll r in " + r + " { for vector v in " + l + " { %c[((i*" + r + " + r)*n + j)*" + l + " + v] = %acc[r*" +
         l + " + v] } } } } } }";
}

const TestData kAllBits{.low = INT32_MIN, .high = INT32_MAX, .scale = 1, .fill = {}};

TEST(Quads, AreRecognised) {
  expr::Context ctx;
  const expr::TensorId t = ctx.fresh_tensor();
  const expr::Dim i = ctx.symbol({.name = "i"});
  auto byte = [&](expr::Dim at) { return expr::make_load(ctx, t, DType::U8, {at}); };
  const expr::Scalar quad = expr::make_quad({byte(i), byte(i + 1), byte(i + 2), byte(i + 3)});
  const expr::Scalar w = expr::make_load(ctx, ctx.fresh_tensor(), DType::I32, {i});
  EXPECT_TRUE(expr::as_loaded_quad(quad) == byte(i));
  EXPECT_FALSE(expr::as_loaded_quad(expr::make_quad({byte(i), byte(i + 1), byte(i + 2), byte(i + 4)})));
  EXPECT_FALSE(expr::as_loaded_quad(w));
  auto parts = expr::as_quad_product(expr::quad_product(quad, w));
  ASSERT_TRUE(parts);
  EXPECT_TRUE(parts->first == quad && parts->second == w);
  EXPECT_FALSE(expr::as_quad_product(quad));
  EXPECT_FALSE(expr::as_quad_product(w * w + w));
}

TEST(Quads, EveryWidthAddsAllBits) {
  // Vectors of 32 bytes, on this machine where it has the instruction for those of 64.
  Target narrow = *find_target("x86-64-v4-vnni");
  const bool runs = machine_runs(narrow);
  narrow.name += " in 32 bytes";
  narrow.vector_bytes = 32;
  for (auto [rows, lanes] : {std::pair{14, 32}, {6, 16}, {3, 8}, {2, 4}, {2, 6}, {1, 2}, {2, 24}}) {
    SCOPED_TRACE(lanes);
    Kernel k(product_of(rows, lanes), {0, 3});
    if (runs) k.add_variant(narrow, 3);
    for (int64_t depth : {0, 1, 17}) k.expect_same({{"m", 2}, {"n", 2}, {"k", depth}}, 0, kAllBits);
    k.expect_same({{"m", 0}, {"n", 1}, {"k", 1}}, 0, kAllBits);
  }
}

TEST(Quads, MasksKeepLanes) {
  Kernel k(
      "kernel q(%x: i32[n], %a: u8[4], %y: i32[n] out) { for o in floordiv(n + 15, 16) { for vector v in 16 { if index(o*16 "
      "+ v) < index(n) { %y[o*16 + v] += " +
      quad_product(quad_of_bytes("0"), "%x[o*16 + v]") + " } } } }");
  for (int64_t n : {0, 1, 15, 16, 37}) k.expect_same({{"n", n}}, 0, kAllBits);
}

TEST(Quads, AreOneInstruction) {
  for (auto [target, rows, lanes] : {std::tuple{"x86-64-v4-vnni", 14, 32}, {"x86-64-v3-vnni", 6, 16}}) {
    SCOPED_TRACE(target);
    int quads = 0, others = 0;
    for (const std::string& line : assembly_of(product_of(rows, lanes), target)) {
      if (line.find("vpdpbusd") != std::string::npos) ++quads;
      for (const char* other : {"vpmulld", "vpmadd", "movzb"})
        if (line.find(other) != std::string::npos) ++others;
    }
    EXPECT_EQ(quads, 2 * rows);
    EXPECT_EQ(others, 0);
  }
}

}  // namespace
}  // namespace pliant::codegen
