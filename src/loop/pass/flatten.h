// Storage with one axis.
#pragma once
#include "loop/loop.h"

namespace pliant::loop {

// Each buffer has one axis, from its first element to beyond its last one, and each access the sum of its indices times the
// strides; loops of one iteration are gone.
Function flatten(Function f, expr::Context& ctx);

// Loops of one iteration are gone.
StmtPtr without_unit_loops(const StmtPtr& body, expr::Context& ctx);

}  // namespace pliant::loop
