// Fourier sums in O(n log n): transforms of rows of any length, by mixed radices or as a convolution.
#pragma once
#include "expr/scalar/fourier.h"
#include "lower/epilogue.h"

namespace pliant::lower {

// A stage, the last reduction, that is such a sum.
struct FourierSum {
  size_t root;
  Epilogue epilogue;
  expr::FourierTerm term;
  SymbolId bin = 0;
  std::optional<SymbolId> part;  // 0 the real part, 1 the imaginary one; none: the real part alone
  DType work = DType::F64;
};

std::optional<FourierSum> find_fourier(const Problem& p, const StageList& list);
Result<LoweredNode> lower_fourier(const Problem& p, const StageList& list, const FourierSum& sum);

}  // namespace pliant::lower
