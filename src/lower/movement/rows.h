// Rows of maps whose vectors need what no schedule primitive makes: template *map* makes the others.
#pragma once
#include "lower/movement/transpose.h"

namespace pliant::lower {

// The statements of the point at which the nest's loops have these values; `lane`: a variable of vector lanes among them.
using MakePointAt = std::function<loop::StmtPtr(const expr::DimMap& at, std::optional<SymbolId> lane)>;
// A last axis of a few elements that every output has side by side: vectors along the axis before it take turns. Nothing for
// other maps.
std::optional<GridOfBlocks> make_interleaved_rows(expr::Context& ctx, const target::Target& target, const FlatMap& map,
                                                  int64_t lanes, const MakePointAt& point);

// The lane variable of an element index made by make_vector_loop: it is made last.
std::optional<SymbolId> lane_of(Dim v, Dim outer);

}  // namespace pliant::lower
