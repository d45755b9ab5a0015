// Blocks of the two loops, r along which the loads are contiguous and c along which the stores are:
//
//   for parallel …, block of r, block of c:
//     both at least a vector long:   for every `lanes` c, every `lanes` r: load, transpose in registers, store
//                                    (the last ones reach back over what is done, so that all are whole)
//     few c, stored side by side:    vectors along r, interleaved in registers
//     a load step of 1 to 4:         vectors along c, picked from whole vectors
//     4 or more of each:             the same blocks under masks
//     otherwise:                     one by one along c, or gathered vectors where more than a copy is to be done
#include "lower/movement/transpose.h"

#include <algorithm>
#include <set>

#include "expr/parts.h"
#include "lower/movement/register_transpose.h"
#include "lower/movement/strided.h"

namespace pliant::lower {

using loop::ForKind;
using loop::StmtPtr;

namespace {

constexpr int64_t kBlockRows = 64, kBlockColumns = 256;
constexpr int64_t kMostLanes = 16;

bool is_plain_store(const FlatMap& map, expr::Context& ctx, SymbolId column) {
  return std::all_of(map.nest.offsets.begin(), map.nest.offsets.end(), [&](Dim d) {
    const auto step = stride_in(ctx, d, column);
    return step && step->is_const(1);
  });
}

bool uses_loop(const Nest& nest, Dim d) {
  return std::any_of(nest.loops.begin(), nest.loops.end(), [&](const Loop& l) { return expr::uses_symbol(d, l.var); });
}

class Blocks {
 public:
  Blocks(expr::Context& ctx, const target::Target& target, const FlatMap& map, const Transposed& t)
      : ctx_(ctx), target_(target), map_(map), t_(t), r_(map.nest.loops[t.row]), c_(map.nest.loops.back()) {}

  GridOfBlocks make() {
    GridOfBlocks grid{{}, {}, "transpose"};
    for (size_t i = 0; i + 1 < map_.nest.loops.size(); ++i)
      if (i != t_.row) grid.parallel.push_back(map_.nest.loops[i]);
    loop::Lets lets(ctx_);
    const Range rows = block_of(r_, kBlockRows, grid.parallel, lets);
    const Range columns = block_of(c_, kBlockColumns, grid.parallel, lets);
    // Versions, the most special last; each takes over where its condition holds.
    struct Version {
      Scalar condition;
      StmtPtr body;
    };
    std::vector<Version> versions;
    auto add = [&](std::vector<std::pair<Dim, Dim>> less_equal, const std::function<StmtPtr()>& body) {
      std::vector<Scalar> open;
      for (auto& [a, b] : less_equal) {
        if (ctx_.less_equal(a, b) == expr::Tri::No) return;
        if (ctx_.less_equal(a, b) != expr::Tri::Yes) open.push_back(expr::less_equal(a, b));
      }
      const Scalar condition = expr::conjunction(open);
      if (!condition) versions.clear();
      versions.push_back({condition, body()});
    };
    // Blocks of half the size waste less where a loop is short.
    const int64_t half = t_.lanes > kFewVectors ? t_.lanes / 2 : t_.lanes;
    const Dim lanes = constant(t_.lanes), few = constant(kFewVectors);
    add({}, [&] { return one_by_one(rows, columns); });
    if (masks_are_cheap() && half > kFewVectors)
      add({{few, r_.extent}, {few, c_.extent}}, [&] { return turned_masked(rows, columns, half); });
    for (int64_t n = 1; n <= kFewVectors; ++n)
      add({{constant(n), t_.step}, {t_.step, constant(n)}},
          [&] { return by_vectors(with_step(ctx_, map_, t_.step, n), rows, columns); });
    bool side_by_side = true;
    for (Dim d : map_.nest.offsets) {
      auto step = stride_in(ctx_, d, r_.var);
      side_by_side = side_by_side && step && *step == c_.extent;
    }
    for (int64_t n = 1; n <= kFewVectors && side_by_side; ++n)
      add({{lanes, r_.extent}, {constant(n), c_.extent}, {c_.extent, constant(n)}}, [&] { return interleave(rows, n); });
    add({{constant(half), r_.extent}, {constant(half), c_.extent}}, [&] { return turned(rows, columns, half); });
    if (half < t_.lanes)
      add({{lanes * 2, r_.extent}, {lanes * 2, c_.extent}}, [&] { return turned(rows, columns, t_.lanes); });
    for (const Version& v : versions) grid.body = v.condition ? loop::make_if(v.condition, v.body, grid.body) : v.body;
    grid.body = lets.around(grid.body);
    return grid;
  }

 private:
  // The loop's indices [begin, begin + length) of one task.
  struct Range {
    Dim begin, length;
  };
  struct Point {
    Dim row, column;
  };
  Dim constant(int64_t v) { return ctx_.constant(v); }
  template <class T>
  T at(T s, Point p) const {
    return expr::substitute(s, {{r_.var, p.row}, {c_.var, p.column}});
  }

  // One of `count` blocks of `size` iterations, the last of which has what is left as well.
  Range block_of(const Loop& l, int64_t size, std::vector<Loop>& parallel, loop::Lets& lets) {
    Dim count = expr::max(constant(1), expr::floordiv(l.extent, size));
    if (count.is_const(1)) return {constant(0), l.extent};
    Dim b = ctx_.index_symbol("b", count);
    parallel.push_back({*b.as_symbol(), count});
    // 1 in the last block, else 0.
    Dim is_last = expr::max(constant(0), b + 2 - count);
    return {b * size, lets.add("length", (l.extent - count * size) * is_last + size)};
  }

  // Every store at one point, its value from `value` (flat, of the nest's variables).
  StmtPtr store_at(const std::vector<Scalar>& values, Point p) const {
    std::vector<StmtPtr> stores;
    for (size_t k = 0; k < map_.buffers.size(); ++k)
      stores.push_back(loop::make_store(map_.buffers[k], {at(map_.nest.offsets[k], p)}, at(values[k], p)));
    return loop::make_block(std::move(stores));
  }

  // `body` with `name` standing for `value`.
  StmtPtr let(const char* name, Dim value, const loop::MakeBody& body) {
    loop::Lets lets(ctx_);
    return lets.around(body(lets.add(name, value)));
  }

  // The start of each of the vectors that cover [begin, begin + length): the last reaches back; length is at least `lanes`.
  StmtPtr over_whole(Range range, int64_t lanes, const loop::MakeBody& body) {
    return loop::make_for(ctx_, "v", expr::ceildiv(range.length, lanes), ForKind::Serial, [&](Dim v) {
      Dim start = v * lanes;
      if (!ctx_.divisible(range.length, lanes)) start = expr::min(start, range.length - lanes);
      return let("start", range.begin + start, body);
    });
  }

  // The block of `lanes` by `lanes` at (row, column); rows, columns: how many of it exist, null for all.
  StmtPtr turned_block(int64_t lanes, Dim row, Dim column, Dim rows, Dim columns) {
    const Dim all = constant(lanes);
    std::vector<loop::Buffer> buffers;
    std::vector<StmtPtr> body;
    Dim r = ctx_.index_symbol("r", all), c = ctx_.index_symbol("c", all);
    std::map<const expr::ScalarNode*, Scalar> turned;
    for (Scalar load : t_.loads) {
      const DType moved = moved_type(load->dtype);
      RegisterTranspose block = make_register_transpose(ctx_, moved, lanes);
      // Row r of what is loaded is column r of what is stored.
      body.push_back(for_square(ctx_, lanes, [&](Dim n, Dim l) {
        const Dim at_column = columns ? expr::min(column + n, column + columns - 1) : column + n;
        const Scalar value = as_moved(at(load, {row + l, at_column}));
        const StmtPtr fill = loop::make_store(block.buffers[0].id, {n * lanes + l}, value);
        return rows ? loop::make_if(expr::less(l, rows), fill) : fill;
      }));
      body.insert(body.end(), block.steps.begin(), block.steps.end());
      buffers.insert(buffers.end(), block.buffers.begin(), block.buffers.end());
      turned[load.node()] = from_moved(expr::make_load(ctx_, block.buffers.back().id, moved, {r * lanes + c}), load->dtype);
    }
    std::vector<Scalar> values;
    bool is_long = false;
    for (Scalar s : map_.nest.scalars) {
      is_long |= is_costly(s);
      values.push_back(expr::substitute(s, {}, [&](Scalar load) {
        auto it = turned.find(load.node());
        return it == turned.end() ? load : it->second;
      }));
    }
    StmtPtr store = store_at(values, {row + r, column + c});
    if (columns) store = loop::make_if(expr::less(c, columns), store);
    store = loop::make_for(c, all, ForKind::Vector, store);
    if (rows && !is_long) store = loop::make_if(expr::less(r, rows), store);
    body.push_back(
        loop::make_for(r, rows && is_long ? expr::min(rows, all) : all, is_long ? ForKind::Serial : ForKind::Unroll, store));
    return loop::make_allocs(buffers, loop::make_block(std::move(body)));
  }

  StmtPtr turned(Range rows, Range columns, int64_t lanes) {
    return over_whole(rows, lanes, [&](Dim row) {
      return over_whole(columns, lanes, [&](Dim column) { return turned_block(lanes, row, column, Dim(), Dim()); });
    });
  }

  StmtPtr turned_masked(Range rows, Range columns, int64_t lanes) {
    auto over = [&](Range range, const std::function<StmtPtr(Dim, Dim)>& body) {
      return loop::make_for(ctx_, "v", expr::ceildiv(range.length, lanes), ForKind::Serial, [&](Dim v) {
        return let("rest", range.length - v * lanes, [&](Dim rest) { return body(range.begin + v * lanes, rest); });
      });
    };
    return over(rows, [&](Dim row, Dim rows_left) {
      return over(columns,
                  [&](Dim column, Dim columns_left) { return turned_block(lanes, row, column, rows_left, columns_left); });
    });
  }

  StmtPtr interleave(Range rows, int64_t count) {
    return over_whole(rows, t_.lanes, [&](Dim row) {
      std::vector<StmtPtr> parts;
      for (size_t k = 0; k < map_.buffers.size(); ++k) {
        const Scalar value = map_.nest.scalars[k];
        parts.push_back(make_interleaved(
            ctx_, value->dtype, count, t_.lanes, [&](Dim part, Dim lane) { return at(value, {row + lane, part}); },
            [&](Dim place, Scalar v) {
              return loop::make_store(map_.buffers[k], {at(map_.nest.offsets[k], {row, constant(0)}) + place}, v);
            }));
      }
      return loop::make_block(std::move(parts));
    });
  }

  // Copies element by element, since gathers are slower; what is more than a copy by vectors.
  StmtPtr one_by_one(Range rows, Range columns) {
    const std::vector<Scalar>& values = map_.nest.scalars;
    auto is_copy = [](Scalar s) { return s->kind == expr::ScalarKind::Load; };
    if (!std::all_of(values.begin(), values.end(), is_copy)) return by_vectors(values, rows, columns);
    return loop::make_for(ctx_, "r", rows.length, ForKind::Serial, [&](Dim r) {
      return loop::make_for(ctx_, "c", columns.length, ForKind::Serial,
                            [&](Dim c) { return store_at(values, {rows.begin + r, columns.begin + c}); });
    });
  }

  StmtPtr by_vectors(const std::vector<Scalar>& values, Range rows, Range columns) {
    return loop::make_for(ctx_, "r", rows.length, ForKind::Serial, [&](Dim r) {
      return make_vector_loop(ctx_, columns.length, lanes_for(target_, values),
                              [&](Dim v) { return store_at(values, {rows.begin + r, columns.begin + v}); });
    });
  }

  bool masks_are_cheap() const {
    if (target_.masked_memory) return true;
    auto is_wide = [](DType t) { return byte_size(t) >= 4; };
    return std::all_of(t_.loads.begin(), t_.loads.end(), [&](Scalar s) { return is_wide(s->dtype); }) &&
           std::all_of(map_.nest.scalars.begin(), map_.nest.scalars.end(), [&](Scalar s) { return is_wide(s->dtype); });
  }

  expr::Context& ctx_;
  const target::Target& target_;
  const FlatMap& map_;
  const Transposed& t_;
  const Loop r_, c_;
};

}  // namespace

std::optional<Transposed> find_transposed(expr::Context& ctx, const target::Target& target, const FlatMap& map,
                                          const std::function<Dim(expr::TensorId)>& elements) {
  const Nest& nest = map.nest;
  if (nest.loops.size() < 2) return std::nullopt;
  const Loop& column = nest.loops.back();
  if (!is_plain_store(map, ctx, column.var)) return std::nullopt;
  std::vector<Scalar> all;
  std::set<const expr::ScalarNode*> known;
  for (Scalar s : nest.scalars)
    for (Scalar l : expr::unconditional_loads(s)) known.insert(l.node());
  for (Scalar s : nest.scalars)
    for_each_scalar(s, [&](Scalar x) {
      if (x->kind == expr::ScalarKind::Load) all.push_back(x);
    });
  std::vector<Transposed> found(nest.loops.size() - 1);
  for (Scalar load : all) {
    const Dim offset = load->index[0];
    auto step = stride_in(ctx, offset, column.var);
    if (!step || uses_loop(nest, *step) || (step->is_const() && std::abs(step->const_value()) <= kFewVectors)) continue;
    if (!known.count(load.node()) &&
        !(ctx.proves_less_equal(ctx.constant(0), offset) && ctx.proves_less(offset, elements(load->tensor))))
      continue;
    for (size_t k = 0; k + 1 < nest.loops.size(); ++k) {
      auto row_step = stride_in(ctx, offset, nest.loops[k].var);
      if (!row_step || !row_step->is_const(1)) continue;
      if (found[k].loads.empty()) found[k].step = *step;
      found[k].row = k;
      found[k].loads.push_back(load);
      break;
    }
  }
  auto best = std::max_element(found.begin(), found.end(),
                               [](const Transposed& a, const Transposed& b) { return a.loads.size() < b.loads.size(); });
  if (best->loads.empty()) return std::nullopt;
  int64_t widest = 1;
  for (Scalar s : best->loads) widest = std::max(widest, byte_size(s->dtype));
  for (Scalar s : nest.scalars) widest = std::max(widest, byte_size(s->dtype));
  best->lanes = std::min(kMostLanes, target.vector_bytes / widest);
  const Dim elements_of_both = nest.loops[best->row].extent * column.extent;
  if (best->lanes < 2 || ctx.proves_less_equal(elements_of_both, ctx.constant(2 * best->lanes))) return std::nullopt;
  return *best;
}

GridOfBlocks make_transposed(expr::Context& ctx, const target::Target& target, const FlatMap& map, const Transposed& t) {
  return Blocks(ctx, target, map, t).make();
}

}  // namespace pliant::lower
