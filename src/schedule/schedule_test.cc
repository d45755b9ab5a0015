#include "schedule/schedule.h"

#include <gtest/gtest.h>

namespace pliant::schedule {
namespace {

const char* kMatmul = R"(kernel matmul(%a: f32[m, k], %b: f32[k, n] const, %bias: f32[n], %c: f32[m, n] out) {
  for i in m {
    for j in n {
      %c[i, j] = 0f32
      for p in k {
        %c[i, j] += %a[i, p] * %b[p, j]
      }
      %c[i, j] = max(%c[i, j] + %bias[j], 0f32)
    }
  }
}
)";
const char* kTrace = R"(repack b 1 32 [1, 0, 2] -> bp
split i 14 -> io ii
split j 32 -> jo ji
reorder jo io ii ji
fission ji
fission ii
reorder p ii.1 ji.1
cache_write c at io -> acc local
pad ji
pad ji.1
vectorize ji
vectorize ji.1
vectorize ji.2
parallel jo
parallel io
specialize ii at io unroll [14, 3]
)";

TEST(Schedule, Demo) {
  expr::Context ctx;
  auto f = loop::parse(kMatmul, ctx);
  ASSERT_TRUE(f.ok()) << f.error().text();
  Schedule s(f.take(), ctx);
  auto r = s.replay(kTrace);
  EXPECT_TRUE(r.ok()) << r.error().text();
  puts(loop::print(s.function(), ctx).c_str());
  EXPECT_EQ(s.trace(), kTrace);
}

}  // namespace
}  // namespace pliant::schedule
