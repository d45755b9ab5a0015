// Equal fingerprints: the same code whatever the names of symbols, buffers and the kernel.
#pragma once
#include <string>

#include "codegen/codegen.h"

namespace pliant::codegen {

std::string fingerprint(const KernelSource& source, expr::Context& ctx);

}  // namespace pliant::codegen
