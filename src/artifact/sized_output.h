// Outputs of the program whose sizes a call of the runtime finds out.
#pragma once
#include "artifact/program.h"

namespace pliant::artifact {

// Whether `a`, an output argument of `x`, is one of the program's `outputs` with a size among the results of the call: it
// has no memory before the call knows them, and exactly what it needs from then on.
bool is_sized_by(const std::vector<TensorDesc>& outputs, const LibraryCallDesc& x, const Arg& a);

}  // namespace pliant::artifact
