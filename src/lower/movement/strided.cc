// for parallel …, block of rows, block of columns:
//   if step == 1:  for rows, vectors of columns: …
//   if step == 2:  …
//   else           element by element, or with gathers where more than a copy is to be done
// Rows that turn out to follow each other in memory are copied as one.
#include "lower/movement/strided.h"

#include <algorithm>

namespace pliant::lower {

namespace {

constexpr int64_t kTaskElements = 8192, kBlockColumns = 4096;
constexpr int64_t kKnownSteps[] = {-1, 4, 3, 2, 1};  // the likeliest last: it is asked for first

class Strided {
 public:
  Strided(expr::Context& ctx, const target::Target& target, const FlatMap& map, Dim step)
      : ctx_(ctx), target_(target), map_(map), step_(step), column_(map.nest.loops.back()) {}

  GridOfBlocks make() {
    GridOfBlocks grid{{}, {}, "strided"};
    grid.parallel = map_.nest.loops;
    grid.parallel.pop_back();
    first_row_ = ctx_.constant(0);
    rows_ = ctx_.constant(1);
    if (!grid.parallel.empty()) {
      row_ = grid.parallel.back();
      grid.parallel.pop_back();
      const RowBlock block = make_row_block(ctx_, *row_, column_.extent, grid.parallel);
      first_row_ = block.begin;
      rows_ = block.length;
    }
    const Dim count = expr::ceildiv(column_.extent, kBlockColumns), b = ctx_.index_symbol("b", count);
    grid.parallel.push_back({*b.as_symbol(), count});
    first_ = b * kBlockColumns;
    columns_ = expr::min(ctx_.constant(kBlockColumns), column_.extent - first_);

    const std::vector<Scalar>& values = map_.nest.scalars;
    const int64_t lanes = lanes_for(target_, values);
    auto is_copy = [](Scalar s) { return s->kind == expr::ScalarKind::Load; };
    const bool copies = std::all_of(values.begin(), values.end(), is_copy);
    const bool is_long = std::any_of(values.begin(), values.end(), is_costly);
    grid.body = over_columns(values, copies ? 1 : lanes);
    for (int64_t known : kKnownSteps) {
      const Dim k = ctx_.constant(known);
      if (ctx_.equal(step_, k) == expr::Tri::No || (is_long && known != 1)) continue;
      const std::vector<Scalar> stepping = with_step(ctx_, map_, step_, known);
      grid.body = loop::make_if(expr::equal(step_, k), over_columns(stepping, lanes), grid.body);
      const Scalar follow = known == 1 && copies ? rows_follow(stepping) : Scalar();
      if (!follow) continue;
      loop::StmtPtr run =
          make_vector_loop(ctx_, rows_ * column_.extent, lanes, [&](Dim v) { return store_at(stepping, first_row_, v); });
      grid.body = loop::make_if(expr::logical_and(expr::equal(step_, k), follow), run, grid.body);
    }
    return grid;
  }

 private:
  loop::StmtPtr store_at(const std::vector<Scalar>& values, Dim row, Dim column) const {
    expr::DimMap at{{column_.var, column}};
    if (row_) at[row_->var] = row;
    std::vector<loop::StmtPtr> stores;
    for (size_t k = 0; k < values.size(); ++k)
      stores.push_back(
          loop::make_store(map_.buffers[k], {expr::substitute(map_.nest.offsets[k], at)}, expr::substitute(values[k], at)));
    return loop::make_block(std::move(stores));
  }

  // Every row's columns as vectors, or one by one.
  loop::StmtPtr over_columns(const std::vector<Scalar>& values, int64_t lanes) const {
    auto over_row = [&](Dim r) {
      auto store = [&](Dim column) { return store_at(values, first_row_ + r, first_ + column); };
      return lanes > 1 ? make_vector_loop(ctx_, columns_, lanes, store)
                       : loop::make_for(ctx_, "c", columns_, loop::ForKind::Serial, store);
    };
    return row_ ? loop::make_for(ctx_, "r", rows_, loop::ForKind::Serial, over_row) : over_row(ctx_.constant(0));
  }

  // Where the rows of a task follow each other in every tensor; null where they never do.
  Scalar rows_follow(const std::vector<Scalar>& values) const {
    if (!row_) return {};
    Nest nest = map_.nest;
    nest.scalars = values;
    Scalar all = expr::less_equal(column_.extent, ctx_.constant(kBlockColumns));
    for (Scalar s : values) {
      bool as_value = false;
      for_each_scalar(s, [&](Scalar x) { as_value |= x->kind == expr::ScalarKind::Index; });
      if (as_value) return {};
    }
    for (Dim d : all_offsets(nest)) {
      auto along_row = stride_in(ctx_, d, row_->var), along_column = stride_in(ctx_, d, column_.var);
      if (!along_row || !along_column) return {};
      const Dim next = *along_column * column_.extent;
      if (ctx_.equal(*along_row, next) == expr::Tri::No) return {};
      if (!(*along_row == next)) all = expr::logical_and(all, expr::equal(*along_row, next));
    }
    return all;
  }

  expr::Context& ctx_;
  const target::Target& target_;
  const FlatMap& map_;
  const Dim step_;
  const Loop column_;
  std::optional<Loop> row_;
  Dim first_row_, rows_, first_, columns_;
};

}  // namespace

std::optional<Dim> find_strided(expr::Context& ctx, const FlatMap& map) {
  if (map.nest.loops.empty()) return std::nullopt;
  const SymbolId column = map.nest.loops.back().var;
  for (Scalar s : map.nest.scalars)
    for (Scalar load : expr::loads_of(s)) {
      auto step = stride_in(ctx, load->index[0], column);
      if (!step || step->is_const()) continue;
      const expr::Interval range = ctx.range(*step);
      if (range.lo >= 0 && range.hi <= 1) continue;
      if (std::none_of(map.nest.loops.begin(), map.nest.loops.end(),
                       [&](const Loop& l) { return expr::uses_symbol(*step, l.var); }))
        return step;
    }
  return std::nullopt;
}

std::vector<Scalar> with_step(expr::Context& ctx, const FlatMap& map, Dim step, int64_t known) {
  const SymbolId column = map.nest.loops.back().var;
  const Dim c = ctx.symbol_dim(column);
  std::vector<Scalar> out;
  for (Scalar s : map.nest.scalars)
    out.push_back(expr::substitute(s, {}, [&](Scalar load) {
      auto own = stride_in(ctx, load->index[0], column);
      if (!own || !(*own == step)) return load;
      return expr::make_load(ctx, load->tensor, load->dtype, {load->index[0] + c * known - c * step});
    }));
  return out;
}

Dim rows_of_task(expr::Context& ctx, Dim columns) {
  const Dim one = ctx.constant(1);
  return expr::max(one, expr::floordiv(ctx.constant(kTaskElements), expr::max(one, columns)));
}

RowBlock make_row_block(expr::Context& ctx, const Loop& row, Dim columns, std::vector<Loop>& parallel) {
  const Dim size = rows_of_task(ctx, columns);
  const Dim count = expr::ceildiv(row.extent, size), b = ctx.index_symbol("b", count);
  parallel.push_back({*b.as_symbol(), count});
  return {b * size, expr::min(size, row.extent - b * size)};
}

GridOfBlocks make_strided(expr::Context& ctx, const target::Target& target, const FlatMap& map, Dim step) {
  return Strided(ctx, target, map, step).make();
}

}  // namespace pliant::lower
