// Square blocks of elements in registers, transposed by shuffles.
#pragma once
#include "lower/nest.h"

namespace pliant::lower {

// The type in which elements are moved: bits where vectors of the type itself shuffle badly.
DType moved_type(DType t);
Scalar as_moved(Scalar s);
Scalar from_moved(Scalar s, DType t);

// A block of lanes * lanes elements in row-major order, and the statements that make it from what `fill` stores in another
// one: element (r, c) of the result is element (c, r) of the filled.
struct RegisterTranspose {
  std::vector<loop::Buffer> buffers;  // the filled first, the result last
  std::vector<loop::StmtPtr> steps;
};
RegisterTranspose make_register_transpose(expr::Context& ctx, DType moved, int64_t lanes);
// `body` for each row and column of such a block: unrolled rows of one vector each.
loop::StmtPtr for_square(expr::Context& ctx, int64_t n, const std::function<loop::StmtPtr(Dim row, Dim column)>& body);

// Element `at` of what `parts` vectors hold when their elements take turns, each vector at a multiple of `lanes`.
Dim interleaved(Dim at, int64_t parts, int64_t lanes);
// `parts` vectors of `lanes` values of type t, stored in one run in which they take turns: store(at, v) stores element `at`
// of it, which is value(at % parts, at / parts).
loop::StmtPtr make_interleaved(expr::Context& ctx, DType t, int64_t parts, int64_t lanes,
                               const std::function<Scalar(Dim part, Dim lane)>& value,
                               const std::function<loop::StmtPtr(Dim at, Scalar)>& store);
// So many vectors are interleaved, or picked apart, rather than turned.
constexpr int64_t kFewVectors = 4;

}  // namespace pliant::lower
