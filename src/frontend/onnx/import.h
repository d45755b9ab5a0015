// ONNX to graph: reads a .onnx file (protobuf wire format, mapped, not read), with external data beside it, converts
// every opset from 7 to the newest by version, folds shape arithmetic into dims, and reports every unsupported operator at
// once.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace pliant::frontend::onnx {

struct ImportOptions {
  // Overrides of input shapes: name -> axes, each a number or a symbol's name.
  std::map<std::string, std::vector<std::string>> shapes;
  std::map<std::string, std::pair<int64_t, int64_t>> bounds;  // symbol -> inclusive range
  std::map<std::string, std::vector<int64_t>> likely;
};
Result<graph::Module> import_file(const std::string& path, const ImportOptions& options);
// From memory; external data is looked for in `directory`.
Result<graph::Module> import_bytes(const void* data, size_t size, const std::string& directory, const std::string& name,
                                   const ImportOptions& options);

}  // namespace pliant::frontend::onnx
