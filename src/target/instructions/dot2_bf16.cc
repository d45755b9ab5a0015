// vdpbf16ps (AVX512-BF16): products of two neighbouring bf16, added in f32, the second pair first. Every sum is rounded
// once, and what is subnormal is zero, whatever the control register says.
#include "target/instruction.h"

namespace pliant::target {

Instruction instruction_dot2_bf16() {
  return {.name = "dot2_bf16",
          .computes = R"(kernel dot2_bf16(%a: bf16[n, 2], %b: bf16[n, 2], %c: f32[n] out) {
            for v in n { for k in 2 {
              let x = cast.f32(%a[v, 1 - k])
              let y = cast.f32(%b[v, 1 - k])
              let z = %c[v]
              let x1 = select(abs(x) < 1.1754944e-38f32, x * 0f32, x)
              let y1 = select(abs(y) < 1.1754944e-38f32, y * 0f32, y)
              let z1 = select(abs(z) < 1.1754944e-38f32, z * 0f32, z)
              let s = fma(x1, y1, z1)
              %c[v] = select(abs(s) < 1.1754944e-38f32, s * 0f32, s)
            } }
          })",
          .stands_for = R"(kernel dot2_bf16(%a: bf16[n, 2], %b: bf16[n, 2], %c: f32[n] out) {
            for v in n { for k in 2 { %c[v] += cast.f32(%a[v, k]) * cast.f32(%b[v, k]) } }
          })",
          .tolerance = "products are not rounded, and subnormal numbers are zero",
          .arguments = "cab",
          .forms = {{4, "llvm.x86.avx512bf16.dpbf16ps.128", {"avx512bf16", "avx512vl"}},
                    {8, "llvm.x86.avx512bf16.dpbf16ps.256", {"avx512bf16", "avx512vl"}},
                    {16, "llvm.x86.avx512bf16.dpbf16ps.512", {"avx512bf16"}}}};
}

}  // namespace pliant::target
