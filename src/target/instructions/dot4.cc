// vpdpbusd (VNNI): products of four neighbouring unsigned bytes by four signed ones, added.
#include "target/instruction.h"

namespace pliant::target {

Instruction instruction_dot4() {
  return {.name = "dot4",
          .computes = R"(kernel dot4(%a: u8[n, 4], %b: i8[n, 4], %c: i32[n] out) {
            for v in n { for k in 4 { %c[v] += cast.i32(%a[v, k]) * cast.i32(%b[v, k]) } }
          })",
          .arguments = "cab",
          .forms = {{4, "llvm.x86.avx512.vpdpbusd.128", {"avxvnni"}},
                    {8, "llvm.x86.avx512.vpdpbusd.256", {"avxvnni"}},
                    {4, "llvm.x86.avx512.vpdpbusd.128", {"avx512vnni", "avx512vl"}},
                    {8, "llvm.x86.avx512.vpdpbusd.256", {"avx512vnni", "avx512vl"}},
                    {16, "llvm.x86.avx512.vpdpbusd.512", {"avx512vnni"}}}};
}

}  // namespace pliant::target
