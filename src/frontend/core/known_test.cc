#include "frontend/core/known.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace pliant::frontend {
namespace {

class KnownTest : public ::testing::Test {
 protected:
  Dim symbol(const char* name, int64_t lo) {
    expr::SymbolInfo info;
    info.name = name;
    info.lo = lo;
    return ctx_.symbol(std::move(info));
  }
  int64_t at(Dim d, int64_t a, int64_t b) {
    auto v = expr::evaluate(d, [&](expr::SymbolId s) -> std::optional<int64_t> { return s == *a_.as_symbol() ? a : b; });
    EXPECT_TRUE(v.has_value()) << d.str();
    return v.value_or(INT64_MIN);
  }
  expr::Context ctx_;
  Dim a_ = symbol("a", INT64_MIN);
  Dim b_ = symbol("b", INT64_MIN);
};

int64_t expected(ElementOp op, int64_t a, int64_t b) {
  switch (op) {
    case ElementOp::Add: return a + b;
    case ElementOp::Sub: return a - b;
    case ElementOp::Mul: return a * b;
    case ElementOp::Min: return std::min(a, b);
    case ElementOp::Max: return std::max(a, b);
    case ElementOp::Equal: return a == b;
    case ElementOp::Less: return a < b;
    case ElementOp::LessOrEqual: return a <= b;
    case ElementOp::Greater: return a > b;
    case ElementOp::GreaterOrEqual: return a >= b;
    default: ADD_FAILURE(); return 0;
  }
}

// Symbolic results agree with the numbers, for every operation that is always exact and any signs.
TEST_F(KnownTest, IntegerOperationsAgreeWithNumbers) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int64_t> pick(-6, 6);
  for (ElementOp op : {ElementOp::Add, ElementOp::Sub, ElementOp::Mul, ElementOp::Min, ElementOp::Max, ElementOp::Equal,
                       ElementOp::Less, ElementOp::LessOrEqual, ElementOp::Greater, ElementOp::GreaterOrEqual}) {
    auto e = apply(op, Element::make_int(a_), Element::make_int(b_), DType::I64, ctx_);
    ASSERT_TRUE(e.has_value());
    for (int trial = 0; trial < 60; ++trial) {
      int64_t a = pick(random), b = pick(random);
      EXPECT_EQ(at(e->num, a, b), expected(op, a, b)) << e->num.str() << " at " << a << ", " << b;
    }
  }
}

TEST_F(KnownTest, DivisionTruncatesAndNeedsAPositiveDivisor) {
  auto by_three = apply(ElementOp::Div, Element::make_int(a_), Element::make_int(ctx_.constant(3)), DType::I64, ctx_);
  ASSERT_TRUE(by_three.has_value());
  for (int64_t a = -9; a <= 9; ++a) EXPECT_EQ(at(by_three->num, a, 0), a / 3) << a;
  EXPECT_FALSE(apply(ElementOp::Div, Element::make_int(a_), Element::make_int(b_), DType::I64, ctx_).has_value());
}

TEST_F(KnownTest, LogicOfComparisons) {
  Element less = *apply(ElementOp::Less, Element::make_int(a_), Element::make_int(b_), DType::I64, ctx_);
  Element positive =
      *apply(ElementOp::Greater, Element::make_int(a_), Element::make_int(ctx_.constant(0)), DType::I64, ctx_);
  for (int64_t a = -3; a <= 3; ++a) {
    for (int64_t b = -3; b <= 3; ++b) {
      EXPECT_EQ(at(apply(ElementOp::And, less, positive, DType::Bool, ctx_)->num, a, b), a < b && a > 0);
      EXPECT_EQ(at(apply(ElementOp::Or, less, positive, DType::Bool, ctx_)->num, a, b), a < b || a > 0);
      EXPECT_EQ(at(apply(ElementOp::Xor, less, positive, DType::Bool, ctx_)->num, a, b), (a < b) != (a > 0));
      EXPECT_EQ(at(apply(ElementOp::Not, less, DType::Bool, ctx_)->num, a, b), a >= b);
    }
  }
}

TEST_F(KnownTest, ConstantsWrapInTheirType) {
  auto constant = [&](int64_t v) { return Element::make_int(ctx_.constant(v)); };
  EXPECT_TRUE(apply(ElementOp::Add, constant(INT32_MAX), constant(1), DType::I32, ctx_)->num.is_const(INT32_MIN));
  EXPECT_TRUE(apply(ElementOp::Mul, constant(INT64_MAX), constant(2), DType::I64, ctx_)->num.is_const(-2));
  EXPECT_TRUE(apply(ElementOp::Mod, constant(-7), constant(3), DType::I64, ctx_)->num.is_const(2));
  EXPECT_TRUE(apply(ElementOp::Div, constant(INT64_MIN), constant(-1), DType::I64, ctx_)->num.is_const(INT64_MIN));
}

// floor(cast(n) * 0.5) and the like, as exporters compute sizes of resized images.
TEST_F(KnownTest, FloatSizesStayExact) {
  Dim n = symbol("n", 0);
  Element f = *cast(Element::make_int(n), DType::I64, DType::F32, ctx_);
  Element half = *apply(ElementOp::Mul, f, Element::make_real(0.5), DType::F32, ctx_);
  Element size = *cast(*apply(ElementOp::Floor, half, DType::F32, ctx_), DType::F32, DType::I64, ctx_);
  EXPECT_EQ(size.num.str(), expr::floordiv(n, 2).str());
  Element twice = *apply(ElementOp::Mul, f, Element::make_real(2), DType::F32, ctx_);
  EXPECT_EQ(cast(twice, DType::F32, DType::I64, ctx_)->num.str(), (n * 2).str());
  // 0.1 has no short binary form: the rounding of the product is not known.
  EXPECT_FALSE(apply(ElementOp::Mul, f, Element::make_real(static_cast<double>(0.1f)), DType::F32, ctx_).has_value());
}

TEST_F(KnownTest, ReadsAndWritesConstants) {
  std::vector<int32_t> values = {1, -2, 3, 4, 5, 6};
  auto k = known_of(*graph::make_constant(DType::I32, {2, 3}, values.data(), 24), ctx_);
  ASSERT_TRUE(k.has_value());
  EXPECT_EQ(*k->ints(), (std::vector<int64_t>{1, -2, 3, 4, 5, 6}));
  graph::ConstantPtr back = constant_of(*k);
  EXPECT_EQ(back->dtype, DType::I32);
  EXPECT_EQ(0, std::memcmp(back->data, values.data(), 24));
  std::vector<float> many(65);
  EXPECT_FALSE(known_of(*graph::make_constant(DType::F32, {65}, many.data(), 260), ctx_).has_value());
}

}  // namespace
}  // namespace pliant::frontend
