#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "runtime/externs.h"

namespace pliant::runtime {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

int64_t bits(double v) { return std::bit_cast<int64_t>(v); }

struct Scan {
  std::vector<Floats> values;
  std::vector<Ints> shapes;
  std::vector<int32_t> lengths;
  Ints ints;
  std::vector<Floats> outputs;

  // Inputs without elements are absent. `lengths` stands for input 3.
  std::string call() {
    std::vector<ExternInput> in;
    for (size_t i = 0; i < values.size(); ++i)
      in.push_back({reinterpret_cast<const std::byte*>(values[i].data()), DType::F32, shapes[i],
                    static_cast<int64_t>(values[i].size())});
    if (!lengths.empty())
      in[3] = {reinterpret_cast<const std::byte*>(lengths.data()), DType::I32, shapes[3],
               static_cast<int64_t>(lengths.size())};
    std::vector<ExternOutput> out;
    for (Floats& o : outputs) out.push_back({reinterpret_cast<std::byte*>(o.data()), DType::F32, o.size() * 4});
    Arena workspace;
    ExternCall c;
    c.inputs = in;
    c.outputs = out;
    c.ints = ints;
    c.where = "node \"x\"";
    c.workspace = &workspace;
    return find_extern("recurrent_scan")->function(c) == PLIANT_OK ? "" : last_message();
  }
};

// h' = x + 2 h, three steps of two sequences.
Scan sums() {
  Scan s;
  s.values = {{1, 10, 2, 20, 3, 30}, {2}, {}, {}, {100, 0}, {}, {}};
  s.shapes = {{3, 2, 1}, {1, 1}, {0}, {0}, {2, 1}, {0}, {0}};
  s.ints = {0, 0, 0, bits(0), 8, bits(1), bits(0)};
  s.outputs = {Floats(6), Floats(2)};
  return s;
}

TEST(RecurrentScan, RunsForwardsAndBackwards) {
  Scan s = sums();
  ASSERT_EQ(s.call(), "");
  EXPECT_EQ(s.outputs[0], (Floats{201, 10, 404, 40, 811, 110}));
  EXPECT_EQ(s.outputs[1], (Floats{811, 110}));
  s.ints[1] = 1;
  ASSERT_EQ(s.call(), "");
  EXPECT_EQ(s.outputs[0], (Floats{817, 170, 408, 80, 203, 30}));
}

TEST(RecurrentScan, StopsAtTheLengthOfEachSequence) {
  Scan s = sums();
  s.lengths = {3, 1};
  s.shapes[3] = {2};
  ASSERT_EQ(s.call(), "");
  EXPECT_EQ(s.outputs[0], (Floats{201, 10, 404, 0, 811, 0}));
  EXPECT_EQ(s.outputs[1], (Floats{811, 10}));
  s.lengths = {4, 0};
  EXPECT_EQ(s.call(), "node \"x\": length 4 is not between 0 and 3");
}

TEST(RecurrentScan, LstmGates) {
  Scan s;
  s.values = {{0.5f, -0.25f, 1, 2}, {0, 0, 0, 0}, {}, {}, {}, {3}, {}};
  s.shapes = {{1, 1, 4}, {4, 1}, {0}, {0}, {0}, {1, 1}, {0}};
  s.ints = {1, 0, 0, bits(0), 2, 0, 0, 1, 0, 0, 1, 0, 0};
  s.outputs = {Floats(1), Floats(1), Floats(1)};
  ASSERT_EQ(s.call(), "");
  auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  double c = sigmoid(1) * 3 + sigmoid(0.5) * std::tanh(2.0);
  EXPECT_NEAR(s.outputs[2][0], c, 1e-6);
  EXPECT_NEAR(s.outputs[1][0], sigmoid(-0.25) * std::tanh(c), 1e-6);
}

TEST(RecurrentScan, RefusesWhatDoesNotFit) {
  Scan s = sums();
  s.values[1] = {1, 2};
  s.shapes[1] = {2, 1};
  EXPECT_EQ(s.call(), "node \"x\": products, weight and hidden size do not fit");
  s = sums();
  s.ints[4] = 11;
  EXPECT_EQ(s.call(), "node \"x\": there is no activation 11");
}

}  // namespace
}  // namespace pliant::runtime
