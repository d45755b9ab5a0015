// A sequence with one tensor more.
#include "ops/bodies/list_op.h"

namespace pliant::ops {
namespace {

Types infer_types(ListContext& c) {
  Type element = TRY(c.sequence(0));
  Type x{TRY(c.tensor(1))};
  TRY(c.check_position(2));
  std::optional<Type> joined = graph::join_lists(element, x, c.ctx);
  if (!joined) return c.fail("type-mismatch", "a sequence of " + print(element) + " cannot hold " + print(x));
  return std::vector{graph::make_sequence_type(std::move(*joined))};
}

Data reference(const Attrs& attrs, const std::vector<Datum>& in) {
  Elements elements = in[0].list->elements;
  size_t at = elements.size();
  // One place more than there are elements: the end.
  if (auto position = position_of(attrs, in, 2)) {
    auto n = static_cast<int64_t>(elements.size());
    if (*position < -n || *position > n)
      return run_fault("position " + std::to_string(*position) + " is outside a sequence of length " + std::to_string(n));
    at = static_cast<size_t>(*position < 0 ? *position + n : *position);
  }
  elements.insert(elements.begin() + static_cast<std::ptrdiff_t>(at), std::make_shared<te::Array>(in[1].array));
  return std::vector{make_list(std::move(elements))};
}

}  // namespace

OpDef op_seq_insert() {
  return {
      .name = "seq.insert",
      .doc =
          "The sequence with tensor input 1 before the element at the position (the attribute, or integer input 2), or at "
          "the end without one. At the end it costs no more than the tensor.",
      .attrs = {position_attr("where it comes to stand; counted from the end when negative")},
      .min_inputs = 2,
      .max_inputs = 3,
      .list = {infer_types, reference}};
}

}  // namespace pliant::ops
