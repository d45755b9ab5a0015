// An optional without a value.
#include "ops/bodies/list_op.h"

namespace pliant::ops {

OpDef op_opt_none() {
  return {.name = "opt.none",
          .doc = "An optional that holds nothing.",
          .attrs = {required_attr("dtype", AttrKind::DType, "the element type of what it could hold"),
                    attr("sequence", false, "whether it could hold a sequence instead of a tensor")},
          .min_inputs = 0,
          .max_inputs = 0,
          .list = {[](ListContext& c) -> Types {
                     Type element{TensorType{c.attr().as_dtype("dtype"), {}, graph::Rank::None}};
                     if (c.attr().as_bool("sequence")) element = graph::make_sequence_type(std::move(element));
                     return std::vector{graph::make_optional_type(std::move(element))};
                   },
                   [](const Attrs&, const std::vector<Datum>&) -> Data { return std::vector{make_absent()}; }}};
}

}  // namespace pliant::ops
