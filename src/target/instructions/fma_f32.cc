// A product and a sum of f32, rounded once.
#include "target/instruction.h"

namespace pliant::target {

Instruction instruction_fma_f32() {
  return {.name = "fma_f32",
          .computes = R"(kernel fma_f32(%a: f32[n], %b: f32[n], %c: f32[n] out) {
            for v in n { %c[v] = fma(%a[v], %b[v], %c[v]) }
          })",
          .stands_for = R"(kernel fma_f32(%a: f32[n], %b: f32[n], %c: f32[n] out) {
            for v in n { %c[v] += %a[v] * %b[v] }
          })",
          .tolerance = "the product is not rounded",
          .arguments = "abc",
          .forms = {{0, "llvm.fma", {"fma"}}}};
}

}  // namespace pliant::target
