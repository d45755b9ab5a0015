#include "frontend/onnx/importer.h"

#include <algorithm>
#include <set>

#include "frontend/onnx/file/order.h"
#include "frontend/onnx/table.h"
#include "graph/control.h"
#include "graph/list_type.h"

namespace pliant::frontend::onnx {
namespace {

constexpr int64_t kOldestOpset = 7;
constexpr int64_t kNewestOpset = 28;
// Graphs and calls of functions nest at most this far.
constexpr int kMaxDepth = 64;
// Functions are imported wherever they are called, bodies whose carried shapes change several times, those inside them as
// often each time: so many nodes are imported in any case, and beyond that so many for each node that the file has.
constexpr int64_t kFewNodes = 50'000;
constexpr int64_t kMostCopies = 100;

int64_t count_nodes(const std::vector<NodeProto>& nodes) {
  int64_t count = static_cast<int64_t>(nodes.size());
  for (const NodeProto& n : nodes)
    for (const AttributeProto& a : n.attributes)
      for (const auto& g : a.graphs) count += count_nodes(g->nodes);
  return count;
}
// How many nodes of one unsupported operator a message names.
constexpr size_t kShownNodes = 8;

}  // namespace

std::vector<std::string_view> output_names(const GraphProto& g) {
  std::vector<std::string_view> out;
  for (const ValueInfoProto& v : g.outputs) out.push_back(v.name);
  return out;
}

ValueRef Scope::find(std::string_view name) const {
  for (const Scope* s = this; s != nullptr; s = s->parent) {
    auto it = s->values.find(name);
    if (it != s->values.end()) return it->second;
  }
  return nullptr;
}

bool Scope::defines(std::string_view name) const {
  for (const Scope* s = this; s != nullptr; s = s->parent)
    if (s->values.count(name) != 0) return true;
  return false;
}

Importer::Importer(const ModelProto& model, std::shared_ptr<expr::Context> ctx)
    : model_(model), ctx_(std::move(ctx)), state_(model, *ctx_) {}

void Importer::report(Error e) {
  for (Diagnostic& d : e.diagnostics) state_.errors.push_back(std::move(d));
}

void Importer::check_versions() {
  auto it = model_.opsets.find("");
  if (it == model_.opsets.end()) return;
  if (it->second < kOldestOpset || it->second > kNewestOpset) {
    report(make_error("unsupported-opset", model_.path,
                      "the model uses opset " + std::to_string(it->second) + "; opsets " + std::to_string(kOldestOpset) +
                          " to " + std::to_string(kNewestOpset) + " are supported"));
  }
}

void Importer::add_initializers(const GraphProto& g, Scope& scope) {
  std::set<std::string_view> names;
  for (const TensorProto& t : g.initializers) {
    if (!names.insert(t.name).second) {
      report(make_error("duplicate-value", "initialiser '" + std::string(t.name) + "'", "its graph has two of this name"));
    }
    auto v = std::make_shared<Value>();
    v->name = t.name;
    v->load = [this, &t] { return load_initializer(t); };
    v->loc = Loc::make_named(v->name, "onnx.Initializer");
    scope.values.emplace(t.name, std::move(v));
  }
  for (std::string_view name : g.sparse_initializers) {
    auto v = std::make_shared<Value>();
    v->name = name;
    v->load = [label = "initialiser '" + v->name + "'"]() -> Result<graph::ConstantPtr> {
      return make_error("unsupported-type", label, "sparse initialisers are not supported");
    };
    v->loc = Loc::make_named(v->name, "onnx.Initializer");
    scope.values.emplace(name, std::move(v));
  }
}

void Importer::load_if_pending(Value& v) {
  if (v.load != nullptr && !v.constant && !v.broken) load(v);
}

Result<graph::ConstantPtr> Importer::load_initializer(const TensorProto& t) {
  graph::ConstantPtr& constant = loaded_[&t];
  if (constant == nullptr) constant = TRY(state_.loader.load(t, "initialiser '" + std::string(t.name) + "'"));
  return constant;
}

void Importer::load(Value& v) {
  Result<graph::ConstantPtr> constant = v.load();
  if (!constant.ok()) {
    v.broken = true;
    return report(std::move(constant.error()));
  }
  v.constant = constant.take();
  graph::Shape shape;
  for (int64_t d : v.constant->shape) shape.push_back(ctx_->constant(d));
  v.type = graph::make_tensor_type(v.constant->dtype, std::move(shape));
}

std::vector<ValueRef> Importer::resolve_inputs(const NodeProto& n, const LocPtr& loc, Scope& scope, bool& broken) {
  std::vector<ValueRef> out;
  for (std::string_view name : n.inputs) {
    if (name.empty()) {
      out.push_back(nullptr);
      continue;
    }
    ValueRef v = scope.find(name);
    if (!v && scope.defines(name)) {
      out.push_back(nullptr);
      continue;
    }
    if (!v) {
      report(make_error("missing-value", describe(loc), "uses '" + std::string(name) + "', which nothing defines"));
      broken = true;
    } else {
      load_if_pending(*v);
      broken = broken || v->broken;
    }
    out.push_back(std::move(v));
  }
  return out;
}

void Importer::bind(const NodeProto& n, size_t k, ValueRef v, Scope& scope) {
  if (k < n.outputs.size() && !n.outputs[k].empty()) scope.values[n.outputs[k]] = std::move(v);
}

void Importer::bind_broken(const NodeProto& n, Scope& scope) {
  for (size_t k = 0; k < n.outputs.size(); ++k) {
    auto v = std::make_shared<Value>();
    v->name = n.outputs[k];
    v->broken = true;
    bind(n, k, std::move(v), scope);
  }
}

void Importer::note_unsupported(const NodeProto& n, const std::string& name, const Scope& scope) {
  Unsupported& u = unsupported_[op_name(n)];
  u.domain = n.domain.empty() ? "ai.onnx" : std::string(n.domain);
  u.op = n.op_type;
  u.opset = version_of(*scope.opsets, n.domain);
  // Bodies are imported several times.
  if (u.known.insert(name).second) u.nodes.push_back(name);
}

void Importer::report_unsupported() {
  std::vector<Diagnostic> all;
  for (const auto& [key, u] : unsupported_) {
    std::string names;
    for (size_t i = 0; i < u.nodes.size() && i < kShownNodes; ++i) names += (i == 0 ? "\"" : ", \"") + u.nodes[i] + "\"";
    if (u.nodes.size() > kShownNodes) names += " and " + std::to_string(u.nodes.size() - kShownNodes) + " more";
    std::string count = std::to_string(u.nodes.size()) + (u.nodes.size() == 1 ? " node: " : " nodes: ");
    all.push_back({"unsupported-operator", model_.path,
                   "operator " + u.op + " (domain " + u.domain + ", opset " + std::to_string(u.opset) +
                       ") is not supported; " + count + names});
  }
  state_.errors.insert(state_.errors.begin(), all.begin(), all.end());
}

void Importer::import_graph(Frame& frame) {
  if (frame.scope->depth > kMaxDepth)
    return report(make_error("function-depth", model_.path, "graphs inside graphs are nested too deeply"));
  Order order = order_nodes(*frame.nodes, frame.outputs, [&](std::string_view name) { return frame.scope->defines(name); });
  state_.errors.insert(state_.errors.end(), order.errors.begin(), order.errors.end());
  if (!order.errors.empty()) return;
  for (size_t i : order.indices) {
    for (std::string_view name : (*frame.nodes)[i].outputs) {
      if (name.empty() || frame.scope->values.count(name) == 0) continue;
      const LocPtr loc = Loc::make_named(frame.scope->prefix + node_name((*frame.nodes)[i], i), op_name((*frame.nodes)[i]));
      return report(make_error("duplicate-value", describe(loc),
                               "defines '" + std::string(name) + "', which an input or initialiser of its graph does too"));
    }
  }
  frame.order = std::move(order.indices);
  import_rest(frame);
}

void Importer::import_rest(Frame& frame) {
  while (frame.next < frame.order.size() && !extends_) {
    size_t i = frame.order[frame.next++];
    if (++imported_ > most_imported_) {
      if (imported_ == most_imported_ + 1)
        report(make_error("too-large", model_.path,
                          "functions that call each other, or bodies inside bodies, take more than " +
                              std::to_string(most_imported_) + " nodes: call less, or write repeated parts as loops"));
      return;
    }
    import_node((*frame.nodes)[i], i, frame);
  }
}

std::optional<std::vector<ValueRef>> Importer::outputs_of(const Frame& frame, Conversion& c, const std::string& what) {
  std::vector<ValueRef> out;
  for (std::string_view name : frame.outputs) {
    ValueRef v = frame.scope->find(name);
    if (!v) {
      report(c.fail("missing-value", what + " gives '" + std::string(name) + "', which nothing defines"));
      return std::nullopt;
    }
    load_if_pending(*v);
    if (v->broken) return std::nullopt;
    out.push_back(std::move(v));
  }
  return out;
}

void Importer::import_node(const NodeProto& n, size_t index, Frame& frame) {
  Scope& scope = *frame.scope;
  std::string name = scope.prefix + node_name(n, index);
  LocPtr loc = Loc::make_named(name, op_name(n));
  int64_t opset = version_of(*scope.opsets, n.domain);
  bool broken = false;
  std::vector<ValueRef> inputs = resolve_inputs(n, loc, scope, broken);
  // A function of the model goes before an operator of the same name.
  const FunctionProto* function = find_function(model_, n);
  const Row* row = function == nullptr ? find_row(n.domain, n.op_type, opset) : nullptr;
  bool is_if = n.domain.empty() && n.op_type == "If", is_loop = n.domain.empty() && n.op_type == "Loop",
       is_scan = n.domain.empty() && n.op_type == "Scan", is_map = n.domain.empty() && n.op_type == "SequenceMap";
  if (row == nullptr && function == nullptr && !is_if && !is_loop && !is_scan && !is_map) {
    note_unsupported(n, name, scope);
    return bind_broken(n, scope);
  }
  if (broken) return bind_broken(n, scope);
  Conversion c(state_, n, opset, loc, inputs, scope.attributes, &frame);
  if (function != nullptr) return inline_function(*function, c, inputs, frame);
  if (is_if) return import_if(c, frame);
  if (is_loop) return import_loop(c, frame, index);
  if (is_scan) return import_scan(c, scope);
  if (is_map) return import_sequence_map(c, scope);
  convert(*row, c, frame, index);
}

void Importer::convert(const Row& row, Conversion& c, Frame& frame, size_t index) {
  Scope& scope = *frame.scope;
  if (Status good = check_signature(row, c); !good.ok()) {
    report(std::move(good.error()));
    return bind_broken(c.node, scope);
  }
  if (row.list != nullptr) return convert_list(row, c, scope);
  // The one operator of the table that takes values of every type.
  if (c.node.op_type == "Identity" && c.has(0) && graph::is_list(c.value(0).type)) return bind(c.node, 0, c.ref(0), scope);
  for (size_t i = 0; i < c.input_count(); ++i) {
    if (!c.has(i) || c.value(i).type.tensor() != nullptr) continue;
    report(c.fail("wrong-type", "input '" + c.value(i).name + "' is not a tensor"));
    return bind_broken(c.node, scope);
  }
  if (row.fold != nullptr) {
    auto folded = row.fold(c);
    if (folded && !c.attr_error()) {
      for (size_t k = 0; k < folded->size(); ++k) {
        const std::string_view name = k < c.output_count() ? c.node.outputs[k] : std::string_view();
        if (Status s = name_sizes(c, (*folded)[k]); !s.ok()) report(std::move(s.error()));
        bind(c.node, k, known_value(c, std::move((*folded)[k]), name), scope);
      }
      return;
    }
  }
  state_.undecided.reset();
  Result<Values> out = row.convert(c);
  if (!out.ok() && state_.undecided && !c.attr_error())
    return import_for_both(c, node_name(c.node, index), *state_.undecided, std::move(out.error()), frame);
  if (c.attr_error()) report(*c.attr_error());
  if (!out.ok()) report(std::move(out.error()));
  if (c.attr_error() || !out.ok()) return bind_broken(c.node, scope);
  for (size_t k = 0; k < c.output_count(); ++k) {
    if (!c.wants(k)) continue;
    if (k >= out.value().size() || out.value()[k] == kNoValue) {
      report(c.fail("unsupported-output", "its output '" + std::string(c.node.outputs[k]) + "' is not supported"));
      return bind_broken(c.node, scope);
    }
    Result<ValueId> v = c.with_named_sizes(out.value()[k]);
    if (!v.ok()) {
      report(std::move(v.error()));
      return bind_broken(c.node, scope);
    }
    bind(c.node, k, value_of(c, v.value(), c.node.outputs[k]), scope);
  }
}

Status Importer::name_sizes(Conversion& c, Known& k) {
  for (Element& e : k.elements) {
    if (e.num) e.num = TRY(c.named(e.num));
    if (e.den) e.den = TRY(c.named(e.den));
  }
  return ok();
}

void Importer::convert_list(const Row& row, Conversion& c, Scope& scope) {
  auto out = row.list(c);
  if (c.attr_error()) report(*c.attr_error());
  if (!out.ok()) report(std::move(out.error()));
  if (c.attr_error() || !out.ok()) return bind_broken(c.node, scope);
  for (size_t k = 0; k < out.value().size(); ++k) {
    ValueRef& v = out.value()[k];
    if (v->name.empty() && k < c.output_count()) v->name = c.node.outputs[k];
    bind(c.node, k, std::move(v), scope);
  }
}

void Importer::inline_function(const FunctionProto& f, Conversion& c, const std::vector<ValueRef>& inputs, Frame& frame) {
  Scope& scope = *frame.scope;
  if (scope.depth >= kMaxDepth) {
    report(c.fail("function-depth", "the model's functions call each other too deeply"));
    return bind_broken(c.node, scope);
  }
  auto beyond = [&](const std::vector<std::string_view>& given, size_t most) {
    return std::any_of(given.begin() + static_cast<int64_t>(std::min(most, given.size())), given.end(),
                       [](std::string_view name) { return !name.empty(); });
  };
  if (beyond(c.node.inputs, f.inputs.size()) || beyond(c.node.outputs, f.outputs.size())) {
    const bool is_input = beyond(c.node.inputs, f.inputs.size());
    report(c.fail(is_input ? DiagnosticId("input-count") : DiagnosticId("output-count"),
                  "its function " + std::string(f.name) + " takes " + std::to_string(f.inputs.size()) +
                      " inputs and gives " + std::to_string(f.outputs.size()) + " outputs, but the node has " +
                      std::to_string(c.node.inputs.size()) + " and " + std::to_string(c.node.outputs.size())));
    return bind_broken(c.node, scope);
  }
  AttributeEnv env;
  for (const AttributeProto& a : f.attribute_defaults) env[a.name] = &a;
  for (const AttributeProto& a : c.node.attributes) {
    if (const AttributeProto* resolved = c.attr(a.name)) env[a.name] = resolved;
  }
  Scope inner{nullptr, {}, &f.opsets, &env, c.loc->name + "/", scope.depth + 1};
  // An absent argument is an absent input wherever the body uses it.
  for (size_t k = 0; k < f.inputs.size(); ++k) inner.values[f.inputs[k]] = k < inputs.size() ? inputs[k] : nullptr;
  Frame called{&f.nodes, nullptr, f.outputs, &inner, &frame, &c.node};
  import_graph(called);
  if (called.passed_over || extends_) return;
  for (size_t k = 0; k < f.outputs.size(); ++k) {
    if (!c.wants(k)) continue;
    ValueRef v = inner.find(f.outputs[k]);
    if (v) {
      bind(c.node, k, std::move(v), scope);
    } else {
      if (state_.errors.empty())
        report(c.fail("missing-value", "its function does not define '" + std::string(f.outputs[k]) + "'"));
      return bind_broken(c.node, scope);
    }
  }
}

Status Importer::set_results(const Scope& scope) {
  Values ids;
  std::vector<std::string> names;
  std::set<std::string_view> known_names;
  for (const ValueInfoProto& out : model_.graph.outputs) {
    ValueRef v = scope.find(out.name);
    if (!v) {
      return make_error("missing-value", "output \"" + std::string(out.name) + "\"",
                        "nothing defines this output of the model");
    }
    load_if_pending(*v);
    if (v->broken) return make_error("missing-value", "output \"" + std::string(out.name) + "\"", "it cannot be computed");
    if (!known_names.insert(out.name).second) {
      return make_error("duplicate-value", "output \"" + std::string(out.name) + "\"",
                        "the model has two outputs of this name");
    }
    ids.push_back(materialise(state_, *v));
    names.emplace_back(out.name);
    const TensorType* tensor = v->type.tensor();
    const std::optional<DType> declared = dtype_of(out.type.elem_type);
    if (tensor != nullptr && out.type.kind == TypeProto::Kind::Tensor && declared && *declared != tensor->dtype) {
      return make_error("type-mismatch", "output \"" + std::string(out.name) + "\"",
                        "the model declares elements of type " + std::string(name_of(*declared)) + " but computes " +
                            std::string(name_of(tensor->dtype)));
    }
  }
  state_.builder.set_results(std::move(ids), std::move(names));
  return ok();
}

Status Importer::set_failing_results() {
  const Diagnostic why = state_.errors[0];
  graph::FunctionBuilder& b = state_.builder;
  const LocPtr loc = state_.failing.at(why.where);
  Dim zero = ctx_->constant(0);
  b.append(graph::make_require({graph::ShapeConstraint::Kind::Equal, ctx_->constant(1), zero, why.message, loc}));
  Values ids;
  std::vector<std::string> names;
  for (const ValueInfoProto& out : model_.graph.outputs) {
    const TypeProto* t = &out.type;
    for (; t->element != nullptr; t = t->element.get()) {
    }
    const DType dtype = dtype_of(t->elem_type).value_or(DType::F32);
    const bool is_optional = out.type.kind == TypeProto::Kind::Optional;
    const bool is_sequence = (is_optional ? *out.type.element : out.type).kind == TypeProto::Kind::Sequence;
    Attrs attrs{{"dtype", dtype}};
    std::string op = "seq.empty";
    Values inputs;
    if (is_optional) {
      op = "opt.none";
      attrs.set("sequence", is_sequence);
    } else if (!is_sequence) {
      op = "array.full";
      graph::Shape shape;
      for (const Dimension& d : t->shape) {
        auto symbol = symbols_.find(std::string(d.param));
        shape.push_back(d.value ? ctx_->constant(*d.value) : symbol != symbols_.end() ? symbol->second : zero);
      }
      attrs = Attrs{{"shape", std::move(shape)}};
      const int64_t nothing = 0;
      inputs = {b.append_const(graph::make_constant(dtype, {}, &nothing, static_cast<size_t>(byte_size(dtype))), loc)};
    }
    ids.push_back(TRY(append_nodes(state_, op, std::move(attrs), std::move(inputs), 1, loc))[0]);
    names.emplace_back(out.name);
  }
  b.set_results(std::move(ids), std::move(names));
  state_.errors.clear();
  return ok();
}

Result<graph::Module> Importer::run(const ImportOptions& options) {
  check_versions();
  if (!state_.errors.empty()) return Error{state_.errors};
  int64_t nodes = count_nodes(model_.graph.nodes);
  for (const FunctionProto& f : model_.functions) nodes += count_nodes(f.nodes);
  most_imported_ = kFewNodes + kMostCopies * nodes;
  Scope scope;
  scope.opsets = &model_.opsets;
  make_inputs(options, scope);
  add_initializers(model_.graph, scope);
  if (!state_.errors.empty()) return Error{state_.errors};
  Frame frame{&model_.graph.nodes, &model_.graph, output_names(model_.graph), &scope};
  frame.gives_results = true;
  import_graph(frame);
  report_unsupported();
  if (always_fails(Error{state_.errors}))
    TRY(set_failing_results());
  else if (state_.errors.empty())
    TRY(set_results(scope));
  if (!state_.errors.empty()) return Error{state_.errors};
  graph::Module module;
  module.ctx = ctx_;
  module.source = model_.path;
  module.functions.push_back(state_.builder.finish());
  return module;
}

}  // namespace pliant::frontend::onnx
