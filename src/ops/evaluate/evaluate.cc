// The reference: a whole function on arrays. Every node is computed by te::evaluate of its definition, by evaluating its
// expansion, or by its kernel's reference function; symbols are bound as they become known, and constraints and data checks
// are tested.
#include <cstring>

#include "graph/list_type.h"
#include "ops/evaluate/evaluator.h"

namespace pliant::ops {

namespace {

std::string fill_text(std::string message, const std::string& key, const std::string& value) {
  for (size_t at; (at = message.find(key)) != std::string::npos;) message.replace(at, key.size(), value);
  return message;
}

bool has_value_atom(Dim d) {
  for (const auto& [monomial, coefficient] : d->terms)
    for (const auto& [atom, power] : monomial->factors) {
      if (atom->kind == expr::AtomKind::Value) return true;
      for (Dim arg : atom->args)
        if (has_value_atom(arg)) return true;
    }
  return false;
}

}  // namespace

int64_t element_of(const ArrayView& a, size_t element) {
  const std::byte* at = a.data + element * static_cast<size_t>(byte_size(a.dtype));
  auto read = [&]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return static_cast<int64_t>(value);
  };
  switch (a.dtype) {
    case DType::Bool:
    case DType::U8: return read(uint8_t{});
    case DType::I8: return read(int8_t{});
    case DType::I16: return read(int16_t{});
    case DType::U16: return read(uint16_t{});
    case DType::I32: return read(int32_t{});
    case DType::U32: return read(uint32_t{});
    case DType::I64: return read(int64_t{});
    case DType::U64: return read(int64_t{});
    default: break;
  }
  PLIANT_CHECK(false) << "an element of type " << name_of(a.dtype) << " cannot be a size";
  return 0;
}

std::string fill(std::string message, const std::vector<std::pair<std::string, int64_t>>& values) {
  for (const auto& [key, v] : values) message = fill_text(std::move(message), key, std::to_string(v));
  return message;
}

Result<std::vector<Array>> Evaluator::run(const std::vector<ArrayView>& inputs) {
  PLIANT_CHECK(inputs.size() == f_.params.size()) << "evaluate needs " << f_.params.size() << " inputs";
  for (size_t i = 0; i < inputs.size(); ++i) {
    values_[f_.params[i]] = Array{inputs[i].dtype, inputs[i].shape, {}};
    views_[f_.params[i]] = inputs[i];
    TRY(bind_shape(f_.params[i], inputs[i].shape));
  }
  TRY(run_body());
  std::vector<Array> out;
  for (ValueId v : f_.results) out.push_back(copy_of(v));
  return out;
}

Result<std::vector<Datum>> Evaluator::run_data(std::vector<Datum> inputs) {
  PLIANT_CHECK(inputs.size() == f_.params.size()) << "evaluate needs " << f_.params.size() << " inputs";
  for (size_t i = 0; i < inputs.size(); ++i) TRY(set_datum(f_.params[i], std::move(inputs[i])));
  TRY(run_body());
  std::vector<Datum> out;
  for (ValueId v : f_.results) out.push_back(datum_of(v));
  return out;
}

Status Evaluator::run_body() {
  bind_input_elements();
  TRY(check_constraints());
  return run_nodes(f_.nodes);
}

Status Evaluator::set_datum(ValueId v, Datum d) {
  if (graph::is_list(f_.value(v).type)) {
    PLIANT_CHECK(d.list != nullptr) << "a tensor for a value of type " << print(f_.value(v).type);
    lists_[v] = std::move(d.list);
    return ok();
  }
  if (d.list != nullptr) d.array = *d.list->elements.at(0);
  TRY(bind_shape(v, d.array.shape));
  set(v, std::move(d.array));
  return ok();
}

Datum Evaluator::datum_of(ValueId v) const {
  if (v == kNoValue) return {};
  auto list = lists_.find(v);
  return list != lists_.end() ? Datum{{}, list->second} : Datum{copy_of(v), nullptr};
}

Array Evaluator::copy_of(ValueId v) const {
  ArrayView a = views_.at(v);
  int64_t n = byte_size(a.dtype);
  for (int64_t d : a.shape) n *= d;
  return {a.dtype, a.shape, n == 0 ? std::vector<std::byte>{} : std::vector<std::byte>(a.data, a.data + n)};
}

std::vector<Datum> Evaluator::data_of(const std::vector<ValueId>& values) const {
  std::vector<Datum> out;
  for (ValueId v : values) out.push_back(datum_of(v));
  return out;
}

void Evaluator::bind(expr::SymbolId s, int64_t v) {
  symbols_[s] = v;
  bound_.push_back(s);
}

void Evaluator::unbind(size_t mark) {
  for (; bound_.size() > mark; bound_.pop_back()) symbols_.erase(bound_.back());
}

void Evaluator::set(ValueId v, Array a) {
  values_[v] = std::move(a);
  views_[v] = view(values_[v]);
}

std::optional<int64_t> Evaluator::known(Dim d) const {
  std::optional<int64_t> v = expr::evaluate(d, [&](expr::SymbolId s) -> std::optional<int64_t> {
    auto at = symbols_.find(s);
    return at == symbols_.end() ? std::nullopt : std::optional(at->second);
  });
  return v || !has_value_atom(d) || !all_bound(d) ? v : computed(d);
}

std::optional<int64_t> Evaluator::computed(Dim d) const {
  Scalar s = expr::make_index(d);
  if (!expr::loads_of(s).empty()) return std::nullopt;
  te::Builder builder(ctx_);
  te::Tensor t = builder.map("size", {}, [&](const te::Index&) { return s; });
  Result<std::vector<Array>> v = te::evaluate({t}, {}, bindings());
  return v.ok() ? std::optional(element_of(view(v.value()[0]), 0)) : std::nullopt;
}

bool Evaluator::all_bound(Dim d) const {
  for (expr::SymbolId s : expr::symbols_of(d))
    if (symbols_.count(s) == 0) return false;
  return true;
}

Status Evaluator::bind_shape(ValueId v, const std::vector<int64_t>& shape) {
  const TensorType& t = f_.tensor_type(v);
  const std::string& name = f_.value(v).name;
  if (t.shape.size() != shape.size())
    return make_error("bad-input", "value \"" + name + "\"",
                      "rank is " + std::to_string(shape.size()) + " but must be " + std::to_string(t.shape.size()));
  for (size_t k = 0; k < shape.size(); ++k) {
    std::optional<expr::SymbolId> s = t.shape[k].as_symbol();
    if (s && symbols_.count(*s) == 0) {
      bind(*s, shape[k]);
      continue;
    }
    std::optional<int64_t> want = known(t.shape[k]);
    if (want && *want != shape[k])
      return make_error(
          "bad-input", "value \"" + name + "\"",
          "size of axis " + std::to_string(k) + " is " + std::to_string(shape[k]) + " but must be " + std::to_string(*want));
  }
  return ok();
}

void Evaluator::bind_input_elements() {
  for (uint32_t s = 0; s < ctx_.symbol_count(); ++s) {
    const expr::SymbolInfo& info = ctx_.info(s);
    if (info.origin.kind != expr::Origin::Kind::InputValue || symbols_.count(s)) continue;
    for (ValueId p : f_.params)
      if (f_.value(p).name == info.origin.name) symbols_[s] = element_of(value(p), static_cast<size_t>(info.origin.axis));
  }
}

Status Evaluator::check_constraints() {
  tested_.resize(f_.constraints.size(), false);
  for (size_t i = 0; i < f_.constraints.size(); ++i)
    if (!tested_[i]) tested_[i] = TRY(check(f_.constraints[i]));
  return ok();
}

Result<bool> Evaluator::check(const ShapeConstraint& o) {
  std::optional<int64_t> a = known(o.a), b = known(o.b);
  if (!a || !b) {
    // A broadcast of sizes that do not broadcast has no value.
    if (!all_bound(o.a) || !all_bound(o.b)) return false;
    std::string message = fill_text(fill_text(o.message, "{a}", a ? std::to_string(*a) : o.a.str()), "{b}",
                                    b ? std::to_string(*b) : o.b.str());
    return make_error("run-time-check", describe(o.loc), message);
  }
  bool good = *a == *b || (o.kind == ShapeConstraint::Kind::LessEqual && *a < *b) ||
              (o.kind == ShapeConstraint::Kind::Broadcast && *a == 1);
  if (!good) return make_error("run-time-check", describe(o.loc), fill(o.message, {{"{a}", *a}, {"{b}", *b}}));
  return true;
}

Status Evaluator::run_nodes(const std::vector<Node>& nodes) {
  for (const Node& n : nodes) TRY(run_node(n));
  return ok();
}

int64_t Evaluator::number(Dim d) const {
  std::optional<int64_t> n = known(d);
  PLIANT_CHECK(n) << "the size " << d.str() << " is not known";
  return *n;
}

Result<std::vector<te::Array>> evaluate(const Function& f, expr::Context& ctx, const std::vector<te::ArrayView>& inputs,
                                        const graph::Module* module) {
  return Evaluator(f, ctx, {}, module).run(inputs);
}

Result<std::vector<Datum>> evaluate_data(const Function& f, expr::Context& ctx, std::vector<Datum> inputs) {
  return Evaluator(f, ctx, {}, nullptr).run_data(std::move(inputs));
}

}  // namespace pliant::ops
