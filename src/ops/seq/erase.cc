// A sequence with one tensor less.
#include "ops/bodies/list_op.h"

namespace pliant::ops {
namespace {

Types infer_types(ListContext& c) {
  Type element = TRY(c.sequence(0));
  TRY(c.check_position(1));
  return std::vector{graph::make_sequence_type(std::move(element))};
}

Data reference(const Attrs& attrs, const std::vector<Datum>& in) {
  Elements elements = in[0].list->elements;
  size_t at = TRY(place_in(position_of(attrs, in, 1).value_or(-1), elements.size()));
  elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(at));
  return std::vector{make_list(std::move(elements))};
}

}  // namespace

OpDef op_seq_erase() {
  return {.name = "seq.erase",
          .doc =
              "The sequence without the element at the position (the attribute, or integer input 1); without the last where "
              "neither is given.",
          .attrs = {position_attr("which element goes; counted from the end when negative")},
          .max_inputs = 2,
          .list = {infer_types, reference}};
}

}  // namespace pliant::ops
