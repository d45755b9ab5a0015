#include "runtime/threads/turns.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "runtime/library/ranked.h"

namespace pliant::runtime {
namespace {

const StopFlag never(nullptr);

TEST(turns, cover_the_range_in_order) {
  for (int64_t count : {0, 1, 64, 65, 1000, 65536, 65537, 1000000})
    for (int64_t each : {1, 3, 100, 5000, 1 << 20}) {
      int64_t at = 0;
      EXPECT_EQ(never.in_turns(count, each,
                               [&](int64_t begin, int64_t end) {
                                 EXPECT_EQ(begin, at);
                                 EXPECT_TRUE(end > begin && (each > kOperationsOfOneTurn / 64 || begin % 64 == 0));
                                 EXPECT_TRUE(end - begin == 1 || (end - begin) * each <= kOperationsOfOneTurn);
                                 at = end;
                               }),
                PLIANT_OK);
      EXPECT_EQ(at, count);
    }
}

TEST(turns, end_with_the_run) {
  int32_t stop = 0;
  const StopFlag flag(&stop);
  int64_t parts = 0;
  EXPECT_EQ(flag.in_turns(INT64_MAX, 1, [&](int64_t, int64_t) { stop = ++parts == 5; }), PLIANT_CANCELLED);
  EXPECT_EQ(parts, 5);
  TurnCounter turns(flag);
  int64_t calls = 0;
  while (!turns.is_over(1)) ++calls;
  EXPECT_EQ(calls, kOperationsOfOneTurn);
  EXPECT_TRUE(turns.is_over(0));
}

TEST(turns, bytes_that_overlap) {
  const size_t n = 5 << 20;
  std::vector<std::byte> from(n);
  for (size_t i = 0; i < n; ++i) from[i] = static_cast<std::byte>(i * 2654435761u >> 20);
  for (size_t shift : {size_t{0}, size_t{1}, size_t{70001}, size_t{1} << 20, size_t{3} << 20})
    for (bool up : {false, true}) {
      std::vector<std::byte> got = from, want = from;
      const size_t to = up ? shift : 0, at = up ? 0 : shift;
      std::memmove(want.data() + to, want.data() + at, n - shift);
      EXPECT_EQ(copy_bytes(got.data() + to, got.data() + at, n - shift, never), PLIANT_OK);
      EXPECT_TRUE(got == want) << shift << ' ' << up;
    }
  int32_t stop = 1;
  EXPECT_EQ(copy_bytes(from.data(), from.data() + 7, n - 7, StopFlag(&stop)), PLIANT_CANCELLED);
}

TEST(turns, rows_that_are_apart) {
  for (uint64_t bytes : {1u, 16u, 5000u, 3u << 20}) {
    const uint64_t rows = 3, stride = bytes + 9;
    std::vector<std::byte> from(rows * bytes), to(rows * stride);
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 31 + 7);
    EXPECT_EQ(copy_rows(to.data(), stride, from.data(), bytes, rows, bytes, never), PLIANT_OK);
    for (uint64_t r = 0; r < rows; ++r) EXPECT_EQ(std::memcmp(to.data() + r * stride, from.data() + r * bytes, bytes), 0);
  }
}

// Longer than what is sorted at once, in orders that are hard on a choice of pivots.
std::vector<std::vector<WideRank>> hard_orders() {
  const int64_t n = 5 * kSortedAtOnce + 3;
  std::vector<std::vector<WideRank>> out(4);
  uint32_t seed = 1;
  for (int64_t i = 0; i < n; ++i) {
    seed = seed * 1664525u + 1013904223u;
    out[0].push_back(WideRank::of(i, i));
    out[1].push_back(WideRank::of(-i, i));
    out[2].push_back(WideRank::of(7, n - i));
    out[3].push_back(WideRank::of(static_cast<int64_t>(seed >> 22), i));
  }
  return out;
}

TEST(ranks, sorted_and_selected_as_the_standard_library_does) {
  for (const std::vector<WideRank>& ranks : hard_orders()) {
    std::vector<WideRank> want = ranks, got = ranks;
    std::sort(want.begin(), want.end());
    auto n = static_cast<int64_t>(ranks.size());
    ASSERT_EQ(sort_in_place(never, got.data(), n), PLIANT_OK);
    for (size_t i = 0; i < ranks.size(); ++i) ASSERT_TRUE(!(got[i] < want[i]) && !(want[i] < got[i])) << i;
    for (int64_t nth : {int64_t{0}, int64_t{1}, n / 3, n - 2, n - 1}) {
      got = ranks;
      ASSERT_EQ(select_nth(never, got.data(), nth, n), PLIANT_OK);
      const WideRank& at = want[static_cast<size_t>(nth)];
      for (int64_t i = 0; i < n; ++i) {
        const WideRank& r = got[static_cast<size_t>(i)];
        ASSERT_EQ(r < at, i < nth);
        ASSERT_EQ(at<r, i> nth);
      }
    }
  }
}

}  // namespace
}  // namespace pliant::runtime
