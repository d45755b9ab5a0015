#include "target/instruction.h"

#include <gtest/gtest.h>

#include "machine/cpu.h"
#include "target/match.h"

namespace pliant::target {
namespace {

TEST(Instructions, AreFoundByName) {
  for (const Instruction& i : all_instructions()) EXPECT_EQ(find_instruction(i.name), &i);
  EXPECT_EQ(find_instruction("dot5"), nullptr);
}

TEST(Instructions, FeaturesAreKnownToTheLoader) {
  for (const Instruction& i : all_instructions())
    for (const Form& f : i.forms)
      for (const std::string& feature : f.features)
        EXPECT_NE(machine::cpu_has(feature), machine::CpuHas::Unknown) << i.name << " " << feature;
}

TEST(Instructions, DifferingResultsAreTold) {
  for (const Instruction& i : all_instructions()) EXPECT_EQ(i.stands_for.empty(), i.tolerance.empty()) << i.name;
}

TEST(Instructions, TargetsHaveTheFormsOfTheirFeatures) {
  const Instruction &dot2 = *find_instruction("dot2"), &dot4 = *find_instruction("dot4"),
                    &fma = *find_instruction("fma_f32");
  const Target &v3 = *find_target("x86-64-v3"), &v3_vnni = *find_target("x86-64-v3-vnni"), &v4 = *find_target("x86-64-v4"),
               &v4_vnni = *find_target("x86-64-v4-vnni");
  EXPECT_FALSE(has_instruction(v3, "dot4"));
  EXPECT_FALSE(has_instruction(v4, "dot4"));
  EXPECT_TRUE(has_instruction(v3_vnni, "dot4"));
  EXPECT_FALSE(has_instruction(v4_vnni, "dot2_bf16"));
  EXPECT_EQ(form_of(dot4, v3_vnni, 16), nullptr);
  EXPECT_EQ(form_of(dot4, v4_vnni, 16)->lanes, 16);
  EXPECT_EQ(form_of(dot4, v4_vnni, 12), nullptr);
  EXPECT_EQ(widest_form(dot4, v4_vnni, 32)->lanes, 16);
  EXPECT_EQ(widest_form(dot4, v4_vnni, 24)->lanes, 8);
  EXPECT_EQ(widest_form(dot2, v3, 16)->lanes, 8);
  EXPECT_EQ(widest_form(dot2, v3, 4)->lanes, 4);
  EXPECT_EQ(widest_form(dot2, v4, 6), nullptr);
  EXPECT_EQ(widest_form(dot2, v4, 0), nullptr);
  EXPECT_NE(widest_form(fma, v3, 0), nullptr);
  EXPECT_NE(widest_form(fma, v3, 7), nullptr);
}

// A nest of loop v, in a kernel of three params.
std::string reason(const std::string& instruction, const std::string& params, const std::string& nest) {
  expr::Context ctx;
  const loop::Function f = loop::parse("kernel f(" + params + ") { " + nest + " }", ctx).take();
  std::string why;
  auto find = [&](loop::BufferId id) { return loop::find_buffer(f, id); };
  const auto m = match(*find_instruction(instruction), true, f.body, ctx, find, why);
  EXPECT_EQ(m.has_value(), why.empty());
  return m ? "" : why;
}

TEST(Matches, OperandsLieSideBySideOrServeAllLanes) {
  const std::string bytes = "%a: u8[64], %b: i8[16, 4], %c: i32[16] out";
  auto nest = [](const std::string& a, const std::string& b, const std::string& c = "v") {
    return "for v in 16 { for k in 4 { %c[" + c + "] += cast.i32(%a[" + a + "]) * cast.i32(%b[" + b + "]) } }";
  };
  EXPECT_EQ(reason("dot4", bytes, nest("v*4 + k", "v, k")), "");
  EXPECT_EQ(reason("dot4", bytes, nest("k", "v, k")), "");
  EXPECT_EQ(reason("dot4", bytes, nest("k + m", "v, k")), "");
  EXPECT_EQ(reason("dot4", bytes, nest("v + k", "v, k")), "the elements of %a do not lie side by side");
  EXPECT_EQ(reason("dot4", bytes, nest("m*k", "v, k")), "%a is read at a distance that is not constant");
  EXPECT_EQ(reason("dot4", bytes, nest("k", "v, k", "15 - v")), "the elements of %c do not lie side by side");
  EXPECT_EQ(reason("dot4", bytes, nest("k", "v, k", "0")), "the elements of %c do not lie side by side");
  EXPECT_EQ(reason("dot2", bytes, nest("k", "v, k")), "loop k does not run 2 times");
  // Factors in the other order.
  EXPECT_EQ(reason("dot4", bytes, "for v in 16 { for k in 4 { %c[v] += cast.i32(%b[v, k]) * cast.i32(%a[k]) } }"), "");
}

TEST(Matches, OtherNestsAreRefused) {
  const std::string floats = "%a: f32[n], %b: f32[n], %c: f32[n] out";
  EXPECT_EQ(reason("fma_f32", floats, "for v in 16 { %c[v] += %a[v] * %b[v] }"), "");
  EXPECT_EQ(reason("fma_f32", floats, "for v in 16 { %c[v] += %a[0] * %b[v] }"), "");
  EXPECT_EQ(reason("fma_f32", floats, "for v in 16 { %c[v] += %a[v] * %a[v] }"), "");
  EXPECT_EQ(reason("fma_f32", floats, "for v in n { %c[v] += %a[v] * %b[v] }"), "the extent of loop v is not constant");
  EXPECT_EQ(reason("fma_f32", floats, "for v in 16 { %c[v] += %a[v] + %b[v] }"), "it computes another value");
  EXPECT_EQ(reason("fma_f32", floats, "for v in 16 { %c[v] += %a[v] * 2f32 }"), "it computes another value");
  EXPECT_EQ(reason("fma_f32", floats, "for v in 16 { %c[v] = %a[v] * %b[v] }"), "it updates in another way");
  EXPECT_EQ(reason("fma_f32", floats, "for v in 16 { %c[v] += %c[v + 16] * %b[v] }"), "it reads %c, which it writes");
  EXPECT_EQ(reason("fma_f32", "%a: f32[n], %b: f32[n], %c: f32[n] out, %i: i64[1] out",
                   "for v in 16 { %c[v] += %a[value(%i[0]) + v] * %b[v] }"),
            "");
  EXPECT_EQ(reason("fma_f32", floats, "for v in 16 { %c[v] += %a[value(cast.i64(%c[0])) + v] * %b[v] }"),
            "it reads %c, which it writes");
  EXPECT_EQ(reason("fma_f32", floats, "for v in 16 { for k in 2 { %c[v] += %a[v] * %b[v] } }"), "its statements are others");
  EXPECT_EQ(reason("fma_f32", floats, "for v in 16 { if index(v) < 3i64 { %c[v] += %a[v] * %b[v] } }"),
            "its statements are others");
  EXPECT_EQ(reason("fma_f64", floats, "for v in 16 { %c[v] += %a[v] * %b[v] }"), "its operands have other types");
}

}  // namespace
}  // namespace pliant::target
