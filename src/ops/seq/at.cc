// One tensor of a sequence.
#include "ops/bodies/list_op.h"

namespace pliant::ops {
namespace {

Types infer_types(ListContext& c) {
  Type element = TRY(c.sequence(0));
  TRY(c.check_position(1));
  if (!c.has(1) && !c.attr().has("position")) return c.fail("input-count", "seq.at needs a position");
  return std::vector{Type{TRY(c.read(*element.tensor()))}};
}

Data reference(const Attrs& attrs, const std::vector<Datum>& in) {
  const Elements& elements = in[0].list->elements;
  return std::vector{make_tensor(*elements[TRY(place_in(*position_of(attrs, in, 1), elements.size()))])};
}

}  // namespace

OpDef op_seq_at() {
  return {
      .name = "seq.at",
      .doc = "The element at the position: the attribute, or integer input 1. Sizes that its type leaves open become known.",
      .attrs = {position_attr("which element; counted from the end when negative"), rank_attr()},
      .max_inputs = 2,
      .list = {infer_types, reference}};
}

}  // namespace pliant::ops
