// How the rows of a map become vectors and tasks.
#pragma once
#include <optional>

#include "lower/nest.h"
#include "target/target.h"

namespace pliant::lower {

// Rows of so many elements make tasks together.
constexpr int64_t kShortTask = 512;

// Elements of one task along the vector loop.
int64_t chunk_of(const std::vector<Scalar>& scalars);
// Lanes of the vector loop, over `inner` elements. Long loops in bytes or 16-bit integers alone fill whole vectors; halves
// are computed in f32.
int64_t lanes_of(expr::Context& ctx, const target::Target& target, const std::vector<Scalar>& scalars, Dim inner);
// Whether the axis before one of this extent is the better vector.
bool is_few(Dim extent, int64_t lanes);
// The loop outside all but the last two whose iterations read at the same places but for a stride, where finding the places
// takes several loads: that of an image's channels, for one. Their vectors are computed once for a few iterations.
std::optional<size_t> loop_of_shared_places(expr::Context& ctx, const std::vector<Loop>& loops,
                                            const std::vector<Scalar>& scalars);

}  // namespace pliant::lower
