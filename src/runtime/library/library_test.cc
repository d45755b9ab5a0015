#include "runtime/library/library.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

namespace pliant::runtime {
namespace {

template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<float>() {
  return DType::F32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::F64;
}
template <>
constexpr DType dtype_of<int64_t>() {
  return DType::I64;
}
template <>
constexpr DType dtype_of<int8_t>() {
  return DType::I8;
}
template <>
constexpr DType dtype_of<uint8_t>() {
  return DType::U8;
}

// One call: inputs are copied, outputs are sized by hand.
struct Caller {
  std::vector<std::vector<std::byte>> storage;
  std::vector<LibraryInput> inputs;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<std::vector<std::byte>> outputs;
  std::vector<LibraryOutput> views;
  std::vector<int64_t> ints;
  std::vector<int64_t> results = std::vector<int64_t>(1);
  Arena workspace;
  int32_t stop = 0;

  template <class T>
  Caller& in(const std::vector<T>& values, std::vector<int64_t> shape, DType dtype = dtype_of<T>()) {
    shapes.push_back(std::move(shape));
    int64_t elements = 1;
    for (int64_t d : shapes.back()) elements *= d;
    const auto* p = reinterpret_cast<const std::byte*>(values.data());
    storage.emplace_back(p, p + values.size() * sizeof(T));
    inputs.push_back({storage.back().data(), dtype, {}, elements});
    return *this;
  }
  Caller& out(DType dtype, size_t elements) {
    outputs.emplace_back(elements * static_cast<size_t>(byte_size(dtype)));
    views.push_back({nullptr, dtype, outputs.back().size()});
    return *this;
  }
  std::string call(const char* symbol) {
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i].shape = shapes[i];
    for (size_t i = 0; i < outputs.size(); ++i) views[i].data = outputs[i].data();
    LibraryCall c;
    c.inputs = inputs;
    c.outputs = views;
    c.ints = ints;
    c.results = results;
    c.where = "node \"x\"";
    c.workspace = &workspace;
    c.stop = StopFlag(&stop);
    return find_library_function(symbol)->function(c) == PLIANT_OK ? "" : last_message();
  }
  template <class T>
  std::vector<T> get(size_t i, size_t count = SIZE_MAX) const {
    const T* p = reinterpret_cast<const T*>(outputs[i].data());
    return {p, p + std::min(count, outputs[i].size() / sizeof(T))};
  }
};

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(top_k, largest_smallest_ties_and_nan) {
  const Floats x = {3, 1, 3, -2, kNan, 7};
  const Ints k = {4};
  Caller c;
  c.in(x, {6}).in(k, {1}).out(DType::F32, 4).out(DType::I64, 4);
  c.ints = {0, 1, 1};
  EXPECT_EQ(c.call("top_k"), "");
  EXPECT_EQ(c.get<int64_t>(1), (Ints{4, 5, 0, 2}));
  EXPECT_TRUE(std::isnan(c.get<float>(0)[0]));
  c.ints = {0, 0, 1};
  EXPECT_EQ(c.call("top_k"), "");
  EXPECT_EQ(c.get<int64_t>(1), (Ints{3, 1, 0, 2}));
  EXPECT_EQ(c.get<float>(0), (Floats{-2, 1, 3, 3}));
}

TEST(top_k, along_a_middle_axis) {
  // [2, 3, 2]
  const Ints x = {0, 5, 4, 1, 2, 3, 9, 6, 7, 8, 8, 7};
  Caller c;
  c.in(x, {2, 3, 2}).out(DType::I64, 8).out(DType::I64, 8);
  c.ints = {1, 1, 1, 2};
  EXPECT_EQ(c.call("top_k"), "");
  EXPECT_EQ(c.get<int64_t>(0), (Ints{4, 5, 2, 3, 9, 8, 8, 7}));
  EXPECT_EQ(c.get<int64_t>(1), (Ints{1, 0, 2, 2, 0, 1, 2, 2}));
}

TEST(top_k, faults_and_edges) {
  const Floats x = {1, 2};
  Caller c;
  c.in(x, {2}).out(DType::F32, 3).out(DType::I64, 3);
  c.ints = {0, 1, 1, 3};
  EXPECT_EQ(c.call("top_k"), "node \"x\": k is 3 but the axis has 2 elements");
  c.ints[3] = -1;
  EXPECT_EQ(c.call("top_k"), "node \"x\": k is -1 but the axis has 2 elements");
  c.ints[3] = 0;
  EXPECT_EQ(c.call("top_k"), "");
  c.ints[0] = 1;
  EXPECT_EQ(c.call("top_k"), "node \"x\": axis 1 is out of range");
  Caller small;
  small.in(x, {2}).out(DType::F32, 1).out(DType::I64, 1);
  small.ints = {0, 1, 1, 2};
  EXPECT_EQ(small.call("top_k"), "node \"x\": output 0 has room for 4 bytes but gets 2 elements");
}

TEST(top_k, every_dtype_orders_as_its_values) {
  const std::vector<double> doubles = {0.0, -1e300, kNan, 1e-300, -0.0, kInfinity, -kInfinity};
  Caller c;
  c.in(doubles, {7}).out(DType::F64, 7).out(DType::I64, 7);
  c.ints = {0, 0, 1, 7};
  EXPECT_EQ(c.call("top_k"), "");
  EXPECT_EQ(c.get<int64_t>(1), (Ints{6, 1, 0, 4, 3, 5, 2}));
  const std::vector<int8_t> bytes = {5, -128, 127, 0};
  Caller b;
  b.in(bytes, {4}).out(DType::I8, 4).out(DType::I64, 4);
  b.ints = {0, 1, 1, 4};
  EXPECT_EQ(b.call("top_k"), "");
  EXPECT_EQ(b.get<int64_t>(1), (Ints{2, 0, 3, 1}));
  const std::vector<uint16_t> halves = {0x3c00, 0xbc00, 0x7c00, 0x0000, 0x7e00, 0x8000};  // 1 -1 inf 0 nan -0
  for (DType dtype : {DType::F16, DType::BF16}) {
    Caller h;
    h.in(halves, {6}, dtype).out(dtype, 6).out(DType::I64, 6);
    h.ints = {0, 0, 1, 6};
    EXPECT_EQ(h.call("top_k"), "");
    EXPECT_EQ(h.get<int64_t>(1), (Ints{1, 3, 5, 0, 2, 4})) << name_of(dtype);
  }
}

TEST(nonzero, positions_in_row_major_order) {
  const Floats x = {0, 1, -0.0f, kNan, 0, 5};
  Caller c;
  c.in(x, {2, 3}).out(DType::I64, 12);
  EXPECT_EQ(c.call("nonzero"), "");
  EXPECT_EQ(c.results[0], 3);
  EXPECT_EQ(c.get<int64_t>(0, 6), (Ints{0, 1, 1, 1, 0, 2}));
  Caller empty;
  empty.in(Floats{}, {0, 3}).out(DType::I64, 0);
  EXPECT_EQ(empty.call("nonzero"), "");
  EXPECT_EQ(empty.results[0], 0);
  Caller scalar;
  scalar.in(Floats{2}, {}).out(DType::I64, 0);
  EXPECT_EQ(scalar.call("nonzero"), "");
  EXPECT_EQ(scalar.results[0], 1);
  Caller bools;
  bools.in(std::vector<uint8_t>{0, 1, 1, 0}, {4}, DType::Bool).out(DType::I64, 4);
  EXPECT_EQ(bools.call("nonzero"), "");
  EXPECT_EQ(bools.get<int64_t>(0, 2), (Ints{1, 2}));
}

TEST(unique, flat_sorted_and_in_order_of_occurrence) {
  const Floats x = {2, 1, 1, 3, 4, 3};
  Caller c;
  c.in(x, {6}).out(DType::F32, 6).out(DType::I64, 6).out(DType::I64, 6).out(DType::I64, 6);
  c.ints = {-1, 1};
  EXPECT_EQ(c.call("unique"), "");
  EXPECT_EQ(c.results[0], 4);
  EXPECT_EQ(c.get<float>(0, 4), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(c.get<int64_t>(1, 4), (Ints{1, 0, 3, 4}));
  EXPECT_EQ(c.get<int64_t>(2), (Ints{1, 0, 0, 2, 3, 2}));
  EXPECT_EQ(c.get<int64_t>(3, 4), (Ints{2, 1, 2, 1}));
  c.ints = {-1, 0};
  EXPECT_EQ(c.call("unique"), "");
  EXPECT_EQ(c.get<float>(0, 4), (Floats{2, 1, 3, 4}));
  EXPECT_EQ(c.get<int64_t>(1, 4), (Ints{0, 1, 3, 4}));
  EXPECT_EQ(c.get<int64_t>(2), (Ints{0, 1, 1, 2, 3, 2}));
  EXPECT_EQ(c.get<int64_t>(3, 4), (Ints{1, 2, 2, 1}));
}

TEST(unique, slices_of_an_axis) {
  // Rows [1 0 0] [1 0 0] [2 3 4], and columns of [[1 1 2] [0 0 3]].
  Caller rows;
  rows.in(Floats{1, 0, 0, 1, 0, 0, 2, 3, 4}, {3, 3})
      .out(DType::F32, 9)
      .out(DType::I64, 3)
      .out(DType::I64, 3)
      .out(DType::I64, 3);
  rows.ints = {0, 1};
  EXPECT_EQ(rows.call("unique"), "");
  EXPECT_EQ(rows.results[0], 2);
  EXPECT_EQ(rows.get<float>(0, 6), (Floats{1, 0, 0, 2, 3, 4}));
  EXPECT_EQ(rows.get<int64_t>(2), (Ints{0, 0, 1}));
  EXPECT_EQ(rows.get<int64_t>(3, 2), (Ints{2, 1}));
  Caller columns;
  columns.in(Floats{1, 1, 2, 0, 0, 3}, {2, 3}).out(DType::F32, 6);
  columns.ints = {1, 1};
  EXPECT_EQ(columns.call("unique"), "");
  EXPECT_EQ(columns.results[0], 2);
  EXPECT_EQ(columns.get<float>(0, 4), (Floats{1, 2, 0, 3}));
  Caller empty;
  empty.in(Floats{}, {0}).out(DType::F32, 0).out(DType::I64, 0);
  empty.ints = {-1, 1};
  EXPECT_EQ(empty.call("unique"), "");
  EXPECT_EQ(empty.results[0], 0);
}

TEST(compress, axes_flat_and_short_conditions) {
  const Floats x = {1, 2, 3, 4, 5, 6};
  const std::vector<uint8_t> condition = {0, 1, 1};
  Caller rows;
  rows.in(x, {3, 2}).in(condition, {3}, DType::Bool).out(DType::F32, 6);
  rows.ints = {0};
  EXPECT_EQ(rows.call("compress"), "");
  EXPECT_EQ(rows.results[0], 2);
  EXPECT_EQ(rows.get<float>(0, 4), (Floats{3, 4, 5, 6}));
  Caller columns;
  columns.in(x, {3, 2}).in(std::vector<uint8_t>{0, 1}, {2}, DType::Bool).out(DType::F32, 6);
  columns.ints = {1};
  EXPECT_EQ(columns.call("compress"), "");
  EXPECT_EQ(columns.get<float>(0, 3), (Floats{2, 4, 6}));
  Caller flat;
  flat.in(x, {3, 2}).in(std::vector<uint8_t>{0, 1, 0, 0, 1}, {5}, DType::Bool).out(DType::F32, 6);
  flat.ints = {-1};
  EXPECT_EQ(flat.call("compress"), "");
  EXPECT_EQ(flat.get<float>(0, 2), (Floats{2, 5}));
  Caller past;
  past.in(x, {3, 2}).in(std::vector<uint8_t>{0, 1, 1}, {3}, DType::Bool).out(DType::F32, 6);
  past.ints = {1};
  EXPECT_EQ(past.call("compress"), "node \"x\": the condition selects element 2 of an axis of 2");
}

// The example of the operator's specification: three clusters of two boxes.
struct Nms : Caller {
  Nms(const Floats& boxes, bool center, int64_t most, float overlap, float score,
      const Floats& scores = {0.9f, 0.75f, 0.6f, 0.95f, 0.5f, 0.3f})
      : boxes_(boxes), scores_(scores), most_{most}, overlap_{overlap}, score_{score} {
    in(boxes_, {1, 6, 4}).in(scores_, {1, 1, 6}).in(most_, {1}).in(overlap_, {1}).in(score_, {1}).out(DType::I64, 18);
    ints = {center};
  }
  Ints picks() {
    EXPECT_EQ(call("non_max_suppression"), "");
    Ints out;
    for (int64_t i = 0; i < results[0]; ++i) out.push_back(get<int64_t>(0)[static_cast<size_t>(3 * i + 2)]);
    return out;
  }
  Floats boxes_, scores_;
  Ints most_;
  Floats overlap_, score_;
};
const Floats kCorners = {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, -0.1f, 1, 0.9f, 0, 10, 1, 11, 0, 10.1f, 1, 11.1f, 0, 100, 1, 101};

TEST(non_max_suppression, corners_centres_limits) {
  EXPECT_EQ(Nms(kCorners, false, 3, 0.5f, 0).picks(), (Ints{3, 0, 5}));
  EXPECT_EQ(Nms(kCorners, false, 2, 0.5f, 0).picks(), (Ints{3, 0}));
  EXPECT_EQ(Nms(kCorners, false, 30, 0.5f, 0.4f).picks(), (Ints{3, 0}));
  EXPECT_EQ(Nms(kCorners, false, 0, 0.5f, 0).picks(), Ints{});
  EXPECT_EQ(Nms(kCorners, false, -1, 0.5f, 0).picks(), Ints{});
  EXPECT_EQ(Nms(kCorners, false, 30, 1, 0).picks(), (Ints{3, 0, 1, 2, 4, 5}));
  const Floats flipped = {1, 1, 0, 0, 0, 0.1f, 1, 1.1f, 0, 0.9f, 1, -0.1f, 0, 10, 1, 11, 1, 10.1f, 0, 11.1f, 1, 101, 0, 100};
  EXPECT_EQ(Nms(flipped, false, 3, 0.5f, 0).picks(), (Ints{3, 0, 5}));
  const Floats centres = {0.5f, 0.5f,  1, 1, 0.5f, 0.6f,  1, 1, 0.5f, 0.4f,   1, 1,
                          0.5f, 10.5f, 1, 1, 0.5f, 10.6f, 1, 1, 0.5f, 100.5f, 1, 1};
  EXPECT_EQ(Nms(centres, true, 3, 0.5f, 0).picks(), (Ints{3, 0, 5}));
  EXPECT_EQ(Nms(kCorners, false, 9, 0.5f, 0, {1, 1, 1, 1, 1, 1}).picks(), (Ints{0, 3, 5}));
}

TEST(non_max_suppression, batches_and_classes) {
  const Floats boxes = {0, 0, 1, 1, 0, 10, 1, 11, 0, 0, 1, 1, 0, 0, 1, 1};
  const Floats scores = {1, 2, 4, 3, 0.5f, 0.6f, 7, 7};
  const Ints most = {5};
  Caller c;
  c.in(boxes, {2, 2, 4}).in(scores, {2, 2, 2}).in(most, {}).out(DType::I64, 24);
  c.ints = {0};
  EXPECT_EQ(c.call("non_max_suppression"), "");
  EXPECT_EQ(c.get<int64_t>(0, static_cast<size_t>(3 * c.results[0])),
            (Ints{0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0}));
}

// Floats with ties, both zeros, infinities and NaNs.
Floats make_values(size_t count, uint32_t seed) {
  const Floats special = {0, -0.0f, kInfinity, -kInfinity, kNan, -kNan, 1, -1};
  Floats out(count);
  for (float& v : out) {
    seed = seed * 1664525 + 1013904223;
    v = seed >> 30 == 0 ? special[seed >> 27 & 7] : static_cast<float>(static_cast<int32_t>(seed)) / (1 << 24);
  }
  return out;
}

// Whether a value comes before another in descending order: NaN is the greatest, zeros are equal.
bool is_greater(float a, float b) { return std::isnan(a) ? !std::isnan(b) : a > b; }

// Sizes and k on both sides of every way to select: by insertion, by dropping candidates, by sorting all.
TEST(top_k, agrees_with_a_stable_sort_at_every_size) {
  for (int64_t size : {1, 63, 64, 65, 255, 256, 300, 1025, 3000, 200000})
    for (int64_t k : {int64_t{1}, int64_t{5}, size / 40, size / 16, size / 3, size})
      for (int64_t inner : {1, 3, 17})
        for (bool largest : {true, false}) {
          if (k < 1 || k > size || (size > 10000 && inner > 1)) continue;
          const Floats x = make_values(static_cast<size_t>(size * inner), static_cast<uint32_t>(size + k));
          const auto found = static_cast<size_t>(k * inner);
          Caller c;
          c.in(x, {1, size, inner}).out(DType::F32, found).out(DType::I64, found);
          c.ints = {1, largest, 1, k};
          ASSERT_EQ(c.call("top_k"), "");
          const Floats values = c.get<float>(0);
          const Ints indices = c.get<int64_t>(1);
          for (int64_t lane = 0; lane < inner; ++lane) {
            auto at = [&](int64_t p) { return x[static_cast<size_t>(p * inner + lane)]; };
            Ints order(static_cast<size_t>(size));
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
              return largest ? is_greater(at(a), at(b)) : is_greater(at(b), at(a));
            });
            for (int64_t p = 0; p < k; ++p) {
              const auto to = static_cast<size_t>(p * inner + lane);
              ASSERT_EQ(indices[to], order[static_cast<size_t>(p)]) << size << ' ' << k << ' ' << inner;
              const float expected = at(order[static_cast<size_t>(p)]), got = values[to];
              ASSERT_EQ(std::memcmp(&expected, &got, sizeof got), 0);
            }
          }
        }
}

TEST(unique, agrees_with_a_search_at_every_size) {
  for (size_t size : {1u, 2u, 255u, 256u, 1000u})
    for (bool sorted : {true, false}) {
      const Floats x = make_values(size, static_cast<uint32_t>(size));
      Caller c;
      c.in(x, {static_cast<int64_t>(size)}).out(DType::F32, size);
      for (int i = 0; i < 3; ++i) c.out(DType::I64, size);
      c.ints = {-1, sorted};
      ASSERT_EQ(c.call("unique"), "");
      Ints first;
      auto same = [&](float a, float b) { return !is_greater(a, b) && !is_greater(b, a); };
      for (size_t i = 0; i < size; ++i)
        if (std::none_of(first.begin(), first.end(), [&](int64_t f) { return same(x[static_cast<size_t>(f)], x[i]); }))
          first.push_back(static_cast<int64_t>(i));
      if (sorted)
        std::sort(first.begin(), first.end(),
                  [&](int64_t a, int64_t b) { return is_greater(x[static_cast<size_t>(b)], x[static_cast<size_t>(a)]); });
      ASSERT_EQ(c.results[0], static_cast<int64_t>(first.size()));
      EXPECT_EQ(c.get<int64_t>(1, first.size()), first);
      Ints counts(first.size());
      for (size_t i = 0; i < size; ++i) {
        const auto group = static_cast<size_t>(c.get<int64_t>(2)[i]);
        ASSERT_TRUE(same(x[static_cast<size_t>(first.at(group))], x[i]));
        ++counts[group];
      }
      EXPECT_EQ(c.get<int64_t>(3, first.size()), counts);
    }
}

TEST(nonzero, every_rank_and_size_of_rows) {
  const std::vector<Ints> shapes = {{130},  {1, 130},        {130, 1},           {3, 64},  {2, 65, 3}, {2, 1, 7, 9},
                                    {5, 1}, {2, 3, 2, 3, 4}, {2, 2, 2, 2, 2, 5}, {1, 1, 1}};
  for (const Ints& shape : shapes)
    for (int64_t every : {1, 2, 7, 64, 1000}) {
      size_t elements = 1;
      for (int64_t d : shape) elements *= static_cast<size_t>(d);
      Ints x(elements), expected;
      for (size_t i = 0; i < elements; ++i) x[i] = static_cast<int64_t>(i) % every == every / 2 ? int64_t{1} << 40 : 0;
      for (size_t d = 0; d < shape.size(); ++d) {
        int64_t below = 1;
        for (size_t e = d + 1; e < shape.size(); ++e) below *= shape[e];
        for (size_t i = 0; i < elements; ++i)
          if (x[i] != 0) expected.push_back(static_cast<int64_t>(i) / below % shape[d]);
      }
      Caller c;
      c.in(x, shape).out(DType::I64, elements * shape.size());
      ASSERT_EQ(c.call("nonzero"), "");
      ASSERT_EQ(c.results[0] * static_cast<int64_t>(shape.size()), static_cast<int64_t>(expected.size()));
      ASSERT_EQ(c.get<int64_t>(0, expected.size()), expected);
    }
}

TEST(non_max_suppression, candidates_are_sorted_as_far_as_needed) {
  // Boxes apart from each other but for the first 90, which are one: all but one of those are passed over.
  constexpr int64_t n = 400;
  Floats boxes, scores;
  Ints expected = {0};
  for (int64_t i = 0; i < n; ++i) {
    const float at = i < 90 ? 0 : static_cast<float>(10 * i);
    boxes.insert(boxes.end(), {at, at, at + 1, at + 1});
    scores.push_back(static_cast<float>(n - i / 2));  // pairs of equal scores
    if (i >= 90) expected.push_back(i);
  }
  for (int64_t most : {1, 5, 60, 399}) {
    Caller c;
    c.in(boxes, {1, n, 4}).in(scores, {1, 1, n}).in(Ints{most}, {1}).in(Floats{0.5f}, {1}).out(DType::I64, 3 * n);
    c.ints = {0};
    ASSERT_EQ(c.call("non_max_suppression"), "");
    ASSERT_EQ(c.results[0], std::min(most, n - 89));
    for (int64_t i = 0; i < c.results[0]; ++i)
      ASSERT_EQ(c.get<int64_t>(0)[static_cast<size_t>(3 * i + 2)], expected[static_cast<size_t>(i)]);
  }
}

// Items longer than a turn, and more of them than are sorted at once.
TEST(unique, many_and_long_slices) {
  for (const auto& [count, length] : {std::pair<int64_t, int64_t>{40000, 3}, {5, 200000}, {300, 1}}) {
    Ints x(static_cast<size_t>(count * length), 3);
    for (int64_t i = 0; i < count; ++i) x[static_cast<size_t>((i + 1) * length - 1)] = i * 7919 % 4;
    Caller c;
    c.in(x, {count, length}).out(DType::I64, x.size());
    for (int i = 0; i < 3; ++i) c.out(DType::I64, static_cast<size_t>(count));
    c.ints = {0, 1};
    ASSERT_EQ(c.call("unique"), "");
    ASSERT_EQ(c.results[0], 4);
    EXPECT_EQ(c.get<int64_t>(1, 4), (Ints{0, 3, 2, 1}));
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(c.get<int64_t>(2)[static_cast<size_t>(i)], i * 7919 % 4);
  }
}

TEST(library_calls, stop_where_the_run_is_to_end) {
  const int64_t n = 1000;
  const Ints x(n, 1);
  const std::vector<uint8_t> mask(n, 1);
  const Floats boxes(4 * n, 1), scores(n, 1);
  auto expect_stop = [](Caller& c, const char* symbol) {
    c.stop = 1;
    EXPECT_NE(c.call(symbol).find("cancelled"), std::string::npos) << symbol;
  };
  for (int64_t k : {int64_t{3}, int64_t{50}, n}) {
    Caller c;
    c.in(x, {n}).out(DType::I64, n).out(DType::I64, n).ints = {0, 1, 1, k};
    expect_stop(c, "top_k");
  }
  for (int64_t axis : {-1, 0}) {
    Caller unique, compress;
    unique.in(x, {n}).out(DType::I64, n).ints = {axis, 1};
    expect_stop(unique, "unique");
    compress.in(x, {n}).in(mask, {n}, DType::Bool).out(DType::I64, n).ints = {axis};
    expect_stop(compress, "compress");
  }
  Caller nonzero, nms;
  nonzero.in(x, {n}).out(DType::I64, n);
  expect_stop(nonzero, "nonzero");
  nms.in(boxes, {1, n, 4}).in(scores, {1, 1, n}).in(Ints{n}, {1}).out(DType::I64, 3 * n).ints = {0};
  expect_stop(nms, "non_max_suppression");
}

// Pages that a cancelled call has not met are met by the next one, one after the other.
TEST(library_calls, room_that_was_not_reached_is_not_committed) {
  constexpr uint64_t kCount = 1 << 20;
  Arena workspace;
  int32_t stop = 0;
  auto room = [&](uint64_t count) {
    LibraryCall call;
    call.workspace = &workspace;
    call.stop = StopFlag(&stop);
    return call.room<int64_t>(count);
  };
  ASSERT_NE(room(kCount), nullptr);
  const uint64_t before = workspace.committed();
  stop = 1;
  EXPECT_EQ(room(4 * kCount), nullptr);
  EXPECT_EQ(workspace.committed(), before);
  EXPECT_NE(room(kCount), nullptr) << "all of it is there";
  stop = 0;
  EXPECT_NE(room(4 * kCount), nullptr);
  EXPECT_GE(workspace.committed(), 4 * kCount * sizeof(int64_t));
}

TEST(library_calls, unknown_names) { EXPECT_EQ(find_library_function("nothing"), nullptr); }

}  // namespace
}  // namespace pliant::runtime
