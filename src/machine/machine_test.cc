#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "machine/caches.h"
#include "machine/cores.h"
#include "machine/cpu.h"

namespace pliant::machine {
namespace {

TEST(Cpu, AgreesWithTheCompiler) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  EXPECT_EQ(cpu_has("avx2"), __builtin_cpu_supports("avx2") ? CpuHas::Yes : CpuHas::No);
  EXPECT_EQ(cpu_has("fma"), __builtin_cpu_supports("fma") ? CpuHas::Yes : CpuHas::No);
  EXPECT_EQ(cpu_has("avx512f"), __builtin_cpu_supports("avx512f") ? CpuHas::Yes : CpuHas::No);
  EXPECT_EQ(cpu_has("avx512vl"), __builtin_cpu_supports("avx512vl") ? CpuHas::Yes : CpuHas::No);
  EXPECT_EQ(cpu_has("avx512bf16"), __builtin_cpu_supports("avx512bf16") ? CpuHas::Yes : CpuHas::No);
  EXPECT_EQ(cpu_has("sse2"), CpuHas::Yes);
#endif
  EXPECT_EQ(cpu_has("nothing"), CpuHas::Unknown);
  EXPECT_EQ(missing_features({"sse2", "nothing"}),
            cpu_has("sse2") == CpuHas::Yes ? "nothing (not known to this runtime)"
                                           : "sse2 (not known to this runtime), nothing (not known to this runtime)");
}

TEST(Cores, AtLeastOne) {
  EXPECT_GE(default_threads(), 1);
  EXPECT_GE(machine_cores(), 1);
}

class CacheFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("pliant_caches_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void cache(int cpu, int index, const std::string& level, const std::string& type, const std::string& size) {
    const auto at = folder_ / ("cpu" + std::to_string(cpu)) / "cache" / ("index" + std::to_string(index));
    std::filesystem::create_directories(at);
    std::ofstream(at / "level") << level << "\n";
    std::ofstream(at / "type") << type << "\n";
    std::ofstream(at / "size") << size << "\n";
  }
  std::filesystem::path folder_;
};

TEST_F(CacheFiles, TheSmallestOfEachLevelCounts) {
  cache(0, 0, "1", "Data", "48K");
  cache(0, 1, "1", "Instruction", "16K");
  cache(0, 2, "2", "Unified", "2M");
  cache(0, 3, "3", "Unified", "30720K");
  cache(2, 0, "1", "Data", "32K");  // processor 1 is off
  cache(2, 1, "2", "Unified", "4096K");
  cache(2, 2, "4", "Unified", "1G");
  const Caches c = caches_in(folder_.string(), 3);
  EXPECT_EQ(c.l1, 32 << 10);
  EXPECT_EQ(c.l2, 2 << 20);
  EXPECT_EQ(c.l3, 30 << 20);
  EXPECT_EQ(caches_in(folder_.string(), 1).l1, 48 << 10);
}

TEST_F(CacheFiles, WhatIsNoSizeDoesNotCount) {
  cache(0, 0, "1", "Data", "");
  cache(0, 1, "2", "Unified", "-4K");
  cache(0, 2, "3", "Unified", "many");
  cache(0, 3, "x", "Unified", "4K");
  const Caches c = caches_in(folder_.string(), 2);
  EXPECT_EQ(c.l1, 0);
  EXPECT_EQ(c.l2, 0);
  EXPECT_EQ(c.l3, 0);
}

TEST(MachineCaches, AreTheSameEachTime) {
  const Caches a = caches(), b = caches();
  EXPECT_EQ(a.l1, b.l1);
  EXPECT_EQ(a.l2, b.l2);
  EXPECT_EQ(a.l3, b.l3);
  if (a.l1 != 0 && a.l2 != 0) EXPECT_LE(a.l1, a.l2);
}

}  // namespace
}  // namespace pliant::machine
