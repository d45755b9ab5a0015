// What the windows of one task read of an input, copied with its border into memory of the task.
#pragma once
#include "lower/stages.h"

namespace pliant::lower {

// A reduction of at most this many steps fills no vector; a window of at most that many costs less along the output.
constexpr int64_t kShortReduction = 7, kShortWindow = 64;

// A range of one output axis.
struct AxisRange {
  SymbolId var;
  Dim first, count;
  Dim most;  // `count` over the kernel's symbols only
};
struct HaloTile {
  loop::Buffer buffer;
  Scalar body;                 // the stage's body, without its guard, with loads of the buffer
  Scalar source;               // what position `position` of the buffer holds, without the guard
  expr::TensorId input;        // the one whose elements the source is made of
  std::vector<Loop> position;  // outermost first; the last one runs along the columns
  Dim offset;                  // of that position in the buffer
  Scalar inside;               // whether it lies inside the input, as far as the columns do not tell
  Dim before, within;          // columns in front of the input, and inside of it
  Scalar border;               // what lies outside
  Dim elements;                // of the input
};
// For a stage whose guard keeps the windows over one input inside of it and whose windows slide along `col`. The halo_tile
// serves the outputs in `col` and `row`, at one position of every other axis, and is filled by vectors of `lanes`. Nothing
// where the guard says anything else, or where that is too much memory.
std::optional<HaloTile> make_halo_tile(const Problem& p, const StageList& list, const Stage& s, const AxisRange& col,
                                       const std::optional<AxisRange>& row, int64_t lanes);
// Fills the buffer; `source` and `inside` as they are after the nest around was rewritten.
loop::StmtPtr fill_halo_tile(expr::Context& ctx, const HaloTile& halo_tile, int64_t lanes);
// Whether an axis of a tensor that `s` reads is indexed by `var` together with a reduction variable.
bool slides_along(const Stage& s, SymbolId var);
// Windows along the innermost axis of the output that are short.
bool is_short_window(expr::Context& ctx, const Stage& s);
// A window over planes: so does `col`, and the reduction has nothing but windows, each along an output axis.
bool only_slides(const Stage& s, SymbolId col);

}  // namespace pliant::lower
