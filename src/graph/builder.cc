#include "graph/graph.h"

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
  b.f_ = like;
  b.f_.nodes.clear();
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
  PLIANT_CHECK(node.loc != nullptr) << "a node of " << node.op << " without a location";
  std::vector<Node>& into = open_.empty() ? f_.nodes : open_.back().nodes;
  into.push_back(std::move(node));
}

std::vector<ValueId> FunctionBuilder::append(std::string op, Attrs attrs, std::vector<ValueId> inputs,
                                             std::vector<Type> types, LocPtr loc) {
  std::vector<ValueId> outputs;
  outputs.reserve(types.size());
  for (Type& t : types) outputs.push_back(add_value(std::move(t)));
  append(Node{std::move(op), std::move(attrs), std::move(inputs), outputs, {}, std::move(loc)});
  return outputs;
}

ValueId FunctionBuilder::append_const(ConstantPtr data, LocPtr loc) {
  for (const Value& v : f_.values) {
    if (ctx_ != nullptr) break;
    ctx_ = context_of(v.type);
  }
  PLIANT_CHECK(ctx_ != nullptr || data->shape.empty()) << "append_const in " << f_.name << " without an expression context";
  Shape shape;
  for (int64_t d : data->shape) shape.push_back(ctx_->constant(d));
  Type type = make_tensor_type(data->dtype, std::move(shape));
  return append("core.const", {{"value", std::move(data)}}, {}, {std::move(type)}, std::move(loc))[0];
}

void FunctionBuilder::add_obligation(Obligation o) {
  for (const Obligation& known : f_.obligations) {
    if (known.kind == o.kind && known.a == o.a && known.b == o.b) return;
  }
  f_.obligations.push_back(std::move(o));
}

void FunctionBuilder::set_results(std::vector<ValueId> results, std::vector<std::string> names) {
  PLIANT_CHECK(results.size() == names.size()) << results.size() << " results but " << names.size() << " names";
  f_.results = std::move(results);
  f_.result_names = std::move(names);
}

void FunctionBuilder::begin_region(std::vector<ValueId> params) {
  open_.emplace_back();
  open_.back().params = std::move(params);
}

std::shared_ptr<const Region> FunctionBuilder::end_region(std::vector<ValueId> results) {
  PLIANT_CHECK(!open_.empty()) << "end_region without begin_region";
  auto region = std::make_shared<Region>(std::move(open_.back()));
  open_.pop_back();
  region->results = std::move(results);
  return region;
}

FunctionPtr FunctionBuilder::finish() {
  PLIANT_CHECK(open_.empty()) << "a region of " << f_.name << " is still open";
  f_.default_values.resize(f_.params.size());
  return std::make_shared<Function>(std::move(f_));
}

}  // namespace pliant::graph
