// pmaddwd: products of two neighbouring i16, added.
#include "target/instruction.h"

namespace pliant::target {

Instruction instruction_dot2() {
  return {.name = "dot2",
          .computes = R"(kernel dot2(%a: i16[n, 2], %b: i16[n, 2], %c: i32[n] out) {
            for v in n { for k in 2 { %c[v] += cast.i32(%a[v, k]) * cast.i32(%b[v, k]) } }
          })",
          .arguments = "ab",
          .forms = {{4, "llvm.x86.sse2.pmadd.wd", {}},
                    {8, "llvm.x86.avx2.pmadd.wd", {"avx2"}},
                    {16, "llvm.x86.avx512.pmaddw.d.512", {"avx512bw"}}}};
}

}  // namespace pliant::target
