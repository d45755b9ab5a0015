// A quick part of `verify`.
#pragma once
#include "loop/loop.h"

namespace pliant::loop {

// Looks at statements and not into what they compute: kinds of loops, where they may be and how far they run, buffers and
// their scopes.
Status verify_statements(const Function& f, expr::Context& ctx);

}  // namespace pliant::loop
