// What the scattering operators share.
#pragma once
#include "ops/bodies/scalars.h"

namespace pliant::ops {

// The combiner that the attribute `reduction` names.
Result<te::Combiner> scatter_combiner(DefineContext& c);

}  // namespace pliant::ops
