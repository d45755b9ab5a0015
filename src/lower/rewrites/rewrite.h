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

// A file of this folder defines `Rewrite rewrite_NAME()`, which puts it into the list.
struct Rewrite {
  const char* name;
  const char* before;  // the strategy that would take the stages otherwise
  int order = 0;       // among those before one strategy, the least first
  // Nothing where the rewrite does not fit, or does not pay.
  std::optional<Rewritten> (*find)(const Problem& p, const StageList& list);
};
const std::vector<Rewrite>& all_rewrites();

}  // namespace pliant::lower
