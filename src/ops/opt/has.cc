// Whether an optional holds a value.
#include "ops/bodies/list_op.h"
#include "ops/evaluate/reference.h"

namespace pliant::ops {

OpDef op_opt_has() {
  return {.name = "opt.has",
          .doc = "Whether an optional holds a value, bool.",
          .list = {[](ListContext& c) -> Types {
                     TRY(c.optional(0));
                     return std::vector{graph::make_tensor_type(DType::Bool, {})};
                   },
                   [](const Attrs&, const std::vector<Datum>& in) -> Data {
                     te::Array has = make_array(DType::Bool, {});
                     has.data[0] = static_cast<std::byte>(in[0].list->is_present);
                     return std::vector{make_tensor(std::move(has))};
                   }}};
}

}  // namespace pliant::ops
