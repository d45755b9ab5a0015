// Contractions: parallel blocks of rows and panels of columns; in each, tiles of a few rows by one panel whose sums stay in
// registers while the reduction runs. Every tile height has its code and rows are split evenly, so that no row count is
// special. A constant operand lies in panels.
//
// The naive function has a nest of sums over loops outer … row column, and one of the results. Before them, what does not
// lie in panels is copied.
#include <algorithm>

#include "loop/walk.h"
#include "lower/templates/product.h"
#include "schedule/dependence.h"

namespace pliant::lower {

namespace {

enum : size_t { Rows, Columns, RowsOfTask, WorkOfTask, PanelsOutside, Block, Outlined };

constexpr int64_t kVectorsOfOneRow = 8;
// In multiply-adds. Fewer in all are one task: one thread needs 1.5 to 2 us for them, and sharing costs 0.5 to 2 us. Of more
// a task has about so many, enough that handing it out costs nothing; a product of fewer than kFewestTasks of these has
// smaller ones.
constexpr int64_t kLeastShared = 64 * 1024, kTaskWork = 512 * 1024, kFewestTasks = 8;
constexpr int64_t kFilledWork = 4 << 20;  // of a task that fills its own panel, at the least
// Sums of up to so many products are left in one piece: no other library divides them.
constexpr int64_t kWholeProduct = 4096;
// What the code of results may be, in operations on vectors, where each row of each height has its own. More is one loop
// over the rows of a tile, from sums in memory.
constexpr int64_t kMostResults = 1024;

bool is_constant(Scalar load, const loop::Function& f) { return loop::find_buffer(f, load->tensor)->is_constant; }

// Of the results of one element.
int64_t result_cost(const Product& p) {
  int64_t cost = 0;
  loop::for_each(p.column()->body[0], [&](const loop::Stmt& s) { cost += s.value ? cost_of(s.value) : 0; });
  return cost;
}

std::optional<Space> match(const Work& work, const target::Target& target) {
  const auto p = product_of(work.function);
  if (!p || !p->b_in_panels()) return std::nullopt;
  expr::Context& ctx = *p->term->ctx;
  const bool packed = is_constant(p->b_in_panels(), work.function);
  const Dim k = p->count_terms(ctx), rows = p->row()->extent, columns = p->column()->extent;
  const int64_t lanes = target.vector_bytes / byte_size(p->acc.dtype), mr = target.tile_rows;
  int64_t nr = lanes * target.tile_vectors;
  // Half a vector costs no more than a whole one, on some machines half as much.
  if (auto upper = const_upper(ctx, columns))
    while (nr > (p->panel ? lanes : std::max<int64_t>(1, lanes / 2)) && nr / 2 >= *upper) nr /= 2;
  // One row: more columns instead, so that their sums do not wait for each other.
  if (rows.is_const(1) && packed)
    while (nr < lanes * kVectorsOfOneRow && ctx.divisible(columns, 2 * nr)) nr *= 2;
  Dim total = rows * k * columns;
  for (size_t o = 0; o < p->outer(); ++o) total = total * p->results[o]->extent;
  const bool whole = total.is_const() && total.const_value() < kLeastShared, known = k.is_const() && columns.is_const();
  const int64_t task_work = total.is_const() ? std::min(kTaskWork, total.const_value() / kFewestTasks) : kTaskWork;
  // The panels of such are the outer loop of the tasks.
  const bool large_b = leaves_cache(target, k, columns);
  int64_t most = std::max<int64_t>(1, target.l2_bytes / 4 / p->row_bytes(ctx));
  if (known && !whole) {
    const int64_t row_work = std::max<int64_t>(1, k.const_value() * (large_b ? nr : columns.const_value()));
    // A panel that is filled anew for each task wants many rows.
    most = std::min(most, p->panel ? std::max(8 * mr, kFilledWork / row_work) : std::max(2 * mr, task_work / row_work));
  }
  const bool turns = p->panel && p->copies_along_reduction();
  // Known rows have tiles of two heights.
  const int64_t result_rows = rows.is_const() ? 2 * mr : mr * (mr + 1) / 2;
  const bool outlines = result_rows * ((nr + lanes - 1) / lanes) * result_cost(*p) > kMostResults;
  return Space{{"rows of a tile", {mr, mr / 2, mr * 2}},
               {"columns of a panel", {nr, nr / 2, nr * 2}},
               {"rows of a task", {most, most / 2, most * 2}},
               {"products of a task", {whole ? 0 : task_work, task_work / 4, task_work * 4}},
               {"panels outside blocks of rows", {large_b ? 1 : 0, large_b ? 0 : 1}},
               {"block transposed in registers", {turns ? lanes : 1, 1}},
               {"results outlined", {outlines ? 1 : 0, outlines ? 0 : 1}}};
}

// The loops that a schedule has made so far, by their names.
class GemmSchedule : ProductSchedule {
 public:
  GemmSchedule(schedule::Schedule& s, const Point& point) : ProductSchedule(s, point), copy_(loop_names(s, p_.copy)) {
    acc_ = outlined() ? fresh("sum") : p_.acc.name;
  }

  Status apply() {
    TRY(lay_out());
    TRY(make_tasks());
    TRY(make_tiles());
    TRY(vectorize());
    // Where rows are not known, each height is a variant.
    TRY(whole_ ? unroll_known_heights([&](const loop::StmtPtr& rows) { return !computes_results(rows); })
               : s_.specialize(row_, outlined() ? p_.acc.name : tile_, schedule::Constant::Unroll));
    TRY(divide_sums());
    return outline_results();
  }

 private:
  bool outlined() const { return point_[Outlined] != 0; }
  // Of results outlined: whether a loop over the rows of a tile reads the sums in memory.
  bool computes_results(const loop::StmtPtr& rows) const {
    const std::vector<schedule::Access> all = schedule::accesses_of(rows, p_.acc.id);
    return outlined() && std::any_of(all.begin(), all.end(), [](const schedule::Access& a) { return !a.is_store; });
  }
  Status inside_terms(const std::string& loop) {
    std::vector<std::string> order = terms_;
    order.push_back(loop);
    return terms_.empty() ? ok() : s_.reorder(order);
  }

  // The panels of a constant come before the reduction.
  Status lay_out() {
    if (p_.panel) return ok();
    const Scalar load = p_.b_in_panels();
    std::vector<int64_t> order;
    for (size_t k = 0; k <= load->index.size(); ++k) order.push_back(static_cast<int64_t>(k));
    size_t first = 0;
    for (size_t k = 0; k < p_.outer(); ++k) first += p_.b_uses(k) ? 1 : 0;
    const int64_t columns = order.back() - 1;
    if (is_constant(load, s_.function()))
      std::rotate(order.begin() + static_cast<std::ptrdiff_t>(first), order.end() - 2, order.end() - 1);
    return s_.repack(loop::find_buffer(s_.function(), load->tensor)->name, columns, point_[Columns], order, "packed");
  }

  // Blocks of `extent` as split_blocks makes them: as many iterations as one has.
  Dim size_of_block(Dim extent, Dim most, int64_t factor) const {
    const Dim all = ceildiv(extent, factor), blocks = ceildiv(all, *ctx_.divide_exact(most, ctx_.constant(factor)));
    return ceildiv(all, max(ctx_.constant(1), blocks)) * factor;
  }

  // Whether a task of so many rows has room for all panels.
  bool fits_one_task(std::optional<int64_t> rows) const {
    const auto terms = const_upper(ctx_, p_.count_terms(ctx_)), columns = const_upper(ctx_, p_.column()->extent);
    if (!rows || !terms || !columns) return false;
    const int64_t panels = (*columns + point_[Columns] - 1) / point_[Columns];
    const int64_t least = point_[PanelsOutside] != 0 ? kRowsOfOneRead : 1;
    return point_[WorkOfTask] / point_[Columns] / std::max<int64_t>(1, *terms) / std::max(least, *rows) >= panels;
  }

  // The innermost outer loop whose rows are of the same columns.
  std::optional<size_t> lines() const {
    for (size_t k = p_.outer(); k-- > 0;)
      if (!p_.b_uses(k) && p_.a_uses(k)) return k;
    return std::nullopt;
  }

  // Tasks are blocks of rows by runs of panels.
  Status make_tasks() {
    const Dim one = ctx_.constant(1), rows = p_.row()->extent, columns = p_.column()->extent;
    const bool outside = point_[PanelsOutside] != 0;
    few_ = columns.is_const() && columns.const_value() < point_[Columns];
    if (p_.panel || !columns.is_const() || columns.const_value() > point_[Columns]) {
      panel_ = fresh("np");
      const std::string column = fresh("j");
      TRY(s_.split(column_, few_ ? std::max<int64_t>(1, columns.const_value()) : point_[Columns], panel_, column));
      column_ = column;
    }
    Dim rows_of_task = rows;
    std::optional<int64_t> most_rows = const_upper(ctx_, rows);
    std::string line, block;  // what the blocks are made of, and they
    const int64_t tiles = std::max<int64_t>(1, point_[RowsOfTask] / point_[Rows]) * point_[Rows];
    const auto upper = const_upper(ctx_, rows);
    if (const auto h = lines()) {
      const Dim most = max(one, floordiv(ctx_.constant(point_[RowsOfTask]), max(one, rows)));
      const std::string lines = outer_[*h];
      outer_.erase(outer_.begin() + static_cast<std::ptrdiff_t>(*h));
      block = fresh("hb");
      line = fresh("h");
      TRY(s_.split_blocks(lines, most, 1, block, line));
      rows_of_task = size_of_block(p_.results[*h]->extent, most, 1) * rows;
      if (upper) most_rows = std::max(*upper, point_[RowsOfTask]);
    } else if (!upper || *upper > tiles) {
      block = fresh("mb");
      const std::string row = fresh("m");
      TRY(s_.split_blocks(row_, ctx_.constant(tiles), point_[Rows], block, row));
      row_ = row;
      rows_of_task = min(size_of_block(rows, ctx_.constant(tiles), point_[Rows]), rows);
      most_rows = tiles;
    }
    const bool blocks_rows = line.empty() && !block.empty();
    if (!block.empty()) outer_.push_back(block);
    bool runs = false;
    if (!panel_.empty() && point_[WorkOfTask] != 0 && !fits_one_task(most_rows)) {
      if (outside) rows_of_task = max(ctx_.constant(kRowsOfOneRead), rows_of_task);
      const Dim panels = ceildiv(columns, point_[Columns]);
      const Dim per_panel = max(one, rows_of_task * max(one, p_.count_terms(ctx_)) * point_[Columns]);
      const Dim run = max(one, min(panels, floordiv(ctx_.constant(point_[WorkOfTask]), per_panel)));
      runs = !ceildiv(panels, run).is_const(1);
      if (runs) {
        const std::string chunk = fresh("nc"), panel = fresh("pn");
        TRY(s_.split(panel_, run, chunk, panel));
        panel_ = panel;
        outer_.insert(outside ? outer_.begin() : outer_.end(), chunk);
      }
    }
    TRY(nest(outer_, {panel_, line, row_, column_}));
    TRY(compute_in_rows());
    for (const std::string& l : outer_) TRY(s_.parallel(l));
    const std::string first = !panel_.empty() ? panel_ : !line.empty() ? line : row_;
    // What is a constant needs no name.
    if (!line.empty()) (void)s_.let(line, first, "hf", "hn");
    if (blocks_rows) TRY(s_.let(row_, first, "rf", "rn"));
    if (runs) (void)s_.let(panel_, panel_, "pf", "pc");
    height_ = blocks_rows || !upper ? point_[Rows] : std::clamp<int64_t>(*upper, 1, point_[Rows]);
    return ok();
  }

  // The sum of a row, the columns of it inside the reduction.
  Status compute_in_rows() {
    TRY(s_.compute_at(p_.acc.name, row_));
    if (outlined()) {
      TRY(s_.cache_write(p_.acc.name, zeros_, acc_, loop::Scope::Local));
      TRY(s_.expand(acc_, zeros_));
      const Names added = TRY(fission(zeros_));
      adds_ = added[0];
      if (added.size() == 2) copies_ = added[1];  // one term is added on the way to memory
    } else {
      adds_ = TRY(fission(zeros_))[0];
    }
    TRY(inside_terms(adds_));
    return p_.panel ? s_.compute_at(p_.panel->name, panel_) : ok();
  }

  // Tiles of rows, whose sums stay in registers: the reduction runs outside rows and columns.
  Status make_tiles() {
    if (const Dim rows = extent_of(row_); rows.is_const()) whole_ = rows.const_value();
    tile_ = fresh("mt");
    const std::string row = fresh("r");
    TRY(s_.split_even(row_, height_, tile_, row));
    row_ = row;
    if (outlined()) {
      TRY(s_.expand(p_.acc.name, row));
      TRY(s_.bind(p_.acc.name, loop::Scope::Local));
      TRY(fission(row));
    }
    TRY(s_.expand(acc_, row));
    TRY(inside_terms(TRY(fission(row))[0]));
    return s_.bind(acc_, loop::Scope::Local);
  }

  // Columns beyond the last are computed, for that reads nothing but panels, and never stored.
  Status vectorize() {
    const bool padded = !ctx_.divisible(p_.column()->extent, point_[Columns]);
    TRY(fill_panel(padded));
    for (const std::string& l : {zeros_, adds_, copies_}) {
      if (l.empty()) continue;
      if (padded) TRY(s_.pad(l, point_[Columns]));
      TRY(s_.vectorize(l));
    }
    return few_ ? s_.vectorize(column_, point_[Columns], fresh("v"), fresh("l"), fresh("t")) : s_.vectorize(column_);
  }

  // The copy of what is not in panels.
  Status fill_panel(bool padded) {
    if (!p_.panel) return ok();
    const std::string& column = copy_.back();
    if (point_[Block] == 1) {
      if (padded) TRY(s_.pad(column, point_[Columns], schedule::Beyond::Zero));
      return s_.vectorize(column);
    }
    if (padded) TRY(s_.pad(column, point_[Columns], schedule::Beyond::Last));
    // Refused where the number of terms is no proved size.
    return s_.transpose(copy_[copy_.size() - 2], column, point_[Block]).ok() ? ok() : s_.vectorize(column);
  }

  // Each variant has its loop and its accumulators.
  Status divide_sums() {
    for (const std::string& l : may_be_long(kWholeProduct) ? loop_names(s_) : Names())
      if (base_of(l) == terms_[0]) TRY(carry(l));
    return ok();
  }

  // Their constants would take the registers of the sums.
  Status outline_results() {
    if (!outlined()) return ok();
    for (const schedule::LoopInfo& l : s_.loops())
      if (base_of(l.name) == row_ && l.kind == loop::ForKind::Serial && computes_results(l.loop)) TRY(s_.outline(l.name));
    return ok();
  }

  const Names copy_;
  std::string panel_;
  std::string adds_;    // the columns that are added to
  std::string copies_;  // and the ones whose sums are copied to memory, where results are outlined
  std::string acc_;     // the sums in registers
  bool few_ = false;    // columns than a panel has
};

}  // namespace

const Template kGemm{"gemm", match, apply_as<GemmSchedule>};

}  // namespace pliant::lower
