#include "passes/rewrite/substitute.h"

#include "graph/visit.h"

namespace pliant::passes {

Type substituted(const Type& t, const expr::DimMap& sizes) {
  Type out = t;
  if (auto* tensor = std::get_if<TensorType>(&out.v)) {
    for (Dim& d : tensor->shape) d = expr::substitute(d, sizes);
  } else if (auto* list = std::get_if<graph::SequenceType>(&out.v)) {
    list->element = std::make_shared<const Type>(substituted(*list->element, sizes));
  } else if (auto* option = std::get_if<graph::OptionalType>(&out.v)) {
    option->element = std::make_shared<const Type>(substituted(*option->element, sizes));
  } else {
    for (Type& e : std::get<graph::TupleType>(out.v).elements) e = substituted(e, sizes);
  }
  return out;
}

AttrValue substituted(const AttrValue& v, const expr::DimMap& sizes) {
  if (const Dim* d = std::get_if<Dim>(&v)) return expr::substitute(*d, sizes);
  if (const auto* list = std::get_if<std::vector<Dim>>(&v)) {
    std::vector<Dim> out;
    for (Dim d : *list) out.push_back(expr::substitute(d, sizes));
    return out;
  }
  return v;
}

Attrs substituted(const Attrs& attrs, const expr::DimMap& sizes) {
  Attrs out;
  for (const auto& [name, v] : attrs.all()) out.set(name, substituted(v, sizes));
  return out;
}

void add_size(expr::DimMap& sizes, expr::SymbolId s, Dim size) {
  size = expr::substitute(size, sizes);
  for (auto& [other, known] : sizes) known = expr::substitute(known, {{s, size}});
  sizes.emplace(s, size);
}

namespace {

void append_all(FunctionBuilder& b, const std::vector<Node>& nodes, const expr::DimMap& sizes) {
  for (Node n : nodes) {
    n.attrs = substituted(n.attrs, sizes);
    for (auto& region : n.regions) {
      const std::vector<ValueId> results = region->results;
      b.begin_region(region->params);
      append_all(b, region->nodes, sizes);
      region = b.end_region(results);
    }
    b.append(std::move(n));
  }
}

}  // namespace

FunctionPtr with_sizes(const Function& f, const expr::DimMap& sizes, expr::Context& ctx) {
  Function changed = f;
  changed.nodes.clear();
  for (graph::Value& v : changed.values) v.type = substituted(v.type, sizes);
  for (ShapeConstraint& o : changed.constraints) {
    o.a = expr::substitute(o.a, sizes);
    o.b = expr::substitute(o.b, sizes);
  }
  auto b = graph::FunctionBuilder::rewriting(changed);
  append_all(b, f.nodes, sizes);
  FunctionPtr out = b.finish();
  for (expr::SymbolId s : graph::symbols_of(*out, ctx)) {
    std::optional<Dim>& upper = ctx.mutable_info(s).upper;
    if (upper) upper = expr::substitute(*upper, sizes);
  }
  return out;
}

}  // namespace pliant::passes
