// Joins and widenings of the types of sequences and optionals, and their text.
#include "graph/list_type.h"

#include <gtest/gtest.h>

namespace pliant::graph {
namespace {

class ListType : public ::testing::Test {
 protected:
  Dim symbol(const char* name) {
    expr::SymbolInfo info;
    info.name = name;
    info.origin = {expr::Origin::Kind::InputAxis, name, 0};
    return ctx.symbol(info);
  }
  Type seq(Shape shape, Rank rank = Rank::Known) {
    return make_sequence_type(Type{TensorType{DType::F32, std::move(shape), rank}});
  }
  std::string joined(const Type& a, const Type& b) {
    auto t = join_lists(a, b, ctx), swapped = join_lists(b, a, ctx);
    EXPECT_EQ(t.has_value(), swapped.has_value());
    if (t && swapped) {
      EXPECT_EQ(print(*t), print(*swapped));
    }
    return t ? print(*t) : "none";
  }
  expr::Context ctx;
};

TEST_F(ListType, joins) {
  Dim n = symbol("n"), two = ctx.constant(2), three = ctx.constant(3);
  EXPECT_EQ(joined(seq({n, three}), seq({n, three})), "seq<f32[n, 3]>");
  EXPECT_EQ(joined(seq({n, three}), seq({two, three})), "seq<f32[?, 3]>");
  EXPECT_EQ(joined(seq({n + 1 - 1, three}), seq({n, any_size(ctx)})), "seq<f32[n, ?]>");
  EXPECT_EQ(joined(seq({n}), seq({n, three})), "seq<f32[*]>");
  EXPECT_EQ(joined(seq({}, Rank::None), seq({n, three})), "seq<f32[n, 3]>");
  EXPECT_EQ(joined(seq({}, Rank::None), seq({}, Rank::Any)), "seq<f32[*]>");
  EXPECT_EQ(joined(seq({}, Rank::None), seq({}, Rank::None)), "seq<f32[-]>");
  EXPECT_EQ(joined(seq({two}), make_sequence_type(make_tensor_type(DType::I64, {two}))), "none");
  EXPECT_EQ(joined(seq({two}), make_optional_type(seq({three}))), "opt<seq<f32[?]>>");
  EXPECT_EQ(joined(seq({two}), make_optional_type(make_tensor_type(DType::F32, {two}))), "none");
}

TEST_F(ListType, a_narrower_type_fits_a_wider_one) {
  Dim two = ctx.constant(2);
  EXPECT_TRUE(fits_list(seq({two}), seq({any_size(ctx)}), ctx));
  EXPECT_FALSE(fits_list(seq({any_size(ctx)}), seq({two}), ctx));
  EXPECT_TRUE(fits_list(seq({}, Rank::None), seq({two}), ctx));
  EXPECT_TRUE(fits_list(seq({two}), make_optional_type(seq({two})), ctx));
  EXPECT_FALSE(fits_list(make_optional_type(seq({two})), seq({two}), ctx));
}

TEST_F(ListType, sizes_that_are_not_known_outside_become_open) {
  Dim n = symbol("n"), m = symbol("m");
  Type t = make_optional_type(seq({n, m + 1, any_size(ctx), n * 2}));
  EXPECT_EQ(print(widen_list(t, ctx, [&](expr::SymbolId s) { return s == *n.as_symbol(); })), "opt<seq<f32[n, ?, ?, n*2]>>");
}

TEST_F(ListType, the_text_of_every_type_parses_back) {
  std::string text =
      "symbol n {origin=input_axis(\"s\", 0)}\n"
      "func @f(%0 \"s\": seq<f32[?, 3]>, %1 \"o\": opt<seq<i64[*]>>, %2 \"e\": seq<bool[-]>, %3 \"t\": opt<f16[]>, %4 "
      "\"x\": f32[n]) "
      "{\n"
      "  %5 = seq.insert(%0, %4) : seq<f32[*]>\n"
      "  return %5 \"y\"\n"
      "}\n";
  auto parsed = parse_function(text, ctx);
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(print(*parsed.value(), ctx), text);
  EXPECT_TRUE(verify(*parsed.value(), ctx).ok());
}

}  // namespace
}  // namespace pliant::graph
