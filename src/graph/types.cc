#include "graph/list_type.h"

namespace pliant::graph {
namespace {

bool same_element(const std::shared_ptr<const Type>& a, const std::shared_ptr<const Type>& b) {
  return a == b || (a && b && *a == *b);
}

}  // namespace

bool operator==(const Type& a, const Type& b) {
  if (a.v.index() != b.v.index()) return false;
  if (const auto* t = std::get_if<TensorType>(&a.v)) return *t == std::get<TensorType>(b.v);
  if (const auto* s = std::get_if<SequenceType>(&a.v)) return same_element(s->element, std::get<SequenceType>(b.v).element);
  if (const auto* o = std::get_if<OptionalType>(&a.v)) return same_element(o->element, std::get<OptionalType>(b.v).element);
  return std::get<TupleType>(a.v).elements == std::get<TupleType>(b.v).elements;
}

Type make_tensor_type(DType t, Shape shape) { return Type{TensorType{t, std::move(shape)}}; }

std::string print(const Type& t) {
  if (const auto* tensor = std::get_if<TensorType>(&t.v)) {
    std::string out = std::string(name_of(tensor->dtype)) + "[";
    if (tensor->rank != Rank::Known) out += tensor->rank == Rank::Any ? "*" : "-";
    for (size_t i = 0; i < tensor->shape.size(); ++i)
      out += (i ? ", " : "") + (is_any_size(tensor->shape[i]) ? "?" : tensor->shape[i].str());
    return out + "]";
  }
  if (const auto* s = std::get_if<SequenceType>(&t.v)) return "seq<" + print(*s->element) + ">";
  if (const auto* o = std::get_if<OptionalType>(&t.v)) return "opt<" + print(*o->element) + ">";
  std::string out = "(";
  const auto& elements = std::get<TupleType>(t.v).elements;
  for (size_t i = 0; i < elements.size(); ++i) out += (i ? ", " : "") + print(elements[i]);
  return out + ")";
}

const TensorType& Function::tensor_type(ValueId v) const {
  PLIANT_CHECK(v < values.size()) << "value " << v << " is not in function " << name;
  const TensorType* t = values[v].type.tensor();
  PLIANT_CHECK(t != nullptr) << "value " << v << " of function " << name << " is " << print(values[v].type)
                             << ", not a tensor";
  return *t;
}

}  // namespace pliant::graph
