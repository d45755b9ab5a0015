// The reference evaluator against results worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "te/te.h"

namespace pliant::te {
namespace {

using expr::BinaryOp;
using expr::UnaryOp;

class EvaluateTest : public ::testing::Test {
 protected:
  Dim sym(const std::string& name, int64_t v) {
    expr::SymbolInfo info;
    info.name = name;
    const Dim d = ctx.symbol(std::move(info));
    bindings.emplace_back(*d.as_symbol(), v);
    return d;
  }
  Dim c(int64_t v) { return ctx.constant(v); }
  template <class T>
  Tensor feed(const std::string& name, DType t, std::vector<Dim> shape, std::vector<T> values) {
    Tensor x = b.input(name, t, shape);
    ArrayView view{t, {}, nullptr};
    for (Dim d : shape) {
      view.shape.push_back(*expr::evaluate(d, [&](SymbolId id) -> std::optional<int64_t> {
        for (const auto& [s, v] : bindings) {
          if (s == id) return v;
        }
        return std::nullopt;
      }));
    }
    std::vector<std::byte>& memory =
        *memories.emplace_back(std::make_unique<std::vector<std::byte>>(values.size() * sizeof(T) + 1));
    if (!values.empty()) std::memcpy(memory.data(), values.data(), values.size() * sizeof(T));
    view.data = memory.data();
    inputs.emplace_back(x->id, view);
    return x;
  }
  template <class T>
  std::vector<T> run(const Tensor& t) {
    Result<std::vector<Array>> r = evaluate({t}, inputs, bindings);
    EXPECT_TRUE(r.ok()) << (r.ok() ? "" : r.error().text());
    if (!r.ok()) return {};
    std::vector<T> out(r.value()[0].data.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), r.value()[0].data.data(), r.value()[0].data.size());
    return out;
  }
  expr::Context ctx;
  Builder b{ctx};
  Bindings bindings;
  std::vector<std::pair<TensorId, ArrayView>> inputs;
  std::vector<std::unique_ptr<std::vector<std::byte>>> memories;
};

TEST_F(EvaluateTest, MapAndTranspose) {
  const Dim n = sym("n", 2), m = sym("m", 3);
  Tensor x = feed<float>("x", DType::F32, {n, m}, {1, 2, 3, 4, 5, 6});
  Tensor y = b.map("y", {m, n}, [&](const Index& i) { return (*x)({i[1], i[0]}); });
  EXPECT_EQ(run<float>(y), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  Tensor z = b.map("z", {n, m}, [&](const Index& i) { return (*x)(i) * (*x)(i) + expr::make_const(ctx, DType::F32, 1); });
  EXPECT_EQ(run<float>(z), (std::vector<float>{2, 5, 10, 17, 26, 37}));
}

TEST_F(EvaluateTest, LargeTransposeIsTiled) {
  const Dim n = sym("n", 70), m = sym("m", 45);
  std::vector<float> v(70 * 45);
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i);
  Tensor x = feed<float>("x", DType::F32, {n, m}, v);
  Tensor y = b.map("y", {m, n}, [&](const Index& i) { return (*x)({i[1], i[0]}); });
  const std::vector<float> got = run<float>(y);
  for (size_t i = 0; i < 45; ++i) {
    for (size_t k = 0; k < 70; ++k) ASSERT_EQ(got[i * 70 + k], v[k * 45 + i]);
  }
}

TEST_F(EvaluateTest, ConcatReadsOnlyTheTakenSide) {
  const Dim n = sym("n", 2), m = sym("m", 3);
  Tensor x = feed<int32_t>("x", DType::I32, {n}, {1, 2});
  Tensor y = feed<int32_t>("y", DType::I32, {m}, {3, 4, 5});
  Tensor z =
      b.map("z", {n + m}, [&](const Index& i) { return expr::make_select(expr::less(i[0], n), (*x)(i), (*y)({i[0] - n})); });
  EXPECT_EQ(run<int32_t>(z), (std::vector<int32_t>{1, 2, 3, 4, 5}));
}

TEST_F(EvaluateTest, GatherByValueAndItsFault) {
  const Dim n = sym("n", 3), k = sym("k", 2);
  Tensor x = feed<float>("x", DType::F32, {n}, {10, 20, 30});
  Tensor at = feed<int64_t>("at", DType::I64, {k}, {2, 0});
  Tensor y = b.map("y", {k}, [&](const Index& i) { return (*x)({expr::value((*at)(i))}); });
  EXPECT_EQ(run<float>(y), (std::vector<float>{30, 10}));
  Tensor bad = feed<int64_t>("bad", DType::I64, {k}, {2, 3});
  Tensor z = b.map("z", {k}, [&](const Index& i) { return (*x)({expr::value((*bad)(i))}); });
  const auto r = evaluate({z}, inputs, bindings);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().diagnostics[0].id.name(), "index-out-of-range");
}

TEST_F(EvaluateTest, UnguardedReadOutOfBoundsIsAFault) {
  const Dim n = sym("n", 3);
  Tensor x = feed<float>("x", DType::F32, {n}, {10, 20, 30});
  Tensor y = b.map("y", {n}, [&](const Index& i) { return (*x)({i[0] + 1}); });
  EXPECT_FALSE(evaluate({y}, inputs, bindings).ok());
}

TEST_F(EvaluateTest, Reductions) {
  const Dim n = sym("n", 2), m = sym("m", 3);
  Tensor x = feed<float>("x", DType::F32, {n, m}, {1, 5, 3, 4, NAN, 6});
  const auto reduced = [&](Combiner c) {
    return b.reduce(name_of(c), {n}, {m}, c, [&](const Index& i, const Index& r) { return (*x)({i[0], r[0]}); });
  };
  EXPECT_EQ(run<float>(reduced(Combiner::Sum))[0], 9);
  EXPECT_EQ(run<float>(reduced(Combiner::Prod))[0], 15);
  EXPECT_EQ(run<float>(reduced(Combiner::Max))[0], 5);
  EXPECT_TRUE(std::isnan(run<float>(reduced(Combiner::Max))[1]));
  EXPECT_TRUE(std::isnan(run<float>(reduced(Combiner::Min))[1]));
  EXPECT_EQ(run<int64_t>(reduced(Combiner::ArgMax)), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(run<int64_t>(reduced(Combiner::ArgMin)), (std::vector<int64_t>{0, 1}));
}

TEST_F(EvaluateTest, MatmulBothWays) {
  for (int64_t width : {2, 40}) {
    const Dim n = sym("n", 3), k = sym("k", 5), m = sym("m", width);
    std::vector<float> a(15), w(static_cast<size_t>(5 * width));
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7);
    for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 5) - 2;
    Tensor x = feed<float>("a", DType::F32, {n, k}, a), y = feed<float>("w", DType::F32, {k, m}, w);
    Tensor z = b.reduce("z", {n, m}, {k}, Combiner::Sum,
                        [&](const Index& i, const Index& r) { return (*x)({i[0], r[0]}) * (*y)({r[0], i[1]}); });
    const std::vector<float> got = run<float>(z);
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < static_cast<size_t>(width); ++j) {
        float sum = 0;
        for (size_t r = 0; r < 5; ++r) sum += a[i * 5 + r] * w[r * static_cast<size_t>(width) + j];
        ASSERT_EQ(got[i * static_cast<size_t>(width) + j], sum);
      }
    }
  }
}

TEST_F(EvaluateTest, LastOfEqualValues) {
  const Dim m = sym("m", 4);
  Tensor x = feed<int32_t>("x", DType::I32, {m}, {7, 2, 7, 2});
  const auto arg = [&](Combiner c) {
    return run<int64_t>(b.reduce("a", {}, {m}, c, [&](const Index&, const Index& r) { return (*x)(r); }));
  };
  EXPECT_EQ(arg(Combiner::ArgMax), (std::vector<int64_t>{0}));
  EXPECT_EQ(arg(Combiner::ArgMaxLast), (std::vector<int64_t>{2}));
  EXPECT_EQ(arg(Combiner::ArgMin), (std::vector<int64_t>{1}));
  EXPECT_EQ(arg(Combiner::ArgMinLast), (std::vector<int64_t>{3}));
}

TEST_F(EvaluateTest, ScanFourWays) {
  const Dim n = sym("n", 4), one = sym("one", 1);
  Tensor x = feed<int64_t>("x", DType::I64, {n, one}, {1, 2, 3, 4});
  const auto scanned = [&](bool exclusive, bool reverse) {
    return run<int64_t>(
        b.scan("s", {n, one}, 0, Combiner::Sum, exclusive, reverse, [&](const Index& i) { return (*x)(i); }));
  };
  EXPECT_EQ(scanned(false, false), (std::vector<int64_t>{1, 3, 6, 10}));
  EXPECT_EQ(scanned(true, false), (std::vector<int64_t>{0, 1, 3, 6}));
  EXPECT_EQ(scanned(false, true), (std::vector<int64_t>{10, 9, 7, 4}));
  EXPECT_EQ(scanned(true, true), (std::vector<int64_t>{9, 7, 4, 0}));
}

TEST_F(EvaluateTest, ScatterInOrder) {
  const Dim n = sym("n", 4), k = sym("k", 3);
  Tensor at = feed<int64_t>("at", DType::I64, {k}, {1, 3, 1});
  Tensor u = feed<float>("u", DType::F32, {k}, {10, 20, 30});
  const auto scattered = [&](Combiner c) {
    return run<float>(b.scatter(
        "s", {n}, [&](const Index&) { return expr::make_const(ctx, DType::F32, 1); }, {k},
        [&](const Index& i) { return std::vector<Dim>{expr::value((*at)(i))}; }, c,
        [&](const Index& i) { return (*u)(i); }));
  };
  EXPECT_EQ(scattered(Combiner::Set), (std::vector<float>{1, 30, 1, 20}));
  EXPECT_EQ(scattered(Combiner::Sum), (std::vector<float>{1, 41, 1, 21}));
}

TEST_F(EvaluateTest, HalvesRoundAfterEachOperation) {
  const Dim n = sym("n", 1);
  Tensor x = feed<uint16_t>("x", DType::F16, {n}, {0x6800});  // 2048
  Tensor y = b.map("y", {n}, [&](const Index& i) {
    const Scalar one = expr::make_const(ctx, DType::F16, 1);
    return ((*x)(i) + one) + one;  // 2049 is not a half: each sum rounds back to 2048
  });
  EXPECT_EQ(run<uint16_t>(y), (std::vector<uint16_t>{0x6800}));
  Tensor z = b.reduce("z", {}, {n}, Combiner::Sum, [&](const Index&, const Index& r) { return (*x)(r); });
  EXPECT_EQ(z->accumulate, DType::F32);
  EXPECT_EQ(run<uint16_t>(z), (std::vector<uint16_t>{0x6800}));
}

TEST_F(EvaluateTest, LongSumsAreExact) {
  constexpr int64_t kMany = 1 << 20;
  const Dim n = sym("n", kMany), m = sym("m", 2);
  const std::vector<float> tenths(2 * kMany, 0.1F);
  const float total = static_cast<float>(double{0.1F} * kMany);
  Tensor x = feed<float>("x", DType::F32, {n, m}, tenths);
  Tensor columns =
      b.reduce("c", {m}, {n}, Combiner::Sum, [&](const Index& i, const Index& r) { return (*x)({r[0], i[0]}); });
  EXPECT_EQ(run<float>(columns), (std::vector<float>{total, total}));
  Tensor y = feed<float>("y", DType::F32, {m, n}, tenths);
  Tensor rows = b.reduce("r", {m}, {n}, Combiner::Sum, [&](const Index& i, const Index& r) { return (*y)({i[0], r[0]}); });
  EXPECT_EQ(run<float>(rows), (std::vector<float>{total, total}));
  Tensor running = b.scan("k", {m, n}, 1, Combiner::Sum, false, false, [&](const Index& i) { return (*y)(i); });
  EXPECT_EQ(run<float>(running).back(), total);
  // What f64 rounds off is kept as well; infinities stay what they are.
  Tensor z = feed<double>("z", DType::F64, {sym("k", 12)}, {1e16, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, -1e16});
  auto sum = [&](const Tensor& t) {
    return run<double>(b.reduce("s", {}, t->shape, Combiner::Sum, [&](const Index&, const Index& r) { return (*t)(r); }));
  };
  EXPECT_EQ(sum(z), (std::vector<double>{2}));
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(sum(feed<double>("w", DType::F64, {sym("l", 9)}, {1, -inf, 2, 0, 0, 0, 0, 0, 0})), (std::vector<double>{-inf}));
}

TEST_F(EvaluateTest, EmptySizes) {
  const Dim n = sym("n", 0), m = sym("m", 2);
  Tensor x = feed<float>("x", DType::F32, {n, m}, {});
  Tensor y = b.map("y", {n, m}, [&](const Index& i) { return (*x)(i); });
  EXPECT_TRUE(run<float>(y).empty());
  Tensor s = b.reduce("s", {m}, {n}, Combiner::Sum, [&](const Index& i, const Index& r) { return (*x)({r[0], i[0]}); });
  EXPECT_EQ(run<float>(s), (std::vector<float>{0, 0}));
  Tensor t = b.reduce("t", {}, {n}, Combiner::Max, [&](const Index&, const Index& r) { return (*x)({r[0], c(0)}); });
  EXPECT_EQ(run<float>(t), (std::vector<float>{-std::numeric_limits<float>::infinity()}));
  Tensor k = b.scan("k", {n}, 0, Combiner::Sum, false, false, [&](const Index& i) { return (*x)({i[0], c(0)}); });
  EXPECT_TRUE(run<float>(k).empty());
}

TEST_F(EvaluateTest, PadByDivAndMod) {
  const Dim n = sym("n", 5);
  Tensor x = feed<int32_t>("x", DType::I32, {n}, {0, 1, 2, 3, 4});
  Tensor y = b.map("y", {n}, [&](const Index& i) {
    return (*x)({expr::floordiv(i[0], 2)}) * expr::make_const_int(ctx, DType::I32, 10) +
           expr::make_cast(DType::I32, expr::make_index(expr::mod(i[0], 2)));
  });
  EXPECT_EQ(run<int32_t>(y), (std::vector<int32_t>{0, 1, 10, 11, 20}));
}

TEST_F(EvaluateTest, ChainAndPrint) {
  const Dim n = sym("n", 3);
  Tensor x = feed<float>("x", DType::F32, {n}, {1, 2, 3});
  Tensor y = b.map("y", {n}, [&](const Index& i) { return expr::make_unary(UnaryOp::Neg, (*x)(i)); });
  Tensor z = b.map("z", {n}, [&](const Index& i) { return (*y)({n - 1 - i[0]}) + (*y)(i); });
  EXPECT_EQ(run<float>(z), (std::vector<float>{-4, -4, -4}));
  EXPECT_EQ(print({z}, ctx),
            "x = input f32[n]\ny = map f32[n] (i0): neg(x[i0])\nz = map f32[n] (i0_1): (y[n - i0_1 - 1] + y[i0_1])\n");
}

TEST_F(EvaluateTest, WrongInputsAreErrors) {
  const Dim n = sym("n", 3);
  Tensor x = b.input("x", DType::F32, {n});
  Tensor y = b.map("y", {n}, [&](const Index& i) { return -(*x)(i); });
  EXPECT_FALSE(evaluate({y}, {}, bindings).ok());
  float two[2] = {1, 2};
  EXPECT_FALSE(evaluate({y}, {{x->id, ArrayView{DType::F32, {2}, reinterpret_cast<std::byte*>(two)}}}, bindings).ok());
  EXPECT_FALSE(evaluate({y}, {{x->id, ArrayView{DType::F32, {3}, reinterpret_cast<std::byte*>(two)}}}, {}).ok());
}

}  // namespace
}  // namespace pliant::te
