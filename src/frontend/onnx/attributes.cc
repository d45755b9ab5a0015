// The attributes of a node, those that a function's body refers to included.
#include "frontend/onnx/conversion.h"

namespace pliant::frontend::onnx {

using AttrType = AttributeProto::Type;

const AttributeProto* Conversion::attr(std::string_view name) const {
  const AttributeProto* a = node.attribute(name);
  if (a == nullptr || a->ref_attr_name.empty()) return a;
  if (env_ == nullptr) return nullptr;
  auto it = env_->find(a->ref_attr_name);
  return it == env_->end() ? nullptr : it->second;
}

void Conversion::wrong_kind(std::string_view name, const char* wanted) {
  if (!attr_error_) attr_error_ = fail("wrong-attribute", "attribute '" + std::string(name) + "' must be " + wanted);
}

int64_t Conversion::int_attr(std::string_view name, int64_t fallback) {
  const AttributeProto* a = attr(name);
  if (a == nullptr) return fallback;
  if (a->type != AttrType::Int) wrong_kind(name, "an integer");
  return a->i;
}

double Conversion::float_attr(std::string_view name, double fallback) {
  const AttributeProto* a = attr(name);
  if (a == nullptr) return fallback;
  if (a->type != AttrType::Float) wrong_kind(name, "a float");
  return static_cast<double>(a->f);
}

std::string Conversion::string_attr(std::string_view name, const std::string& fallback) {
  const AttributeProto* a = attr(name);
  if (a == nullptr) return fallback;
  if (a->type != AttrType::String) wrong_kind(name, "a string");
  return std::string(a->s);
}

std::vector<int64_t> Conversion::ints_attr(std::string_view name, std::vector<int64_t> fallback) {
  const AttributeProto* a = attr(name);
  if (a == nullptr) return fallback;
  if (a->type != AttrType::Ints) wrong_kind(name, "a list of integers");
  return a->ints;
}

std::vector<double> Conversion::floats_attr(std::string_view name, std::vector<double> fallback) {
  const AttributeProto* a = attr(name);
  if (a == nullptr) return fallback;
  if (a->type != AttrType::Floats) wrong_kind(name, "a list of floats");
  return {a->floats.begin(), a->floats.end()};
}

std::vector<std::string> Conversion::strings_attr(std::string_view name) {
  const AttributeProto* a = attr(name);
  if (a == nullptr) return {};
  if (a->type != AttrType::Strings) wrong_kind(name, "a list of strings");
  return {a->strings.begin(), a->strings.end()};
}

Result<DType> Conversion::dtype_attr(std::string_view name, DType fallback) {
  const AttributeProto* a = attr(name);
  if (a == nullptr) return fallback;
  if (a->type != AttrType::Int) wrong_kind(name, "an element type");
  const bool is_code = a->i >= 0 && a->i <= INT32_MAX;
  auto t = is_code ? dtype_of(static_cast<int32_t>(a->i)) : std::nullopt;
  if (!is_code) return fail("unsupported-type", "there is no element type " + std::to_string(a->i));
  if (!t)
    return fail("unsupported-type", "elements of type " + elem_type_name(static_cast<int32_t>(a->i)) + " are not supported");
  return *t;
}

Result<graph::ConstantPtr> Conversion::tensor_attr(std::string_view name) {
  const AttributeProto* a = attr(name);
  if (a == nullptr || a->type != AttrType::Tensor || a->tensors.size() != 1) {
    return fail("wrong-attribute", "attribute '" + std::string(name) + "' must be a tensor");
  }
  return model_.loader.load(a->tensors[0], describe(loc) + " attribute '" + std::string(name) + "'");
}

}  // namespace pliant::frontend::onnx
