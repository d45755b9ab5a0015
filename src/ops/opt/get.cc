// What an optional holds.
#include "ops/bodies/list_op.h"

namespace pliant::ops {
namespace {

Types infer_types(ListContext& c) {
  Type element = TRY(c.optional(0));
  if (element.tensor() != nullptr) element = Type{TRY(c.read(*element.tensor()))};
  return std::vector{std::move(element)};
}

// A sequence stays the list that it is; of a tensor's list the evaluator takes the only element.
Data reference(const Attrs&, const std::vector<Datum>& in) {
  if (!in[0].list->is_present) return run_fault("the optional holds no value");
  return std::vector{in[0]};
}

}  // namespace

OpDef op_opt_get() {
  return {.name = "opt.get",
          .doc = "The tensor or sequence that an optional holds; a fault when it holds none.",
          .attrs = {rank_attr()},
          .list = {infer_types, reference}};
}

}  // namespace pliant::ops
