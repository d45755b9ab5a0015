// The part of a buffer that a statement touches, and tiles that stand for it.
#pragma once
#include "schedule/dependence.h"

namespace pliant::schedule {

// Elements base[d] … base[d] + size[d] - 1 in each dimension, over symbols from outside the statement.
struct Region {
  std::vector<Dim> base, size;
};
// A shape that holds a region of this size wherever the loops of `around` stand: constants where those are known, else over
// the kernel's symbols. Nothing when neither is known.
std::optional<std::vector<Dim>> shape_for(const std::vector<Dim>& size, const Extents& around, expr::Context& ctx);

// The region of `b` that `body` touches, and the shape of a tile of it that is allocated there; refused where one is not
// known or has no room.
struct Tile {
  Region region;
  std::vector<Dim> shape;
};
Result<Tile> tile_of(const Edit& e, const Buffer& b, const StmtPtr& body, Scope scope);

// The elements of the region that exist in a buffer of `shape`: `count` of them from `start` on in each dimension.
struct Clamped {
  std::vector<Dim> start, count;
};
Clamped clamp(const Region& region, const std::vector<Dim>& shape, expr::Context& ctx);

// A statement that assigns every element of `region` of `buffer`, each once, by a nest of loops over just these elements.
struct Cover {
  StmtPtr store;
  bool reads_buffer = false;  // the stored value, or an update, reads the buffer
};
std::optional<Cover> covering(const StmtPtr& s, BufferId buffer, const Region& region, expr::Context& ctx);

// `root` with the accesses of `from` redirected to `to` at index - base, its dims permuted by `order` where that is not
// empty.
StmtPtr redirect(const StmtPtr& root, BufferId from, BufferId to, const std::vector<Dim>& base,
                 const std::vector<int64_t>& order, expr::Context& ctx);
// The same at any other index.
StmtPtr redirect(const StmtPtr& root, BufferId from, BufferId to, expr::Context& ctx,
                 const std::function<std::vector<Dim>(std::vector<Dim> index)>& moved);
// The highest value of a loop index of this extent where the Context knows one, else kNoLimit.
int64_t highest_index(Dim extent, expr::Context& ctx);
std::vector<Dim> permuted(const std::vector<Dim>& dims, const std::vector<int64_t>& order);

}  // namespace pliant::schedule
