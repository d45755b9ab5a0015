#include "frontend/onnx/list_values.h"

#include "graph/list_type.h"

namespace pliant::frontend::onnx {

ValueRef make_known(Conversion& c, DType t, int64_t n) { return known_value(c, frontend::make_known(t, {}, {c.num(n)})); }

ValueRef make_parts(Conversion& c, graph::Type type, Parts parts) {
  auto v = std::make_shared<Value>();
  v->type = std::move(type);
  v->parts = std::make_shared<Parts>(std::move(parts));
  v->loc = c.loc;
  return v;
}

namespace {

// What the model's declarations say about the ranks of elements: of the list itself, or of the tensor `more` axes larger
// that is made of one. Bodies and branches count too.
class DeclaredRank {
 public:
  DeclaredRank(std::string_view list, std::string_view tensor, int64_t more) : list_(list), tensor_(tensor), more_(more) {}

  std::optional<int64_t> find(const GraphProto& g) const {
    for (const auto* infos : {&g.outputs, &g.value_info, &g.inputs})
      for (const ValueInfoProto& v : *infos) {
        const TypeProto& t = bottom(v.type);
        if (!t.has_shape) continue;
        auto rank = static_cast<int64_t>(t.shape.size());
        if (v.name == tensor_ && &t == &v.type) return rank - more_;
        // Rank 0 is what says nothing where it is meant to.
        if (v.name == list_ && &t != &v.type && rank > 0) return rank;
      }
    for (const NodeProto& n : g.nodes)
      for (const AttributeProto& a : n.attributes)
        for (const auto& inner : a.graphs)
          if (auto rank = find(*inner)) return rank;
    return std::nullopt;
  }

 private:
  static const TypeProto& bottom(const TypeProto& t) { return t.element ? bottom(*t.element) : t; }
  std::string_view list_, tensor_;
  int64_t more_;
};

}  // namespace

bool holds_nothing(Conversion& c, size_t i) { return graph::element_of(c.value(i).type).rank == graph::Rank::None; }

void add_rank(Conversion& c, int64_t more, Attrs& attrs) {
  const Value& list = c.value(0);
  if (graph::element_of(list.type).rank == graph::Rank::Known) return;
  if (auto rank = DeclaredRank(list.name, c.node.outputs[0], more).find(c.model().graph)) attrs.set("rank", *rank);
}

Row list_row(std::string_view op, int64_t since, size_t required, ListFn list) {
  Row r{op, since, required, nullptr};
  r.list = list;
  return r;
}

}  // namespace pliant::frontend::onnx
