// Shapes that depend on axes which only data tell: computed as small tensors and read back as sizes.
#pragma once
#include "frontend/onnx/conversion.h"

namespace pliant::frontend::onnx {

// The shape of input 0 with axes of size 1 added where input i says.
Result<graph::Shape> unsqueezed_at_run_time(Conversion& c, size_t i);
// How many axes input i names to drop.
Result<int64_t> axes_dropped(Conversion& c, size_t i);
// The shape of input 0 without the `count` axes that input i names; that they have size 1 is checked by the reshape to the
// result.
Result<graph::Shape> squeezed_at_run_time(Conversion& c, size_t i, int64_t count);
// The `left` sizes of the shape of input 0 that are not 1; that there are as many is the caller's to require.
Result<graph::Shape> sizes_above_one(Conversion& c, size_t left);

// The reduction `op` of input 0 along the axes that input i names, of which there are `count`; none of them are all, unless
// `none_is_none`. Reduced axes keep size 1.
Result<ValueId> reduced_at_run_time(Conversion& c, const std::string& op, size_t i, Dim count, bool none_is_none);

}  // namespace pliant::frontend::onnx
