#include "ops/bodies/scatter.h"

namespace pliant::ops {

Result<te::Combiner> scatter_combiner(DefineContext& c) {
  const std::string& r = c.attr().as_string("reduction");
  bool is_bool = c.in(0)->dtype == DType::Bool;
  if (r == "none") return te::Combiner::Set;
  if (r == "add") return is_bool ? te::Combiner::Or : te::Combiner::Sum;
  if (r == "mul") return is_bool ? te::Combiner::And : te::Combiner::Prod;
  if (r == "max") return is_bool ? te::Combiner::Or : te::Combiner::Max;
  if (r == "min") return is_bool ? te::Combiner::And : te::Combiner::Min;
  return c.fail("bad-attribute", "there is no reduction '" + r + "'");
}

}  // namespace pliant::ops
