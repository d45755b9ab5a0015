// Remarks on innermost loops whose values do not fit into the registers.
#include "codegen/kernel_harness_test.h"

namespace pliant::codegen {
namespace {

std::string remarks_of(int rows) {
  const std::filesystem::path dir = std::filesystem::path(::testing::TempDir()) / "pliant_codegen_spills";
  std::filesystem::create_directories(dir);
  expr::Context ctx;
  const loop::Function f =
      loop::parse("kernel tile(%a: f32[k, 32], %b: f32[k, 8], %c: f32[32, 8] out) { local %t: f32[" + std::to_string(rows) +
                      ", 8] { for unroll i in " + std::to_string(rows) +
                      " { for vector v in 8 { %t[i, v] = 0f32 } } for p in k { for unroll i in " + std::to_string(rows) +
                      " { for vector v in 8 { %t[i, v] += %a[p, i] * %b[p, v] } } } for unroll i in " +
                      std::to_string(rows) + " { for vector v in 8 { %c[i, v] = %t[i, v] } } } }",
                  ctx)
          .take();
  Options options;
  options.dump_dir = dir.string();
  std::string remarks;
  options.remark = [&](const std::string& text) { remarks += text + "\n"; };
  EXPECT_TRUE(compile({{&f, loop::free_symbols(f)}}, {}, ctx, *find_target("x86-64-v3"), options).ok());
  std::filesystem::remove_all(dir);
  return remarks;
}

TEST(Spills, OfInnermostLoopsAreRemarks) {
  EXPECT_EQ(remarks_of(6), "");
  // 24 sums for 16 registers.
  const std::string remarks = remarks_of(24);
  EXPECT_EQ(remarks.find("kernel \"tile\": innermost loops with too few registers: 1; the worst stores "), 0u) << remarks;
}

}  // namespace
}  // namespace pliant::codegen
