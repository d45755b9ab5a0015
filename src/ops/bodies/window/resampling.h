// Positions and weights of resampling along one axis, as ONNX Resize defines them.
#pragma once
#include "ops/bodies/scalars.h"

namespace pliant::ops {

struct Resampling {
  enum class Mode { Nearest, Linear, Cubic };
  enum class Coordinate { HalfPixel, HalfPixelSymmetric, PytorchHalfPixel, AlignCorners, Asymmetric, TfCropAndResize };
  enum class Nearest { RoundPreferFloor, RoundPreferCeil, Floor, Ceil, CeilShrinking };
  Mode mode = Mode::Nearest;
  Coordinate coordinate = Coordinate::HalfPixel;
  Nearest nearest = Nearest::RoundPreferFloor;
  double cubic_coeff = -0.75;
  bool exclude_outside = false, antialias = false;
  double extrapolation = 0;
};
Result<Resampling> read_resampling(DefineContext& c);

// One axis: out = in * num / den, where num / den is the scale.
struct ResampledAxis {
  size_t axis = 0;
  Dim in, out;
  Dim num, den;
  Scalar crop_start, crop_end;  // TfCropAndResize: f32
  Scalar scale;                 // f32, where it is known at run time only: instead of num / den
  bool is_identity() const { return in == out && num == den && !crop_start && !scale; }
};
// p / q with the smallest q that rounds to the float `scale`.
std::pair<int64_t, int64_t> ratio_of(double scale);

// The position in the input, f32, that output `o` stands for.
Scalar source_position(const Resampling& r, const ResampledAxis& a, Dim o);
// The element that nearest-neighbour sampling takes, within [0, in).
Dim nearest_source(const Resampling& r, const ResampledAxis& a, Dim o);
// Taps of linear and cubic sampling: how many, and the offset of the first from floor(position).
struct Taps {
  Dim count, first;
};
Taps taps_of(const Resampling& r, const ResampledAxis& a);
// The weight, not normalised, of the element at `offset` from floor(position), whose fraction is `fraction`.
Scalar tap_weight(const Resampling& r, const ResampledAxis& a, Scalar offset, Scalar fraction);

}  // namespace pliant::ops
