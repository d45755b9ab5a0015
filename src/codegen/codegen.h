// Code generation: loop functions and shape programs to one native image.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "artifact/program.h"
#include "loop/loop.h"
#include "loop/shape_function.h"
#include "target/target.h"

namespace pliant::codegen {

using loop::Assignment;
using loop::ShapeFunction;

struct KernelSource {
  const loop::Function* function;
  // The order in which KernelFrame::ints gives the function's free symbols.
  std::vector<expr::SymbolId> ints;
};
struct Options {
  int opt_level = 3;     // 0 to 3: 0 keeps loops scalar and unoptimised, 3 is everything
  int threads = 1;       // for compiling
  std::string dump_dir;  // when set: .ll and .s of each module, passes.ir, the functions behind each loop pass, and
                         // kernels.txt, where each function lies in the text; then spills in innermost loops are remarks
  std::function<void(const std::string&)> remark;  // what is done in a slower way than was asked for, where and why
};
struct Compiled {
  artifact::NativeImage image;
  std::vector<uint64_t> kernel_offsets;  // into image.text, one a kernel
  std::vector<uint64_t> shape_offsets;
};
// The task grid of a kernel is the product of its outermost Parallel extents (1 without one).
Result<Compiled> compile(const std::vector<KernelSource>& kernels, const std::vector<ShapeFunction>& shapes,
                         expr::Context& ctx, const Target& target, const Options& options);

// Legalisation: rewrites Scalars that the target has no instruction for (exp, tanh, erf, pow, float remainder, half
// arithmetic, …) into ones that it has. Functions of floats are polynomials with bounded error, documented beside each.
loop::Function legalize(const loop::Function& f);

}  // namespace pliant::codegen
