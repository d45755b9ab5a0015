// The naive function of a contraction, taken apart.
#pragma once
#include "lower/templates/template.h"

namespace pliant::lower {

// A column of b that is read from memory costs what this many rows cost.
constexpr int64_t kRowsOfOneRead = 16;
// Whether an operand b of these sizes is known to be so large that it leaves the cache between two uses.
bool leaves_cache(const target::Target& target, Dim terms, Dim columns);

// Up to so many rows, dot products of eight columns fit into the registers.
int64_t rows_of_wide_dots(const target::Target& target);

// Nests over outer loops, row and column: of the sums, and of the results that follow from them. Before them, what b is
// copied to.
struct Product {
  loop::Buffer acc;                        // of the sums
  std::optional<loop::Buffer> panel;       // what b is copied to
  std::vector<loop::StmtPtr> copy;         // the loops of that: of outer loops, of reductions, of columns
  std::vector<loop::StmtPtr> axes, terms;  // the loops of the sums, and those that they run over
  Scalar term;
  std::vector<loop::StmtPtr> results;

  const loop::StmtPtr& row() const { return results[results.size() - 2]; }
  const loop::StmtPtr& column() const { return results.back(); }
  size_t outer() const { return results.size() - 2; }
  // In the sums: the loop there of outer loop k.
  SymbolId var(size_t k) const { return axes[k]->var; }
  // Whether a load of the factor that varies along the columns, or of the other one, uses outer loop k.
  bool b_uses(size_t k) const { return uses(k, true); }
  bool a_uses(size_t k) const { return uses(k, false); }
  bool uses(size_t k, bool of_b) const;
  // The load of b, whose last axis runs along the columns; null where there is none.
  Scalar b_in_panels() const;
  // Whether what is copied to panels lies along the reduction.
  bool copies_along_reduction() const;
  // About what a row of a takes in the cache.
  int64_t row_bytes(expr::Context& ctx) const;
  Dim count_terms(expr::Context& ctx) const {
    Dim n = ctx.constant(1);
    for (const loop::StmtPtr& l : terms) n = n * l->extent;
    return n;
  }
};
// Nothing where the function is another one.
std::optional<Product> product_of(const loop::Function& f);

// A schedule of one.
class ProductSchedule : protected TemplateSchedule {
 protected:
  ProductSchedule(schedule::Schedule& s, const Point& point);
  // Known rows are tiles of one height, or some one row higher than the others. Unrolls the loops over the rows of a tile
  // that are `wanted`.
  Status unroll_known_heights(const std::function<bool(const loop::StmtPtr&)>& wanted);
  // Whether sums of floats may have more than so many terms: they are sums of twice the precision over sums of blocks
  // (docs/adr/0009-numerics.md), which `carry` makes of a loop that adds to them.
  bool may_be_long(int64_t terms) const;
  Status carry(const std::string& loop);

  const Product p_;
  Names outer_, terms_;  // outermost first
  std::string row_, column_, tile_;
  std::string zeros_;             // the columns that are set to zero
  std::optional<int64_t> whole_;  // rows of a block, where they are known
  int64_t height_ = 0;            // of the highest tile
};

}  // namespace pliant::lower
