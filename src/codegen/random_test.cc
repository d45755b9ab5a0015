// Random kernels against the interpreter.
#include "codegen/kernel_harness_test.h"
#include "loop/random_kernel.h"

namespace pliant::codegen {
namespace {

TEST(RandomKernels, AgreeWithTheInterpreter) {
  // A failure prints the kernel; a longer run only needs a larger number here.
  const int kernels = 30;
  for (int seed = 1; seed <= kernels && !HasFailure(); ++seed) {
    const std::string text = loop::RandomKernel(static_cast<uint32_t>(seed)).text();
    SCOPED_TRACE(text);
    Kernel k(text, {0, 3});
    for (int64_t n : {1, 5, 16, 37}) {
      k.expect_same({{"n", n}, {"m", 3}}, 2e-4);
      if (HasFailure()) break;
    }
  }
}

}  // namespace
}  // namespace pliant::codegen
