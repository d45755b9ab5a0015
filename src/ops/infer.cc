// Types of nodes: inference, appending with inferred types, and the check that a function's types are those.
#include <algorithm>

#include "ops/op.h"

namespace pliant::ops {

using graph::Function;
using graph::FunctionBuilder;
using graph::kNoValue;
using graph::Node;
using graph::Obligation;
using graph::Type;

namespace {

bool is_absent(const Type& t) {
  const auto* tuple = std::get_if<graph::TupleType>(&t.v);
  return tuple != nullptr && tuple->elements.empty();
}
Type absent_type() { return Type{graph::TupleType{}}; }

Status check_counts(const OpDef& op, const std::vector<Type>& inputs, size_t outputs, const LocPtr& loc) {
  if (inputs.size() < static_cast<size_t>(op.min_inputs) ||
      (op.max_inputs >= 0 && inputs.size() > static_cast<size_t>(op.max_inputs)))
    return make_error("input-count", describe(loc), op.name + " does not take " + std::to_string(inputs.size()) + " inputs");
  for (size_t i = 0; i < static_cast<size_t>(op.min_inputs); ++i)
    if (is_absent(inputs[i]) &&
        std::find(op.optional_inputs.begin(), op.optional_inputs.end(), i) == op.optional_inputs.end())
      return make_error("input-count", describe(loc), op.name + " needs its input " + std::to_string(i));
  for (const Type& t : inputs)
    if (!is_absent(t) && t.tensor() == nullptr)
      return make_error("type-mismatch", describe(loc), op.name + " takes tensors, not " + print(t));
  bool any_count = op.outputs < 0;
  if (!any_count && (outputs < 1 || outputs > static_cast<size_t>(op.outputs)))
    return make_error("output-count", describe(loc), op.name + " does not give " + std::to_string(outputs) + " outputs");
  return ok();
}

std::vector<te::Tensor> placeholders(te::Builder& b, const std::vector<Type>& inputs) {
  std::vector<te::Tensor> out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorType* t = inputs[i].tensor();
    out.push_back(t == nullptr ? nullptr : b.input("x" + std::to_string(i), t->dtype, t->shape));
  }
  return out;
}

Result<Inferred> infer_expand(const OpDef& op, const Attrs& attrs, const std::vector<Type>& inputs, size_t outputs,
                              expr::Context& ctx, const LocPtr& loc) {
  FunctionBuilder b("expand");
  Node node{op.name, attrs, {}, std::vector<ValueId>(outputs, kNoValue), {}, loc};
  for (size_t i = 0; i < inputs.size(); ++i)
    node.inputs.push_back(is_absent(inputs[i]) ? kNoValue : b.add_param(inputs[i], "x" + std::to_string(i)));
  std::vector<ValueId> values = TRY(expand_node(b, ctx, op, node));
  Inferred out;
  for (ValueId v : values) out.types.push_back(b.peek().value(v).type);
  out.obligations = b.peek().obligations;
  return out;
}

// Whether `have` is `want` up to the fresh sizes in `want` (symbols from `first_fresh` on), which are bound in `map`.
bool matches(const Type& want, const Type& have, uint32_t first_fresh, expr::DimMap& map, expr::Context& ctx) {
  const TensorType *w = want.tensor(), *h = have.tensor();
  if (w == nullptr || h == nullptr) return want == have;
  if (w->dtype != h->dtype || w->shape.size() != h->shape.size()) return false;
  for (size_t k = 0; k < w->shape.size(); ++k) {
    std::optional<expr::SymbolId> s = w->shape[k].as_symbol();
    if (s && *s >= first_fresh) {
      map.emplace(*s, h->shape[k]);
    }
    Dim expected = expr::substitute(w->shape[k], map);
    if (expected != h->shape[k] && !ctx.proves_equal(expected, h->shape[k])) return false;
  }
  return true;
}

std::vector<Type> types_of(const Function& f, const std::vector<ValueId>& values) {
  std::vector<Type> out;
  for (ValueId v : values) out.push_back(v == kNoValue ? absent_type() : f.value(v).type);
  return out;
}

Status verify_node(const Function& f, const Node& node, expr::Context& ctx);

Status verify_nodes(const Function& f, const std::vector<Node>& nodes, expr::Context& ctx) {
  for (const Node& n : nodes) TRY(verify_node(f, n, ctx));
  return ok();
}

Error type_error(const Node& node, const std::string& message) {
  return make_error("type-mismatch", describe(node.loc), message);
}

Status verify_const(const Function& f, const Node& node, expr::Context& ctx) {
  graph::ConstantPtr c = node.attrs.constant("value");
  if (c == nullptr || node.outputs.size() != 1) return type_error(node, "core.const needs a value and one output");
  graph::Shape shape;
  for (int64_t d : c->shape) shape.push_back(ctx.constant(d));
  Type want = graph::make_tensor_type(c->dtype, std::move(shape)), have = f.value(node.outputs[0]).type;
  if (want != have) return type_error(node, "core.const is " + print(want) + " but its output is " + print(have));
  return ok();
}

Status verify_node(const Function& f, const Node& node, expr::Context& ctx) {
  if (node.op == "core.const") return verify_const(f, node, ctx);
  if (node.op.starts_with("core.")) {
    for (const auto& region : node.regions) TRY(verify_nodes(f, region->nodes, ctx));
    return ok();
  }
  const OpDef* op = find_op(node.op);
  if (op == nullptr) return make_error("unknown-operator", describe(node.loc), "there is no operator " + node.op);
  uint32_t first_fresh = ctx.symbol_count();
  Inferred in = TRY(infer(*op, node.attrs, types_of(f, node.inputs), node.outputs.size(), ctx, node.loc));
  if (in.types.size() != node.outputs.size())
    return type_error(node, node.op + " gives " + std::to_string(in.types.size()) + " outputs but has " +
                                std::to_string(node.outputs.size()));
  expr::DimMap fresh;
  for (size_t i = 0; i < in.types.size(); ++i) {
    if (node.outputs[i] == kNoValue) continue;
    const Type& have = f.value(node.outputs[i]).type;
    if (!matches(in.types[i], have, first_fresh, fresh, ctx))
      return type_error(node, "output " + std::to_string(i) + " of " + node.op + " is " + print(in.types[i]) +
                                  " but is declared " + print(have));
  }
  return ok();
}

bool same(const Obligation& a, const Obligation& b) { return a.kind == b.kind && a.a == b.a && a.b == b.b; }

}  // namespace

Result<std::vector<ValueId>> expand_node(FunctionBuilder& b, expr::Context& ctx, const OpDef& op, const Node& node) {
  PLIANT_CHECK(op.expand != nullptr) << op.name << " has no expand body";
  Node filled = node;
  filled.attrs = TRY(normalise_attrs(op, node.attrs, ctx, node.loc));
  ExpandContext e{b, ctx, filled};
  std::vector<ValueId> values = TRY(op.expand(e));
  PLIANT_CHECK(values.size() >= node.outputs.size()) << op.name << " expands to " << values.size() << " values";
  values.resize(node.outputs.size());
  return values;
}

Result<Inferred> infer(const OpDef& op, const Attrs& attrs, const std::vector<Type>& inputs, size_t outputs,
                       expr::Context& ctx, const LocPtr& loc) {
  TRY(check_counts(op, inputs, outputs, loc));
  Attrs filled = TRY(normalise_attrs(op, attrs, ctx, loc));
  if (op.expand) return infer_expand(op, filled, inputs, outputs, ctx, loc);
  te::Builder builder(ctx);
  DefineContext c(builder, filled, placeholders(builder, inputs), outputs, loc);
  Inferred out;
  if (op.compute) {
    std::vector<te::Tensor> tensors = TRY(op.compute(c));
    PLIANT_CHECK(tensors.size() >= outputs) << op.name << " computes " << tensors.size() << " outputs of " << outputs;
    for (size_t i = 0; i < outputs; ++i) out.types.push_back(graph::make_tensor_type(tensors[i]->dtype, tensors[i]->shape));
  } else {
    std::vector<TensorType> types = TRY(op.kernel.infer(c));
    PLIANT_CHECK(types.size() >= outputs) << op.name << " infers " << types.size() << " outputs of " << outputs;
    for (size_t i = 0; i < outputs; ++i) out.types.push_back(Type{std::move(types[i])});
  }
  out.obligations = c.obligations();
  return out;
}

Result<std::vector<ValueId>> append_node(FunctionBuilder& b, expr::Context& ctx, const std::string& op_name, Attrs attrs,
                                         std::vector<ValueId> inputs, size_t outputs, const LocPtr& loc) {
  if (op_name == "core.const") return std::vector<ValueId>{b.append_const(attrs.constant("value"), loc)};
  if (op_name == "core.read_dims") return b.append(op_name, std::move(attrs), std::move(inputs), {}, loc);
  const OpDef* op = find_op(op_name);
  PLIANT_CHECK(op != nullptr) << "there is no operator " << op_name;
  Inferred in = TRY(infer(*op, attrs, types_of(b.peek(), inputs), outputs, ctx, loc));
  for (Obligation& o : in.obligations) {
    bool known = false;
    for (const Obligation& old : b.peek().obligations) known = known || same(old, o);
    if (!known) b.add_obligation(std::move(o));
  }
  Attrs filled = TRY(normalise_attrs(*op, attrs, ctx, loc));
  Attrs kept;
  for (const auto& [name, value] : attrs.all()) kept.set(name, *filled.find(name));
  return b.append(op_name, std::move(kept), std::move(inputs), std::move(in.types), loc);
}

Status verify_types(const Function& f, expr::Context& ctx) { return verify_nodes(f, f.nodes, ctx); }

Result<ValueId> ExpandContext::append(const std::string& op, Attrs attrs, std::vector<ValueId> inputs) {
  return TRY(append_multi(op, std::move(attrs), std::move(inputs), 1))[0];
}

Result<std::vector<ValueId>> ExpandContext::append_multi(const std::string& op, Attrs attrs, std::vector<ValueId> inputs,
                                                         size_t outputs) {
  return append_node(builder, ctx, op, std::move(attrs), std::move(inputs), outputs, node.loc);
}

ValueId ExpandContext::scalar(DType t, double v) {
  uint64_t bits = expr::make_const(ctx, t, v)->bits;
  return builder.append_const(graph::make_constant(t, {}, &bits, static_cast<size_t>(byte_size(t))), node.loc);
}

Error ExpandContext::fail(const std::string& id, const std::string& message) const {
  return make_error(id, describe(node.loc), message);
}

}  // namespace pliant::ops
