#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cmath>

#include "loop/loop.h"

namespace pliant::loop {
namespace {

class Kernel {
 public:
  explicit Kernel(const std::string& text) {
    auto f = parse(text, ctx_);
    if (!f.ok()) throw std::runtime_error(f.error().text());
    f_ = f.take();
    auto s = verify(f_, ctx_);
    if (!s.ok()) throw std::runtime_error(s.error().text());
  }
  Status run(const std::vector<std::pair<std::string, int64_t>>& symbols, std::vector<void*> buffers) {
    std::vector<std::pair<SymbolId, int64_t>> bound;
    for (auto& [name, v] : symbols) bound.emplace_back(*ctx_.find_symbol(name), v);
    return interpret(f_, ctx_, bound, buffers);
  }

 private:
  expr::Context ctx_;
  Function f_;
};

TEST(LoopInterpret, Matmul) {
  Kernel k(R"(kernel matmul(%a: f32[m, k], %b: f32[k, n], %c: f32[m, n] out) {
    for i in m { for j in n { %c[i, j] = 0f32 for p in k { %c[i, j] += %a[i, p] * %b[p, j] } } } })");
  std::vector<float> a{1, 2, 3, 4, 5, 6}, b{1, 0, 0, 1, 1, 1}, c(4, -1);
  ASSERT_TRUE(k.run({{"m", 2}, {"n", 2}, {"k", 3}}, {a.data(), b.data(), c.data()}).ok());
  EXPECT_EQ(c, (std::vector<float>{4, 5, 10, 11}));
  ASSERT_TRUE(k.run({{"m", 2}, {"n", 2}, {"k", 0}}, {a.data(), b.data(), c.data()}).ok());
  EXPECT_EQ(c, (std::vector<float>{0, 0, 0, 0}));
  ASSERT_TRUE(k.run({{"m", 0}, {"n", 2}, {"k", 3}}, {a.data(), b.data(), c.data()}).ok());
}

TEST(LoopInterpret, StateLoops) {
  // Collatz steps, with the count, the limit and the value that a Let read before the body wrote it.
  Kernel k(R"(kernel collatz(%x: i64[1] out, %count: i64[1] out, %before: i64[1] out) {
    %count[0] = 0i64
    while i in limit when %x[0] != 1i64 {
      bind k = value(%x[0]) {
        %x[0] = select(index(mod(k, 2)) == 0i64, %x[0] / 2i64, %x[0] * 3i64 + 1i64)
        %before[0] = index(k)
      }
      %count[0] = index(i + 1)
    } })");
  for (auto [start, limit, want, last] :
       {std::array<int64_t, 4>{6, 100, 8, 2}, {6, 3, 3, 10}, {1, 100, 0, -1}, {6, 0, 0, -1}, {6, -4, 0, -1}}) {
    int64_t x = start, count = -1, before = -1;
    ASSERT_TRUE(k.run({{"limit", limit}}, {&x, &count, &before}).ok());
    EXPECT_EQ(count, want);
    EXPECT_EQ(before, last);
  }
}

TEST(LoopInterpret, MillionsOfIterationsTakeAMoment) {
  Kernel k(R"(kernel matmul(%a: f32[m, k], %b: f32[k, n], %c: f32[m, n] out) {
    for i in m { for j in n { %c[i, j] = 0f32 for p in k { %c[i, j] += %a[i, p] * %b[p, j] } } } })");
  std::vector<float> a(10000, 1), b(10000, 2), c(10000);
  auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(k.run({{"m", 100}, {"n", 100}, {"k", 100}}, {a.data(), b.data(), c.data()}).ok());
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 5.0);
  EXPECT_EQ(c[4321], 200);
}

TEST(LoopInterpret, GuardedLoadsAreNotPerformed) {
  Kernel k(R"(kernel pad(%x: f32[n], %y: f32[n + 2] out) {
    for i in n + 2 {
      %y[i] = select(0i64 < index(i) && index(i) < index(n + 1), %x[i - 1] + 1f32, 0f32)
    } })");
  std::vector<float> x{1, 2}, y(4, -1);
  ASSERT_TRUE(k.run({{"n", 2}}, {x.data(), y.data()}).ok());
  EXPECT_EQ(y, (std::vector<float>{0, 2, 3, 0}));
}

TEST(LoopInterpret, OutOfBoundsIsOurBug) {
  Kernel k("kernel f(%x: f32[n + 1], %y: f32[n] out) { for i in n + 1 { %y[i] = %x[i] } }");
  std::vector<float> x{1, 2, 3}, y(2);
  try {
    (void)k.run({{"n", 2}}, {x.data(), y.data()});
    FAIL() << "not noticed";
  } catch (const InternalError& e) {
    EXPECT_NE(std::string(e.what()).find("%y[2] of shape [2]"), std::string::npos) << e.what();
  }
}

TEST(LoopInterpret, ChecksStopTheKernel) {
  Kernel k(R"(kernel f(%i: i32[n], %y: f32[n] out) {
    trap "index {0} is not below {1} or {0}"
    for q in n {
      check index(value(%i[q])) < index(n) trap 0 (value(%i[q]), n)
      %y[value(%i[q])] = 1f32
    } })");
  std::vector<int32_t> i{1, 7};
  std::vector<float> y(2);
  auto s = k.run({{"n", 2}}, {i.data(), y.data()});
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().diagnostics[0].id.name(), "run-time-check");
  EXPECT_EQ(s.error().diagnostics[0].message, "index 7 is not below 2 or 7");
  EXPECT_EQ(y, (std::vector<float>{0, 1}));
}

TEST(LoopInterpret, UpdatesAndScopes) {
  Kernel k(R"(kernel f(%x: f32[n], %y: f32[5] out, %b: bool[2] out) {
    local %t: f32[2, 3] strides [4, 1] {
      for i in 2 { for j in 3 { %t[i, j] = %x[i*3 + j] } }
      %y[0] = 0f32
      %y[1] = 1f32
      %y[2] = -inf.f32
      %y[3] = inf.f32
      %b[0] = true
      %b[1] = false
      for i in 2 { for j in 3 {
        %y[0] += %t[i, j]
        %y[1] *= %t[i, j]
        %y[2] max= %t[i, j]
        %y[3] min= %t[i, j]
        %b[0] and= %t[i, j] > 0f32
        %b[1] or= %t[i, j] > 5f32
      } }
    }
    scratch %u: f32[n] { %y[4] = %u[0] } })");
  std::vector<float> x{1, 2, 3, 4, 5, 6}, y(5);
  std::vector<uint8_t> b(2, 7);
  ASSERT_TRUE(k.run({{"n", 6}}, {x.data(), y.data(), b.data()}).ok());
  EXPECT_EQ(std::vector<float>(y.begin(), y.begin() + 4), (std::vector<float>{21, 720, 6, 1}));
  EXPECT_TRUE(std::isnan(y[4])) << "uninitialised memory is NaN";
  EXPECT_EQ(b, (std::vector<uint8_t>{1, 1}));
}

TEST(LoopInterpret, Arithmetic) {
  Kernel k(R"(kernel f(%h: f16[2], %g: bf16[1], %x: f32[2], %ho: f16[1] out, %go: bf16[1] out, %i: i32[6] out, %u: u8[2] out,
                      %m: f32[2] out) {
    %ho[0] = %h[0] + %h[1]
    %go[0] = %g[0] * %g[0]
    %i[0] = -7i32 / cast.i32(%x[0])
    %i[1] = mod(-7i32, cast.i32(%x[0]))
    %i[2] = rem(-7i32, cast.i32(%x[0]))
    %i[3] = 5i32 / (cast.i32(%x[0]) - cast.i32(%x[0]))
    %i[4] = cast.i32(%x[1])
    %i[5] = cast.i32(%x[0] * 1e+20f32)
    %u[0] = cast.u8(%x[0] * 1000f32)
    %u[1] = cast.u8(%x[0]) - 3u8
    %m[0] = max(%x[0], %x[1])
    %m[1] = min(%x[1], %x[0])
  })");
  // 2048 + 1 is not representable in f16: ties to even give 2048. 1.0078125^2 rounds to 1.015625 in bf16.
  std::vector<uint16_t> h{0x6800, 0x3c00}, g{0x3f81}, ho(1), go(1);
  std::vector<float> x{2, NAN}, m(2);
  std::vector<int32_t> i(6);
  std::vector<uint8_t> u(2);
  ASSERT_TRUE(k.run({}, {h.data(), g.data(), x.data(), ho.data(), go.data(), i.data(), u.data(), m.data()}).ok());
  EXPECT_EQ(ho[0], 0x6800);
  EXPECT_EQ(go[0], 0x3f82);
  EXPECT_EQ(i, (std::vector<int32_t>{-3, 1, -1, 0, 0, INT32_MAX}));
  EXPECT_EQ(u, (std::vector<uint8_t>{255, 255}));
  EXPECT_TRUE(std::isnan(m[0]) && std::isnan(m[1]));
}

}  // namespace
}  // namespace pliant::loop
