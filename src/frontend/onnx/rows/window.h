// The attributes that convolutions and pools share.
#pragma once
#include "frontend/onnx/conversion.h"

namespace pliant::frontend::onnx {

// strides, dilations, pads and auto_pad of ours, from ONNX's.
Result<Attrs> window_attrs(Conversion& c);
// kernel_shape, when given, must agree with the spatial axes of the weight.
Status check_kernel_shape(Conversion& c, size_t weight);

}  // namespace pliant::frontend::onnx
