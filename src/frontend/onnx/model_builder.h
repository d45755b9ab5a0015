// Writes ONNX models for tests, field by field.
#pragma once
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "frontend/onnx/file/model.h"

namespace pliant::frontend::onnx::testing {

// A dim of a declared type: a number, or a name ("" for neither).
struct Axis {
  int64_t value = -1;
  std::string name;
  Axis(int v) : value(v) {}         // NOLINT: implicit on purpose
  Axis(const char* n) : name(n) {}  // NOLINT
};

inline std::string tensor_type(ElemType t, const std::vector<Axis>& axes) {
  std::string shape, tensor, type;
  protozero::pbf_writer s(shape);
  for (const Axis& a : axes) {
    std::string dim;
    protozero::pbf_writer d(dim);
    if (a.value >= 0) d.add_int64(1, a.value);
    if (!a.name.empty()) d.add_string(2, a.name);
    s.add_message(1, dim);
  }
  protozero::pbf_writer w(tensor);
  w.add_int32(1, static_cast<int32_t>(t));
  w.add_message(2, shape);
  protozero::pbf_writer(type).add_message(1, tensor);
  return type;
}

inline std::string value_info(const std::string& name, ElemType t, const std::vector<Axis>& axes) {
  std::string out;
  protozero::pbf_writer w(out);
  w.add_string(1, name);
  w.add_message(2, tensor_type(t, axes));
  return out;
}

inline std::string raw_tensor(const std::string& name, ElemType t, const std::vector<int64_t>& dims, const void* bytes,
                              size_t n) {
  std::string out;
  protozero::pbf_writer w(out);
  for (int64_t d : dims) w.add_int64(1, d);
  w.add_int32(2, static_cast<int32_t>(t));
  w.add_string(8, name);
  w.add_bytes(9, static_cast<const char*>(bytes), n);
  return out;
}
inline std::string i64_tensor(const std::string& name, const std::vector<int64_t>& dims, const std::vector<int64_t>& v) {
  return raw_tensor(name, ElemType::Int64, dims, v.data(), v.size() * sizeof(int64_t));
}
inline std::string f32_tensor(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& v) {
  return raw_tensor(name, ElemType::Float, dims, v.data(), v.size() * sizeof(float));
}

// One attribute as a message.
inline std::string int_attr(const std::string& name, int64_t v) {
  std::string out;
  protozero::pbf_writer w(out);
  w.add_string(1, name);
  w.add_int64(3, v);
  w.add_int32(20, 2);
  return out;
}
inline std::string ints_attr(const std::string& name, const std::vector<int64_t>& v) {
  std::string out;
  protozero::pbf_writer w(out);
  w.add_string(1, name);
  for (int64_t i : v) w.add_int64(8, i);
  w.add_int32(20, 7);
  return out;
}
inline std::string ref_attr(const std::string& name, const std::string& of_function, int32_t type) {
  std::string out;
  protozero::pbf_writer w(out);
  w.add_string(1, name);
  w.add_string(21, of_function);
  w.add_int32(20, type);
  return out;
}
inline std::string graph_attr(const std::string& name, const std::string& graph) {
  std::string out;
  protozero::pbf_writer w(out);
  w.add_string(1, name);
  w.add_message(6, graph);
  w.add_int32(20, 5);
  return out;
}

inline std::string node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::string& name = "",
                        const std::vector<std::string>& attributes = {}, const std::string& domain = "") {
  std::string out;
  protozero::pbf_writer w(out);
  for (const auto& i : inputs) w.add_string(1, i);
  for (const auto& o : outputs) w.add_string(2, o);
  if (!name.empty()) w.add_string(3, name);
  w.add_string(4, op);
  for (const auto& a : attributes) w.add_message(5, a);
  if (!domain.empty()) w.add_string(7, domain);
  return out;
}

struct Graph {
  std::vector<std::string> nodes, inputs, outputs, initializers;
  std::string bytes() const {
    std::string out;
    protozero::pbf_writer w(out);
    for (const auto& n : nodes) w.add_message(1, n);
    w.add_string(2, "g");
    for (const auto& t : initializers) w.add_message(5, t);
    for (const auto& v : inputs) w.add_message(11, v);
    for (const auto& v : outputs) w.add_message(12, v);
    return out;
  }
};

inline std::string opset(const std::string& domain, int64_t version) {
  std::string out;
  protozero::pbf_writer w(out);
  if (!domain.empty()) w.add_string(1, domain);
  w.add_int64(2, version);
  return out;
}

inline std::string function(const std::string& domain, const std::string& name, const std::vector<std::string>& inputs,
                            const std::vector<std::string>& outputs, const std::vector<std::string>& nodes,
                            const std::vector<std::string>& attributes = {}, int64_t version = 18) {
  std::string out;
  protozero::pbf_writer w(out);
  w.add_string(1, name);
  for (const auto& i : inputs) w.add_string(4, i);
  for (const auto& o : outputs) w.add_string(5, o);
  for (const auto& a : attributes) w.add_string(6, a);
  for (const auto& n : nodes) w.add_message(7, n);
  w.add_message(9, opset("", version));
  w.add_message(9, opset(domain, 1));
  w.add_string(10, domain);
  return out;
}

inline std::string model(const Graph& g, int64_t version = 18, int64_t ir_version = 8,
                         const std::vector<std::string>& functions = {}) {
  std::string out;
  protozero::pbf_writer w(out);
  w.add_int64(1, ir_version);
  w.add_message(7, g.bytes());
  w.add_message(8, opset("", version));
  w.add_message(8, opset("local", 1));
  for (const auto& f : functions) w.add_message(25, f);
  return out;
}

}  // namespace pliant::frontend::onnx::testing
