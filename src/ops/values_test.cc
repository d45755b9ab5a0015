// Values of operators worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/evaluate/run_op.h"

namespace pliant::ops {
namespace {

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

te::Array one(Result<std::vector<te::Array>> r) {
  EXPECT_TRUE(r.ok()) << r.error().text();
  return r.ok() ? r.value()[0] : te::Array{};
}
void expect_close(const te::Array& a, const Floats& want, float tolerance = 1e-6f) {
  Floats got = values_of<float>(a);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << "element " << i;
}

TEST(Math, BroadcastsUnknownSizes) {
  for (bool symbolic : {false, true}) {
    te::Array y = one(run_op("math.add", {}, {f32({2, 1}, {1, 2}), f32({3}, {10, 20, 30})}, {.symbolic = symbolic}));
    EXPECT_EQ(y.shape, (Ints{2, 3}));
    EXPECT_EQ(values_of<float>(y), (Floats{11, 21, 31, 12, 22, 32}));
  }
}

TEST(Math, RefusesSizesThatDoNotBroadcast) {
  Result<std::vector<te::Array>> known = run_op("math.add", {}, {f32({2}, {1, 2}), f32({3}, {1, 2, 3})});
  ASSERT_FALSE(known.ok());
  EXPECT_EQ(known.error().diagnostics[0].id.name(), "shape-mismatch");
  Result<std::vector<te::Array>> late = run_op("math.add", {}, {f32({2}, {1, 2}), f32({3}, {1, 2, 3})}, {.symbolic = true});
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().diagnostics[0].id.name(), "run-time-check");
  EXPECT_NE(late.error().text().find("node \"node\" (onnx.Op)"), std::string::npos);
}

TEST(Math, IntegersWrapAndTruncate) {
  int32_t low = std::numeric_limits<int32_t>::min();
  EXPECT_EQ(values_of<int32_t>(one(run_op("math.div", {}, {i32({3}, {7, -7, low}), i32({3}, {2, 2, -1})}))),
            (std::vector<int32_t>{3, -3, low}));
  EXPECT_EQ(values_of<int32_t>(one(run_op("math.mod", {}, {i32({2}, {-7, 7}), i32({2}, {3, -3})}))),
            (std::vector<int32_t>{2, -2}));
  EXPECT_EQ(values_of<int32_t>(one(run_op("math.mod", Attrs{{"fmod", true}}, {i32({2}, {-7, 7}), i32({2}, {3, -3})}))),
            (std::vector<int32_t>{-1, 1}));
}

TEST(Math, IntegersDividedByZeroAreAFault) {
  for (const char* op : {"math.div", "math.mod"}) {
    Result<std::vector<te::Array>> r = run_op(op, {}, {i32({2}, {7, 5}), i32({2}, {2, 0})});
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.error().diagnostics[0].id.name(), "run-time-check");
    EXPECT_TRUE(run_op(op, {}, {i32({0}, {}), i32({1}, {0})}).ok()) << "of no result no quotient is asked for";
    EXPECT_TRUE(run_op(op, {}, {f32({1}, {7}), f32({1}, {0})}).ok());
  }
}

TEST(Math, NanWinsInMinAndMax) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  Floats y = values_of<float>(one(run_op("math.max", {}, {f32({2}, {nan, 1}), f32({2}, {1, nan})})));
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
}

TEST(Math, CastSaturates) {
  EXPECT_EQ(values_of<uint8_t>(one(run_op("math.cast", Attrs{{"to", DType::U8}}, {f32({4}, {-3, 2.9f, 300, 255})}))),
            (std::vector<uint8_t>{0, 2, 255, 255}));
}

TEST(Array, SliceFollowsPython) {
  auto slice = [](Ints starts, Ints ends, Ints steps, bool symbolic) {
    Attrs a{{"starts", starts}, {"ends", ends}, {"axes", Ints{0}}, {"steps", steps}};
    return values_of<int64_t>(one(run_op("array.slice", a, {i64({6}, {0, 1, 2, 3, 4, 5})}, {.symbolic = symbolic})));
  };
  int64_t far = std::numeric_limits<int64_t>::max(), low = std::numeric_limits<int64_t>::min();
  for (bool s : {false, true}) {
    EXPECT_EQ(slice({1}, {far}, {2}, s), (Ints{1, 3, 5}));
    EXPECT_EQ(slice({-2}, {far}, {1}, s), (Ints{4, 5}));
    EXPECT_EQ(slice({-1}, {low}, {-1}, s), (Ints{5, 4, 3, 2, 1, 0}));
    EXPECT_EQ(slice({4}, {0}, {-3}, s), (Ints{4, 1}));
    EXPECT_EQ(slice({0}, {-2}, {1}, s), (Ints{0, 1, 2, 3}));
    EXPECT_EQ(slice({-100}, {3}, {1}, s), (Ints{0, 1, 2}));
    EXPECT_EQ(slice({4}, {2}, {1}, s), Ints{});
    EXPECT_EQ(slice({100}, {-100}, {-2}, s), (Ints{5, 3, 1}));
  }
}

TEST(Array, PadModes) {
  auto pad = [](Ints pads, const char* mode) {
    return values_of<int64_t>(one(run_op("array.pad", Attrs{{"pads", pads}, {"mode", mode}}, {i64({3}, {1, 2, 3})})));
  };
  EXPECT_EQ(pad({2, 2}, "reflect"), (Ints{3, 2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(pad({3, 1}, "edge"), (Ints{1, 1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(pad({2, 2}, "wrap"), (Ints{2, 3, 1, 2, 3, 1, 2}));
  EXPECT_EQ(pad({-1, 2}, "constant"), (Ints{2, 3, 0, 0}));
}

TEST(Array, GatherChecksItsRange) {
  te::Array x = i64({3}, {10, 20, 30});
  EXPECT_EQ(values_of<int64_t>(one(run_op("array.gather", {}, {x, i64({2}, {-1, 0})}))), (Ints{30, 10}));
  Result<std::vector<te::Array>> bad = run_op("array.gather", {}, {x, i64({2}, {0, 3})});
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().diagnostics[0].message, "index 3 is out of range for axis 0 of size 3");
}

TEST(Array, ScatterAppliesInOrder) {
  te::Array x = i64({3}, {0, 0, 0}), i = i64({3}, {1, 1, -1}), u = i64({3}, {5, 7, 9});
  EXPECT_EQ(values_of<int64_t>(one(run_op("array.scatter_elements", {}, {x, i, u}))), (Ints{0, 7, 9}));
  EXPECT_EQ(values_of<int64_t>(one(run_op("array.scatter_elements", Attrs{{"reduction", "add"}}, {x, i, u}))),
            (Ints{0, 12, 9}));
}

TEST(Array, ResizeNearestTies) {
  // Positions of 4 from 2: half_pixel gives -0.25, 0.25, 0.75, 1.25; asymmetric 0, 0.5, 1, 1.5.
  auto resize = [](const char* nearest) {
    Attrs a{{"sizes", Ints{4}}, {"coordinate", "asymmetric"}, {"nearest", nearest}};
    return values_of<int64_t>(one(run_op("array.resize", a, {i64({2}, {1, 2})})));
  };
  EXPECT_EQ(resize("round_prefer_floor"), (Ints{1, 1, 2, 2}));
  EXPECT_EQ(resize("round_prefer_ceil"), (Ints{1, 2, 2, 2}));
  EXPECT_EQ(resize("floor"), (Ints{1, 1, 2, 2}));
  EXPECT_EQ(resize("ceil"), (Ints{1, 2, 2, 2}));
}

TEST(Array, UniqueKeepsFirstSeenOrder) {
  Result<std::vector<te::Array>> r =
      run_op("array.unique", Attrs{{"sorted", false}}, {i64({5}, {3, 1, 3, 2, 1})}, {.outputs = 4});
  ASSERT_TRUE(r.ok()) << r.error().text();
  EXPECT_EQ(values_of<int64_t>(r.value()[0]), (Ints{3, 1, 2}));
  EXPECT_EQ(values_of<int64_t>(r.value()[1]), (Ints{0, 1, 3}));
  EXPECT_EQ(values_of<int64_t>(r.value()[2]), (Ints{0, 1, 0, 2, 1}));
  EXPECT_EQ(values_of<int64_t>(r.value()[3]), (Ints{2, 2, 1}));
}

TEST(Reduce, NothingGivesTheIdentity) {
  auto reduce = [](const char* op) {
    return values_of<float>(one(run_op(op, Attrs{{"axes", Ints{0}}, {"keepdims", false}}, {f32({0}, {})})))[0];
  };
  EXPECT_EQ(reduce("reduce.sum"), 0);
  EXPECT_EQ(reduce("reduce.prod"), 1);
  EXPECT_EQ(reduce("reduce.max"), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(reduce("reduce.mean")));
}

TEST(Reduce, LogSumExpStaysFinite) {
  Attrs a{{"axes", Ints{0}}, {"keepdims", false}};
  expect_close(one(run_op("reduce.log_sum_exp", a, {f32({2}, {1000, 1000})})), {1000.6931f}, 1e-3f);
  float low = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(values_of<float>(one(run_op("reduce.log_sum_exp", a, {f32({2}, {low, low})})))[0], low);
}

TEST(Reduce, ArgMaxTies) {
  te::Array x = f32({4}, {1, 3, 3, 0});
  EXPECT_EQ(values_of<int64_t>(one(run_op("reduce.arg_max", {}, {x}))), (Ints{1}));
  EXPECT_EQ(values_of<int64_t>(one(run_op("reduce.arg_max", Attrs{{"select_last", true}}, {x}))), (Ints{2}));
}

TEST(Nn, MatmulOfVectorsAndBatches) {
  EXPECT_EQ(values_of<float>(one(run_op("nn.matmul", {}, {f32({2}, {1, 2}), f32({2}, {3, 4})}))), (Floats{11}));
  te::Array y = one(run_op("nn.matmul", {}, {f32({2, 1, 2}, {1, 2, 3, 4}), f32({2, 1}, {1, 1})}, {.symbolic = true}));
  EXPECT_EQ(y.shape, (Ints{2, 1, 1}));
  EXPECT_EQ(values_of<float>(y), (Floats{3, 7}));
}

TEST(Nn, ConvPadsAndLayouts) {
  te::Array x = f32({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), w = f32({1, 1, 3, 3}, Floats(9, 1));
  Floats want{12, 21, 16, 27, 45, 33, 24, 39, 28};
  EXPECT_EQ(values_of<float>(one(run_op("nn.conv", Attrs{{"pads", Ints{1, 1, 1, 1}}}, {x, w}))), want);
  EXPECT_EQ(values_of<float>(one(run_op("nn.conv", Attrs{{"auto_pad", "same_upper"}}, {x, w}))), want);
  x.shape = {1, 3, 3, 1};
  EXPECT_EQ(values_of<float>(one(run_op("nn.conv", Attrs{{"pads", Ints{1, 1, 1, 1}}, {"layout", "NHWC"}}, {x, w}))), want);
  Result<std::vector<te::Array>> bad = run_op("nn.conv", {}, {f32({1, 2, 3, 3}, Floats(18, 1)), w});
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().diagnostics[0].message,
            "the input's channels and those of the weight times group: 2 and 1 are different");
}

TEST(Nn, PoolsAtTheBorder) {
  te::Array x = f32({1, 1, 4}, {1, 2, 3, 4});
  Attrs a{{"kernel", Ints{3}}, {"strides", Ints{2}}, {"pads", Ints{1, 1}}};
  EXPECT_EQ(values_of<float>(one(run_op("nn.avg_pool", a, {x}))), (Floats{1.5f, 3}));
  a.set("count_include_pad", true);
  EXPECT_EQ(values_of<float>(one(run_op("nn.avg_pool", a, {x}))), (Floats{1, 3}));
  a.erase("count_include_pad");
  a.set("ceil_mode", true);
  // The window at 3 covers 4 and one pad.
  EXPECT_EQ(values_of<float>(one(run_op("nn.avg_pool", a, {x}))), (Floats{1.5f, 3, 4}));
  Result<std::vector<te::Array>> r = run_op("nn.max_pool", a, {x}, {.outputs = 2});
  ASSERT_TRUE(r.ok()) << r.error().text();
  EXPECT_EQ(values_of<float>(r.value()[0]), (Floats{2, 4, 4}));
  EXPECT_EQ(values_of<int64_t>(r.value()[1]), (Ints{1, 3, 3}));
}

TEST(Nn, SoftmaxAndNorms) {
  expect_close(one(run_op("nn.softmax", {}, {f32({1, 2}, {1000, 1000})})), {0.5f, 0.5f});
  te::Array x = f32({1, 4}, {1, 2, 3, 4});
  float s = std::sqrt(1.25f);
  expect_close(one(run_op("nn.layer_norm", Attrs{{"epsilon", 0.0}}, {x})), {-1.5f / s, -0.5f / s, 0.5f / s, 1.5f / s});
  expect_close(one(run_op("nn.gelu", {}, {f32({2}, {0, 1})})), {0, 0.8413447f});
}

TEST(Quant, RoundsHalfToEvenAndSaturates) {
  te::Array scale = f32({}, {2}), zero = u8({}, {128});
  EXPECT_EQ(values_of<uint8_t>(one(run_op("quant.quantize", {}, {f32({5}, {1, 3, -5, 1000, -1000}), scale, zero}))),
            (std::vector<uint8_t>{128, 130, 126, 255, 0}));
  EXPECT_EQ(values_of<float>(one(run_op("quant.dequantize", {}, {u8({3}, {0, 128, 255}), scale, zero}))),
            (Floats{-256, 0, 254}));
}

TEST(Quant, MatmulIntegerTakesZeroPointsOff) {
  te::Array y =
      one(run_op("quant.matmul_integer", {}, {u8({1, 2}, {11, 7}), i8({2, 1}, {-3, 4}), u8({}, {10}), i8({}, {1})}));
  EXPECT_EQ(values_of<int32_t>(y), (std::vector<int32_t>{(11 - 10) * (-3 - 1) + (7 - 10) * (4 - 1)}));
}

}  // namespace
}  // namespace pliant::ops
