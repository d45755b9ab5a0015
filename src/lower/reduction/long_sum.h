// Sums of many floats: after some terms an accumulator is added to a total of twice the precision and starts again, so that
// the error does not grow with the number of terms (docs/adr/0009-numerics.md).
#pragma once
#include <functional>
#include <vector>

#include "lower/nest.h"
#include "te/te.h"

namespace pliant::lower {

// The most terms that one accumulator takes before its block ends: of sums, and of the products of a register tile, whose
// many accumulators cost more to carry.
constexpr int64_t kSumBlock = 256, kProductBlock = 512;

// Accumulators in memory: the first `columns` of each of `rows` rows.
struct MemorySums {
  loop::BufferId sums, totals;  // totals: f64, for each element of `sums` one
  DType type;
  Dim rows;
  int64_t row_stride;
  Dim columns;  // rounded up to whole vectors
};

// The loops of a reduction, outermost first, each iteration of which adds one term to every accumulator. Where no
// sum can be longer than a block, `at_level` is a plain loop and the rest is nothing.
class LongSum {
 public:
  LongSum(expr::Context& ctx, const MemorySums& acc, int64_t lanes, std::vector<Dim> extents, int64_t block);
  // Whether a sum can be longer than a block.
  bool is_long() const { return is_long_; }

  // Loop `level`, of at most extents[level] iterations, around `body`.
  loop::StmtPtr at_level(size_t level, const Loop& l, loop::StmtPtr body) const;
  // Before the loops, and after them, which leave the last block in the accumulators: these then hold the whole.
  loop::StmtPtr begin() const;
  loop::StmtPtr finish() const;

 private:
  // How many iterations of loop `level` make a block.
  Dim period(size_t level) const;
  Dim terms() const;
  loop::StmtPtr when_long(loop::StmtPtr s) const;
  // body(i) for every accumulator.
  using Body = std::function<loop::StmtPtr(Dim)>;
  loop::StmtPtr for_sums(const Body& body) const;
  Scalar wide(loop::BufferId from, Dim i) const;
  // Adds the accumulators to the totals and makes them zero.
  loop::StmtPtr carry() const;

  expr::Context& ctx_;
  MemorySums acc_;
  int64_t lanes_, block_;
  std::vector<Dim> extents_;
  bool is_long_ = false;  // sums may be longer than a block
};

}  // namespace pliant::lower
