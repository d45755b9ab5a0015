// The constant factor of a byte product, laid out as words of four signed bytes when the model is compiled.
#pragma once
#include "lower/rewrites/byte_product.h"

namespace pliant::lower {

inline constexpr int64_t kWordBytes = 4;

struct ByteWeights {
  std::vector<size_t> axes;    // of the sum, those that w varies along
  graph::ConstantPtr words;    // i32 [axes…, reductions…]: four neighbours along the tap each, zeros after the last
  graph::ConstantPtr totals;   // i32 [axes…]: the sum of w
  graph::ConstantPtr offsets;  // i32 [axes…]: w less this fits i8, which `words` holds; null where that is 0 everywhere
};
// Nothing where w is not laid out regularly in constants of known sizes.
std::optional<ByteWeights> byte_weights(const Problem& p, const StageList& list, const ByteProduct& f);

}  // namespace pliant::lower
