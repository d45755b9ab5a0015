// Folders: operators on known elements. Each gives nothing when an input is not known or the result would not be exact.
#pragma once
#include <optional>
#include <vector>

#include "frontend/onnx/conversion.h"

namespace pliant::frontend::onnx {

using Folded = std::optional<std::vector<Known>>;

Folded fold_add(Conversion& c);
Folded fold_sub(Conversion& c);
Folded fold_mul(Conversion& c);
Folded fold_div(Conversion& c);
Folded fold_mod(Conversion& c);
Folded fold_pow(Conversion& c);
Folded fold_min(Conversion& c);
Folded fold_max(Conversion& c);
Folded fold_and(Conversion& c);
Folded fold_or(Conversion& c);
Folded fold_xor(Conversion& c);
Folded fold_equal(Conversion& c);
Folded fold_less(Conversion& c);
Folded fold_less_or_equal(Conversion& c);
Folded fold_greater(Conversion& c);
Folded fold_greater_or_equal(Conversion& c);
Folded fold_neg(Conversion& c);
Folded fold_abs(Conversion& c);
Folded fold_not(Conversion& c);
Folded fold_floor(Conversion& c);
Folded fold_ceil(Conversion& c);
Folded fold_round(Conversion& c);
Folded fold_sign(Conversion& c);
Folded fold_sqrt(Conversion& c);
Folded fold_cast(Conversion& c);
Folded fold_cast_like(Conversion& c);
Folded fold_where(Conversion& c);
Folded fold_clip(Conversion& c);
Folded fold_reduce_sum(Conversion& c);
Folded fold_reduce_prod(Conversion& c);
Folded fold_reduce_max(Conversion& c);
Folded fold_reduce_min(Conversion& c);

Folded fold_identity(Conversion& c);
Folded fold_constant(Conversion& c);
Folded fold_constant_of_shape(Conversion& c);
Folded fold_shape(Conversion& c);
Folded fold_size(Conversion& c);
Folded fold_gather(Conversion& c);
Folded fold_slice(Conversion& c);
Folded fold_concat(Conversion& c);
Folded fold_squeeze(Conversion& c);
Folded fold_unsqueeze(Conversion& c);
Folded fold_reshape(Conversion& c);
Folded fold_flatten(Conversion& c);
Folded fold_transpose(Conversion& c);
Folded fold_expand(Conversion& c);
Folded fold_tile(Conversion& c);
Folded fold_split(Conversion& c);
Folded fold_range(Conversion& c);

// The axes of Squeeze, Unsqueeze and the reductions: attribute `axes`, or constant input 1 where the version has it. Nothing
// in `given` when the node names none.
struct AxesArgument {
  bool is_known = true;
  std::optional<std::vector<int64_t>> given;
};
AxesArgument axes_argument(Conversion& c);

}  // namespace pliant::frontend::onnx
