// Remarks on innermost loops whose values do not fit into the registers.
#include "codegen/kernel_harness_test.h"

namespace pliant::codegen {
namespace {

struct Compiled {
  std::string remarks, assembly;
};
Compiled compiled(const std::string& kernel) {
  const std::filesystem::path dir = std::filesystem::path(::testing::TempDir()) / "pliant_codegen_spills";
  std::filesystem::create_directories(dir);
  expr::Context ctx;
  const loop::Function f = loop::parse(kernel, ctx).take();
  Options options;
  options.dump_dir = dir.string();
  Compiled out;
  options.remark = [&](const std::string& text) { out.remarks += text + "\n"; };
  EXPECT_TRUE(compile({{&f, loop::free_symbols(f)}}, {}, ctx, *find_target("x86-64-v3"), options).ok());
  std::ifstream file(dir / "kernels0.s");
  out.assembly.assign(std::istreambuf_iterator<char>(file), {});
  std::filesystem::remove_all(dir);
  return out;
}

std::string tile(int rows) {
  const std::string r = std::to_string(rows);
  return "kernel tile(%a: f32[k, 32], %b: f32[k, 8], %c: f32[32, 8] out) { local %t: f32[" + r + ", 8] { for unroll i in " +
         r + " { for vector v in 8 { %t[i, v] = 0f32 } } for p in k { for unroll i in " + r +
         " { for vector v in 8 { %t[i, v] += %a[p, i] * %b[p, v] } } } for unroll i in " + r +
         " { for vector v in 8 { %c[i, v] = %t[i, v] } } } }";
}

// Tiles of six rows, whose results follow in a loop of `kind`.
std::string tile_with_results(const std::string& kind) {
  return "kernel tile(%a: f32[m, k, 6], %b: f32[k, 16], %c: f32[m, 6, 16] out) { for t in m { local %s: f32[6, 16] { "
         "local %t: f32[6, 16] { for unroll i in 6 { for vector v in 16 { %t[i, v] = 0f32 } } for p in k { for unroll i in "
         "6 "
         "{ for vector v in 16 { %t[i, v] += %a[t, p, i] * %b[p, v] } } } for unroll i in 6 { for vector v in 16 { "
         "%s[i, v] = %t[i, v] } } } for " +
         kind + " i in min(6, m) { for vector v in 16 { %c[t, i, v] = sigmoid(%s[i, v]) * %s[i, v] } } } } }";
}

TEST(Spills, OutlinedLoopsAreFunctions) {
  EXPECT_EQ(compiled(tile_with_results("")).assembly.find("kernel0.loop"), std::string::npos);
  const Compiled outlined = compiled(tile_with_results("outline"));
  EXPECT_NE(outlined.assembly.find("callq\tkernel0.loop"), std::string::npos) << outlined.assembly;
  EXPECT_EQ(outlined.remarks, "");
}

TEST(Spills, OutlinedLoopsDoTheSame) {
  Kernel k(tile_with_results("outline"));
  for (int64_t m : {0, 1, 2, 7})
    for (int64_t terms : {0, 1, 20}) k.expect_same({{"m", m}, {"k", terms}}, 1e-6);
}

TEST(Spills, OfInnermostLoopsAreRemarks) {
  EXPECT_EQ(compiled(tile(6)).remarks, "");
  // 24 sums for 16 registers.
  const std::string remarks = compiled(tile(24)).remarks;
  EXPECT_EQ(remarks.find("kernel \"tile\": innermost loops with too few registers: 1; the worst stores "), 0u) << remarks;
}

}  // namespace
}  // namespace pliant::codegen
