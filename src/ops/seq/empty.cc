// A sequence without elements.
#include "ops/bodies/list_op.h"

namespace pliant::ops {

OpDef op_seq_empty() {
  return {.name = "seq.empty",
          .doc = "A sequence of no tensors.",
          .attrs = {required_attr("dtype", AttrKind::DType, "the element type of the tensors that may be put into it")},
          .min_inputs = 0,
          .max_inputs = 0,
          .list = {[](ListContext& c) -> Types {
                     TensorType none{c.attr().as_dtype("dtype"), {}, graph::Rank::None};
                     return std::vector{graph::make_sequence_type(Type{none})};
                   },
                   [](const Attrs&, const std::vector<Datum>&) -> Data { return std::vector{make_list({})}; }}};
}

}  // namespace pliant::ops
