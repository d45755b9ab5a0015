// The model's inputs as parameters: dims become symbols, and integer inputs that are used as sizes give their elements as
// symbols.
#include <algorithm>
#include <cctype>
#include <charconv>

#include "frontend/onnx/demand.h"
#include "frontend/onnx/importer.h"
#include "graph/list_type.h"

namespace pliant::frontend::onnx {
namespace {

std::string label(std::string_view name) { return "input \"" + std::string(name) + "\""; }

std::optional<int64_t> as_number(const std::string& text) {
  int64_t v = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return v;
}

// Names that exporters give to dims of which they know nothing; two dims of such a name need not be equal.
bool is_anonymous(std::string_view name) { return name.empty() || name == "?" || name == "-1" || name == "None"; }

// What a given shape may call an axis: what the model calls one, or a plain name, which no number or expression is.
bool is_axis_name(const std::string& text, const ModelProto& model) {
  auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0 || c == '_' || c >= 0x80; };
  auto belongs = [&](unsigned char c) { return is_letter(c) || std::isdigit(c) != 0 || c == '.' || c == ':'; };
  if (is_anonymous(text)) return true;
  if (is_letter(static_cast<unsigned char>(text[0])) && std::all_of(text.begin(), text.end(), belongs)) return true;
  const auto& inputs = model.graph.inputs;
  return std::any_of(inputs.begin(), inputs.end(), [&](const ValueInfoProto& v) {
    return std::any_of(v.type.shape.begin(), v.type.shape.end(), [&](const Dimension& d) { return d.param == text; });
  });
}

const char* kind_name(TypeProto::Kind k) {
  switch (k) {
    case TypeProto::Kind::Sequence: return "a sequence";
    case TypeProto::Kind::Optional: return "an optional";
    case TypeProto::Kind::Map: return "a map";
    case TypeProto::Kind::SparseTensor: return "a sparse tensor";
    case TypeProto::Kind::Opaque: return "of an opaque type";
    case TypeProto::Kind::None: return "without a type";
    case TypeProto::Kind::Tensor: break;
  }
  return "a tensor";
}

}  // namespace

// One name is one symbol wherever it stands; no name makes a symbol of its own.
Dim Importer::axis_symbol(const std::string& input, size_t axis, std::string name, const ImportOptions& options) {
  if (is_anonymous(name)) name.clear();
  if (!name.empty()) {
    auto it = symbols_.find(name);
    if (it != symbols_.end()) return it->second;
  }
  expr::SymbolInfo info;
  info.name = name.empty() ? input + "_" + std::to_string(axis) : name;
  info.origin = {expr::Origin::Kind::InputAxis, input, static_cast<int64_t>(axis)};
  auto bounds = options.bounds.find(info.name);
  if (bounds != options.bounds.end()) std::tie(info.lo, info.hi) = bounds->second;
  auto likely = options.likely.find(info.name);
  if (likely != options.likely.end()) info.likely = likely->second;
  symbol_names_.insert(info.name);
  Dim d = ctx_->symbol(std::move(info));
  if (!name.empty()) symbols_.emplace(name, d);
  return d;
}

std::optional<graph::Shape> Importer::input_shape(const ValueInfoProto& v, const TensorProto* default_value,
                                                  const ImportOptions& options) {
  std::string name(v.name);
  graph::Shape shape;
  auto given = options.shapes.find(name);
  if (given != options.shapes.end()) {
    if (v.type.has_shape && v.type.shape.size() != given->second.size()) {
      report(make_error("shape-option", label(name),
                        "the given shape has " + std::to_string(given->second.size()) + " axes but the model's has " +
                            std::to_string(v.type.shape.size())));
      return std::nullopt;
    }
    for (size_t i = 0; i < given->second.size(); ++i) {
      const std::string& axis = given->second[i];
      auto number = as_number(axis);
      if (!number && !is_axis_name(axis, model_)) {
        report(make_error("shape-option", label(name),
                          "'" + axis +
                              "' is neither a size nor the name of one: an axis of the given shape is a number, or "
                              "a name for a size that each run has"));
        return std::nullopt;
      }
      if (number && *number < -1) {
        report(make_error("shape-option", label(name), "the given shape has the size " + axis));
        return std::nullopt;
      }
      shape.push_back(number && *number >= 0 ? ctx_->constant(*number) : axis_symbol(name, i, axis, options));
    }
    return shape;
  }
  if (!v.type.has_shape && default_value == nullptr) {
    report(make_error("unknown-rank", label(name), "the model does not say how many axes it has; give its shape",
                      {"for example --shape '" + name + "=batch,3,224,224'"}));
    return std::nullopt;
  }
  if (!v.type.has_shape) {
    for (int64_t d : default_value->dims) shape.push_back(ctx_->constant(std::max<int64_t>(d, 0)));
    return shape;
  }
  for (size_t i = 0; i < v.type.shape.size(); ++i) {
    const Dimension& d = v.type.shape[i];
    bool is_fixed = d.value && *d.value >= 0;
    shape.push_back(is_fixed ? ctx_->constant(*d.value) : axis_symbol(name, i, std::string(d.param), options));
  }
  return shape;
}

// Symbols for the elements of a small integer input; null when it is not one.
std::shared_ptr<const Known> Importer::element_symbols(const Value& v) {
  const TensorType& t = *v.type.tensor();
  Known k{t.dtype, {}, {}};
  for (Dim d : t.shape) {
    if (!d.is_const()) return nullptr;
    k.shape.push_back(d.const_value());
  }
  auto n = small_count(k.shape);
  if (!n || !is_int(t.dtype)) return nullptr;
  for (int64_t i = 0; i < *n; ++i) {
    expr::SymbolInfo info;
    info.name = k.shape.empty() ? v.name : v.name + "_" + std::to_string(i);
    info.lo = is_unsigned_int(t.dtype) ? 0 : INT64_MIN;
    info.origin = {expr::Origin::Kind::InputValue, v.name, i};
    k.elements.push_back(Element::make_int(ctx_->symbol(std::move(info))));
  }
  return std::make_shared<Known>(std::move(k));
}

// The elements of a list have sizes each of its own: the names of dims say nothing about them.
std::optional<graph::Type> Importer::list_type(const ValueInfoProto& v, const ImportOptions& options) {
  const TypeProto* t = &v.type;
  bool is_optional = t->kind == TypeProto::Kind::Optional && t->element;
  if (is_optional) t = t->element.get();
  bool is_sequence = t->kind == TypeProto::Kind::Sequence && t->element;
  if (is_sequence) t = t->element.get();
  auto dtype = t->kind == TypeProto::Kind::Tensor ? dtype_of(t->elem_type) : std::nullopt;
  if (!dtype) {
    std::string what = t->kind == TypeProto::Kind::Tensor ? "elements of type " + elem_type_name(t->elem_type) + " are"
                                                          : std::string("it is ") + kind_name(t->kind) + ", which is";
    report(make_error("unsupported-type", label(v.name), what + " not supported"));
    return std::nullopt;
  }
  TensorType element{*dtype, {}, graph::Rank::Any};
  auto add = [&](std::optional<int64_t> size) {
    element.shape.push_back(size && *size >= 0 ? ctx_->constant(*size) : graph::any_size(*ctx_));
  };
  auto given = options.shapes.find(std::string(v.name));
  if (given != options.shapes.end()) {
    element.rank = graph::Rank::Known;
    for (const std::string& axis : given->second) add(as_number(axis));
  } else if (t->has_shape) {
    element.rank = graph::Rank::Known;
    for (const Dimension& d : t->shape) add(d.value);
  }
  graph::Type type{std::move(element)};
  if (is_sequence) type = graph::make_sequence_type(std::move(type));
  if (is_optional) type = graph::make_optional_type(std::move(type));
  return type;
}

void Importer::make_input(const ValueInfoProto& v, const TensorProto* default_value, bool used_as_sizes,
                          const ImportOptions& options, Scope& scope) {
  if (v.type.kind != TypeProto::Kind::Tensor) {
    auto type = list_type(v, options);
    if (!type) return;
    auto value = std::make_shared<Value>();
    value->name = v.name;
    value->type = std::move(*type);
    value->loc = Loc::make_named(value->name, "onnx.Input");
    value->id = state_.builder.add_param(value->type, value->name);
    return add_input(v, std::move(value), scope);
  }
  auto dtype = dtype_of(v.type.elem_type);
  if (!dtype) {
    return report(make_error("unsupported-type", label(v.name),
                             "elements of type " + elem_type_name(v.type.elem_type) + " are not supported"));
  }
  auto shape = input_shape(v, default_value, options);
  if (!shape) return;
  graph::ConstantPtr default_constant;
  if (default_value != nullptr) {
    auto loaded = state_.loader.load(*default_value, "initialiser '" + std::string(v.name) + "'");
    if (!loaded.ok()) return report(std::move(loaded.error()));
    default_constant = loaded.take();
  }
  auto value = std::make_shared<Value>();
  value->name = v.name;
  value->type = graph::make_tensor_type(*dtype, std::move(*shape));
  value->loc = Loc::make_named(value->name, "onnx.Input");
  value->id = state_.builder.add_param(value->type, value->name, std::move(default_constant));
  if (used_as_sizes) value->known = element_symbols(*value);
  add_input(v, std::move(value), scope);
}

void Importer::add_input(const ValueInfoProto& v, ValueRef value, Scope& scope) {
  if (!scope.values.emplace(v.name, std::move(value)).second) {
    report(make_error("duplicate-value", label(v.name), "the model has two inputs of this name"));
  }
}

void Importer::check_options(const ImportOptions& options) {
  auto list = [&] {
    std::string out;
    for (const std::string& name : symbol_names_) out += (out.empty() ? "" : ", ") + name;
    return out.empty() ? std::string("none") : out;
  };
  for (const auto& [name, shape] : options.shapes) {
    bool exists =
        std::any_of(model_.graph.inputs.begin(), model_.graph.inputs.end(), [&](const auto& v) { return v.name == name; });
    if (!exists) report(make_error("shape-option", label(name), "the model has no input of this name"));
  }
  for (const auto& [name, bounds] : options.bounds) {
    if (!symbol_names_.count(name)) {
      report(make_error("bound-option", "bound of '" + name + "'", "the model has no such symbol; it has: " + list()));
    } else if (bounds.first < 0 || bounds.first > bounds.second) {
      report(
          make_error("bound-option", "bound of '" + name + "'",
                     "the range " + std::to_string(bounds.first) + ".." + std::to_string(bounds.second) + " holds no size"));
    }
  }
  for (const auto& [name, values] : options.likely) {
    if (!symbol_names_.count(name)) {
      report(
          make_error("likely-option", "likely values of '" + name + "'", "the model has no such symbol; it has: " + list()));
    }
  }
}

void Importer::make_inputs(const ImportOptions& options, Scope& scope) {
  const GraphProto& g = model_.graph;
  std::unordered_map<std::string_view, const TensorProto*> initializers;
  for (const TensorProto& t : g.initializers) initializers.emplace(t.name, &t);
  auto sizes = values_used_as_sizes(model_);
  for (const ValueInfoProto& v : g.inputs) {
    auto it = initializers.find(v.name);
    const TensorProto* default_value = it == initializers.end() ? nullptr : it->second;
    // Before IR version 4 every initialiser had to be listed as an input and is a constant; later one so listed is a
    // default.
    if (default_value != nullptr && model_.ir_version < 4) continue;
    make_input(v, default_value, sizes.count(v.name) != 0, options, scope);
  }
  check_options(options);
}

}  // namespace pliant::frontend::onnx
