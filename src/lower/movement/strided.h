// Maps that read memory in even steps that the run decides: slices.
#pragma once
#include <optional>

#include "lower/movement/transpose.h"
#include "target/target.h"

namespace pliant::lower {

// The step along the last loop that some loads have, not known and not that of an operand which may be broadcast; nothing
// where there is none.
std::optional<Dim> find_strided(expr::Context& ctx, const FlatMap& map);
// For small steps vectors are loaded whole and picked apart, and a step of 1 is a copy; other steps gather.
GridOfBlocks make_strided(expr::Context& ctx, const target::Target& target, const FlatMap& map, Dim step);

// How many rows of `columns` elements make a task.
Dim rows_of_task(expr::Context& ctx, Dim columns);
// The iterations of `row` that one task runs, so many that short rows of `columns` elements make a task together. The loop
// over the blocks is appended to `parallel`.
struct RowBlock {
  Dim begin, length;
};
RowBlock make_row_block(expr::Context& ctx, const Loop& row, Dim columns, std::vector<Loop>& parallel);

// `map` where loads that have `step` along the last loop have `known` instead.
std::vector<Scalar> with_step(expr::Context& ctx, const FlatMap& map, Dim step, int64_t known);

}  // namespace pliant::lower
