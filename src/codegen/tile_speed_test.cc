// The speed of register tiles against the peak of fused multiply-adds measured beside it. Not run by default, since the
// figure means nothing on a busy machine: codegen_test --gtest_also_run_disabled_tests --gtest_filter='*TileSpeed*'
#include <chrono>
#include <cstdio>

#include "codegen/kernel_harness_test.h"

namespace pliant::codegen {
namespace {

std::string tile_kernel(int rows, int lanes, bool from_memory) {
  const std::string r = std::to_string(rows), l = std::to_string(lanes);
  const std::string factors = from_memory ? "%a[i*" + r + " + r, p] * %b[j, p, v]" : "%one[v] * %two[v]";
  return "kernel gemm(%a: f32[m*" + r + ", k], %b: f32[n, k, " + l + "], %c: f32[m*" + r + ", n*" + l + "] out) {" +
         " for parallel j in n { for parallel i in m { local %acc: f32[" + r + ", " + l + "] { local %one: f32[" + l +
         "] { local %two: f32[" + l + "] {" + " for vector v in " + l + " { %one[v] = %b[0, 0, v] %two[v] = %b[0, 1, v] }" +
         " for unroll r in " + r + " { for vector v in " + l + " { %acc[r, v] = 0f32 } }" +
         " for p in k { for unroll r in " + r + " { for vector v in " + l + " { %acc[r, v] += " + factors + " } } }" +
         " for unroll r in " + r + " { for vector v in " + l + " { %c[i*" + r + " + r, j*" + l +
         " + v] = %acc[r, v] } } } } } } } }";
}

double gigaflops(const Target& target, int rows, int lanes, bool from_memory) {
  Kernel k(tile_kernel(rows, lanes, from_memory), {3});
  const int64_t m = 128 / rows, n = 768 / lanes, depth = 768;
  k.bind({{"m", m}, {"n", n}, {"k", depth}});
  std::vector<std::unique_ptr<GuardedBytes>> buffers;
  for (const loop::Buffer& b : k.function.params)
    buffers.push_back(std::make_unique<GuardedBytes>(static_cast<size_t>(4 * k.elements_of(b))));
  double best = 0;
  for (const Variant& v : k.variants) {
    if (v.name.rfind(target.name + " ", 0) != 0) continue;
    for (int repeat = 0; repeat < 100; ++repeat) {
      const auto start = std::chrono::steady_clock::now();
      k.run(v, buffers);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      best = std::max(best, 2e-9 * static_cast<double>(m * rows * n * lanes * depth) / seconds);
    }
  }
  return best;
}

TEST(TileSpeed, DISABLED_AgainstPeak) {
  struct Tile {
    const char* target;
    int rows, lanes;
  };
  for (const Tile& t :
       {Tile{"x86-64-v4", 14, 32}, {"x86-64-v4", 8, 48}, {"x86-64-v4", 6, 64}, {"x86-64-v3", 6, 16}, {"x86-64-v3", 4, 24}}) {
    const Target& target = *find_target(t.target);
    if (!machine_runs(target)) continue;
    const double peak = gigaflops(target, t.rows == 14 ? 12 : t.rows, t.rows == 14 ? 32 : t.lanes, false);
    const double speed = gigaflops(target, t.rows, t.lanes, true);
    std::printf("%s %dx%d: %.1f GFLOP/s, %.0f %% of the peak of %.1f\n", t.target, t.rows, t.lanes, speed,
                100 * speed / peak, peak);
    EXPECT_GE(speed, 0.9 * peak);
  }
}

}  // namespace
}  // namespace pliant::codegen
