#include "runtime/memory/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace pliant::runtime {
namespace {

void expect_sound(const std::vector<Interval>& v, uint64_t end) {
  for (size_t i = 0; i < v.size(); ++i) {
    EXPECT_TRUE(v[i].placed);
    EXPECT_LE(v[i].offset + v[i].bytes, end);
    for (size_t j = 0; j < i; ++j) {
      if (v[j].last < v[i].first || v[i].last < v[j].first || v[i].bytes == 0 || v[j].bytes == 0) continue;
      EXPECT_TRUE(v[i].offset + v[i].bytes <= v[j].offset || v[j].offset + v[j].bytes <= v[i].offset)
          << i << " overlaps " << j;
    }
  }
}

// The most bytes alive at one instruction: no plan can need less.
uint64_t bound(const std::vector<Interval>& v) {
  uint64_t most = 0;
  for (const Interval& at : v) {
    uint64_t alive = 0;
    for (const Interval& o : v)
      if (o.first <= at.first && at.first <= o.last) alive += o.bytes;
    most = std::max(most, alive);
  }
  return most;
}

TEST(planner, nothing_and_empty_buffers) {
  Planner planner;
  EXPECT_EQ(planner.place({}), 0u);
  std::vector<Interval> v = {{0, 0, 5}, {64, 0, 1}, {0, 1, 1}};
  EXPECT_EQ(planner.place(v), 64u);
  expect_sound(v, 64);
}

TEST(planner, a_chain_needs_two_places) {
  std::vector<Interval> v;
  for (uint32_t i = 0; i < 50; ++i) v.push_back({640, i, i + 1});
  Planner planner;
  const uint64_t end = planner.place(v);
  EXPECT_EQ(end, 1280u);
  expect_sound(v, end);
}

TEST(planner, fills_the_smallest_gap) {
  // Two gaps, of 128 and 64 bytes, below what is fixed.
  std::vector<Interval> v = {{64, 0, 9, 128, true}, {64, 0, 9, 256, true}, {64, 3, 4}};
  Planner planner;
  EXPECT_EQ(planner.place(v), 320u);
  EXPECT_EQ(v[2].offset, 192u);
}

TEST(planner, keeps_what_is_placed) {
  std::mt19937 random(5);
  Planner planner;
  std::vector<Interval> v;
  for (uint32_t i = 0; i < 40; ++i) {
    const uint32_t first = static_cast<uint32_t>(random() % 50);
    v.push_back({64 * (random() % 20), first, first + static_cast<uint32_t>(random() % 10)});
  }
  planner.place(v);
  const std::vector<Interval> before = v;
  for (uint32_t i = 0; i < 40; ++i) v.push_back({64 * (random() % 20), i, i + 5});
  const uint64_t end = planner.place(v);
  expect_sound(v, end);
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(v[i].offset, before[i].offset);
}

// Networks with branches and residuals: within 5 % of the bound on average, never far from it.
TEST(planner, comes_close_to_the_bound) {
  std::mt19937 random(9);
  double sum = 0;
  const int trials = 60;
  for (int t = 0; t < trials; ++t) {
    std::vector<Interval> v;
    const uint32_t n = 20 + static_cast<uint32_t>(random() % 150);
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t life =
          random() % 8 == 0 ? 1 + static_cast<uint32_t>(random() % 12) : 1 + static_cast<uint32_t>(random() % 2);
      v.push_back({64 * (1 + (uint64_t{1} << random() % 12)), i, i + life});
    }
    Planner planner;
    const uint64_t end = planner.place(v);
    expect_sound(v, end);
    const double ratio = static_cast<double>(end) / static_cast<double>(bound(v));
    EXPECT_LE(ratio, 1.25);
    sum += ratio;
  }
  EXPECT_LE(sum / trials, 1.05);
}

}  // namespace
}  // namespace pliant::runtime
