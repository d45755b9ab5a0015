// Folders: operators on known elements. Each gives nothing when an input is not known or the result would not be exact.
#pragma once
#include <optional>
#include <vector>

#include "frontend/onnx/conversion.h"

namespace pliant::frontend::onnx {

using Folded = std::optional<std::vector<Known>>;

// The first `inputs` inputs as those of our operator `op`; and operators of any number of inputs, two at a time.
Folded fold_as(Conversion& c, const std::string& op, const Attrs& attrs = {}, size_t inputs = SIZE_MAX);
Folded fold_chain(Conversion& c, const std::string& op);
Folded fold_reduce(Conversion& c, const std::string& op);

Folded fold_div(Conversion& c);
Folded fold_mod(Conversion& c);
Folded fold_cast(Conversion& c);
Folded fold_cast_like(Conversion& c);
Folded fold_clip(Conversion& c);

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
