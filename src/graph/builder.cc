#include <algorithm>

#include "base/stop.h"
#include "graph/control.h"

namespace pliant::graph {
namespace {

expr::Context* context_of(const Type& t) {
  if (const auto* tensor = t.tensor()) return tensor->shape.empty() ? nullptr : tensor->shape[0]->ctx;
  if (const auto* s = std::get_if<SequenceType>(&t.v)) return context_of(*s->element);
  if (const auto* o = std::get_if<OptionalType>(&t.v)) return context_of(*o->element);
  for (const Type& e : std::get<TupleType>(t.v).elements) {
    if (expr::Context* ctx = context_of(e)) return ctx;
  }
  return nullptr;
}

}  // namespace

FunctionBuilder FunctionBuilder::rewriting(const Function& like) {
  FunctionBuilder b(like.name);
  b.f_ = {like.name, like.params, like.results, like.result_names, like.default_values, {}, like.values, like.constraints};
  for (const Value& v : like.values) {
    b.ctx_ = context_of(v.type);
    if (b.ctx_ != nullptr) break;
  }
  return b;
}

ValueId FunctionBuilder::add_value(Type type, std::string name) {
  f_.values.push_back({std::move(type), std::move(name)});
  return static_cast<ValueId>(f_.values.size() - 1);
}

ValueId FunctionBuilder::add_param(Type type, std::string name, ConstantPtr default_value) {
  ValueId v = add_value(std::move(type), std::move(name));
  f_.params.push_back(v);
  f_.default_values.push_back(std::move(default_value));
  return v;
}

void FunctionBuilder::append(Node node) {
  poll_stop();
  PLIANT_CHECK(node.loc != nullptr) << "a node of " << node.op << " without a location";
  if (open_.empty()) {
    f_.nodes.push_back(std::move(node));
    return;
  }
  if (node.op == "core.require") open_.back().required.push_back(constraint_of(node));
  open_.back().region.nodes.push_back(std::move(node));
}

std::vector<ValueId> FunctionBuilder::append(std::string op, Attrs attrs, std::vector<ValueId> inputs,
                                             std::vector<Type> types, LocPtr loc) {
  std::vector<ValueId> outputs;
  outputs.reserve(types.size());
  for (Type& t : types) outputs.push_back(add_value(std::move(t)));
  append(Node{std::move(op), std::move(attrs), std::move(inputs), outputs, {}, std::move(loc)});
  return outputs;
}

ValueId FunctionBuilder::append_const_to(std::vector<Node>& nodes, ConstantPtr data, LocPtr loc) {
  PLIANT_CHECK(loc != nullptr) << "a constant without a location";
  for (const Value& v : f_.values) {
    if (ctx_ != nullptr) break;
    ctx_ = context_of(v.type);
  }
  PLIANT_CHECK(ctx_ != nullptr || data->shape.empty()) << "append_const in " << f_.name << " without an expression context";
  Shape shape;
  for (int64_t d : data->shape) shape.push_back(ctx_->constant(d));
  ValueId v = add_value(make_tensor_type(data->dtype, std::move(shape)));
  nodes.push_back(Node{"core.const", {{"value", std::move(data)}}, {}, {v}, {}, std::move(loc)});
  return v;
}

ValueId FunctionBuilder::append_const(ConstantPtr data, LocPtr loc) {
  return append_const_to(open_.empty() ? f_.nodes : open_.back().region.nodes, std::move(data), std::move(loc));
}

ValueId FunctionBuilder::append_outer_const(ConstantPtr data, LocPtr loc) {
  return append_const_to(f_.nodes, std::move(data), std::move(loc));
}

void FunctionBuilder::add_constraint(ShapeConstraint o) {
  auto holds = [&](const std::vector<ShapeConstraint>& list) {
    return std::any_of(list.begin(), list.end(), [&](const ShapeConstraint& known) {
      return known.kind == o.kind && known.a == o.a && known.b == o.b;
    });
  };
  if (holds(f_.constraints)) return;
  for (const OpenRegion& r : open_) {
    if (holds(r.required)) return;
  }
  if (open_.empty())
    f_.constraints.push_back(std::move(o));
  else
    append(make_require(o));
}

void FunctionBuilder::set_results(std::vector<ValueId> results, std::vector<std::string> names) {
  PLIANT_CHECK(results.size() == names.size()) << results.size() << " results but " << names.size() << " names";
  f_.results = std::move(results);
  f_.result_names = std::move(names);
}

void FunctionBuilder::begin_region(std::vector<ValueId> params) {
  open_.emplace_back();
  open_.back().region.params = std::move(params);
}

std::shared_ptr<const Region> FunctionBuilder::end_region(std::vector<ValueId> results) {
  PLIANT_CHECK(!open_.empty()) << "end_region without begin_region";
  auto region = std::make_shared<Region>(std::move(open_.back().region));
  open_.pop_back();
  region->results = std::move(results);
  return region;
}

void FunctionBuilder::drop_region() {
  PLIANT_CHECK(!open_.empty()) << "drop_region without begin_region";
  open_.pop_back();
}

FunctionPtr FunctionBuilder::finish() {
  PLIANT_CHECK(open_.empty()) << "a region of " << f_.name << " is still open";
  f_.default_values.resize(f_.params.size());
  return std::make_shared<Function>(std::move(f_));
}

}  // namespace pliant::graph
