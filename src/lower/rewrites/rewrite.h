// Rewrites: algorithms as te → te. Each, one a file of this folder, finds a stage of a node that is better computed another
// way, and gives the tensors that do so; the templates and builders of loops make kernels of those as of any other.
#pragma once
#include <string>
#include <vector>

#include "lower/contraction/contraction.h"

namespace pliant::lower {

// A reduction that stands for the stage, or for some of its outputs.
struct RewrittenSum {
  Recast recast;
  // What makes its kernel: the contraction with the second factor packed (constants) or padded to whole panels, whichever
  // builder of products fits, or that of reductions.
  enum class Kernel : uint8_t { Packed, Padded, Product, Reduction } kernel = Kernel::Reduction;
  Step step = Step::Product;
};
struct Rewritten {
  Problem p;                       // with the constants that the rewrite made
  StageList list;                  // with the tensors that it made
  size_t root;                     // the stage that is computed another way
  std::vector<Stage> before = {};  // what the sums read, in order; each is a kernel
  std::vector<RewrittenSum> sums = {};

  // Makes `t` known to the list.
  Stage add(const te::Tensor& t);
};
// The one of `vars` that `d` uses, with its constant coefficient; nothing where there are several or none.
struct OnlyUse {
  size_t at;
  int64_t coefficient;
};
std::optional<OnlyUse> only_use(Dim d, const std::vector<SymbolId>& vars);
// The kernels of the stages before the root, then those of the rewrite, which are said to come from it.
Result<LoweredNode> lower_rewritten(const Rewritten& r, const std::string& name);

// Nothing where the rewrite does not fit, or does not pay.
//
// Sums of products of 8-bit integers less their zero points, with constants as one factor or of two matrices, on targets
// with the instruction dot4, which adds the products of four bytes by four.
std::optional<Rewritten> rewrite_dot4(const Problem& p, const StageList& list);
// The same with constants as one factor on other targets: the differences fit i16, and dot2 multiplies and adds two of them.
std::optional<Rewritten> rewrite_dot2(const Problem& p, const StageList& list);
// Sums in which a tap exists only where its distance from the output's position is a multiple of a stride, as in the
// transpose of a convolution: outputs whose positions leave the same rest have the same taps, and are a sum of their own.
std::optional<Rewritten> rewrite_polyphase(const Problem& p, const StageList& list);
// Windows whose axes can be reduced one after the other, as those of pools can: a window of 13 by 13 is 26 taps then.
std::optional<Rewritten> rewrite_separable(const Problem& p, const StageList& list);

}  // namespace pliant::lower
