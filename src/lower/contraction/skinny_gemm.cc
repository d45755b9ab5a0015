#include "lower/contraction/skinny_gemm.h"

#include "lower/templates/product.h"

namespace pliant::lower {

namespace {

constexpr int64_t kMostDotRows = 128;

bool runs_along(expr::Context& ctx, Scalar s, SymbolId var) {
  bool runs = false;
  for (Scalar l : expr::loads_of(s)) {
    auto stride = stride_in(ctx, l->index[0], var);
    if (!stride || !(stride->is_const(0) || stride->is_const(1))) return false;
    runs = runs || stride->is_const(1);
  }
  return runs;
}

}  // namespace

Runs runs_of(expr::Context& ctx, const Factors& f) {
  if (runs_along(ctx, f.b, f.col.var)) return Runs::AlongColumns;
  if (!f.reduce.empty() && runs_along(ctx, f.b, f.reduce.back().var)) return Runs::AlongReduction;
  return Runs::Neither;
}

bool is_matrix(expr::Context& ctx, const Factors& f) {
  const Runs runs = runs_of(ctx, f);
  if (f.reduce.size() != 1 || runs == Runs::Neither) return false;
  const Loop& inner = runs == Runs::AlongColumns ? f.col : f.reduce[0];
  const Loop& outer = runs == Runs::AlongColumns ? f.reduce[0] : f.col;
  for (Scalar l : expr::loads_of(f.b)) {
    // One value for the whole matrix.
    if (!expr::uses_symbol(l, inner.var) && !expr::uses_symbol(l, outer.var)) continue;
    auto step = stride_in(ctx, l->index[0], outer.var);
    if (!step || (step->is_const() && !ctx.proves_less_equal(inner.extent, *step))) return false;
  }
  return true;
}

bool fits_skinny_gemm(expr::Context& ctx, const Factors& f) {
  if (!is_matrix(ctx, f)) return false;
  for (const Loop& l : f.outer)
    if (!expr::uses_symbol(f.b, l.var)) return false;
  return runs_of(ctx, f) == Runs::AlongColumns || runs_along(ctx, f.a, f.reduce[0].var);
}

std::vector<Dim> rows_of_versions(expr::Context& ctx, const target::Target& target, const Factors& f) {
  const Dim least = ctx.constant(target.vector_registers >= 32 ? 6 : 4);
  if (runs_of(ctx, f) == Runs::AlongColumns) return {least};
  // The longer the sums, the less it matters that their lanes are added one by one at the end.
  const Dim terms = f.reduce[0].extent, few = ctx.constant(rows_of_wide_dots(target));
  // Sums of so few vectors are folded too often: a panel pays from four rows on.
  if (auto upper = const_upper(ctx, terms); upper && *upper * byte_size(f.b->dtype) <= 2 * target.vector_bytes) return {few};
  return {few, max(least, min(ctx.constant(kMostDotRows), floordiv(terms, 8)))};
}

}  // namespace pliant::lower
