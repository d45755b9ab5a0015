// One node of the reference evaluator, by the kind of its operator.
#include "graph/kernel.h"
#include "ops/evaluate/evaluator.h"

namespace pliant::ops {

namespace {

Error at_node(Error e, const Node& n) {
  for (Diagnostic& d : e.diagnostics)
    if (d.where.empty()) d.where = describe(n.loc);
  return e;
}

}  // namespace

Status Evaluator::run_node(const Node& n) {
  if (n.op == "core.read_dims") return read_dims(n);
  if (n.op == "core.const") {
    graph::ConstantPtr c = n.attrs.constant("value");
    views_[n.outputs[0]] = {c->dtype, c->shape, c->data};
    return ok();
  }
  if (n.op == "core.if") return run_if(n);
  if (n.op == "core.loop") return run_loop(n);
  if (n.op == "core.call") return run_call(n);
  if (n.op == "core.fail") return make_error("run-time-check", describe(n.loc), n.attrs.string_or("message", ""));
  if (n.op == "core.require") {
    PLIANT_CHECK(TRY(check(graph::constraint_of(n)))) << "a requirement of unknown sizes at " << describe(n.loc);
    return ok();
  }
  const OpDef* op = find_op(n.op);
  if (graph::is_kernel(n) && graph::kernel_form(n) != graph::KernelForm::Group) return run_kernel_region(n);
  PLIANT_CHECK(op != nullptr || graph::is_kernel(n)) << "there is no operator " << n.op;
  if (op != nullptr && op->expand) return run_expansion(*op, n);
  if (op != nullptr && op->kernel.reference) return run_kernel(*op, n);
  if (op != nullptr && op->list.reference) return run_list(*op, n);
  return run_defined(n);
}

Status Evaluator::read_dims(const Node& n) {
  ArrayView x = value(n.inputs[0]);
  std::vector<Dim> dims = n.attrs.dims_or("symbols", {});
  for (size_t k = 0; k < dims.size(); ++k) {
    std::optional<expr::SymbolId> s = dims[k].as_symbol();
    PLIANT_CHECK(s) << "core.read_dims defines plain symbols";
    bind(*s, element_of(x, k));
  }
  return check_constraints();
}

te::Bindings Evaluator::bindings() const {
  te::Bindings b(symbols_.begin(), symbols_.end());
  return b;
}

std::vector<std::pair<expr::TensorId, ArrayView>> Evaluator::arguments(const Node& n, const Defined& d) const {
  std::vector<std::pair<expr::TensorId, ArrayView>> args;
  for (size_t i = 0; i < n.inputs.size(); ++i)
    if (d.inputs[i] != nullptr) args.emplace_back(d.inputs[i]->id, value(n.inputs[i]));
  return args;
}

Status Evaluator::run_defined(const Node& n) {
  te::Builder builder(ctx_);
  Defined d = TRY(define(f_, n, builder));
  auto args = arguments(n, d);
  for (const DataCheck& c : d.checks) TRY(test(c, builder, args, n.loc));
  std::vector<Array> outs = TRY(te::evaluate(d.outputs, args, bindings()));
  return set_outputs(n, std::move(outs));
}

Status Evaluator::test(const DataCheck& c, te::Builder& builder,
                       const std::vector<std::pair<expr::TensorId, ArrayView>>& args, const LocPtr& loc) {
  std::vector<te::Tensor> tensors{c.ok};
  for (Dim v : c.values)
    tensors.push_back(builder.map("fault_value", c.ok->shape, [&](const te::Index& i) {
      expr::DimMap map;
      for (size_t k = 0; k < i.size(); ++k) map[c.ok->index[k]] = i[k];
      return expr::make_index(expr::substitute(v, map));
    }));
  std::vector<Array> ok_only = TRY(te::evaluate({c.ok}, args, bindings()));
  for (size_t e = 0; e < ok_only[0].data.size(); ++e) {
    if (ok_only[0].data[e] != std::byte{0}) continue;
    std::vector<Array> all = TRY(te::evaluate(tensors, args, bindings()));
    std::vector<std::pair<std::string, int64_t>> values;
    for (size_t k = 0; k < c.values.size(); ++k)
      values.emplace_back("{" + std::to_string(k) + "}", element_of(view(all[k + 1]), e));
    return make_error("run-time-check", describe(loc), fill(c.message, values));
  }
  return ok();
}

Status Evaluator::run_kernel(const OpDef& op, const Node& n) {
  Attrs attrs = TRY(bound_attrs(op, n));
  std::vector<ArrayView> inputs;
  for (ValueId v : n.inputs) inputs.push_back(value(v));
  Result<std::vector<Array>> outs = op.kernel.reference(attrs, inputs);
  if (!outs.ok()) return at_node(outs.error(), n);
  return set_outputs(n, outs.take());
}

Status Evaluator::run_list(const OpDef& op, const Node& n) {
  Attrs attrs = TRY(bound_attrs(op, n));
  std::vector<Datum> inputs;
  for (ValueId v : n.inputs) inputs.push_back(datum_of(v));
  Result<std::vector<Datum>> outs = op.list.reference(attrs, inputs);
  if (!outs.ok()) return at_node(outs.error(), n);
  return set_data(n, outs.take());
}

Result<Attrs> Evaluator::bound_attrs(const OpDef& op, const Node& n) const {
  Attrs attrs = TRY(normalise_attrs(op, n.attrs, ctx_, n.loc));
  Attrs bound;
  for (const auto& [name, v] : attrs.all()) bound.set(name, bind_dims(v));
  return bound;
}

AttrValue Evaluator::bind_dims(const AttrValue& v) const {
  auto bound = [&](Dim d) { return ctx_.constant(number(d)); };
  if (const Dim* d = std::get_if<Dim>(&v)) return bound(*d);
  if (const auto* list = std::get_if<std::vector<Dim>>(&v)) {
    std::vector<Dim> out;
    for (Dim d : *list) out.push_back(bound(d));
    return out;
  }
  return v;
}

Status Evaluator::run_expansion(const OpDef& op, const Node& n) {
  graph::FunctionBuilder b("expand");
  Node inner = n;
  std::vector<ArrayView> inputs;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (n.inputs[i] == kNoValue) continue;
    inner.inputs[i] = b.add_param(f_.value(n.inputs[i]).type, "x" + std::to_string(i));
    inputs.push_back(value(n.inputs[i]));
  }
  std::vector<ValueId> results = TRY(expand_node(b, ctx_, op, inner));
  std::vector<std::string> names;
  for (size_t i = 0; i < results.size(); ++i) names.push_back("y" + std::to_string(i));
  b.set_results(std::move(results), std::move(names));
  graph::FunctionPtr f = b.finish();
  std::vector<Array> outs = TRY(Evaluator(*f, ctx_, symbols_, module_).run(inputs));
  return set_outputs(n, std::move(outs));
}

Status Evaluator::set_data(const Node& n, std::vector<Datum> outs) {
  for (size_t i = 0; i < n.outputs.size(); ++i)
    if (n.outputs[i] != kNoValue) TRY(set_datum(n.outputs[i], std::move(outs[i])));
  return check_constraints();
}

Status Evaluator::set_outputs(const Node& n, std::vector<Array> outs) {
  PLIANT_CHECK(outs.size() >= n.outputs.size()) << n.op << " gave " << outs.size() << " outputs";
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    if (n.outputs[i] == kNoValue) continue;
    TRY(bind_shape(n.outputs[i], outs[i].shape));
    set(n.outputs[i], std::move(outs[i]));
  }
  return check_constraints();
}

}  // namespace pliant::ops
