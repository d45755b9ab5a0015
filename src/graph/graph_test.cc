#include "graph/graph.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace pliant::graph {
namespace {

LocPtr loc(const std::string& name) { return Loc::make_named(name, "test.Op"); }

template <class T>
ConstantPtr constant(DType t, std::vector<int64_t> shape, std::vector<T> values) {
  return make_constant(t, std::move(shape), values.data(), values.size() * sizeof(T));
}

void expect_round_trip(const Function& f, expr::Context& ctx) {
  for (bool with_locations : {false, true}) {
    PrintOptions options{.with_locations = with_locations};
    std::string text = print(f, ctx, options);
    auto same = parse_function(text, ctx, constants_of(f));
    ASSERT_TRUE(same.ok()) << same.error().text() << text;
    EXPECT_EQ(print(*same.value(), ctx, options), text);
    expr::Context fresh;
    auto again = parse_function(text, fresh, constants_of(f));
    ASSERT_TRUE(again.ok()) << again.error().text() << text;
    EXPECT_EQ(print(*again.value(), fresh, options), text);
  }
}

TEST(Constant, HashCoversTypeShapeAndBytes) {
  auto a = constant<float>(DType::F32, {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(hash_of(*a), hash_of(*constant<float>(DType::F32, {2, 2}, {1, 2, 3, 4})));
  EXPECT_NE(hash_of(*a), hash_of(*constant<float>(DType::F32, {4}, {1, 2, 3, 4})));
  EXPECT_NE(hash_of(*a), hash_of(*constant<float>(DType::F32, {2, 2}, {1, 2, 3, 5})));
  EXPECT_NE(hash_of(*a), hash_of(*make_constant(DType::I32, {2, 2}, a->data, a->bytes)));
  EXPECT_EQ(hash_of(*a).size(), 32u);
}

TEST(Constant, MemoryIsAlignedAndEmptyOnesAreNotNull) {
  auto [c, memory] = make_blank_constant(DType::F64, {3, 0});
  EXPECT_EQ(c->bytes, 0u);
  EXPECT_NE(c->data, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
}

TEST(Attrs, EqualityLooksAtContentAndBits) {
  auto a = constant<float>(DType::F32, {1}, {1}), b = constant<float>(DType::F32, {1}, {1});
  EXPECT_TRUE(equal(AttrValue(a), AttrValue(b)));
  EXPECT_FALSE(equal(AttrValue(int64_t{1}), AttrValue(1.0)));
  EXPECT_FALSE(equal(AttrValue(0.0), AttrValue(-0.0)));
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(equal(AttrValue(nan), AttrValue(nan)));
  EXPECT_EQ((Attrs{{"a", int64_t{1}}}), (Attrs{{"a", int64_t{1}}}));
  EXPECT_FALSE((Attrs{{"a", int64_t{1}}}) == (Attrs{{"b", int64_t{1}}}));
}

TEST(Attrs, WrongKindIsABugAndAbsentIsTheFallback) {
  expr::Context ctx;
  Attrs attrs{{"axis", int64_t{2}}, {"mode", std::string("edge")}, {"empty", std::vector<int64_t>{}}};
  EXPECT_EQ(attrs.string_or("mode", "wrap"), "edge");
  EXPECT_EQ(attrs.string_or("other", "wrap"), "wrap");
  EXPECT_THROW(attrs.string_or("axis", ""), InternalError);
  EXPECT_TRUE(attrs.dims_or("empty", {ctx.constant(1)}).empty());
}

TEST(Text, EveryAttributeKindRoundTrips) {
  expr::Context ctx;
  Dim n = ctx.symbol({.name = "n", .lo = 1, .hi = 64, .multiple_of = 2, .likely = {2, 4}});
  Dim odd = ctx.symbol({.name = "a b/c", .upper = n * 3 + 1, .origin = {expr::Origin::Kind::Data, "/Node \"x\"", 2}});
  double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  FunctionBuilder b("main graph", ctx);
  ValueId x = b.add_param(make_tensor_type(DType::F32, {n, odd}), "x");
  std::vector<float> many(17, 0.1f);
  Attrs attrs{{"a_int", int64_t{-5}},
              {"a_float", 1e30},
              {"a_whole_float", 3.0},
              {"a_nan", nan},
              {"infinities", std::vector<double>{inf, -inf, -0.0}},
              {"a_bool", true},
              {"a_string", std::string("quote \" slash \\ line\n tab\t")},
              {"a_dtype", DType::BF16},
              {"ints", std::vector<int64_t>{1, -2, INT64_MAX, INT64_MIN}},
              {"no_ints", std::vector<int64_t>{}},
              {"no_floats", std::vector<double>{}},
              {"no_strings", std::vector<std::string>{}},
              {"strings", std::vector<std::string>{"a", "b, c]"}},
              {"dim", n * odd - 3},
              {"dims", std::vector<Dim>{n, min(n, odd + 1), ctx.constant(4)}},
              {"no_dims", std::vector<Dim>{}},
              {"odd name!", int64_t{1}},
              {"bools", constant<uint8_t>(DType::Bool, {2}, {0, 1})},
              {"bytes", constant<int8_t>(DType::I8, {2}, {-128, 127})},
              {"words", constant<uint64_t>(DType::U64, {1}, {UINT64_MAX})},
              {"halves", constant<uint16_t>(DType::F16, {3}, {0x3c00, 0xfc00, 0x7e01})},
              {"floats", constant<float>(DType::F32, {3}, {0.1f, NAN, -INFINITY})},
              {"many", constant<float>(DType::F32, {17}, many)},
              {"scalar", constant<double>(DType::F64, {}, {1.0 / 3})},
              {"empty", constant<float>(DType::F32, {0, 3}, {})}};
  auto y = b.append("test.op", attrs, {x, kNoValue}, {make_tensor_type(DType::F32, {n})}, loc("node"));
  b.set_results(y, {"y out"});
  FunctionPtr f = b.finish();
  expect_round_trip(*f, ctx);
  auto parsed = parse_function(print(*f, ctx), ctx, constants_of(*f));
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_TRUE(parsed.value()->nodes[0].attrs == attrs);
  EXPECT_EQ(parsed.value()->nodes[0].inputs[1], kNoValue);
  EXPECT_EQ(parsed.value()->name, "main graph");
}

TEST(Text, RegionsConstraintsDefaultsAndLocationsRoundTrip) {
  expr::Context ctx;
  Dim n = ctx.symbol({.name = "n"}), m = ctx.symbol({.name = "m"});
  FunctionBuilder b("main", ctx);
  Type vector = make_tensor_type(DType::F32, {n});
  Type scalar = make_tensor_type(DType::Bool, {});
  ValueId cond = b.add_param(scalar, "cond");
  ValueId x = b.add_param(vector, "x");
  ValueId w = b.add_param(make_tensor_type(DType::F32, {m}), "w", constant<float>(DType::F32, {2}, {1, 2}));
  b.add_constraint({ShapeConstraint::Kind::Equal, n, m, "sizes {a} and {b}", loc("/Add")});
  b.add_constraint({ShapeConstraint::Kind::LessEqual, n, ctx.constant(8), "small", nullptr});
  b.add_constraint({ShapeConstraint::Kind::Broadcast, n, m * 2, "wide", nullptr});
  b.begin_region({});
  auto sum = b.append("math.add", {}, {x, w}, {vector}, Loc::make_derived(loc("/Add"), "simplify"));
  auto then_region = b.end_region(sum);
  ValueId i = b.add_value(make_tensor_type(DType::I64, {}), "i");
  b.begin_region({i});
  b.append("core.read_dims", {{"symbols", std::vector<Dim>{}}}, {i}, {}, loc("read"));
  auto else_region = b.end_region({x});
  ValueId y = b.add_value(Type{SequenceType{std::make_shared<Type>(vector)}}, "y");
  ValueId z = b.add_value(Type{TupleType{{scalar, Type{OptionalType{std::make_shared<Type>(vector)}}}}});
  b.append(
      Node{"core.if", {}, {cond}, {y, z}, {then_region, else_region}, Loc::make_fused({loc("a"), loc("b \"quoted\"")})});
  b.set_results({y, z}, {"y", "z"});
  FunctionPtr f = b.finish();
  expect_round_trip(*f, ctx);
  EXPECT_EQ(print(*f, ctx),
            "symbol n\n"
            "symbol m\n"
            "func @main(%0 \"cond\": bool[], %1 \"x\": f32[n], %2 \"w\": f32[m] = f32[2] dense<1, 2>) {\n"
            "  require dim(n) == dim(m) \"sizes {a} and {b}\"\n"
            "  require dim(n) <= dim(8) \"small\"\n"
            "  require dim(n) broadcasts dim(" +
                (m * 2).str() +
                ") \"wide\"\n"
                "  %3 \"y\", %4 = core.if(%0) : seq<f32[n]>, (bool[], opt<f32[n]>)\n"
                "    region() {\n"
                "      %5 = math.add(%1, %2) : f32[n]\n"
                "      yield %5\n"
                "    }\n"
                "    region(%6 \"i\": i64[]) {\n"
                "      core.read_dims(%6) {symbols=dims()}\n"
                "      yield %1\n"
                "    }\n"
                "  return %3 \"y\", %4 \"z\"\n"
                "}\n");
}

TEST(Text, ModulesRoundTrip) {
  Module m;
  m.ctx = std::make_shared<expr::Context>();
  m.source = "model.onnx";
  Dim n = m.ctx->symbol({.name = "n"});
  for (const char* name : {"main", "callee"}) {
    FunctionBuilder b(name, *m.ctx);
    ValueId x = b.add_param(make_tensor_type(DType::I64, {n}), "x");
    b.set_results({x}, {"y"});
    m.functions.push_back(b.finish());
  }
  std::string text = print(m);
  auto again = parse_module(text);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(print(again.value()), text);
}

TEST(Parse, FaultsNameTheLine) {
  struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"func @f(%0: f32[n]) {\n  return %0 \"y\"\n}", "line 1"},
      {"func @f(%0: f32[2]) {\n  %1 = a.b(%7) : f32[2]\n  return %1 \"y\"\n}", "value %7 is not defined"},
      {"func @f(%0: f32[2]) {\n  %0 = a.b() : f32[2]\n  return %0 \"y\"\n}", "defined twice"},
      {"func @f() {\n  %0 = a.b() {x=f32[2] dense<1>} : f32[2]\n}", "expected ','"},
      {"func @f() {\n  %0 = a.b() {x=f32[100] dense<00000000000000000000000000000000>} : f32[2]\n}", "no constant of hash"},
      {"func @f() {\n  %0 = a.b() {x=f32[99999999999, 99999999999] dense<1>} : f32[2]\n}", "too large"},
      {"func @f() {\n  %0 = a.b() {x=1, x=2} : f32[2]\n}", "given twice"},
      {"func @f() {\n  %0 = a.b() {x=[1, 2.0]} : f32[2]\n}", "mixes kinds"},
      {"func @f() {\n  %0 = a.b() : f33[2]\n}", "no type"},
      {"func @f() {", "expected"},
      {"symbol n {lo=1\nfunc", "expected"},
      {"", "expected 'func'"},
  };
  for (const auto& c : cases) {
    expr::Context ctx;
    auto f = parse_function(c.text, ctx);
    ASSERT_FALSE(f.ok()) << c.text;
    EXPECT_NE(f.error().text().find(c.message), std::string::npos) << f.error().text() << "\nof " << c.text;
  }
}

// Whatever is cut off or changed, parsing says what is wrong and nothing else happens.
TEST(Parse, DamagedTextsAreRefusedOrParsed) {
  std::string text =
      "symbol n {lo=1, origin=input_axis(\"x\", 0), likely=[1, 4]}\n"
      "func @f(%0 \"x\": f32[n, 2] = f32[1, 2] dense<1, 2>) {\n"
      "  require dim(n) <= dim(8) \"m\"\n"
      "  %1 = a.b(%0, _) {a=[1.5], d=dims(n, n + 1), s=\"q\\\"\"} : opt<f32[n]> loc(fused(named(\"a\", \"b\"), "
      "derived(\"p\", named(\"c\", \"d\"))))\n"
      "    region(%2: i64[]) {\n      yield %2\n    }\n"
      "  return %1 \"y\"\n}\n";
  for (size_t i = 0; i < text.size(); ++i) {
    for (std::string damaged :
         {text.substr(0, i), text.substr(0, i) + text.substr(i + 1), text.substr(0, i) + "~" + text.substr(i + 1)}) {
      expr::Context ctx;
      auto f = parse_function(damaged, ctx);
      EXPECT_TRUE(f.ok() || !f.error().diagnostics.empty());
    }
  }
}

TEST(Parse, ASymbolOfTheContextMustHaveTheSameFacts) {
  expr::Context ctx;
  ctx.symbol({.name = "n", .lo = 1});
  EXPECT_TRUE(parse_function("symbol n {lo=1}\nfunc @f(%0: f32[n]) {\n  return %0 \"y\"\n}", ctx).ok());
  auto f = parse_function("symbol n {lo=2}\nfunc @f(%0: f32[n]) {\n  return %0 \"y\"\n}", ctx);
  ASSERT_FALSE(f.ok());
  EXPECT_EQ(f.error().diagnostics[0].id.name(), "symbol-conflict");
}

class VerifyTest : public testing::Test {
 protected:
  std::string ids(const Function& f) {
    auto status = verify(f, ctx);
    std::string out;
    if (!status.ok()) {
      for (const Diagnostic& d : status.error().diagnostics) out += std::string(d.id.name()) + " ";
    }
    return out;
  }
  expr::Context ctx;
  Dim n = ctx.symbol({.name = "n", .origin = {expr::Origin::Kind::InputAxis, "x", 0}});
  Type type = make_tensor_type(DType::F32, {n});
};

TEST_F(VerifyTest, MoreAxesThanAnArtifactHolds) {
  FunctionBuilder b("f");
  for (size_t rank : {32, 33})
    b.add_param(make_tensor_type(DType::F32, Shape(rank, ctx.constant(1))), "x" + std::to_string(rank));
  b.set_results({}, {});
  const Status status = verify(*b.finish(), ctx);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().text(),
            "function f: error: value 1 \"x33\" has 33 axes, but at most 32 are supported [unsupported-shape]");
}

TEST_F(VerifyTest, GoodFunctionPasses) {
  FunctionBuilder b("f", ctx);
  ValueId x = b.add_param(type, "x");
  b.set_results(b.append("math.neg", {}, {x}, {type}, loc("n")), {"y"});
  EXPECT_EQ(ids(*b.finish()), "");
}

TEST_F(VerifyTest, UseBeforeDefinition) {
  Function f;
  f.values = {{type, "a"}, {type, "b"}};
  f.params = {0};
  f.default_values.resize(1);
  f.nodes = {Node{"math.neg", {}, {1}, {1}, {}, loc("n")}};
  EXPECT_EQ(ids(f), "used-before-defined ");
  f.nodes = {Node{"math.neg", {}, {9}, {1}, {}, loc("n")}};
  EXPECT_EQ(ids(f), "bad-value ");
  f.nodes = {Node{"math.neg", {}, {0}, {0}, {}, loc("n")}};
  EXPECT_EQ(ids(f), "defined-twice ");
  f.nodes = {Node{"math.neg", {}, {0}, {1}, {}, nullptr}};
  EXPECT_EQ(ids(f), "no-location ");
  f.nodes = {Node{"neg", {}, {0}, {1}, {}, loc("n")}};
  EXPECT_EQ(ids(f), "bad-op ");
}

TEST_F(VerifyTest, ResultNamesAreUniqueAndAsManyAsResults) {
  FunctionBuilder b("f", ctx);
  ValueId x = b.add_param(type, "x");
  b.set_results({x, x}, {"y", "y"});
  EXPECT_EQ(ids(*b.finish()), "bad-results ");
}

std::shared_ptr<const Region> region_of(FunctionBuilder& b, std::vector<ValueId> results) {
  b.begin_region({});
  return b.end_region(std::move(results));
}

TEST_F(VerifyTest, RegionValuesStayInTheirRegion) {
  FunctionBuilder b("f", ctx);
  ValueId x = b.add_param(type, "x");
  b.begin_region({});
  auto inner = b.append("math.neg", {}, {x}, {type}, loc("n"));
  auto region = b.end_region(inner);
  ValueId y = b.add_value(type);
  b.append(Node{"core.if", {}, {x}, {y}, {region, region_of(b, {x})}, loc("if")});
  b.set_results(inner, {"y"});
  EXPECT_EQ(ids(*b.finish()), "used-before-defined ");
}

TEST_F(VerifyTest, SymbolsAreKnownBeforeTheyAreUsed) {
  Dim k = ctx.symbol({.name = "k", .origin = {expr::Origin::Kind::Data, "nz", 0}});
  Dim z = ctx.symbol({.name = "z", .origin = {expr::Origin::Kind::InputAxis, "other", 0}});
  Type data_type = make_tensor_type(DType::F32, {k});
  for (bool defined_first : {true, false}) {
    FunctionBuilder b("f", ctx);
    ValueId x = b.add_param(type, "x");
    if (defined_first) b.append("core.read_dims", {{"symbols", std::vector<Dim>{k}}}, {x}, {}, loc("read"));
    auto y = b.append("array.expand", {{"shape", std::vector<Dim>{k}}}, {x}, {data_type}, loc("e"));
    b.set_results(y, {"y"});
    EXPECT_EQ(ids(*b.finish()), defined_first ? "" : "unknown-symbol ");
  }
  FunctionBuilder b("f", ctx);
  ValueId x = b.add_param(type, "x");
  b.set_results(b.append("math.neg", {}, {x}, {make_tensor_type(DType::F32, {z})}, loc("n")), {"y"});
  EXPECT_EQ(ids(*b.finish()), "unknown-symbol ");
}

TEST(Builder, RewritingKeepsValuesAndConstantsGetTheirType) {
  expr::Context ctx;
  FunctionBuilder b("f", ctx);
  ValueId x = b.add_param(make_tensor_type(DType::F32, {ctx.constant(2)}), "x");
  b.set_results({x}, {"y"});
  FunctionPtr f = b.finish();
  auto again = FunctionBuilder::rewriting(*f);
  ValueId c = again.append_const(constant<float>(DType::F32, {2}, {1, 2}), loc("c"));
  again.set_results(again.append("math.add", {}, {x, c}, {f->values[x].type}, loc("add")), {"y"});
  FunctionPtr g = again.finish();
  EXPECT_EQ(print(g->values[c].type), "f32[2]");
  EXPECT_TRUE(verify(*g, ctx).ok());
  EXPECT_EQ(f->nodes.size(), 0u);
}

TEST(Builder, TheSameRequirementIsKeptOnce) {
  expr::Context ctx;
  Dim n = ctx.symbol({.name = "n"});
  FunctionBuilder b("f", ctx);
  b.add_constraint({ShapeConstraint::Kind::Equal, n, ctx.constant(3), "first", nullptr});
  b.add_constraint({ShapeConstraint::Kind::Equal, n, ctx.constant(3), "second", nullptr});
  ASSERT_EQ(b.peek().constraints.size(), 1u);
  EXPECT_EQ(b.peek().constraints[0].message, "first");
}

}  // namespace
}  // namespace pliant::graph
