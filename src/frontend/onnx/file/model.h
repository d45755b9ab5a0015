// An ONNX file as plain structs. Names and bulk data are views into the file's memory, which `ModelProto::file` keeps. Names
// are text (base/utf8.h).
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "frontend/onnx/file/mapped_file.h"

namespace pliant::frontend::onnx {

// The numbers of ONNX's TensorProto.DataType.
enum class ElemType : int32_t {
  Undefined = 0,
  Float = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  UInt32 = 12,
  UInt64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
};

// A dim of a declared type: a number, a name, or neither.
struct Dimension {
  std::optional<int64_t> value;
  std::string_view param;
};
struct TypeProto {
  enum class Kind : uint8_t { None, Tensor, Sequence, Optional, Map, SparseTensor, Opaque };
  Kind kind = Kind::None;
  int32_t elem_type = 0;
  bool has_shape = false;
  std::vector<Dimension> shape;
  std::shared_ptr<const TypeProto> element;  // Sequence, Optional
};
struct ValueInfoProto {
  std::string_view name;
  TypeProto type;
};

// A tensor's description; `wire` is its whole message, from which tensor_data.h takes the elements on demand.
struct TensorProto {
  std::string_view name;
  std::vector<int64_t> dims;
  int32_t data_type = 0;
  bool external = false;
  std::vector<std::pair<std::string_view, std::string_view>> external_data;
  std::string_view wire;
};

struct GraphProto;
struct AttributeProto {
  // The numbers of ONNX's AttributeProto.AttributeType.
  enum class Type : int32_t {
    Undefined = 0,
    Float = 1,
    Int = 2,
    String = 3,
    Tensor = 4,
    Graph = 5,
    Floats = 6,
    Ints = 7,
    Strings = 8,
    Tensors = 9,
    Graphs = 10,
    SparseTensor = 11,
    SparseTensors = 12,
    TypeProto = 13,
    TypeProtos = 14,
  };
  std::string_view name;
  std::string_view ref_attr_name;  // inside functions: the caller's attribute of that name
  Type type = Type::Undefined;
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::vector<TensorProto> tensors;                       // `t` is the only element when type is Tensor
  std::vector<std::shared_ptr<const GraphProto>> graphs;  // likewise `g`
  std::shared_ptr<const onnx::TypeProto> type_proto;
};
struct NodeProto {
  std::string_view name, op_type, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<AttributeProto> attributes;
  const AttributeProto* attribute(std::string_view attribute_name) const;
};
struct GraphProto {
  std::string_view name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<std::string_view> sparse_initializers;  // names
  std::vector<ValueInfoProto> inputs, outputs, value_info;
};
using OpsetImports = std::map<std::string, int64_t>;  // domain ("" for ONNX's own) -> version
struct FunctionProto {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs, attributes;
  std::vector<AttributeProto> attribute_defaults;
  std::vector<NodeProto> nodes;
  OpsetImports opsets;
};
struct ModelProto {
  int64_t ir_version = 0;
  std::string_view producer;
  OpsetImports opsets;
  GraphProto graph;
  std::vector<FunctionProto> functions;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, size_t>
      function_index;  // by domain, name, overload
  std::map<std::string, std::string> metadata;
  MappedFile file;
  // Names that are not UTF-8 or have a zero byte, made text: what the views of such names are into.
  std::vector<std::unique_ptr<const std::string>> texts;
  std::string path;       // for messages
  std::string directory;  // where external data lies
};

// The model-local function that a node calls, or null.
const FunctionProto* find_function(const ModelProto& m, const NodeProto& n);
// The imported version of a domain; 0 when it is not imported.
int64_t version_of(const OpsetImports& opsets, std::string_view domain);

// Takes apart the wire format. A file that ends early or is damaged is an error that names it and the part that is broken.
Result<ModelProto> read_model(MappedFile file, const std::string& path, const std::string& directory);

}  // namespace pliant::frontend::onnx
