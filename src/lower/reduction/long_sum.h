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
  // `acc`: the accumulators, a Local that loops of `lanes` lanes use, within unrolled ones.
  LongSum(expr::Context& ctx, te::Combiner c, const loop::Buffer& acc, int64_t lanes, std::vector<Dim> extents,
          int64_t block = kSumBlock);
  LongSum(expr::Context& ctx, const MemorySums& acc, int64_t lanes, std::vector<Dim> extents, int64_t block);
  // Whether a sum can be longer than a block.
  bool is_long() const { return is_long_; }

  // Loop `level`, of at most extents[level] iterations, around `body`.
  loop::StmtPtr at_level(size_t level, const Loop& l, loop::StmtPtr body) const;
  // `sum` holds the loops and leaves the last block in the accumulators, which then hold the whole.
  loop::StmtPtr around(loop::StmtPtr sum) const;

  // The parts of `around`: before the loops, after them, and the memory.
  loop::StmtPtr begin() const;
  loop::StmtPtr finish() const;
  loop::StmtPtr with_memory(loop::StmtPtr s) const;

 private:
  // How many iterations of loop `level` make a block.
  Dim period(size_t level) const;
  Dim terms() const;
  Scalar long_condition() const;
  loop::StmtPtr when_long(loop::StmtPtr s) const;
  loop::StmtPtr clear_totals() const;
  loop::StmtPtr add_totals() const;  // to the accumulators
  // body(i) for every accumulator: one piece of code each where they are in registers, or one for all.
  using Body = std::function<loop::StmtPtr(Dim)>;
  loop::StmtPtr for_registers(const Body& body) const;
  loop::StmtPtr for_sums(const Body& body) const;
  loop::StmtPtr copy(loop::BufferId to, loop::BufferId from) const;  // of accumulators in registers; null onto itself
  Scalar wide(loop::BufferId from, Dim i) const;
  // Adds the accumulators to the totals and makes them zero.
  loop::StmtPtr carry() const;

  expr::Context& ctx_;
  MemorySums acc_;  // where they are added to the totals: in registers if they are few, else in memory
  int64_t lanes_, block_;
  std::vector<Dim> extents_;
  bool is_long_ = false;                     // sums may be longer than a block
  std::optional<loop::BufferId> registers_;  // the accumulators that are copied to `acc_` for it
  std::vector<loop::Buffer> memory_;
};

}  // namespace pliant::lower
