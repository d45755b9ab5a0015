// Guards of convolution windows turned into padded copies.
#pragma once
#include "expr/parts.h"
#include "lower/stages.h"

namespace pliant::lower {

// A body select(in bounds, x[…], 0) * w[…] with the guard replaced by loads of `padded`, a zero-bordered copy of x that a
// map stage makes.
struct Padded {
  Scalar body;
  te::Tensor padded;
};
// Whether every term of the guard is a bound of an axis of the load, from a tensor of `shape`; says which axes are guarded.
bool guards_exactly(expr::Context& ctx, Scalar guard, Scalar load, const std::vector<Dim>& shape,
                    std::vector<bool>& guarded);
// Whether `s` is zero where `load` is: the load itself, converted or as a factor.
bool vanishes_with(Scalar s, Scalar load);
// The least and greatest value of an index that is affine in the loops' variables with constant coefficients, over their
// full ranges.
struct WindowBounds {
  Dim lowest, highest;
};
std::optional<WindowBounds> window_of(expr::Context& ctx, Dim e, const std::vector<Loop>& loops);
// Nothing when the guard of `root` is not exactly the bounds of one loaded tensor's affine window, or zeros in its place
// would not give zero.
std::optional<Padded> make_padded(const Problem& p, const Stage& root);

}  // namespace pliant::lower
