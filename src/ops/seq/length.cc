// How many tensors a sequence holds.
#include "ops/bodies/list_op.h"
#include "ops/evaluate/reference.h"

namespace pliant::ops {

OpDef op_seq_length() {
  return {.name = "seq.length",
          .doc = "The number of elements, i64.",
          .list = {[](ListContext& c) -> Types {
                     TRY(c.sequence(0));
                     return std::vector{graph::make_tensor_type(DType::I64, {})};
                   },
                   [](const Attrs&, const std::vector<Datum>& in) -> Data {
                     te::Array n = make_array(DType::I64, {});
                     set_i64(n, 0, static_cast<int64_t>(in[0].list->elements.size()));
                     return std::vector{make_tensor(std::move(n))};
                   }}};
}

}  // namespace pliant::ops
