#include <tuple>

#include "base/utf8.h"
#include "frontend/onnx/file/model.h"
#include "frontend/onnx/file/wire.h"

namespace pliant::frontend::onnx {
namespace {

using wire::Reader;

// Graphs in attributes and types in types nest at most this deep; real models stay below ten.
constexpr int kMaxDepth = 64;

// Reads messages; `part` says what is being read, for the message when an exception ends it.
class ModelReader {
 public:
  std::string part = "the model";
  std::vector<std::unique_ptr<const std::string>> texts;

  void read(std::string_view bytes, ModelProto& m);

 private:
  std::string_view name(std::string_view bytes) {
    if (is_text(bytes)) return bytes;
    return *texts.emplace_back(std::make_unique<const std::string>(to_text(bytes)));
  }
  TypeProto type(std::string_view bytes, int depth);
  void tensor_type(std::string_view bytes, TypeProto& out);
  Dimension dimension(std::string_view bytes);
  ValueInfoProto value_info(std::string_view bytes);
  TensorProto tensor(std::string_view bytes);
  AttributeProto attribute(std::string_view bytes, int depth);
  NodeProto node(std::string_view bytes, int depth);
  GraphProto graph(std::string_view bytes, int depth);
  FunctionProto function(std::string_view bytes);
  std::string_view sparse_name(std::string_view bytes);
  static std::pair<std::string_view, std::string_view> entry(std::string_view bytes);
  void opset(std::string_view bytes, OpsetImports& out);
};

std::pair<std::string_view, std::string_view> ModelReader::entry(std::string_view bytes) {
  std::pair<std::string_view, std::string_view> out;
  for (Reader r(bytes); r.next();) {
    switch (r.tag()) {
      case 1: out.first = r.bytes(); break;
      case 2: out.second = r.bytes(); break;
      default: r.skip();
    }
  }
  return out;
}

void ModelReader::opset(std::string_view bytes, OpsetImports& out) {
  std::string domain;
  int64_t version = 0;
  for (Reader r(bytes); r.next();) {
    switch (r.tag()) {
      case 1: domain = name(r.bytes()); break;
      case 2: version = r.integer(); break;
      default: r.skip();
    }
  }
  if (domain == "ai.onnx") domain.clear();
  out[domain] = version;
}

Dimension ModelReader::dimension(std::string_view bytes) {
  Dimension out;
  for (Reader r(bytes); r.next();) {
    switch (r.tag()) {
      case 1: out.value = r.integer(); break;
      case 2: out.param = name(r.bytes()); break;
      default: r.skip();
    }
  }
  return out;
}

void ModelReader::tensor_type(std::string_view bytes, TypeProto& out) {
  for (Reader r(bytes); r.next();) {
    switch (r.tag()) {
      case 1: out.elem_type = static_cast<int32_t>(r.integer()); break;
      case 2:
        out.has_shape = true;
        for (Reader s(r.bytes()); s.next();) {
          if (s.tag() == 1) {
            out.shape.push_back(dimension(s.bytes()));
          } else {
            s.skip();
          }
        }
        break;
      default: r.skip();
    }
  }
}

TypeProto ModelReader::type(std::string_view bytes, int depth) {
  if (depth > kMaxDepth) throw wire::TooDeep{};
  TypeProto out;
  auto nested = [&](TypeProto::Kind kind, std::string_view b) {
    out.kind = kind;
    for (Reader r(b); r.next();) {
      if (r.tag() == 1) {
        out.element = std::make_shared<TypeProto>(type(r.bytes(), depth + 1));
      } else {
        r.skip();
      }
    }
  };
  for (Reader r(bytes); r.next();) {
    switch (r.tag()) {
      case 1:
        out.kind = TypeProto::Kind::Tensor;
        tensor_type(r.bytes(), out);
        break;
      case 4: nested(TypeProto::Kind::Sequence, r.bytes()); break;
      case 9: nested(TypeProto::Kind::Optional, r.bytes()); break;
      case 5:
        out.kind = TypeProto::Kind::Map;
        r.skip();
        break;
      case 8:
        out.kind = TypeProto::Kind::SparseTensor;
        tensor_type(r.bytes(), out);
        break;
      case 7:
        out.kind = TypeProto::Kind::Opaque;
        r.skip();
        break;
      default: r.skip();
    }
  }
  return out;
}

ValueInfoProto ModelReader::value_info(std::string_view bytes) {
  ValueInfoProto out;
  for (Reader r(bytes); r.next();) {
    switch (r.tag()) {
      case 1: out.name = name(r.bytes()); break;
      case 2: out.type = type(r.bytes(), 0); break;
      default: r.skip();
    }
  }
  return out;
}

TensorProto ModelReader::tensor(std::string_view bytes) {
  TensorProto out;
  out.wire = bytes;
  for (Reader r(bytes); r.next();) {
    switch (r.tag()) {
      case 1: r.integers([&](int64_t v) { out.dims.push_back(v); }); break;
      case 2: out.data_type = static_cast<int32_t>(r.integer()); break;
      case 8: out.name = name(r.bytes()); break;
      case 13: out.external_data.push_back(entry(r.bytes())); break;
      case 14: out.external = r.integer() == 1; break;
      default: r.skip();
    }
  }
  return out;
}

// The type of an attribute that does not say it, from the one field it has.
AttributeProto::Type guess_type(const AttributeProto& a, bool has_f, bool has_i, bool has_s) {
  using T = AttributeProto::Type;
  if (has_f) return T::Float;
  if (has_i) return T::Int;
  if (has_s) return T::String;
  if (!a.floats.empty()) return T::Floats;
  if (!a.ints.empty()) return T::Ints;
  if (!a.strings.empty()) return T::Strings;
  if (!a.tensors.empty()) return T::Tensor;
  if (!a.graphs.empty()) return T::Graph;
  return T::Undefined;
}

AttributeProto ModelReader::attribute(std::string_view bytes, int depth) {
  AttributeProto out;
  bool has_f = false, has_i = false, has_s = false;
  for (Reader r(bytes); r.next();) {
    switch (r.tag()) {
      case 1: out.name = name(r.bytes()); break;
      case 21: out.ref_attr_name = name(r.bytes()); break;
      case 20: out.type = static_cast<AttributeProto::Type>(r.integer()); break;
      case 2: out.f = r.f32(), has_f = true; break;
      case 3: out.i = r.integer(), has_i = true; break;
      case 4: out.s = r.bytes(), has_s = true; break;
      case 5:
      case 10: out.tensors.push_back(tensor(r.bytes())); break;
      case 9: out.strings.push_back(r.bytes()); break;
      case 6:
      case 11: out.graphs.push_back(std::make_shared<GraphProto>(graph(r.bytes(), depth + 1))); break;
      case 7: r.f32s([&](float v) { out.floats.push_back(v); }); break;
      case 8: r.integers([&](int64_t v) { out.ints.push_back(v); }); break;
      case 14: out.type_proto = std::make_shared<TypeProto>(type(r.bytes(), 0)); break;
      default: r.skip();
    }
  }
  if (out.type == AttributeProto::Type::Undefined) out.type = guess_type(out, has_f, has_i, has_s);
  return out;
}

NodeProto ModelReader::node(std::string_view bytes, int depth) {
  NodeProto out;
  for (Reader r(bytes); r.next();) {
    switch (r.tag()) {
      case 1: out.inputs.push_back(name(r.bytes())); break;
      case 2: out.outputs.push_back(name(r.bytes())); break;
      case 3: out.name = name(r.bytes()); break;
      case 4: out.op_type = name(r.bytes()); break;
      case 5: out.attributes.push_back(attribute(r.bytes(), depth)); break;
      case 7: out.domain = name(r.bytes()); break;
      case 8: out.overload = name(r.bytes()); break;
      default: r.skip();
    }
  }
  if (out.domain == "ai.onnx") out.domain = {};
  return out;
}

// The name of a SparseTensorProto is that of its values.
std::string_view ModelReader::sparse_name(std::string_view bytes) {
  for (Reader r(bytes); r.next();) {
    if (r.tag() == 1) return tensor(r.bytes()).name;
    r.skip();
  }
  return {};
}

GraphProto ModelReader::graph(std::string_view bytes, int depth) {
  if (depth > kMaxDepth) throw wire::TooDeep{};
  GraphProto out;
  for (Reader r(bytes); r.next();) {
    switch (r.tag()) {
      case 1:
        part = "node " + std::to_string(out.nodes.size());
        out.nodes.push_back(node(r.bytes(), depth));
        break;
      case 2: out.name = name(r.bytes()); break;
      case 5:
        part = "initialiser " + std::to_string(out.initializers.size());
        out.initializers.push_back(tensor(r.bytes()));
        break;
      case 15: out.sparse_initializers.push_back(sparse_name(r.bytes())); break;
      case 11:
        part = "input " + std::to_string(out.inputs.size());
        out.inputs.push_back(value_info(r.bytes()));
        break;
      case 12:
        part = "output " + std::to_string(out.outputs.size());
        out.outputs.push_back(value_info(r.bytes()));
        break;
      case 13: out.value_info.push_back(value_info(r.bytes())); break;
      default: r.skip();
    }
  }
  return out;
}

FunctionProto ModelReader::function(std::string_view bytes) {
  FunctionProto out;
  for (Reader r(bytes); r.next();) {
    switch (r.tag()) {
      case 1: out.name = name(r.bytes()); break;
      case 4: out.inputs.push_back(name(r.bytes())); break;
      case 5: out.outputs.push_back(name(r.bytes())); break;
      case 6: out.attributes.push_back(name(r.bytes())); break;
      case 7: out.nodes.push_back(node(r.bytes(), 0)); break;
      case 9: opset(r.bytes(), out.opsets); break;
      case 10: out.domain = name(r.bytes()); break;
      case 11: out.attribute_defaults.push_back(attribute(r.bytes(), 0)); break;
      case 13: out.overload = name(r.bytes()); break;
      default: r.skip();
    }
  }
  if (out.domain == "ai.onnx") out.domain = {};
  return out;
}

void ModelReader::read(std::string_view bytes, ModelProto& m) {
  for (Reader r(bytes); r.next();) {
    switch (r.tag()) {
      case 1: m.ir_version = r.integer(); break;
      case 2: m.producer = name(r.bytes()); break;
      case 7:
        part = "the graph";
        m.graph = graph(r.bytes(), 0);
        break;
      case 8: opset(r.bytes(), m.opsets); break;
      case 14: {
        auto [key, value] = entry(r.bytes());
        m.metadata[std::string(key)] = value;
        break;
      }
      case 25:
        part = "function " + std::to_string(m.functions.size());
        m.functions.push_back(function(r.bytes()));
        break;
      default: r.skip();
    }
    part = "the model";
  }
}

}  // namespace

const AttributeProto* NodeProto::attribute(std::string_view attribute_name) const {
  for (const AttributeProto& a : attributes) {
    if (a.name == attribute_name) return &a;
  }
  return nullptr;
}

const FunctionProto* find_function(const ModelProto& m, const NodeProto& n) {
  auto it = m.function_index.find({n.domain, n.op_type, n.overload});
  return it == m.function_index.end() ? nullptr : &m.functions[it->second];
}

int64_t version_of(const OpsetImports& opsets, std::string_view domain) {
  auto it = opsets.find(std::string(domain));
  return it == opsets.end() ? 0 : it->second;
}

Result<ModelProto> read_model(MappedFile file, const std::string& path, const std::string& directory) {
  // Lengths in protobuf are 32 bits wide; larger models keep their weights in external data.
  if (file.size > UINT32_MAX) {
    return make_error("malformed-model", path,
                      "the file is larger than 4 GiB, which the format cannot express; save the weights as external data");
  }
  if (file.size == 0) return make_error("malformed-model", path, "the file is empty: truncated, or not an ONNX model");
  ModelProto m;
  m.file = std::move(file);
  m.path = path;
  m.directory = directory;
  ModelReader reader;
  auto broken = [&](const std::string& what) {
    return make_error("malformed-model", path,
                      "this is not an ONNX model, or it is malformed: " + what + " in " + reader.part);
  };
  try {
    reader.read({reinterpret_cast<const char*>(m.file.data), m.file.size}, m);
  } catch (const protozero::end_of_buffer_exception&) {
    return make_error("truncated-model", path,
                      "the file ends early, at byte " + std::to_string(m.file.size) + ", inside " + reader.part +
                          ": it is truncated or not an ONNX model");
  } catch (const wire::WrongFieldType& e) {
    return broken(e.what());
  } catch (const wire::TooDeep& e) {
    return broken(e.what());
  } catch (const protozero::exception&) {
    return broken("a field cannot be parsed");
  }
  m.texts = std::move(reader.texts);
  if (m.graph.nodes.empty() && m.graph.outputs.empty()) {
    return make_error("malformed-model", path, "the file holds no graph: it is truncated or not an ONNX model");
  }
  for (const FunctionProto& f : m.functions) {
    if (m.function_index.emplace(std::tuple(f.domain, f.name, f.overload), m.function_index.size()).second) continue;
    return make_error("malformed-model", path,
                      "function '" + std::string(f.name) + "' of domain '" + std::string(f.domain) + "' is defined twice");
  }
  return m;
}

}  // namespace pliant::frontend::onnx
