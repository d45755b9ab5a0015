// Rows of maps whose vectors need what no schedule primitive makes: template *map* makes the others.
#pragma once
#include "lower/movement/transpose.h"

namespace pliant::lower {

// A last axis of a few elements that every output has side by side: vectors along the axis before it take turns. Nothing for
// other maps.
std::optional<GridOfBlocks> make_interleaved_rows(expr::Context& ctx, const target::Target& target, const FlatMap& map,
                                                  int64_t lanes);
// A condition changes once along the last loop (cut.h). Nothing where none does, or where rows are short.
std::optional<GridOfBlocks> make_cut_rows(expr::Context& ctx, const target::Target& target, const FlatMap& map,
                                          int64_t lanes);

// The lane variable of an element index made by make_vector_loop: it is made last.
std::optional<SymbolId> lane_of(Dim v, Dim outer);

}  // namespace pliant::lower
