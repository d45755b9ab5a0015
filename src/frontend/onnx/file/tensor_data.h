// The elements of a TensorProto as a graph constant: from raw_data, the typed fields or a file beside the model.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "frontend/onnx/file/model.h"
#include "graph/graph.h"

namespace pliant::frontend::onnx {

// Nothing for the types we do not compute with: strings, complex numbers, 8-bit and smaller floats, 4- and 2-bit integers.
std::optional<DType> dtype_of(int32_t elem_type);
// ONNX's name for it: `float8e4m3fn`; `type 99` for numbers without a name.
std::string elem_type_name(int32_t elem_type);

// Loads tensors of one model. Files of external data are mapped once each.
class TensorLoader {
 public:
  explicit TensorLoader(const ModelProto& model) : model_(model) {}
  // `label` names it in messages: `initialiser 'w'`. Large data stay views into the mapped file.
  Result<graph::ConstantPtr> load(const TensorProto& t, const std::string& label);

 private:
  struct Bytes {
    const std::byte* data = nullptr;
    size_t size = 0;
    std::shared_ptr<const void> keep;
  };
  Result<Bytes> inline_bytes(const TensorProto& t, DType dtype, size_t wanted, const std::string& label);
  Result<Bytes> external_bytes(const TensorProto& t, size_t wanted, const std::string& label);
  Result<MappedFile> open_external(const std::string& location, const std::string& label) const;
  const ModelProto& model_;
  std::map<std::string, MappedFile> files_;
};

}  // namespace pliant::frontend::onnx
