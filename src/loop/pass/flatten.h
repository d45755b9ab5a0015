// Storage with one axis.
#pragma once
#include "loop/loop.h"

namespace pliant::loop {

// Each buffer has one axis, from its first element to beyond its last one, and each access the sum of its indices times the
// strides; loops of one iteration are gone.
Function flatten(Function f, expr::Context& ctx);

}  // namespace pliant::loop
