// Runs one operator on arrays by the reference evaluator: for tests.
#pragma once
#include <cstring>
#include <initializer_list>

#include "ops/op.h"

namespace pliant::ops {

template <class T>
te::Array array_of(DType t, std::vector<int64_t> shape, std::vector<T> values) {
  te::Array a{t, std::move(shape), {}};
  a.data.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(a.data.data(), values.data(), a.data.size());
  return a;
}
inline te::Array f32(std::vector<int64_t> shape, std::vector<float> v) {
  return array_of<float>(DType::F32, std::move(shape), std::move(v));
}
inline te::Array i64(std::vector<int64_t> shape, std::vector<int64_t> v) {
  return array_of<int64_t>(DType::I64, std::move(shape), std::move(v));
}
inline te::Array i32(std::vector<int64_t> shape, std::vector<int32_t> v) {
  return array_of<int32_t>(DType::I32, std::move(shape), std::move(v));
}
inline te::Array u8(std::vector<int64_t> shape, std::vector<uint8_t> v) {
  return array_of<uint8_t>(DType::U8, std::move(shape), std::move(v));
}
inline te::Array i8(std::vector<int64_t> shape, std::vector<int8_t> v) {
  return array_of<int8_t>(DType::I8, std::move(shape), std::move(v));
}
inline te::Array bools(std::vector<int64_t> shape, std::vector<uint8_t> v) {
  return array_of<uint8_t>(DType::Bool, std::move(shape), std::move(v));
}

template <class T>
std::vector<T> values_of(const te::Array& a) {
  std::vector<T> v(a.data.size() / sizeof(T));
  if (!v.empty()) std::memcpy(v.data(), a.data.data(), a.data.size());
  return v;
}

// Inputs of unknown (symbolic) sizes when `symbolic` is set: every axis gets a symbol of its own.
struct RunOptions {
  size_t outputs = 1;
  bool symbolic = false;
};
inline Result<std::vector<te::Array>> run_op(const std::string& op, Attrs attrs, const std::vector<te::Array>& inputs,
                                             RunOptions options = {}) {
  expr::Context ctx;
  graph::FunctionBuilder b("test");
  std::vector<ValueId> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    graph::Shape shape;
    for (size_t k = 0; k < inputs[i].shape.size(); ++k) {
      expr::SymbolInfo info;
      info.name = "d" + std::to_string(i) + "_" + std::to_string(k);
      info.origin = {expr::Origin::Kind::InputAxis, "x" + std::to_string(i), static_cast<int64_t>(k)};
      shape.push_back(options.symbolic ? ctx.symbol(info) : ctx.constant(inputs[i].shape[k]));
    }
    values.push_back(b.add_param(graph::make_tensor_type(inputs[i].dtype, std::move(shape)), "x" + std::to_string(i)));
  }
  values = TRY(append_node(b, ctx, op, std::move(attrs), values, options.outputs, Loc::make_named("node", "onnx.Op")));
  std::vector<std::string> names;
  for (size_t i = 0; i < values.size(); ++i) names.push_back("y" + std::to_string(i));
  b.set_results(std::move(values), std::move(names));
  graph::FunctionPtr f = b.finish();
  std::vector<te::ArrayView> views;
  for (const te::Array& a : inputs) views.push_back({a.dtype, a.shape, a.data.data()});
  return evaluate(*f, ctx, views);
}

}  // namespace pliant::ops
