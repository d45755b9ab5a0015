#include "frontend/core/body.h"

namespace pliant::frontend {

ValueRef loop_value(Conversion& c, ValueId id, std::string_view name) {
  ValueRef v = value_of(c, id, name);
  graph::FunctionBuilder& b = c.state().builder;
  if (b.peek().value(id).name.empty()) b.set_name(id, v->name);
  return v;
}

std::optional<Values> values_of_no_iteration(Conversion& c, const Body& body, Dim trip, const Values& init,
                                             size_t scan_count) {
  if (!c.ctx().proves_less_equal(trip, c.num(0))) return std::nullopt;
  Values out = init;
  for (size_t k = body.outputs.size() - scan_count; k < body.outputs.size(); ++k) {
    const Declared& declared = body.outputs[k];
    if (!declared.shape || !declared.dtype) return std::nullopt;
    std::vector<int64_t> shape = *declared.shape;
    shape.insert(shape.begin(), 0);
    out.push_back(c.constant(graph::make_constant(*declared.dtype, std::move(shape), nullptr, 0)));
  }
  return out;
}

}  // namespace pliant::frontend
