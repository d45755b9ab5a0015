// What surrounds the arithmetic: grids of tasks, scratch, checks, shape functions, sharing, determinism.

#include "codegen/kernel_harness_test.h"

namespace pliant::codegen {
namespace {

TEST(KernelCode, GridOfSeveralLoops) {
  Kernel k(R"(kernel g(%y: i64[a, b, c] out) {
    for parallel i in a { for parallel j in b { for parallel k in c { %y[i, j, k] = index(i*10000 + j*100 + k) } } } })");
  EXPECT_EQ(loop::task_count(k.function, k.ctx).str(), "a*b*c");
  for (int64_t a : {0, 1, 4}) {
    for (int64_t b : {0, 1, 5}) k.expect_same({{"a", a}, {"b", b}, {"c", 3}});
  }
}

TEST(KernelCode, NoGridIsOneTask) {
  Kernel k("kernel g(%y: i32[n] out) { for i in n { %y[i] += 1i32 } }");
  EXPECT_TRUE(loop::task_count(k.function, k.ctx).is_const(1));
  k.expect_same({{"n", 10}});
}

TEST(KernelCode, ScratchOfSymbolicSize) {
  Kernel k(R"(kernel s(%x: f32[m, n], %y: f32[n, m] out) {
    scratch %t: f32[n, m] { scratch %u: u8[m] {
      for i in m { for j in n { %t[j, i] = %x[i, j] * 2f32 } %u[i] = 3u8 }
      for j in n { for i in m { %y[j, i] = %t[j, i] + cast.f32(%u[i]) } }
    } } })");
  for (int64_t n : {0, 1, 7}) k.expect_same({{"m", 5}, {"n", n}});
  k.bind({{"m", 5}, {"n", 7}});
  EXPECT_EQ(k.evaluate(scratch_layout(k.function, k.ctx).bytes), 192 + 64);
}

TEST(KernelCode, ChecksReportFaultAndValues) {
  Kernel k(R"(kernel c(%i: i64[n], %x: f32[m], %y: f32[n] out) {
    trap "unused"
    trap "index {0} at {1} is not below {2}"
    for o in floordiv(n + 7, 8) { for vector v in 8 { if index(o*8 + v) < index(n) {
      check %i[o*8 + v] < index(m) && 0i64 <= %i[o*8 + v] trap 1 (value(%i[o*8 + v]), o*8 + v, m)
      %y[o*8 + v] = %x[value(%i[o*8 + v])]
    } } } })");
  TestData data;
  data.low = 0;
  data.high = 4;
  k.expect_same({{"n", 30}, {"m", 5}}, 0, data);
  k.expect_same({{"n", 0}, {"m", 5}}, 0, data);
  k.bind({{"n", 30}, {"m", 5}});
  for (const Variant& v : k.variants) {
    SCOPED_TRACE(v.name);
    std::vector<std::unique_ptr<GuardedBytes>> buffers;
    for (size_t bytes : {240u, 20u, 120u}) buffers.push_back(std::make_unique<GuardedBytes>(bytes));
    std::memset(buffers[0]->data(), 0, 240);
    const int64_t bad = 77;
    std::memcpy(buffers[0]->data() + 8 * 21, &bad, 8);
    std::memcpy(buffers[0]->data() + 8 * 22, &bad, 8);
    EXPECT_EQ(k.run(v, buffers), 2u);
    EXPECT_EQ(k.trap_values[0], 77);
    EXPECT_EQ(k.trap_values[1], 21);
    EXPECT_EQ(k.trap_values[2], 5);
  }
}

// What tables say may contradict what was proved when the code was made: a divisor that can only be positive is 0.
TEST(KernelCode, DivisionsNeverTrap) {
  expr::Context ctx;
  const expr::Dim m = ctx.symbol({.name = "m", .lo = 1}), n = ctx.symbol({.name = "n", .lo = 1});
  ShapeFunction shape{"f", {}, {{0, 0}, {1, 1}}};
  shape.assignments = {{2, expr::floordiv(n * 5 - 7, m)}, {3, expr::mod(n * 5 - 7, m)}, {4, expr::floordiv(n, m + n)}};
  const loop::Function kernel = loop::parse(R"(kernel k(%y: i64[9] out) {
    for parallel t in n { for parallel u in m {
      for vector v in 8 { %y[v] = index(floordiv(n*8 + v, m) + mod(v + u - n, m*n) + floordiv(v, m)) }
      %y[8] = index(floordiv(t + u, m*n) + mod(u, m) + mod(t - n, n)) } } })",
                                            ctx)
                                    .take();
  const std::vector<expr::SymbolId> ints = loop::free_symbols(kernel);
  ASSERT_EQ(ints.size(), 2u);
  for (int level = 0; level <= 3; ++level) {
    Options options;
    options.opt_level = level;
    auto out = compile({{&kernel, ints}}, {shape}, ctx, native_target(), options);
    ASSERT_TRUE(out.ok());
    MappedImage image(out.value().image);
    for (int64_t divisor : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
      for (int64_t other : {int64_t{0}, int64_t{1}, INT64_MIN}) {
        int64_t slots[] = {divisor, other, -1, -1, -1};
        image.shape(out.value().shape_offsets[0])(slots);
        int64_t y[9] = {}, traps[8];
        void* buffers[] = {y};
        const int64_t values[] = {divisor, other}, swapped[] = {other, divisor};
        for (const int64_t* v : {values, swapped}) {
          const artifact::KernelFrame frame{buffers, v, nullptr, traps, nullptr, 0};
          EXPECT_EQ(image.kernel(out.value().kernel_offsets[0])(&frame, 0, 3), 0u);
        }
      }
    }
  }
}

TEST(KernelCode, StridedBuffersAndPrefixSums) {
  Kernel k(R"(kernel p(%x: f32[m, n] strides [n + 3, 1], %y: f32[m, n] strides [1, m] out) {
    for parallel i in m {
      local %run: f32[1] {
        %run[0] = 0f32
        for j in n { %run[0] += %x[i, j] %y[i, j] = %run[0] }
      }
    } })");
  k.expect_same({{"m", 4}, {"n", 9}});
  k.expect_same({{"m", 1}, {"n", 1}});
}

struct Compilation {
  expr::Context ctx;
  std::vector<loop::Function> functions;
  Result<Compiled> run(const std::vector<std::string>& texts, int threads, const Target& target = native_target()) {
    for (const std::string& t : texts) functions.push_back(loop::parse(t, ctx).take());
    std::vector<KernelSource> sources;
    for (const loop::Function& f : functions) sources.push_back({&f, loop::free_symbols(f)});
    Options options;
    options.threads = threads;
    return compile(sources, {}, ctx, target, options);
  }
};

std::vector<std::string> several_kernels() {
  std::vector<std::string> texts;
  for (int i = 1; i < 14; ++i) {
    const std::string k = std::to_string(i);
    texts.push_back("kernel k" + k +
                    "(%x: f32[n], %y: f32[n] out) { for o in floordiv(n + 15, 16) { for vector v in 16 { if index(o*16 + v) "
                    "< index(n) { %y[o*16 + v] = exp(%x[o*16 + v] * " +
                    k + "f32) + pow(%x[o*16 + v], 1.5f32) } } } }");
  }
  return texts;
}

TEST(KernelCode, SameBytesAtAnyThreadCount) {
  const auto first = Compilation().run(several_kernels(), 1);
  const auto second = Compilation().run(several_kernels(), 4);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first.value().image.text, second.value().image.text);
  EXPECT_EQ(first.value().image.rodata, second.value().image.rodata);
  EXPECT_EQ(first.value().image.data, second.value().image.data);
  EXPECT_EQ(first.value().kernel_offsets, second.value().kernel_offsets);
}

TEST(KernelCode, EqualKernelsAreShared) {
  Compilation c;
  auto out = c.run({"kernel a(%x: f32[n], %y: f32[n] out) { for i in n { %y[i] = %x[i] * 2f32 } }",
                    "kernel b(%in: f32[q], %out: f32[q] out) { for t in q { %out[t] = %in[t] * 2f32 } }",
                    "kernel c(%in: f32[q], %out: f32[q] out) { for t in q { %out[t] = %in[t] * 3f32 } }"},
                   1);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out.value().kernel_offsets[0], out.value().kernel_offsets[1]);
  EXPECT_NE(out.value().kernel_offsets[0], out.value().kernel_offsets[2]);
}

TEST(KernelCode, ImportsGoThroughSlots) {
  Compilation c;
  auto out = c.run(
      {"kernel a(%x: f64[n], %y: f64[n] out) { for i in n { %y[i] = erf(%x[i]) + tan(%x[i]) + erf(%x[i] * 2f64) } }"}, 1);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out.value().image.imports, (std::vector<std::string>{"erf", "tan"}));
  ASSERT_EQ(out.value().image.relocations.size(), 2u);
  for (const auto& r : out.value().image.relocations) EXPECT_EQ(r.kind, artifact::Relocation::Kind::Import);
}

TEST(KernelCode, TargetsOfOtherMachinesCompileToo) {
  for (const Target& t : all_targets()) {
    auto out = Compilation().run(several_kernels(), 1, t);
    ASSERT_TRUE(out.ok());
    EXPECT_EQ(out.value().image.target, t.name);
    EXPECT_EQ(out.value().image.features, t.features);
  }
}

TEST(ShapeCode, FillsSlotsInOrder) {
  expr::Context ctx;
  const expr::Dim n = ctx.symbol({.name = "n"}), m = ctx.symbol({.name = "m"}), k = ctx.symbol({.name = "k"});
  ShapeFunction f{"f", {}, {}};
  f.symbol_slots = {{0, 0}, {1, 1}, {2, 4}};
  f.assignments = {{2, n * 2 + m},
                   {3, expr::floordiv(n - 7, 3)},
                   {4, expr::mod(n - 7, 3)},
                   {5, k * 10 + 1},
                   {6, expr::max(n, m) - expr::min(n, m)},
                   {7, expr::broadcast(n, m)},
                   {8, ctx.constant(-5)},
                   {9, n * m * n}};
  for (int level = 0; level <= 3; ++level) {
    Options options;
    options.opt_level = level;
    auto out = compile({}, {f, f}, ctx, native_target(), options);
    ASSERT_TRUE(out.ok());
    MappedImage image(out.value().image);
    std::vector<int64_t> slots(10, -1);
    slots[0] = 5;
    slots[1] = 1;
    image.shape(out.value().shape_offsets[1])(slots.data());
    EXPECT_EQ(slots, (std::vector<int64_t>{5, 1, 11, -1, 1, 11, 4, 5, -5, 25}));
  }
}

TEST(ShapeCode, SizesThatOverflowAreTheLargest) {
  expr::Context ctx;
  const expr::Dim n = ctx.symbol({.name = "n"}), m = ctx.symbol({.name = "m"});
  ShapeFunction f{"f", {}, {{0, 0}, {1, 1}}};
  f.assignments = {{2, n * m, true}, {3, n * m * 4, true}, {4, expr::min(n * n, ctx.constant(3)), true},
                   {5, n - m, true}, {6, m + 1, true},     {7, n * m + 1, true}};
  constexpr int64_t kMost = INT64_MAX, kHalf = int64_t{1} << 31;
  const std::vector<std::vector<int64_t>> wanted = {
      {5, 1, 5, 20, 3, 4, 2, 6},
      {0, kMost, 0, 0, 0, -kMost, kMost, 1},
      {kHalf, kHalf, kHalf * kHalf, kMost, 3, 0, kHalf + 1, kHalf * kHalf + 1},
      {-kHalf * 4, kHalf * 2, kMost, kMost, kMost, -kHalf * 6, kHalf * 2 + 1, kMost},
      {-2, kMost, kMost, kMost, 3, kMost, kMost, kMost},
  };
  for (int level = 0; level <= 3; ++level) {
    Options options;
    options.opt_level = level;
    auto out = compile({}, {f}, ctx, native_target(), options);
    ASSERT_TRUE(out.ok());
    MappedImage image(out.value().image);
    for (const std::vector<int64_t>& want : wanted) {
      std::vector<int64_t> slots(8, -1);
      std::copy(want.begin(), want.begin() + 2, slots.begin());
      image.shape(out.value().shape_offsets[0])(slots.data());
      EXPECT_EQ(slots, want);
    }
  }
}

TEST(MatrixMultiply, TilesAreRightAtOddSizes) {
  auto text = [](int rows, int lanes) {
    const std::string r = std::to_string(rows), l = std::to_string(lanes), less = std::to_string(lanes - 1);
    return "kernel gemm(%a: f32[m*" + r + ", k], %b: f32[floordiv(n + " + less + ", " + l + "), k, " + l +
           "], %bias: f32[n], %c: f32[m*" + r + ", n] out) {" + " for parallel j in floordiv(n + " + less + ", " + l +
           ") { for parallel i in m { local %acc: f32[" + r + ", " + l + "] {" + " for unroll r in " + r +
           " { for vector v in " + l + " { %acc[r, v] = 0f32 } }" + " for p in k { for unroll r in " + r +
           " { for vector v in " + l + " { %acc[r, v] += %a[i*" + r + " + r, p] * %b[j, p, v] } } }" + " for unroll r in " +
           r + " { for vector v in " + l + " { if index(j*" + l + " + v) < index(n) {" + " %c[i*" + r + " + r, j*" + l +
           " + v] = max(%acc[r, v] + %bias[j*" + l + " + v], 0f32) } } } } } } }";
  };
  const std::pair<int, int> tiles[] = {{14, 32}, {6, 16}, {8, 48}, {4, 24}, {1, 64}};
  for (auto [rows, lanes] : tiles) {
    SCOPED_TRACE(rows);
    Kernel k(text(rows, lanes));
    for (int64_t n : {0, 1, 31, 32, 50}) {
      for (int64_t depth : {0, 1, 17}) k.expect_same({{"m", 2}, {"n", n}, {"k", depth}}, 1e-5);
    }
  }
}

TEST(MatrixMultiply, TheInnerLoopDoesNotSpill) {
  // Blocks of the assembly that multiply must not touch the stack.
  const std::string text = R"(kernel gemm(%a: f32[m*14, k], %b: f32[j, k, 32], %c: f32[m*14, j*32] out) {
    for parallel q in j { for parallel i in m { local %acc: f32[14, 32] {
      for unroll r in 14 { for vector v in 32 { %acc[r, v] = 0f32 } }
      for p in k { for unroll r in 14 { for vector v in 32 { %acc[r, v] += %a[i*14 + r, p] * %b[q, p, v] } } }
      for unroll r in 14 { for vector v in 32 { %c[i*14 + r, q*32 + v] = %acc[r, v] } }
    } } } })";
  int fused = 0, on_stack_there = 0, in_block = 0, stack_in_block = 0;
  auto close_block = [&] {
    if (in_block > 0) on_stack_there += stack_in_block;
    fused += in_block;
    in_block = stack_in_block = 0;
  };
  for (const std::string& line : assembly_of(text, "x86-64-v4")) {
    if (!line.empty() && line[0] == '.') close_block();
    if (line.find("vfmadd") != std::string::npos) ++in_block;
    if (line.find("%rsp") != std::string::npos) ++stack_in_block;
  }
  close_block();
  EXPECT_EQ(fused, 28);
  EXPECT_EQ(on_stack_there, 0);
}

}  // namespace
}  // namespace pliant::codegen
