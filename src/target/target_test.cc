#include "target/target.h"

#include <gtest/gtest.h>

#include "machine/cpu.h"

namespace pliant::target {
namespace {

TEST(Targets, FeaturesAreKnownToTheLoader) {
  for (const Target& t : all_targets()) {
    EXPECT_EQ(find_target(t.name), &t);
    for (const std::string& f : t.features) EXPECT_NE(machine::cpu_has(f), machine::CpuHas::Unknown) << t.name << " " << f;
  }
  EXPECT_EQ(find_target("z80"), nullptr);
}

TEST(Targets, NativeIsARowWithTheFiguresOfTheMachine) {
  const Target& native = native_target();
  EXPECT_EQ(find_target("native"), &native);
  const Target* row = find_target(native.name);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(native.features, row->features);
  const Target again = with_figures(*row, machine::caches(), native.cores);
  EXPECT_EQ(describe(again), describe(native));
  for (const Target& t : all_targets())
    if (machine_runs(t)) EXPECT_GE(native.features.size(), t.features.size());
}

TEST(Targets, FiguresThatTheMachineDoesNotTellAreTheRows) {
  const Target& row = *find_target("x86-64-v3");
  EXPECT_EQ(describe(row), "x86-64-v3: 16 vectors of 32 bytes, L1 32 KiB, L2 512 KiB, L3 16 MiB, 4 cores");
  const Target known = with_figures(row, {.l1 = 48 << 10, .l2 = 0, .l3 = 1536 << 10}, 1);
  EXPECT_EQ(describe(known), "x86-64-v3: 16 vectors of 32 bytes, L1 48 KiB, L2 512 KiB, L3 1.5 MiB, 1 core");
}

}  // namespace
}  // namespace pliant::target
