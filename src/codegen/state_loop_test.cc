// Loops over state: While and Let, compiled.
#include <atomic>
#include <chrono>
#include <thread>

#include "codegen/kernel_harness_test.h"

namespace pliant::codegen {
namespace {

TEST(StateLoop, RunsWhileItsConditionAndLimitHold) {
  Kernel k(R"(kernel collatz(%x: i64[1] out, %count: i64[1] out, %before: i64[1] out) {
    local %go: bool[] {
      %count[0] = 0i64
      %x[0] = max(%x[0], 1i64)
      %go[] = %x[0] != 1i64
      while i in limit when %go[] {
        bind k = value(%x[0]) {
          %x[0] = select(index(mod(k, 2)) == 0i64, %x[0] / 2i64, %x[0] * 3i64 + 1i64)
          %before[0] = index(k)
        }
        %go[] = %x[0] != 1i64
        %count[0] = index(i + 1)
      }
    } })");
  for (int64_t limit : {-3, 0, 1, 5, 1000}) k.expect_same({{"limit", limit}}, 0, {.low = 1, .high = 100});
}

TEST(StateLoop, ReadsAnewWhatItsBodyWrites) {
  // Loads in conditions, limits, values and Lets of inner loops all see the latest state.
  Kernel k(R"(kernel nested(%x: i64[n] out, %sum: i64[1] out) {
    %sum[0] = 0i64
    while i in n {
      while j in mod(value(%x[i]), 7) when %sum[0] < 400i64 {
        bind a = value(%sum[0]) {
          %sum[0] = %sum[0] + %x[mod(a, n)]
          %x[mod(a + j, n)] = abs(%sum[0]) - index(a)
        }
      }
      for p in mod(value(%x[0]), 3) { %x[i] = %x[i] + %sum[0] * index(p) }
    } })");
  for (int64_t n : {1, 2, 9, 30}) k.expect_same({{"n", n}}, 0, {.low = 0, .high = 9});
}

TEST(StateLoop, StopsSoonAfterTheFlagIsSet) {
  Kernel k("kernel forever(%x: f32[1] out) { while i { while j in 10 { %x[0] = %x[0] * 0.5f32 } } }", {0, 3});
  for (const Variant& v : k.variants) {
    std::atomic<int32_t> stop{0};
    float x = 1;
    void* buffer = &x;
    int64_t traps[8] = {};
    artifact::KernelFrame frame{&buffer, nullptr, nullptr, traps, reinterpret_cast<const int32_t*>(&stop)};
    std::thread setter([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      stop = 1;
    });
    EXPECT_EQ(v.run(&frame, 0, 1), artifact::kKernelStopped) << v.name;
    setter.join();
  }
}

TEST(StateLoop, SmallStateStaysInRegisters) {
  // The loop's block reads the flag and nothing else, and writes nothing.
  const std::string text = R"(kernel scale(%x: f32[16], %y: f32[16] out) {
    local %a: f32[16] { local %b: f32[16] { local %go: bool[1] { local %n: i64[1] {
      for vector v in 16 { %a[v] = %x[v] }
      %go[0] = true
      %n[0] = 0i64
      while i in n when %go[0] {
        for vector v in 16 { %b[v] = %a[v] * 0.5f32 + 1f32 }
        %go[0] = %n[0] < 1000i64
        %n[0] = %n[0] + 2i64
        for vector v in 16 { %a[v] = %b[v] }
      }
      for vector v in 16 { %y[v] = %a[v] }
    } } } } })";
  int blocks = 0;
  std::string block;
  for (const std::string& line : assembly_of(text, "x86-64-v4")) {
    if (!line.empty() && line[0] == '.') {
      if (block.find("vmulps") != std::string::npos) {
        ++blocks;
        EXPECT_EQ(block.find("vmovups"), std::string::npos) << block;
        EXPECT_EQ(block.find("%rsp"), std::string::npos) << block;
      }
      block.clear();
    }
    block += line + "\n";
  }
  EXPECT_EQ(blocks, 1);
}

}  // namespace
}  // namespace pliant::codegen
