#include "base/half.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pliant {
namespace {

TEST(Half, EveryValueSurvivesF32) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const uint16_t bits = static_cast<uint16_t>(h);
    const float wide = f16_to_f32(bits), wide_b = bf16_to_f32(bits);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(wide))));
    } else {
      ASSERT_EQ(f32_to_f16(wide), bits);
      ASSERT_EQ(f64_to_f16(wide), bits);
    }
    if (std::isnan(wide_b)) {
      EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(wide_b))));
    } else {
      ASSERT_EQ(f32_to_bf16(wide_b), bits);
      ASSERT_EQ(f64_to_bf16(wide_b), bits);
    }
  }
}

// Between each pair of neighbours: below the middle rounds down, above rounds up, the middle goes to the even one. The f64
// cases are a hair from the middle, where rounding through f32 would go wrong.
TEST(Half, RoundsToNearestEven) {
  for (uint32_t h = 0; h < 0x7bff; ++h) {
    const double low = f16_to_f32(static_cast<uint16_t>(h)), high = f16_to_f32(static_cast<uint16_t>(h + 1));
    const double middle = (low + high) / 2, hair = (high - low) * 0x1p-30;
    const uint16_t even = static_cast<uint16_t>(h % 2 == 0 ? h : h + 1);
    ASSERT_EQ(f32_to_f16(static_cast<float>(middle)), even);
    ASSERT_EQ(f64_to_f16(middle), even);
    ASSERT_EQ(f64_to_f16(middle - hair), h);
    ASSERT_EQ(f64_to_f16(middle + hair), h + 1);
    ASSERT_EQ(f64_to_f16(-middle - hair), (h + 1) | 0x8000u);
  }
  for (uint32_t h = 0x80; h < 0x7f7f; ++h) {
    const double low = bf16_to_f32(static_cast<uint16_t>(h)), high = bf16_to_f32(static_cast<uint16_t>(h + 1));
    const double middle = (low + high) / 2, hair = (high - low) * 0x1p-30;
    ASSERT_EQ(f64_to_bf16(middle), h % 2 == 0 ? h : h + 1);
    ASSERT_EQ(f64_to_bf16(middle - hair), h);
    ASSERT_EQ(f64_to_bf16(middle + hair), h + 1);
  }
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00u);
  EXPECT_EQ(f32_to_f16(65519.996f), 0x7bffu);
  EXPECT_EQ(f32_to_f16(INFINITY), 0x7c00u);
  EXPECT_EQ(f32_to_bf16(3.4e38f), 0x7f80u);
}

}  // namespace
}  // namespace pliant
