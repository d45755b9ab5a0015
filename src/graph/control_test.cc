#include "graph/control.h"

#include <gtest/gtest.h>

namespace pliant::graph {
namespace {

// Ids of what the verifier finds in a text, each followed by a space.
std::string faults(const std::string& text) {
  expr::Context ctx;
  auto f = parse_function(text, ctx);
  EXPECT_TRUE(f.ok()) << f.error().text();
  if (!f.ok()) return "";
  EXPECT_EQ(print(*f.value(), ctx), text);
  Status s = verify(*f.value(), ctx);
  std::string ids;
  if (!s.ok())
    for (const Diagnostic& d : s.error().diagnostics) ids += std::string(d.id.name()) + " ";
  return ids;
}

const std::string kSymbols = "symbol n {origin=input_axis(\"x\", 0)}\n";

TEST(Control, AnIfYieldsOrFails) {
  EXPECT_EQ(faults(kSymbols + R"(func @main(%0 "x": f32[n], %1 "c": bool[]) {
  %2 = core.if(%1) : f32[n]
    region() {
      %3 = math.neg(%0) : f32[n]
      yield %3
    }
    region() {
      core.require() {a=dim(n), b=dim(4), kind="equal", message="four"}
      core.fail() {message="no"}
      yield
    }
  return %2 "y"
}
)"),
            "");
}

TEST(Control, ABranchThatYieldsNothingIsNoBranch) {
  EXPECT_EQ(faults(kSymbols + R"(func @main(%0 "x": f32[n], %1 "c": bool[]) {
  %2 = core.if(%1) {cond=dim(n)} : f32[n]
    region() {
      yield
    }
    region() {
      yield %0
    }
  return %2 "y"
}
)"),
            "bad-form ");
}

TEST(Control, ALoopDefinesItsIndexInsideAndItsCountOutside) {
  std::string symbols =
      "symbol n {origin=input_axis(\"x\", 0)}\nsymbol i {upper=dim(n - 1), origin=loop_index(\"l\", 0)}\n"
      "symbol count {origin=data(\"l\", 0)}\nsymbol m {origin=data(\"l\", 0)}\n";
  std::string loop = R"(func @main(%0 "x": f32[n]) {
  %1, %2 = core.loop(_, %0) {count=dim(count), index=dim(i), trip=dim(n)} : f32[count], f32[count, 2]
    region(%3: f32[m]) {
      %4 = core.const() {value=bool[] dense<true>} : bool[]
      %5 = array.full(%3) {shape=dims(i + m)} : f32[i + m]
      %6 = array.full(%3) {shape=dims(2)} : f32[2]
      yield %4, %5, %6
    }
)";
  EXPECT_EQ(faults(symbols + loop + "  return %2 \"y\"\n}\n").find("unknown"), std::string::npos);
  std::string outside = "  %7 = array.full(%0) {shape=dims(m)} : f32[4]\n  %8 = array.full(%0) {shape=dims(i)} : f32[4]\n";
  EXPECT_EQ(faults(symbols + loop + outside + "  return %2 \"y\"\n}\n"), "unknown-symbol unknown-symbol ");
}

TEST(Control, NothingFollowsAFailure) {
  EXPECT_EQ(faults(kSymbols + R"(func @main(%0 "x": f32[n]) {
  core.fail() {message="no"}
  %1 = math.neg(%0) : f32[n]
  return %1 "y"
}
)"),
            "bad-form ");
}

TEST(Control, ConstraintsOfARegionAreNodesOfIt) {
  expr::Context ctx;
  Dim n = ctx.symbol({.name = "n"});
  auto loc = Loc::make_named("node", "onnx.Op");
  ShapeConstraint o{ShapeConstraint::Kind::LessEqual, n, ctx.constant(3), "small", loc};
  FunctionBuilder b("f", ctx);
  b.begin_region({});
  b.add_constraint(o);
  b.begin_region({});
  b.add_constraint(o);
  EXPECT_TRUE(b.current_nodes().empty());
  b.drop_region();
  auto region = b.end_region({});
  ASSERT_EQ(region->nodes.size(), 1u);
  ShapeConstraint back = constraint_of(region->nodes[0]);
  EXPECT_EQ(back.kind, o.kind);
  EXPECT_EQ(back.a, o.a);
  EXPECT_EQ(back.b, o.b);
  EXPECT_EQ(back.message, o.message);
  EXPECT_TRUE(b.peek().constraints.empty());
}

}  // namespace
}  // namespace pliant::graph
