// Instructions of targets (target/instruction.h): as updates of vector loops and as Tensor loops.
#include <algorithm>

#include "codegen/kernel_harness_test.h"
#include "expr/scalar/packed.h"
#include "target/match.h"

namespace pliant::codegen {
namespace {

std::string dot4_term(const std::string& a, const std::string& b) {
  std::string out = "bit_and(" + a + ", 255i32) * cast.i32(cast.i8(" + b + "))";
  for (const char* by : {"8i32", "16i32", "24i32"})
    out += " + bit_and(shr(" + a + ", " + by + "), 255i32) * cast.i32(cast.i8(shr(" + b + ", " + by + ")))";
  return out;
}

// Four neighbouring bytes of %a from `first` on.
std::string word_of_bytes(const std::string& first) {
  return "bit_or(bit_or(bit_or(cast.i32(%a[" + first + "]), shl(cast.i32(%a[" + first + " + 1]), 8i32)), shl(cast.i32(%a[" +
         first + " + 2]), 16i32)), shl(cast.i32(%a[" + first + " + 3]), 24i32))";
}

std::string product_of(int rows, int lanes) {
  const std::string r = std::to_string(rows), l = std::to_string(lanes);
  return "kernel gemm(%a: u8[m*" + r + "*k*4], %b: i32[k*n*" + l + "], %c: i32[m*" + r + "*n*" + l + "] out) {" +
         " for parallel j in n { for parallel i in m { local %acc: i32[" + r + "*" + l + "] {" + " for unroll r in " + r +
         " { for vector v in " + l + " { %acc[r*" + l + " + v] = 0i32 } }" + " for p in k { for unroll r in " + r +
         " { for vector v in " + l + " { %acc[r*" + l +
         " + v] += " + dot4_term(word_of_bytes("(i*" + r + " + r)*k*4 + p*4"), "%b[(j*k + p)*" + l + " + v]") + " } } }" +
         " for unroll r in " + r + " { for vector v in " + l + " { %c[((i*" + r + " + r)*n + j)*" + l + " + v] = %acc[r*" +
         l + " + v] } } } } } }";
}

const TestData kAllBits{.low = INT32_MIN, .high = INT32_MAX, .scale = 1, .fill = {}};

TEST(LaneUpdates, AreRecognised) {
  expr::Context ctx;
  const expr::TensorId t = ctx.fresh_tensor();
  const expr::Dim i = ctx.symbol({.name = "i"});
  auto byte = [&](expr::Dim at) { return expr::make_load(ctx, t, DType::U8, {at}); };
  const expr::Scalar word = expr::pack4({byte(i), byte(i + 1), byte(i + 2), byte(i + 3)});
  const expr::Scalar w = expr::make_load(ctx, ctx.fresh_tensor(), DType::I32, {i});
  EXPECT_TRUE(expr::as_loaded_word(word) == byte(i));
  EXPECT_FALSE(expr::as_loaded_word(expr::pack4({byte(i), byte(i + 1), byte(i + 2), byte(i + 4)})));
  EXPECT_FALSE(expr::as_loaded_word(w));
  for (const char* name : {"dot2", "dot4"}) {
    SCOPED_TRACE(name);
    const target::Instruction& dot = *target::find_instruction(name);
    EXPECT_TRUE(target::has_lane_form(dot, DType::I32));
    EXPECT_FALSE(target::has_lane_form(dot, DType::F32));
    auto parts = target::as_lane_term(dot, target::lane_term(dot, word, w));
    ASSERT_TRUE(parts);
    EXPECT_TRUE(parts->first == word && parts->second == w);
    EXPECT_FALSE(target::as_lane_term(dot, word));
    EXPECT_FALSE(target::as_lane_term(dot, w * w + w));
  }
  EXPECT_FALSE(target::as_lane_term(*target::find_instruction("dot2"),
                                    target::lane_term(*target::find_instruction("dot4"), word, w)));
  const expr::Scalar x = expr::make_load(ctx, ctx.fresh_tensor(), DType::F32, {i});
  auto factors = target::as_lane_term(*target::find_instruction("fma_f32"), x * x);
  ASSERT_TRUE(factors);
  EXPECT_TRUE(factors->first == x && factors->second == x);
  EXPECT_FALSE(target::as_lane_term(*target::find_instruction("fma_f64"), x * x));
  EXPECT_FALSE(target::has_lane_form(*target::find_instruction("dot2_bf16"), DType::F32));
}

TEST(LaneUpdates, EveryWidthOfDot4AddsAllBits) {
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

TEST(LaneUpdates, MasksKeepLanes) {
  Kernel k(
      "kernel q(%x: i32[n], %a: u8[4], %y: i32[n] out) { for o in floordiv(n + 15, 16) { for vector v in 16 { if index(o*16 "
      "+ v) < index(n) { %y[o*16 + v] += " +
      dot4_term(word_of_bytes("0"), "%x[o*16 + v]") + " } } } }");
  for (int64_t n : {0, 1, 15, 16, 37}) k.expect_same({{"n", n}}, 0, kAllBits);
}

// How many lines of the kernel's assembly hold `wanted`, and how many one of `others`.
std::pair<int, int> count_lines(const std::string& text, const std::string& target, const std::string& wanted,
                                const std::vector<std::string>& others) {
  std::pair<int, int> out;
  for (const std::string& line : assembly_of(text, target)) {
    out.first += line.find(wanted) != std::string::npos;
    out.second +=
        std::any_of(others.begin(), others.end(), [&](const std::string& o) { return line.find(o) != std::string::npos; });
  }
  return out;
}

TEST(LaneUpdates, Dot4IsOneInstruction) {
  for (auto [target, rows, lanes] : {std::tuple{"x86-64-v4-vnni", 14, 32}, {"x86-64-v3-vnni", 6, 16}}) {
    SCOPED_TRACE(target);
    EXPECT_EQ(count_lines(product_of(rows, lanes), target, "vpdpbusd", {"vpmulld", "vpmadd", "movzb"}),
              (std::pair{2 * rows, 0}));
  }
}

// A tile of one row of `lanes` columns, as `tensorize` leaves it: words of `parts` neighbours along k.
std::string tensor_product(const std::string& instruction, int lanes, int parts, const std::string& a, const std::string& b,
                           const std::string& c, const std::string& body) {
  const std::string l = std::to_string(lanes), p = std::to_string(parts);
  return "kernel product(%a: " + a + "[m, k*" + p + "], %b: " + b + "[k, " + l + ", " + p + "], %c: " + c + "[m, " + l +
         "] out) { for parallel i in m { for o in k { for tensor " + instruction + " v in " + l + " { for e in " + p +
         " { " + body + " } } } } }";
}
const char* kDotBody = "%c[i, v] += cast.i32(%a[i, o*PARTS + e]) * cast.i32(%b[o, v, e])";
std::string dot_body(const std::string& parts) {
  std::string text = kDotBody;
  text.replace(text.find("PARTS"), 5, parts);
  return text;
}
const char* kBf16Body =
    "let x = cast.f32(%a[i, o*2 + 1 - e]) let y = cast.f32(%b[o, v, 1 - e]) let z = %c[i, v] "
    "let x1 = select(abs(x) < 1.1754944e-38f32, x * 0f32, x) let y1 = select(abs(y) < 1.1754944e-38f32, y * 0f32, y) "
    "let z1 = select(abs(z) < 1.1754944e-38f32, z * 0f32, z) let s = fma(x1, y1, z1) "
    "%c[i, v] = select(abs(s) < 1.1754944e-38f32, s * 0f32, s)";

// `target` with AVX512-BF16, which no named one has.
Target with_bf16(const std::string& name) {
  Target t = *find_target(name);
  t.name += "-bf16";
  t.features.emplace_back("avx512bf16");
  return t;
}

// A kernel of one Tensor loop, in scalars and by the instruction on every target that has it.
std::unique_ptr<Kernel> tensor_kernel(const std::string& text, const std::string& instruction, int64_t lanes) {
  auto k = std::make_unique<Kernel>(text, std::vector<int>{0});
  std::vector<Target> targets = all_targets();
  for (const char* name : {"x86-64-v4", "x86-64-v4-vnni"}) targets.push_back(with_bf16(name));
  for (const Target& t : targets)
    if (machine_runs(t) && target::form_of(*target::find_instruction(instruction), t, lanes)) k->add_variant(t, 3);
  return k;
}

TEST(TensorLoops, DotsOfIntegersAreExact) {
  for (int lanes : {4, 8, 16}) {
    SCOPED_TRACE(lanes);
    auto dot4 = tensor_kernel(tensor_product("dot4", lanes, 4, "u8", "i8", "i32", dot_body("4")), "dot4", lanes);
    auto dot2 = tensor_kernel(tensor_product("dot2", lanes, 2, "i16", "i16", "i32", dot_body("2")), "dot2", lanes);
    for (int64_t depth : {0, 1, 9}) {
      dot4->expect_same({{"m", 3}, {"k", depth}}, 0, kAllBits);
      dot2->expect_same({{"m", 3}, {"k", depth}}, 0, kAllBits);
    }
    dot4->expect_same({{"m", 0}, {"k", 1}}, 0, kAllBits);
  }
}

TEST(TensorLoops, SumsAreFused) {
  for (const std::string t : {"f32", "f64"})
    for (int lanes : {1, 3, 4, 8, 24}) {
      SCOPED_TRACE(t + " " + std::to_string(lanes));
      const std::string l = std::to_string(lanes), name = "fma_" + t;
      auto k = tensor_kernel("kernel f(%a: " + t + "[m], %b: " + t + "[m, " + l + "], %c: " + t + "[m, " + l +
                                 "] out) { for i in m { for tensor " + name + " v in " + l +
                                 " { %c[i, v] = fma(%a[i], %b[i, v], %c[i, v]) } } }",
                             name, lanes);
      for (int64_t m : {0, 1, 5}) k->expect_same({{"m", m}});
    }
}

// All kinds of bits: whole ranges, exponents near those of each other, products near the least normal number.
TestData bits_of_floats(int kind) {
  auto fill = [kind](const std::string& param, std::byte* data, int64_t n) {
    std::mt19937_64 rng(static_cast<uint64_t>(kind) * 31 + param[0]);
    for (int64_t i = 0; i < n; ++i) {
      uint64_t bits = rng();
      // Of bf16 and of f32 the exponent lies at bit 7 and at bit 23.
      const int low = param == "c" ? 23 : 7, least = kind == 1 ? 110 : param == "c" ? 0 : 40;
      if (kind > 0) bits = (bits & ~(uint64_t{0xff} << low)) | (static_cast<uint64_t>(least) + bits % 40) << low;
      std::memcpy(data + i * (param == "c" ? 4 : 2), &bits, param == "c" ? 4 : 2);
    }
  };
  return {.low = 0, .high = 0, .scale = 1, .fill = fill};
}

TEST(TensorLoops, ProductsOfBf16AreWhatTheDescriptionSays) {
  for (int lanes : {4, 8, 16}) {
    SCOPED_TRACE(lanes);
    auto k = tensor_kernel(tensor_product("dot2_bf16", lanes, 2, "bf16", "bf16", "f32", kBf16Body), "dot2_bf16", lanes);
    for (int kind : {0, 1, 2}) {
      SCOPED_TRACE(kind);
      k->expect_same({{"m", 40}, {"k", 1}}, 0, bits_of_floats(kind));
      k->expect_same({{"m", 5}, {"k", 7}}, 0, bits_of_floats(kind));
    }
  }
}

TEST(TensorLoops, AreOneInstruction) {
  EXPECT_EQ(count_lines(tensor_product("dot4", 16, 4, "u8", "i8", "i32", dot_body("4")), "x86-64-v4-vnni", "vpdpbusd",
                        {"vpmulld", "vpmadd", "movzb"}),
            (std::pair{1, 0}));
  EXPECT_EQ(count_lines(tensor_product("dot2", 8, 2, "i16", "i16", "i32", dot_body("2")), "x86-64-v3", "vpmaddwd",
                        {"vpmulld", "movsw"}),
            (std::pair{1, 0}));
}

TEST(TensorLoops, OfATargetWithoutThemAreRefused) {
  expr::Context ctx;
  const loop::Function f = loop::parse(tensor_product("dot4", 16, 4, "u8", "i8", "i32", dot_body("4")), ctx).take();
  Options options;
  EXPECT_THROW((void)compile({{&f, loop::free_symbols(f)}}, {}, ctx, *find_target("x86-64-v4"), options), InternalError);
}

}  // namespace
}  // namespace pliant::codegen
