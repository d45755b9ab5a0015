// Guards of convolution windows turned into padded copies.
#pragma once
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
// A copy of a tensor of which a window is read that is affine in some loops' variables, with constant coefficients, along
// the guarded axes: with all of the border around it that the loops read.
struct BorderedCopy {
  std::vector<bool> guarded;
  std::vector<Dim> low, shape;  // position 0 of the copy is `low` of the tensor
  // The position in the tensor of position `i` of the copy, and whether it exists in one of `shape`: null for always.
  te::Index source(const te::Index& i) const;
  Scalar exists(const std::vector<Dim>& shape, const te::Index& source) const;
};
// Nothing where the window is another one.
std::optional<BorderedCopy> bordered_copy(Scalar load, const std::vector<Dim>& shape, const std::vector<bool>& guarded,
                                          const std::vector<Loop>& loops);
// Nothing when the guard of `root` is not exactly the bounds of one loaded tensor's affine window, or zeros in its place
// would not give zero.
std::optional<Padded> make_padded(const Problem& p, const Stage& root);

}  // namespace pliant::lower
