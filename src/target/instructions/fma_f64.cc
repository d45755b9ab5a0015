// A product and a sum of f64, rounded once.
#include "target/instruction.h"

namespace pliant::target {

Instruction instruction_fma_f64() {
  return {.name = "fma_f64",
          .computes = R"(kernel fma_f64(%a: f64[n], %b: f64[n], %c: f64[n] out) {
            for v in n { %c[v] = fma(%a[v], %b[v], %c[v]) }
          })",
          .stands_for = R"(kernel fma_f64(%a: f64[n], %b: f64[n], %c: f64[n] out) {
            for v in n { %c[v] += %a[v] * %b[v] }
          })",
          .tolerance = "the product is not rounded",
          .arguments = "abc",
          .forms = {{0, "llvm.fma", {"fma"}}}};
}

}  // namespace pliant::target
