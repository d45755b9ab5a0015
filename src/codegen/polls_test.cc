#include "codegen/polls.h"

#include "codegen/kernel_harness_test.h"
#include "loop/pass/pass.h"
#include "loop/walk.h"

namespace pliant::codegen {
namespace {

// The turns of a kernel's loops by the loops' names; the strides as text where `strides` is given.
std::map<std::string, int64_t> turns_of(const std::string& text, std::map<std::string, std::string>* strides = nullptr) {
  expr::Context ctx;
  Result<loop::Function> parsed = loop::parse(text, ctx);
  EXPECT_TRUE(parsed.ok()) << parsed.error().text();
  const loop::Function f = loop::run_passes(parsed.take(), ctx, {.most_lanes = 8});
  const Polls polls = place_polls(f, ctx);
  std::map<std::string, int64_t> out;
  loop::for_each(f.body, [&](const loop::Stmt& s) {
    if (!polls.loops.count(&s)) return;
    const Turn& turn = polls.loops.at(&s);
    out[ctx.info(s.var).name] = turn.iterations;
    if (strides && turn.stride) (*strides)[ctx.info(s.var).name] = turn.stride.str();
  });
  return out;
}

TEST(Polls, StandWhereLoopsMayBeLong) {
  // The innermost loop is long or short, as the run has it: it looks between its turns, the one around it after each row.
  const auto rows = turns_of(R"(kernel rows(%x: f32[m*n], %y: f32[m] out) {
    for parallel i in m { for j in n { for vector k in 8 { %y[i] += %x[i*n + j] } } } })");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows.at("i"), 1);
  EXPECT_GE(rows.at("j"), 1024);
  // Loops of known sizes are counted, whatever their kind, and a grid of small tasks looks between many of them.
  const auto small = turns_of(R"(kernel small(%x: f32[m*16], %y: f32[m*16] out) {
    for parallel p in m { for parallel i in m { for j in 4 { for unroll k in 4 { %y[i*16 + j*4 + k] = %x[j*4 + k] } } } } })");
  ASSERT_EQ(small.size(), 1u);
  EXPECT_GE(small.at("task"), 64);
  EXPECT_TRUE(turns_of("kernel few(%y: f32[100] out) { for i in 100 { for j in 50 { %y[i] += 1f32 } } }").empty());
  EXPECT_TRUE(turns_of("kernel bounded(%y: f32[n] out) { for i in min(n, 64) { %y[i] = 1f32 } }").empty());
  EXPECT_EQ(turns_of("kernel constant(%y: f32[1] out) { for i in 1000000000000 { %y[0] += 1f32 } }").size(), 1u);
}

TEST(Polls, StandBetweenNewPages) {
  // A huge page is half a turn, a small one its share of that; bytes that lie on one page are free.
  const auto pages = turns_of(R"(kernel pages(%y: f32[k*1048576] out) {
    for i in n { %y[i*1048576] = 1f32 } for j in n { %y[j*1024] = 1f32 } for l in n { %y[l*8] = 1f32 } })");
  EXPECT_EQ(pages.at("i"), 1);
  EXPECT_GE(pages.at("j"), 256);
  EXPECT_LE(pages.at("j"), 1024);
  EXPECT_GE(pages.at("l"), 1 << 14);
  // Loops of few iterations look too, when each of them meets a huge page; around a row, the row's own bytes count as well.
  EXPECT_EQ(turns_of("kernel few(%y: f32[64*1048576] out) { for i in 64 { %y[i*1048576] = 1f32 } }").size(), 1u);
  EXPECT_EQ(
      turns_of("kernel rows(%y: f32[64*1048576] out) { for i in 64 { for j in 8 { %y[i*1048576 + j] = 1f32 } } }").size(),
      1u);
  // Registers are no memory.
  EXPECT_TRUE(turns_of("kernel local(%y: f32[1] out) { local %r: f32[4096] { for i in 4 { %r[i*1024] = 1f32 } } }").empty());
  // Strides that the run knows, where the loop begins; not those of another lane or of a value inside the loop.
  std::map<std::string, std::string> strides;
  turns_of(R"(kernel open(%y: f32[m*n*8] out) {
    for i in n { for j in n { %y[j*m + i] = 1f32 } }
    for vector l in 8 { for o in n { %y[o*m + l] = 1f32 } for p in n { %y[p*l] = 1f32 } }
    for q in n { bind inner = q*q { %y[inner*q] = 1f32 } } })",
           &strides);
  EXPECT_EQ(strides.at("j"), "max(1, m*4)");
  EXPECT_EQ(strides.count("i"), 0u);
  EXPECT_EQ(strides.at("o"), "max(1, m*4)");
  EXPECT_EQ(strides.count("p"), 0u);
  EXPECT_EQ(strides.count("q"), 0u);
}

TEST(Polls, StandBetweenWritesToManyBuffers) {
  // Nine results, a vector of each in an iteration; the seventh twice.
  std::string params, body;
  for (int k = 0; k < 9; ++k) {
    const std::string y = "%y" + std::to_string(k);
    params += ", " + y + ": i32[n*8] out";
    for (int times = k == 6 ? 2 : 1; times-- > 0;)
      body += "for vector l in 8 { " + y + "[i*8 + l] = %x[i*8 + l] + " + std::to_string(k) + "i32 } ";
  }
  const std::string text = "kernel many(%x: i32[n*8]" + params + ") { for i in n { " + body + "} }";
  expr::Context ctx;
  const loop::Function f = loop::run_passes(loop::parse(text, ctx).take(), ctx, {.most_lanes = 8});
  EXPECT_EQ(place_polls(f, ctx).before.size(), 2u);
  Kernel k(text);
  for (int64_t n : {0, 1, 5, 40000}) k.expect_same({{"n", n}});
  // One buffer, whatever the places; lanes of one vector loop.
  for (const char* none : {"kernel one(%y: f32[n*8] out) { for i in n { %y[i] = 1f32 %y[i + n] = 1f32 %y[i + n*2] = 1f32 "
                           "%y[i + n*3] = 1f32 %y[i + n*4] = 1f32 %y[i + n*5] = 1f32 } }",
                           "kernel lanes(%a: f32[8] out, %b: f32[8] out, %c: f32[8] out, %d: f32[8] out, %e: f32[8] out) { "
                           "for vector l in 8 { %a[l] = 1f32 %b[l] = 1f32 %c[l] = 1f32 %d[l] = 1f32 %e[l] = 1f32 } }"}) {
    const loop::Function g = loop::run_passes(loop::parse(none, ctx).take(), ctx, {.most_lanes = 8});
    EXPECT_TRUE(place_polls(g, ctx).before.empty());
  }
}

// The turns of a loop whose stride the run knows, from bytes to beyond what a turn may meet.
TEST(Polls, WithStridesDoNotChangeWhatALoopDoes) {
  Kernel k("kernel columns(%x: i32[n], %y: i32[(n - 1)*m + 1] out) { for i in n { %y[i*m] = %x[i] } }");
  for (int64_t n : {1, 2, 1500})
    for (int64_t m : {1, 3, 1025}) k.expect_same({{"n", n}, {"m", m}});
  for (int64_t m : {1 << 18, 1 << 19, (1 << 20) + 1}) k.expect_same({{"n", 3}, {"m", m}});
}

// Run length on either side of a turn, inside and around vector loops.
TEST(Polls, DoNotChangeWhatALoopDoes) {
  Kernel k(R"(kernel sums(%x: i32[n], %y: i32[8] out, %z: i32[m] out) {
    for i in n { %y[0] += %x[i] }
    for vector l in 8 { for i in n { %y[l] += %x[i] + 1i32 } }
    for p in m { for i in n { %z[p] += %x[i] } }
  })");
  for (int64_t n : {0, 1, 7, 4095, 4096, 4097, 70000})
    for (int64_t m : {0, 1, 3}) k.expect_same({{"n", n}, {"m", m}});
}

TEST(Polls, EndKernelsThatWouldRunForYears) {
  const char* kernels[] = {
      "kernel sum(%y: f32[1] out) { for i in n { %y[0] += 1f32 } }",
      "kernel vector(%y: f32[16] out) { for i in n { for vector l in 16 { %y[l] += 1f32 } } }",
      "kernel inside(%y: f32[16] out) { for vector l in 16 { for i in n { %y[l] += 1f32 } } }",
      "kernel nested(%y: f32[1] out) { for i in n { for j in n { %y[0] += 1f32 } } }",
      "kernel short_rows(%y: f32[1] out) { for i in n { for j in mod(n, 3) { %y[0] += 1f32 } %y[0] = %y[0] * 0.5f32 } }",
      "kernel grid(%y: f32[1] out) { for parallel i in n { for parallel j in n { %y[0] = 1f32 } } }",
      "kernel short(%y: f32[1] out) { for parallel i in n { for parallel j in 4 { %y[0] = 1f32 } } }",
      "kernel tasks(%y: f32[1] out) { for parallel i in n { for j in n { %y[0] = 1f32 } } }",
      "kernel strided(%y: f32[1] out) { for i in n { if index(i) < 1i64 { %y[i*n] = 1f32 } } }",
      "kernel branch(%y: f32[1] out) { for i in n { if index(i) < 5i64 { %y[0] = 1f32 } else { for j in n { %y[0] += 2f32 } "
      "} } }",
  };
  for (const char* text : kernels) {
    Kernel k(text, {0, 3});
    for (const Variant& v : k.variants) {
      SCOPED_TRACE(std::string(text) + v.name);
      alignas(64) float y[16] = {};
      void* buffer = y;
      const int64_t n = (int64_t{1} << 40) + 1;
      const std::vector<int64_t> values(k.ints.size(), n);
      int64_t traps[8] = {};
      int32_t stop = 1;
      const artifact::KernelFrame frame{&buffer, values.data(), nullptr, traps, &stop};
      EXPECT_EQ(v.run(&frame, 0, n), artifact::kKernelStopped);
    }
  }
}

}  // namespace
}  // namespace pliant::codegen
