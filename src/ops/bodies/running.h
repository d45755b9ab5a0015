// Running sums and products along an axis.
#pragma once
#include "ops/op.h"

namespace pliant::ops {

OpDef make_running_op(std::string name, std::string doc, te::Combiner combiner);

}  // namespace pliant::ops
