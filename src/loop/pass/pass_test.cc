// Each pass, and all of them, on random kernels: the result verifies, does the same and is not changed by a second run.
#include "loop/pass/pass.h"

#include <gtest/gtest.h>

#include "loop/compare/equivalence.h"
#include "loop/random_kernel.h"

namespace pliant::loop {
namespace {

void expect_same(const Function& before, const Function& after, expr::Context& ctx, uint32_t seed) {
  const Status verified = verify(after, ctx);
  EXPECT_TRUE(verified.ok()) << verified.error().text() << print(after, ctx);
  const Status same = check_equivalence(before, after, ctx, seed, 4);
  EXPECT_TRUE(same.ok()) << same.error().text() << print(before, ctx) << "\nbecame\n" << print(after, ctx);
}

TEST(LoopPasses, KeepWhatRandomKernelsDo) {
  const uint32_t kernels = 60;
  for (uint32_t seed = 1; seed <= kernels && !HasFailure(); ++seed) {
    expr::Context ctx;
    auto parsed = parse(RandomKernel(seed).text(), ctx);
    ASSERT_TRUE(parsed.ok()) << parsed.error().text();
    Function f = parsed.take();
    PassOptions options;
    options.most_lanes = int64_t{4} << seed % 3;
    options.masked_memory = seed % 2 == 0;
    for (const Pass& p : passes()) {
      SCOPED_TRACE(p.name);
      const Function after = p.run(f, ctx, options);
      expect_same(f, after, ctx, seed);
      EXPECT_EQ(print(p.run(after, ctx, options), ctx), print(after, ctx));
      f = after;
    }
  }
}

}  // namespace
}  // namespace pliant::loop
