// Builders of Scalars: folding, identities that hold bit for bit, index arithmetic, text.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "expr/expr.h"

namespace pliant::expr {
namespace {

class ScalarTest : public ::testing::Test {
 protected:
  Scalar f(double v) { return make_const(ctx, DType::F32, v); }
  Scalar i(int64_t v, DType t = DType::I32) { return make_const_int(ctx, t, v); }
  Scalar load(DType t) { return make_load(ctx, static_cast<TensorId>(t), t, {n}); }
  int64_t int_of(Scalar s) {
    EXPECT_EQ(s->kind, ScalarKind::Const) << s;
    return static_cast<int64_t>(s->bits);
  }
  float float_of(Scalar s) {
    EXPECT_EQ(s->kind, ScalarKind::Const) << s;
    float v;
    const uint32_t bits = static_cast<uint32_t>(s->bits);
    static_assert(sizeof v == sizeof bits);
    std::memcpy(&v, &bits, sizeof v);
    return v;
  }
  Context ctx;
  Dim n = ctx.symbol({.name = "n"}), m = ctx.symbol({.name = "m"});
  Scalar x = load(DType::F32), k = load(DType::I32), p = load(DType::Bool), l = load(DType::I64);
};

TEST_F(ScalarTest, IntegersWrapAndDivideTotally) {
  EXPECT_EQ(int_of(i(INT32_MAX) + i(1)), INT32_MIN);
  EXPECT_EQ(int_of(i(7) / i(0)), 0);
  EXPECT_EQ(int_of(i(INT32_MIN) / i(-1)), INT32_MIN);
  EXPECT_EQ(int_of(i(-7) / i(2)), -3);
  EXPECT_EQ(int_of(make_binary(BinaryOp::Mod, i(-7), i(2))), 1);
  EXPECT_EQ(int_of(make_binary(BinaryOp::Rem, i(-7), i(2))), -1);
  EXPECT_EQ(int_of(make_binary(BinaryOp::Pow, i(3), i(4))), 81);
  EXPECT_EQ(int_of(make_binary(BinaryOp::Pow, i(3), i(-1))), 0);
  EXPECT_EQ(int_of(make_binary(BinaryOp::Shl, i(1), i(40))), 0);
  EXPECT_EQ(int_of(i(200, DType::U8) + i(100, DType::U8)), 44);
  EXPECT_EQ(int_of(make_unary(UnaryOp::Neg, i(-128, DType::I8))), -128);
}

TEST_F(ScalarTest, FloatsKeepSignsAndNan) {
  EXPECT_NE(x + f(0.0), x);
  EXPECT_EQ(x + f(-0.0), x);
  EXPECT_EQ(x - f(0.0), x);
  EXPECT_EQ(x * f(1), x);
  EXPECT_EQ((x * f(0))->kind, ScalarKind::Binary);
  EXPECT_EQ((x - x)->kind, ScalarKind::Binary);
  EXPECT_EQ(make_binary(BinaryOp::Eq, x, x)->kind, ScalarKind::Binary);
  EXPECT_TRUE(std::isnan(float_of(make_binary(BinaryOp::Max, f(NAN), f(1)))));
  EXPECT_TRUE(std::isnan(float_of(make_binary(BinaryOp::Min, f(1), f(NAN)))));
  EXPECT_EQ(float_of(make_binary(BinaryOp::Mod, f(-7), f(2))), 1);
  EXPECT_EQ(float_of(make_unary(UnaryOp::Round, f(2.5))), 2);
  EXPECT_EQ(float_of(make_fma(f(3), f(4), f(5))), 17);
}

TEST_F(ScalarTest, Casts) {
  EXPECT_EQ(int_of(make_cast(DType::I8, f(300))), 127);
  EXPECT_EQ(int_of(make_cast(DType::U8, f(-3))), 0);
  EXPECT_EQ(int_of(make_cast(DType::I64, f(1e30))), INT64_MAX);
  EXPECT_EQ(int_of(make_cast(DType::I32, f(NAN))), 0);
  EXPECT_EQ(int_of(make_cast(DType::Bool, f(0.5))), 1);
  EXPECT_EQ(int_of(make_cast(DType::I8, i(300))), 44);
  EXPECT_EQ(make_cast(DType::F32, make_cast(DType::F64, x)), x);
  EXPECT_EQ(make_cast(DType::F32, make_cast(DType::I64, k)), make_cast(DType::F32, k));
  EXPECT_NE(make_cast(DType::F32, make_cast(DType::F16, x)), x);
  EXPECT_EQ(make_const(ctx, DType::F16, 65519)->bits, 0x7bffu);
  EXPECT_EQ(make_const(ctx, DType::F16, 65520)->bits, 0x7c00u);
  EXPECT_EQ(make_const(ctx, DType::F16, 0x1p-25)->bits, 0u);
  EXPECT_EQ(make_const(ctx, DType::F16, 0x1.8p-25)->bits, 1u);
  EXPECT_EQ(make_const(ctx, DType::BF16, 1.0 + 0x1p-8)->bits, 0x3f80u);
  EXPECT_EQ(make_const(ctx, DType::BF16, 1.0 + 0x1p-8 + 0x1p-40)->bits, 0x3f81u);
  EXPECT_EQ(make_bitcast(DType::I32, f(1))->bits, 0x3f800000u);
}

TEST_F(ScalarTest, SelectAndLogic) {
  const Scalar yes = make_const_int(ctx, DType::Bool, 1), no = make_const_int(ctx, DType::Bool, 0);
  EXPECT_EQ(make_select(yes, x, f(1)), x);
  EXPECT_EQ(make_select(p, x, x), x);
  EXPECT_EQ(make_select(p, yes, no), p);
  EXPECT_EQ(make_select(make_unary(UnaryOp::Not, p), x, f(1)), make_select(p, f(1), x));
  EXPECT_EQ(logical_and(p, yes), p);
  EXPECT_EQ(logical_and(no, p), no);
}

TEST_F(ScalarTest, IndexArithmeticIsDimArithmetic) {
  const Scalar a = make_index(n), b = make_index(m);
  EXPECT_EQ(a + b, make_index(n + m));
  EXPECT_EQ(a * make_const_int(ctx, DType::I64, 3), make_index(n * 3));
  EXPECT_EQ(make_index(ctx.constant(4)), make_const_int(ctx, DType::I64, 4));
  EXPECT_EQ(value(a), n);
  EXPECT_EQ(make_index(value(l)), l);
  EXPECT_EQ(make_index(value(k)), make_cast(DType::I64, k));
  EXPECT_EQ(value(make_cast(DType::I64, k)), value(k));
}

TEST_F(ScalarTest, ComparisonsAreDecidedByProofs) {
  const Dim j = ctx.index_symbol("j", n);
  EXPECT_EQ(less(j, n), make_const_int(ctx, DType::Bool, 1));
  EXPECT_EQ(less_equal(n, j), make_const_int(ctx, DType::Bool, 0));
  EXPECT_EQ(equal(n, n + 1), make_const_int(ctx, DType::Bool, 0));
  EXPECT_EQ(less(j, m)->kind, ScalarKind::Binary);
}

TEST_F(ScalarTest, RangeOfGatheredIndices) {
  const Scalar clamped = make_binary(BinaryOp::Max, make_binary(BinaryOp::Min, l, make_const_int(ctx, DType::I64, 9)),
                                     make_const_int(ctx, DType::I64, 0));
  EXPECT_EQ(ctx.range(value(clamped)).lo, 0);
  EXPECT_EQ(ctx.range(value(clamped)).hi, 9);
  EXPECT_EQ(ctx.range(value(load(DType::U8))).hi, 255);
  // Compared as unsigned numbers: a negative index is a large one, whichever operand it is.
  auto unsigned_of = [](Scalar s) { return make_cast(DType::U64, s); };
  const Scalar any = unsigned_of(load(DType::I64)), nine = make_const_int(ctx, DType::U64, 9);
  const Scalar minus_one = unsigned_of(make_index(ctx.symbol({.name = "below", .lo = -1, .hi = -1})));
  for (const auto& [a, b] : {std::pair(any, nine), std::pair(nine, any), std::pair(nine, minus_one)}) {
    EXPECT_EQ(ctx.range(value(make_binary(BinaryOp::Min, a, b))).lo, 0);
    EXPECT_EQ(ctx.range(value(make_binary(BinaryOp::Min, a, b))).hi, 9);
    EXPECT_EQ(ctx.range(value(make_binary(BinaryOp::Max, a, b))).lo, INT64_MIN);
  }
}

TEST_F(ScalarTest, TextsParseBack) {
  const auto resolve = [](const std::string& name) -> std::optional<Context::TensorRef> {
    const TensorId id = static_cast<TensorId>(std::stoi(name.substr(1)));
    return Context::TensorRef{id, static_cast<DType>(id)};
  };
  Scalar deep = x;
  for (int round = 0; round < 40; ++round) deep = deep * deep + f(round);
  const Scalar gathered = make_load(ctx, 11, DType::F32, {value(k) + n, floordiv(m, 2)});
  for (Scalar s :
       {x + f(0.1), make_select(less(n, m), x, -x), make_cast(DType::F16, x), make_bitcast(DType::I32, x), gathered, deep,
        make_fma(x, x, f(std::numeric_limits<double>::infinity())), make_const_bits(ctx, DType::F32, 0x7fc01234),
        make_const(ctx, DType::F16, 0.1), make_const(ctx, DType::F64, 1e-320), make_unary(UnaryOp::IsNan, x),
        make_binary(BinaryOp::Atan2, x, f(-0.0)), make_lowest(ctx, DType::I64), make_highest(ctx, DType::U64),
        logical_and(p, make_binary(BinaryOp::Ne, k, i(3)))}) {
    const Result<Scalar> back = ctx.parse_scalar(s.str(), resolve);
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(back.value(), s) << s;
  }
  EXPECT_LT(deep.str().size(), 2000u);
  for (const char* bad : {"f32(1", "x[", "select(f32(1), f32(1), f32(2))", "(i32(1) + f32(1))", "nonsense(f32(1))", "%3",
                          "{%0 = f32(1) %0}"}) {
    EXPECT_FALSE(ctx.parse_scalar(bad).ok()) << bad;
  }
}

TEST_F(ScalarTest, SubstituteReplacesLoads) {
  const Scalar s = make_load(ctx, 11, DType::F32, {n + 1}) * f(2);
  const Scalar out = substitute(s, {{*n.as_symbol(), m}}, [&](Scalar load) {
    EXPECT_EQ(load->index[0], m + 1);
    return f(3);
  });
  EXPECT_EQ(float_of(out), 6);
  const Scalar nested = make_load(ctx, 11, DType::F32, {value(make_load(ctx, 4, DType::I64, {n}))});
  EXPECT_EQ(loads_of(nested).size(), 2u);
  EXPECT_EQ(symbols_of(nested), std::vector<SymbolId>{*n.as_symbol()});
}

}  // namespace
}  // namespace pliant::expr
