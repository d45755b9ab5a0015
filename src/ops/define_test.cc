// Types, structural operators and definitions of nodes.
#include <gtest/gtest.h>

#include "ops/evaluate/run_op.h"

namespace pliant::ops {
namespace {

using graph::FunctionBuilder;
using graph::make_tensor_type;
using graph::Node;

Dim size_symbol(expr::Context& ctx, const std::string& name) {
  expr::SymbolInfo info;
  info.name = name;
  info.origin = {expr::Origin::Kind::InputAxis, "x", 0};
  return ctx.symbol(info);
}
LocPtr here() { return Loc::make_named("here", "onnx.Op"); }

std::string first_id(const Error& e) { return e.diagnostics.empty() ? "" : std::string(e.diagnostics[0].id.name()); }

TEST(Attributes, NamesKindsAndDefaultsAreChecked) {
  expr::Context ctx;
  std::vector<graph::Type> x{make_tensor_type(DType::F32, {ctx.constant(2), ctx.constant(3)})};
  const OpDef& softmax = *find_op("nn.softmax");
  EXPECT_TRUE(infer(softmax, {}, x, 1, ctx, here()).ok());
  EXPECT_EQ(first_id(infer(softmax, Attrs{{"axes", int64_t{1}}}, x, 1, ctx, here()).error()), "unknown-attribute");
  EXPECT_EQ(first_id(infer(softmax, Attrs{{"axis", 1.0}}, x, 1, ctx, here()).error()), "bad-attribute");
  EXPECT_EQ(first_id(infer(*find_op("array.transpose"), {}, x, 1, ctx, here()).error()), "missing-attribute");
  EXPECT_EQ(first_id(infer(softmax, Attrs{{"axis", int64_t{2}}}, x, 1, ctx, here()).error()), "axis-out-of-range");
  EXPECT_EQ(first_id(infer(*find_op("math.add"), {}, x, 1, ctx, here()).error()), "input-count");
}

TEST(Attributes, NodesAreReadWithDefaults) {
  const Node node{"array.gather", {}, {}, {}, {}, here()},
      given{"array.gather", Attrs{{"axis", int64_t{2}}}, {}, {}, {}, here()};
  EXPECT_EQ(attrs_of(node).as_int("axis"), 0);
  EXPECT_EQ(attrs_of(given).as_int("axis"), 2);
  EXPECT_THROW(attrs_of(given).as_float("axis"), InternalError);
  EXPECT_THROW(attrs_of(given).as_int("perm"), InternalError);  // not an attribute of this operator
  const Node absent{"array.transpose", {}, {}, {}, {}, here()},
      empty{"array.transpose", Attrs{{"perm", std::vector<graph::Dim>{}}}, {}, {}, {}, here()};
  EXPECT_THROW(attrs_of(absent).as_ints("perm"), InternalError);  // required
  EXPECT_TRUE(attrs_of(empty).as_ints("perm").empty());
}

TEST(Attributes, PlainIntegersServeAsSizes) {
  expr::Context ctx;
  std::vector<graph::Type> x{make_tensor_type(DType::F32, {ctx.constant(6)})};
  Result<Inferred> r = infer(*find_op("array.reshape"), Attrs{{"shape", std::vector<int64_t>{2, 3}}}, x, 1, ctx, here());
  ASSERT_TRUE(r.ok()) << r.error().text();
  EXPECT_EQ(print(r.value().types[0]), "f32[2, 3]");
}

TEST(Infer, UnknownSizesBecomeConstraintsOnce) {
  expr::Context ctx;
  Dim m = size_symbol(ctx, "m"), n = size_symbol(ctx, "n");
  FunctionBuilder b("f");
  ValueId x = b.add_param(make_tensor_type(DType::F32, {m}), "x"), y = b.add_param(make_tensor_type(DType::F32, {n}), "y");
  for (int i = 0; i < 2; ++i) {
    Result<std::vector<ValueId>> z = append_node(b, ctx, "nn.matmul", {}, {x, y}, 1, here());
    ASSERT_TRUE(z.ok()) << z.error().text();
  }
  ASSERT_EQ(b.peek().constraints.size(), 1u);
  EXPECT_EQ(b.peek().constraints[0].message, "inner dimensions of A and B: {a} and {b} are different");
}

TEST(Infer, MergedAxesOfAReshapeKeepTheOthersAffine) {
  expr::Context ctx;
  Dim s = size_symbol(ctx, "s");
  FunctionBuilder b("f");
  ValueId x = b.add_param(make_tensor_type(DType::F32, {s, ctx.constant(12)}), "x");
  std::vector<Dim> shape{s, ctx.constant(3), ctx.constant(4)};
  Result<std::vector<ValueId>> y = append_node(b, ctx, "array.reshape", Attrs{{"shape", shape}}, {x}, 1, here());
  ASSERT_TRUE(y.ok()) << y.error().text();
  te::Builder te(ctx);
  Result<Defined> d = define(b.peek(), b.peek().nodes[0], te);
  ASSERT_TRUE(d.ok());
  const te::Tensor& t = d.value().outputs[0];
  Dim i1 = ctx.symbol_dim(t->index[1]), i2 = ctx.symbol_dim(t->index[2]);
  EXPECT_EQ(t->body->index[0], ctx.symbol_dim(t->index[0]));
  EXPECT_EQ(t->body->index[1], i1 * 4 + i2);
}

TEST(VerifyTypes, NamesTheNodeWhoseTypeIsWrong) {
  expr::Context ctx;
  FunctionBuilder b("f");
  ValueId x = b.add_param(make_tensor_type(DType::F32, {ctx.constant(2)}), "x");
  std::vector<ValueId> y = b.append("math.exp", {}, {x}, {make_tensor_type(DType::F32, {ctx.constant(3)})}, here());
  b.set_results(y, {"y"});
  Status s = verify_types(*b.finish(), ctx);
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().diagnostics[0].where, "node \"here\" (onnx.Op)");
  EXPECT_EQ(s.error().diagnostics[0].message, "output 0 of math.exp is f32[2] but is declared f32[3]");
}

TEST(VerifyTypes, AcceptsSizesThatDataDecide) {
  expr::Context ctx;
  FunctionBuilder b("f");
  ValueId x = b.add_param(make_tensor_type(DType::F32, {size_symbol(ctx, "n")}), "x");
  Result<std::vector<ValueId>> y = append_node(b, ctx, "array.unique", {}, {x}, 4, here());
  ASSERT_TRUE(y.ok()) << y.error().text();
  Dim unique = b.peek().tensor_type(y.value()[0]).shape[0];
  ASSERT_TRUE(unique.as_symbol().has_value());
  EXPECT_EQ(ctx.info(*unique.as_symbol()).origin.kind, expr::Origin::Kind::Data);
  EXPECT_EQ(b.peek().tensor_type(y.value()[3]).shape[0], unique);
  b.set_results(y.value(), {"a", "b", "c", "d"});
  Status s = verify_types(*b.finish(), ctx);
  EXPECT_TRUE(s.ok()) << s.error().text();
}

// y = where(x < 0, 10 * x, x) as one kernel.
graph::FunctionPtr fused(expr::Context& ctx) {
  FunctionBuilder b("f");
  graph::Type type = make_tensor_type(DType::F32, {size_symbol(ctx, "n")});
  ValueId x = b.add_param(type, "x"), p = b.add_value(type);
  b.begin_region({p});
  auto scalar = [&](float v) { return b.append_const(graph::make_constant(DType::F32, {}, &v, sizeof v), here()); };
  auto node = [&](const std::string& op, std::vector<ValueId> in) {
    return append_node(b, ctx, op, {}, std::move(in), 1, here()).take()[0];
  };
  ValueId y = node("math.where", {node("math.lt", {p, scalar(0)}), node("math.mul", {p, scalar(10)}), p});
  auto region = b.end_region({y});
  ValueId out = b.add_value(type);
  b.append(Node{"core.kernel", {{"backend", std::string("cpu")}}, {x}, {out}, {region}, here()});
  b.set_results({out}, {"y"});
  return b.finish();
}

TEST(Fused, EvaluatesAsOneNode) {
  expr::Context ctx;
  graph::FunctionPtr f = fused(ctx);
  EXPECT_TRUE(verify_types(*f, ctx).ok());
  te::Array x = f32({3}, {-1, 2, -3});
  Result<std::vector<te::Array>> y = evaluate(*f, ctx, {{x.dtype, x.shape, x.data.data()}});
  ASSERT_TRUE(y.ok()) << y.error().text();
  EXPECT_EQ(values_of<float>(y.value()[0]), (std::vector<float>{-10, 2, -30}));
}

TEST(ReadDims, BindsSizesForLaterNodes) {
  expr::Context ctx;
  FunctionBuilder b("f");
  ValueId n = b.add_param(make_tensor_type(DType::I64, {ctx.constant(1)}), "n"),
          v = b.add_param(make_tensor_type(DType::F32, {}), "v");
  expr::SymbolInfo info;
  info.name = "count";
  info.origin = {expr::Origin::Kind::Data, "here", 0};
  std::vector<Dim> count{ctx.symbol(info)};
  ASSERT_TRUE(append_node(b, ctx, "core.read_dims", Attrs{{"symbols", count}}, {n}, 0, here()).ok());
  Result<std::vector<ValueId>> y = append_node(b, ctx, "array.full", Attrs{{"shape", count}}, {v}, 1, here());
  ASSERT_TRUE(y.ok()) << y.error().text();
  b.set_results(y.value(), {"y"});
  graph::FunctionPtr f = b.finish();
  te::Array size = i64({1}, {3}), value = f32({}, {7});
  Result<std::vector<te::Array>> out =
      evaluate(*f, ctx, {{size.dtype, size.shape, size.data.data()}, {value.dtype, value.shape, value.data.data()}});
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ(values_of<float>(out.value()[0]), (std::vector<float>{7, 7, 7}));
}

TEST(Expand, ReplacesANodeByItsParts) {
  expr::Context ctx;
  FunctionBuilder b("f");
  ValueId x = b.add_param(make_tensor_type(DType::F32, {ctx.constant(2), ctx.constant(3)}), "x"),
          w = b.add_param(make_tensor_type(DType::F32, {ctx.constant(3), ctx.constant(4)}), "w");
  Node node{"nn.gemm", Attrs{{"alpha", 2.0}}, {x, w}, {graph::kNoValue}, {}, here()};
  Result<std::vector<ValueId>> y = expand_node(b, ctx, *find_op("nn.gemm"), node);
  ASSERT_TRUE(y.ok()) << y.error().text();
  std::vector<std::string> ops;
  for (const Node& n : b.peek().nodes) ops.push_back(n.op);
  EXPECT_EQ(ops, (std::vector<std::string>{"nn.matmul", "core.const", "math.mul"}));
}

}  // namespace
}  // namespace pliant::ops
