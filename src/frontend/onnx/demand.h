// Which values of a model are used as sizes: the data of Reshape's shape, Slice's bounds and so on, followed back through
// shape arithmetic. A graph input among them becomes symbols; any other integer input stays data.
#pragma once
#include <string_view>
#include <unordered_set>

#include "frontend/onnx/file/model.h"

namespace pliant::frontend::onnx {

std::unordered_set<std::string_view> values_used_as_sizes(const ModelProto& m);

}  // namespace pliant::frontend::onnx
