// Types of nodes: inference, and appending with inferred types.
#include <algorithm>

#include "ops/arity.h"
#include "ops/bodies/list_op.h"

namespace pliant::ops {

using graph::Function;
using graph::FunctionBuilder;
using graph::kNoValue;
using graph::Node;
using graph::ShapeConstraint;
using graph::Type;

namespace {

bool is_absent(const Type& t) {
  const auto* tuple = std::get_if<graph::TupleType>(&t.v);
  return tuple != nullptr && tuple->elements.empty();
}
Type absent_type() { return Type{graph::TupleType{}}; }

Status check_counts(const OpDef& op, const std::vector<Type>& inputs, size_t outputs, const LocPtr& loc) {
  if (!takes_inputs(op, inputs.size()))
    return make_error("input-count", describe(loc), op.name + " does not take " + std::to_string(inputs.size()) + " inputs");
  for (size_t i = 0; i < inputs.size(); ++i)
    if (is_absent(inputs[i]) && needs_input(op, i))
      return make_error("input-count", describe(loc), op.name + " needs its input " + std::to_string(i));
  for (const Type& t : inputs)
    if (!is_absent(t) && t.tensor() == nullptr && !op.list.infer)
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
  out.constraints = b.peek().constraints;
  return out;
}

std::vector<Type> types_of(const Function& f, const std::vector<ValueId>& values) {
  std::vector<Type> out;
  for (ValueId v : values) out.push_back(v == kNoValue ? absent_type() : f.value(v).type);
  return out;
}

}  // namespace

bool takes_inputs(const OpDef& op, size_t count) {
  return count >= static_cast<size_t>(op.min_inputs) && (op.max_inputs < 0 || count <= static_cast<size_t>(op.max_inputs));
}

bool needs_input(const OpDef& op, size_t i) {
  if (op.max_inputs < 0) return true;
  return i < static_cast<size_t>(op.min_inputs) &&
         std::find(op.optional_inputs.begin(), op.optional_inputs.end(), i) == op.optional_inputs.end();
}

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
  if (op.list.infer) {
    ListContext lists{ctx, filled, inputs, outputs, loc};
    return Inferred{TRY(op.list.infer(lists)), {}};
  }
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
  out.constraints = c.constraints();
  return out;
}

Result<std::vector<ValueId>> append_node(FunctionBuilder& b, expr::Context& ctx, const std::string& op_name, Attrs attrs,
                                         std::vector<ValueId> inputs, size_t outputs, const LocPtr& loc) {
  if (op_name == "core.const") return std::vector<ValueId>{b.append_const(attrs.constant("value"), loc)};
  if (op_name == "core.read_dims") return b.append(op_name, std::move(attrs), std::move(inputs), {}, loc);
  const OpDef* op = find_op(op_name);
  PLIANT_CHECK(op != nullptr) << "there is no operator " << op_name;
  Inferred in = TRY(infer(*op, attrs, types_of(b.peek(), inputs), outputs, ctx, loc));
  for (ShapeConstraint& o : in.constraints) b.add_constraint(std::move(o));
  Attrs filled = TRY(normalise_attrs(*op, attrs, ctx, loc));
  Attrs kept;
  for (const auto& [name, value] : attrs.all()) kept.set(name, *filled.find(name));
  return b.append(op_name, std::move(kept), std::move(inputs), std::move(in.types), loc);
}

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

Error ExpandContext::fail(DiagnosticId id, const std::string& message) const {
  return make_error(id, describe(node.loc), message);
}

}  // namespace pliant::ops
