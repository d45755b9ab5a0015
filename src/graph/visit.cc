#include "graph/visit.h"

#include <set>

#include "graph/list_type.h"

namespace pliant::graph {
namespace {

void visit_nodes(const std::vector<Node>& nodes, const std::function<void(const Node&)>& visit) {
  for (const Node& n : nodes) {
    visit(n);
    for (const auto& region : n.regions) visit_nodes(region->nodes, visit);
  }
}

// Values that the text shows: those a param, a region or a node defines. Others of the table are left-overs of passes.
void for_each_defined_value(const Function& f, const std::function<void(ValueId)>& visit) {
  for (ValueId v : f.params) visit(v);
  for_each_node(f, [&](const Node& n) {
    for (ValueId v : n.outputs) visit(v);
    for (const auto& region : n.regions) {
      for (ValueId v : region->params) visit(v);
    }
  });
}

}  // namespace

void for_each_node(const Function& f, const std::function<void(const Node&)>& visit) { visit_nodes(f.nodes, visit); }

void for_each_dim(const Type& t, const std::function<void(Dim)>& visit) {
  if (const auto* tensor = t.tensor()) {
    for (Dim d : tensor->shape)
      if (!d || !is_any_size(d)) visit(d);
  } else if (const auto* s = std::get_if<SequenceType>(&t.v)) {
    for_each_dim(*s->element, visit);
  } else if (const auto* o = std::get_if<OptionalType>(&t.v)) {
    for_each_dim(*o->element, visit);
  } else {
    for (const Type& e : std::get<TupleType>(t.v).elements) for_each_dim(e, visit);
  }
}

void for_each_dim(const AttrValue& v, const std::function<void(Dim)>& visit) {
  if (const auto* d = std::get_if<Dim>(&v)) visit(*d);
  if (const auto* l = std::get_if<std::vector<Dim>>(&v)) {
    for (Dim d : *l) visit(d);
  }
}

std::vector<expr::SymbolId> symbols_of(const Function& f, const expr::Context& ctx) {
  std::set<expr::SymbolId> seen;
  std::function<void(Dim)> add = [&](Dim d) {
    for (expr::SymbolId s : expr::symbols_of(d)) {
      if (seen.insert(s).second && ctx.info(s).upper) add(*ctx.info(s).upper);
    }
  };
  for_each_defined_value(f, [&](ValueId v) { for_each_dim(f.values[v].type, add); });
  for_each_node(f, [&](const Node& n) {
    for (const auto& [name, value] : n.attrs.all()) for_each_dim(value, add);
  });
  for (const ShapeConstraint& o : f.constraints) {
    add(o.a);
    add(o.b);
  }
  return {seen.begin(), seen.end()};
}

const Function* Module::find(const std::string& name) const {
  for (const FunctionPtr& f : functions)
    if (f->name == name) return f.get();
  return nullptr;
}

ConstantTable constants_of(const Function& f) {
  ConstantTable table;
  auto add = [&](const ConstantPtr& c) {
    if (c) table.emplace(hash_of(*c), c);
  };
  for (const ConstantPtr& c : f.default_values) add(c);
  for_each_node(f, [&](const Node& n) {
    for (const auto& [name, value] : n.attrs.all()) {
      if (const auto* c = std::get_if<ConstantPtr>(&value)) add(*c);
    }
  });
  return table;
}

}  // namespace pliant::graph
