#include "graph/kernel.h"

#include <gtest/gtest.h>

namespace pliant::graph {
namespace {

FunctionPtr parsed(const std::string& text, expr::Context& ctx) {
  Result<FunctionPtr> f = parse_function(text, ctx);
  EXPECT_TRUE(f.ok()) << f.error().text();
  return f.take();
}
// What the verifier says first of a kernel with these attributes and this region, behind %0 and %1.
std::string fault(const std::string& inputs, const std::string& attrs, const std::string& region) {
  expr::Context ctx;
  const FunctionPtr f =
      parsed("func @main(%0 \"x\": f32[4], %1 \"y\": f32[4]) {\n  %2 = core.kernel(" + inputs + ")" +
                 (attrs.empty() ? "" : " {" + attrs + "}") + " : f32[4]\n    region" + region + "  return %2 \"z\"\n}\n",
             ctx);
  const Status s = verify(*f, ctx);
  return s.ok() ? "" : s.error().diagnostics[0].message;
}

TEST(Kernel, FormIsVerified) {
  const std::string cpu = "backend=\"cpu\"", one = "(%3: f32[4]) {\n %4 = math.neg(%3) : f32[4]\n yield %4\n }\n";
  EXPECT_EQ(fault("%0", cpu, one), "");
  EXPECT_EQ(fault("%0", "", one), "core.kernel lacks its text backend");
  EXPECT_EQ(fault("_", cpu, one), "an input of core.kernel is absent");
  EXPECT_EQ(fault("%0, %1", cpu, one), "core.kernel has 2 inputs but its region has 1 params");
  EXPECT_EQ(fault("%0", cpu, "(%3: f32[4]) {\n yield %3, %3\n }\n"),
            "core.kernel has 1 outputs but its region yields 2 values");
  EXPECT_EQ(fault("%0", cpu + ", symbols=dims(3)", one), "core.kernel has an attribute symbols that is no list of symbols");
}

TEST(Kernel, UsesNothingButItsParams) {
  const std::string cpu = "backend=\"cpu\"";
  EXPECT_EQ(fault("%0", cpu, "(%3: f32[4]) {\n %4 = math.add(%3, %1) : f32[4]\n yield %4\n }\n"),
            "value 1 \"y\" is used in a core.kernel around which it is defined: it has to be an input");
  EXPECT_EQ(fault("%0", cpu, "(%3: f32[4]) {\n yield %1\n }\n"),
            "value 1 \"y\" is used in a core.kernel around which it is defined: it has to be an input");
}

const std::string kNodes = R"(symbol i {hi=2, origin=loop_index("l", 0)}
func @main(%0 "x": f32[4], %1 "y": f32[4]) {
  %2 = core.const() {value=bool[] dense<true>} : bool[]
  %3 = core.loop(_, %0) {count=dim(3), index=dim(i), trip=dim(3)} : f32[4]
    region(%4: f32[4]) {
      %5 = math.add(%4, %1) : f32[4]
      %6 = math.add(%5, %0) : f32[4]
      yield %2, %6
    }
  %7 = math.neg(%3) : f32[4]
  return %3 "a", %7 "b"
}
)";

TEST(Kernel, WhatRegionsUseBecomesInputsAndIsInlinedAgain) {
  expr::Context ctx;
  const FunctionPtr f = parsed(kNodes, ctx);
  FunctionBuilder b = FunctionBuilder::rewriting(*f);
  const std::vector<Node> inside(f->nodes.begin(), f->nodes.begin() + 2);
  Node kernel = make_kernel(b, inside, {3}, f->nodes[1].loc);
  EXPECT_EQ(kernel.inputs, (std::vector<ValueId>{0, 1}));
  EXPECT_EQ(kernel.outputs, (std::vector<ValueId>{3}));
  EXPECT_EQ(kernel_form(kernel), KernelForm::Loop);
  const std::vector<Node> again = inlined_nodes(kernel);
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[1].inputs, f->nodes[1].inputs);
  EXPECT_EQ(again[1].outputs, f->nodes[1].outputs);
  EXPECT_EQ(again[1].regions[0]->nodes[0].inputs, f->nodes[1].regions[0]->nodes[0].inputs);
  EXPECT_EQ(again[1].regions[0]->nodes[1].inputs, f->nodes[1].regions[0]->nodes[1].inputs);
  b.append(std::move(kernel));
  b.append(f->nodes[2]);
  b.set_results(f->results, f->result_names);
  const FunctionPtr g = b.finish();
  EXPECT_TRUE(verify(*g, ctx).ok()) << verify(*g, ctx).error().text();
  expr::Context other;
  EXPECT_EQ(print(*parsed(print(*g, ctx), other), other), print(*g, ctx));
}

}  // namespace
}  // namespace pliant::graph
