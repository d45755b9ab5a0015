// A sequence of tensors.
#include "ops/bodies/list_op.h"

namespace pliant::ops {
namespace {

Types infer_types(ListContext& c) {
  std::optional<Type> element = Type{TRY(c.tensor(0))};
  for (size_t i = 1; i < c.inputs.size(); ++i) {
    Type next{TRY(c.tensor(i))};
    element = graph::join_lists(*element, next, c.ctx);
    if (!element)
      return c.fail("type-mismatch", "input " + std::to_string(i) + " of a sequence is " + print(next) +
                                         " but the first is " + print(c.inputs[0]));
  }
  return std::vector{graph::make_sequence_type(std::move(*element))};
}

Data reference(const Attrs&, const std::vector<Datum>& in) {
  Elements elements;
  for (const Datum& d : in) elements.push_back(std::make_shared<te::Array>(d.array));
  return std::vector{make_list(std::move(elements))};
}

}  // namespace

OpDef op_seq_construct() {
  return {.name = "seq.construct",
          .doc = "A sequence of the inputs. Sizes in which they differ are `?` in its type.",
          .max_inputs = -1,
          .list = {infer_types, reference}};
}

}  // namespace pliant::ops
