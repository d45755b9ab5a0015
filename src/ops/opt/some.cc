// An optional that holds a value.
#include "ops/bodies/list_op.h"

namespace pliant::ops {
namespace {

Types infer_types(ListContext& c) {
  if (!c.has(0) || graph::optional_element(c.inputs[0]) != nullptr)
    return c.fail("type-mismatch", "an optional holds a tensor or a sequence");
  return std::vector{graph::make_optional_type(c.inputs[0])};
}

Data reference(const Attrs&, const std::vector<Datum>& in) {
  if (in[0].list != nullptr) return std::vector{in[0]};
  return std::vector{make_list({std::make_shared<te::Array>(in[0].array)})};
}

}  // namespace

OpDef op_opt_some() {
  return {.name = "opt.some", .doc = "An optional that holds the tensor or sequence.", .list = {infer_types, reference}};
}

}  // namespace pliant::ops
