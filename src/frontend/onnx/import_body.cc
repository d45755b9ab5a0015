// Loop and Scan, and what they share with SequenceMap: bodies.
#include <algorithm>

#include "frontend/onnx/file/order.h"
#include "frontend/onnx/importer.h"

namespace pliant::frontend::onnx {

const GraphProto* Importer::body_graph(Conversion& c) {
  const AttributeProto* a = c.attr("body");
  if (a != nullptr && a->graphs.size() == 1) return a->graphs[0].get();
  report(c.fail("malformed-model", "it has no graph 'body'"));
  return nullptr;
}

Result<std::vector<ValueRef>> Importer::run_body(Conversion& c, const GraphProto& g, std::vector<ValueRef> inputs,
                                                 Scope& scope) {
  size_t errors_before = state_.errors.size();
  Scope inner{&scope, {}, scope.opsets, scope.attributes, scope.prefix, scope.depth + 1};
  for (size_t k = 0; k < inputs.size(); ++k) inner.values[g.inputs[k].name] = inputs[k];
  add_initializers(g, inner);
  Frame frame{&g.nodes, &g, output_names(g), &inner};
  import_graph(frame);
  auto outputs = outputs_of(frame, c, "its body");
  if (state_.errors.size() == errors_before && outputs) return std::move(*outputs);
  Error e;
  e.diagnostics.assign(state_.errors.begin() + static_cast<int64_t>(errors_before), state_.errors.end());
  state_.errors.erase(state_.errors.begin() + static_cast<int64_t>(errors_before), state_.errors.end());
  return e;
}

namespace {

std::vector<Declared> declared(const std::vector<ValueInfoProto>& values) {
  std::vector<Declared> out;
  for (const ValueInfoProto& v : values) {
    Declared d{std::string(v.name), {}, {}};
    if (v.type.kind == TypeProto::Kind::Tensor) d.dtype = dtype_of(v.type.elem_type);
    if (v.type.has_shape) {
      d.shape.emplace();
      for (const Dimension& dim : v.type.shape) d.shape->push_back(std::max<int64_t>(0, dim.value.value_or(0)));
    }
    out.push_back(std::move(d));
  }
  return out;
}

// What Scan says in its attributes. Opset 8 has a batch around it and scans the axes behind that.
Result<ScanSpec> scan_spec(Conversion& c) {
  ScanSpec spec;
  spec.is_batched = c.opset < 9;
  const int64_t xs = c.int_attr("num_scan_inputs", 0);
  const size_t given = c.input_count() - std::min<size_t>(c.input_count(), spec.is_batched ? 1 : 0);
  if (xs < 1 || static_cast<size_t>(xs) > given)
    return c.fail("malformed-model", "the Scan has " + std::to_string(given) + " inputs, of which num_scan_inputs makes " +
                                         std::to_string(xs) + " scanned");
  std::vector<int64_t> reversed = c.ints_attr(spec.is_batched ? "directions" : "scan_input_directions", {});
  if (!spec.is_batched) {
    spec.axes = c.ints_attr("scan_input_axes", {});
    spec.output_axes = c.ints_attr("scan_output_axes", {});
    spec.output_flips = c.ints_attr("scan_output_directions", {});
  }
  spec.axes.resize(static_cast<size_t>(xs), 0);
  reversed.resize(static_cast<size_t>(xs), 0);
  spec.reversed.assign(reversed.begin(), reversed.end());
  return spec;
}

}  // namespace

Body Importer::body_of(Conversion& c, const GraphProto& g, Scope& scope) {
  return {declared(g.inputs), declared(g.outputs),
          [this, &c, &g, &scope](std::vector<ValueRef> inputs) { return run_body(c, g, std::move(inputs), scope); }};
}

void Importer::bind_outputs(Conversion& c, std::vector<ValueRef> values, Scope& scope) {
  for (size_t k = 0; k < values.size(); ++k)
    if (values[k] != nullptr) bind(c.node, k, std::move(values[k]), scope);
}

void Importer::import_loop(Conversion& c, Frame& frame, size_t index) {
  Scope& scope = *frame.scope;
  const GraphProto* body = body_graph(c);
  if (body == nullptr) return bind_broken(c.node, scope);
  state_.undecided.reset();
  Result<std::vector<ValueRef>> values = frontend::import_loop(c, body_of(c, *body, scope), c.node.outputs);
  if (values.ok()) return bind_outputs(c, values.take(), scope);
  if (state_.undecided)
    return import_for_both(c, node_name(c.node, index), *state_.undecided, std::move(values.error()), frame);
  report(std::move(values.error()));
  bind_broken(c.node, scope);
}

void Importer::import_scan(Conversion& c, Scope& scope) {
  const GraphProto* body = body_graph(c);
  if (body == nullptr) return bind_broken(c.node, scope);
  Result<ScanSpec> spec = scan_spec(c);
  Result<std::vector<ValueRef>> values =
      spec.ok() ? frontend::import_scan(c, spec.value(), body_of(c, *body, scope), c.node.outputs) : std::move(spec.error());
  if (values.ok() && c.attr_error()) values = *c.attr_error();
  if (values.ok()) return bind_outputs(c, values.take(), scope);
  // A body that always fails is one where there is anything to scan.
  if (always_fails(values.error()))
    for (Diagnostic& d : values.error().diagnostics) d.id = "unknown-rank";
  report(std::move(values.error()));
  bind_broken(c.node, scope);
}

}  // namespace pliant::frontend::onnx
