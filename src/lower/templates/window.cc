// Reductions whose lanes lie along the output: windows, depthwise products, reductions of outer axes. A tile of a few rows
// by some vectors of columns keeps its sums in registers while the reduction runs. Tiles of each height and width have code
// of their own, which is one schedule: the tile is made once, for any size.
#include <algorithm>

#include "loop/walk.h"
#include "lower/reduction/long_sum.h"
#include "lower/templates/template.h"
#include "schedule/guard.h"

namespace pliant::lower {

namespace {

enum : size_t { Lanes, Vectors, Rows, SharedTaps, TapsOfPart, ReachBack };

constexpr int64_t kFewVectors = 4;  // the next width below that of long stretches
// An innermost reduction loop of at most this many iterations is unrolled, so that rows share loads.
constexpr int64_t kUnrolledTaps = 8;
// Where columns share what they read: the taps that are unrolled together, and of a larger window those of a part, so that
// an input row is loaded once for the output rows that it is in.
constexpr int64_t kSlidingTaps = 12, kTapsOfPart = 21;
constexpr int64_t kCheapTerm = 4;

// The nest over the outputs of a task.
struct Windows {
  loop::StmtPtr row, column;  // row: the loop around the columns; null for one row
  loop::Buffer sum;           // of one output
  std::vector<loop::StmtPtr> terms;
  loop::StmtPtr update;
};

std::optional<Windows> windows_of(const loop::Function& f) {
  Windows w;
  loop::StmtPtr last;
  const auto visit = [&](const auto& self, const loop::StmtPtr& s) -> void {
    if (w.column) return;
    if (s->kind == loop::StmtKind::For && s->for_kind == loop::ForKind::Serial) {
      if (s->body[0]->alloc && s->body[0]->alloc->scope == loop::Scope::Local) {
        w.column = s;
        if (last && last->body[0] == s) w.row = last;
        return;
      }
      last = s;
    }
    for (const loop::StmtPtr& child : s->body) self(self, child);
  };
  visit(visit, f.body);
  if (!w.column) return std::nullopt;
  w.sum = *w.column->body[0]->alloc;
  const loop::StmtPtr body = w.column->body[0]->body[0];
  if (body->kind != loop::StmtKind::Block || body->body.size() < 3) return std::nullopt;
  w.terms = perfect_nest(body->body[1]);
  w.update = w.terms.empty() ? body->body[1] : w.terms.back()->body[0];
  while (w.update->kind == loop::StmtKind::If) w.update = w.update->body[0];
  if (w.update->kind != loop::StmtKind::Store || w.update->buffer != w.sum.id) return std::nullopt;
  return w;
}

// Whether an output may be computed twice: what is stored reads nothing that a store may have changed, outputs that lie in
// the memory of inputs among it.
bool may_repeat(const Windows& w) {
  bool repeats = true;
  const std::vector<loop::StmtPtr>& all = w.column->body[0]->body[0]->body;
  for (size_t k = 2; k < all.size(); ++k)
    loop::for_each(all[k], [&](const loop::Stmt& s) {
      if (s.kind != loop::StmtKind::Store) return;
      for (Scalar l : expr::loads_of(s.value))
        repeats = repeats && (l->tensor == w.sum.id || !expr::uses_symbol(l, w.column->var));
    });
  return repeats;
}

// Whether what is read is loaded in steps: it is sorted in registers, of which two vectors of a tile leave too few.
bool loads_in_steps(Scalar value, SymbolId column) {
  const std::vector<Scalar> loads = expr::loads_of(value);
  return std::any_of(loads.begin(), loads.end(), [&](Scalar l) {
    const auto step = stride_in(*l->ctx, l->index[0], column);
    return byte_size(l->dtype) >= 4 && step && step->is_const() && std::abs(step->const_value()) > 1;
  });
}

std::optional<Space> match(const Work& work, const target::Target& target) {
  const auto w = windows_of(work.function);
  if (!w) return std::nullopt;
  bool slides = false;
  for (const loop::StmtPtr& l : w->terms) slides = slides || work.loops.at(l->var) == LoopRole::Sliding;
  const int64_t lanes = lanes_for(target, {w->update->value});
  // Long stretches of each row are read at once where that is all there is to do.
  const bool cheap = !slides && cost_of(w->update->value) <= kCheapTerm;
  const int64_t of_rows = loads_in_steps(w->update->value, w->column->var) ? 1 : 2;
  const int64_t vectors = w->row ? of_rows : cheap ? 16 : kFewVectors;
  const auto or_none = [&](int64_t taps) { return slides ? std::vector<int64_t>{taps, 0} : std::vector<int64_t>{0, taps}; };
  return Space{{"lanes", {lanes, lanes / 2}},
               {"vectors of a tile", {vectors, 2 * vectors, 4 * vectors}},
               {"rows of a tile", {4, 1, 2, 8}},
               {"taps unrolled together", or_none(kSlidingTaps)},
               {"taps of a part", or_none(kTapsOfPart)},
               {"last columns reach back", may_repeat(*w) ? std::vector<int64_t>{1, 0} : std::vector<int64_t>{0}}};
}

// The loops that a schedule has made so far, by their names.
class WindowSchedule : TemplateSchedule {
 public:
  WindowSchedule(schedule::Schedule& s, const Point& point) : TemplateSchedule(s, point) {
    const Windows w = *windows_of(s.function());
    column_extent_ = w.column->extent;
    is_sum_ = w.update->store_kind == loop::StoreKind::Add;
    sum_ = s.name_of(w.sum.id);
    if (w.row) row_ = loop_names(s, {w.row})[0];
    column_ = loop_names(s, {w.column})[0];
    terms_ = loop_names(s, w.terms);
  }

  Status apply() {
    TRY(make_tiles());
    TRY(jam(column_, true));
    if (!row_.empty()) TRY(jam(row_, false));
    if (s_.unswitch(adds_).ok()) clip_windows();
    for (const std::string& sum : sums_)
      if (is_sum_ && !terms_.empty()) (void)s_.carry(sum_, sum, kSumBlock, fresh("long"));
    TRY(unroll_taps());
    for (const std::string& store : stores_) (void)s_.interior(store);
    TRY(s_.partition_widths(tile_, loop::ForKind::Vector, point_[ReachBack] != 0));
    // Without a column there is no row either.
    return s_.has_loop(row_) ? s_.partition_widths(rows_, loop::ForKind::Unroll, false) : ok();
  }

 private:
  // Tiles of rows, tiles of columns in each, then the rows and columns of one.
  Status make_tiles() {
    if (!row_.empty()) {
      rows_ = fresh("rt");
      const std::string row = fresh("r");
      const int64_t most = point_[Rows];
      TRY(s_.split_widths(row_, most > 1 ? std::vector<int64_t>{most, 1} : std::vector<int64_t>{1}, rows_, row));
      row_ = row;
      TRY(s_.reorder({column_, row_}));
    }
    const int64_t lanes = point_[Lanes];
    std::vector<int64_t> widths{lanes * point_[Vectors]};
    if (point_[Vectors] > kFewVectors) widths.push_back(lanes * kFewVectors);
    if (widths.back() > lanes) widths.push_back(lanes);
    const auto most = const_upper(ctx_, column_extent_);
    while (most && widths.size() > 1 && *most < widths.front()) widths.erase(widths.begin());
    tile_ = fresh("ct");
    const std::string column = fresh("c");
    TRY(s_.split_widths(column_, widths, tile_, column));
    column_ = column;
    return row_.empty() ? ok() : s_.reorder({row_, column_});
  }

  // The sums of all iterations of `loop` at once: the reduction runs outside.
  Status jam(const std::string& loop, bool innermost) {
    TRY(s_.expand(sum_, loop));
    stores_ = TRY(fission(loop));
    const std::string adds = stores_.front();
    stores_.erase(stores_.begin());
    std::vector<std::string> order = terms_;
    order.push_back(adds);
    if (!terms_.empty()) TRY(s_.reorder(order));
    if (innermost) adds_ = adds;
    sums_ = {terms_.empty() ? adds : terms_.front()};
    return ok();
  }

  // Terms of the guard that bound one reduction loop alone are bounds of it. Where the windows of a whole tile lie inside,
  // which one comparison for each term that is left decides, nothing is asked any more; of a small window that is worth a
  // copy without bounds too, whose taps are unrolled.
  void clip_windows() {
    if (terms_.empty()) return;
    const std::string sum = sums_[0];
    int64_t taps = 1;
    for (const std::string& l : terms_) {
      const Dim extent = extent_of(l);
      taps = extent.is_const() && taps <= point_[SharedTaps] ? taps * extent.const_value() : INT32_MAX;
    }
    if (taps <= point_[SharedTaps] && is_bound(sum)) copy_interior(sum);
    for (const std::string& l : terms_) (void)s_.clip(l, sum);
    copy_interior(sum);
  }
  // Whether a term bounds a loop of the reduction alone.
  bool is_bound(const std::string& sum) const {
    const auto nest = schedule::guarded_nest(loop_named(s_, sum));
    const std::vector<Scalar> terms = nest->terms();
    return std::any_of(terms.begin(), terms.end(), [&](Scalar t) {
      size_t used = 0, of_sum = 0;
      for (size_t k = 0; k < nest->loops.size(); ++k) {
        if (!expr::uses_symbol(t, nest->loops[k]->var)) continue;
        ++used;
        of_sum += k < terms_.size() ? 1 : 0;
      }
      return used == 1 && of_sum == 1;
    });
  }
  void copy_interior(const std::string& sum) {
    const auto added = added_by(s_, [&] { return s_.interior(sum); });
    if (added.ok()) sums_.push_back(added.value().front());
  }

  // The loops of a sum around its lanes, outermost first, and whether whole vectors are guarded.
  struct Taps {
    std::vector<schedule::LoopInfo> loops;
    bool guarded = false;
  };
  std::vector<Taps> all_taps() const {
    std::vector<Taps> out;
    const std::vector<schedule::LoopInfo> loops = s_.loops();
    const Dim rows = row_.empty() ? Dim() : extent_of(row_), columns = extent_of(column_);
    std::vector<schedule::LoopInfo> around;
    for (const schedule::LoopInfo& l : loops) {
      while (!around.empty() && around.back().depth >= l.depth) around.pop_back();
      around.push_back(l);
      if (l.extent != columns || !is_update(l.loop->body[0])) continue;
      Taps t;
      const loop::Stmt* inner = l.loop.get();
      for (size_t k = around.size() - 1; k-- > 0;) {
        const loop::StmtPtr body = around[k].loop->body[0];
        const bool guards = body->kind == loop::StmtKind::If && body->body.size() == 1 && body->body[0].get() == inner;
        if (body.get() != inner && !guards) break;
        t.guarded = t.guarded || guards;
        inner = around[k].loop.get();
        if (!(rows && around[k].extent == rows)) t.loops.insert(t.loops.begin(), around[k]);
      }
      out.push_back(std::move(t));
    }
    return out;
  }
  bool is_update(const loop::StmtPtr& s) const {
    if (s->kind == loop::StmtKind::If && s->body.size() == 1) return is_update(s->body[0]);
    return s->kind == loop::StmtKind::Store && s->store_kind != loop::StoreKind::Assign && s_.name_of(s->buffer) == sum_;
  }

  Status unroll_taps() {
    for (const Taps& t : all_taps()) TRY(unroll(t));
    return ok();
  }
  Status unroll(const Taps& t) {
    int64_t unrolled = 1;  // taps that are unrolled so far; 0: none of the loops further out is
    for (size_t k = t.loops.size(); k-- > 0 && unrolled > 0;) {
      const schedule::LoopInfo& l = t.loops[k];
      const bool innermost = k + 1 == t.loops.size();
      if (!l.extent.is_const()) return ok();
      const int64_t extent = l.extent.const_value(), inner = unrolled;
      unrolled *= extent;
      if (innermost ? unrolled <= kUnrolledTaps : !t.guarded && unrolled <= point_[SharedTaps]) {
        TRY(s_.unroll(l.name));
        continue;
      }
      if (!innermost && !t.guarded && !row_.empty() && 2 * inner <= point_[TapsOfPart])
        TRY(unroll_parts(l.name, extent, point_[TapsOfPart] / inner));
      unrolled = 0;
    }
    return ok();
  }
  // `part` iterations at a time.
  Status unroll_parts(const std::string& loop, int64_t extent, int64_t part) {
    if (extent <= part) return s_.unroll(loop);
    const std::string outer = fresh("o"), inner = fresh("i");
    TRY(s_.split(loop, part, outer, inner));
    if (extent % part == 0) return s_.unroll(inner);
    const Dim whole = ctx_.constant(extent / part);
    const std::vector<std::string> parts =
        TRY(added_by(s_, [&] { return s_.partition(outer, whole, fresh("m"), fresh("t")); }));
    TRY(s_.unroll(inner));
    return s_.unroll(parts[2]);
  }

  Dim column_extent_;
  bool is_sum_ = false;
  std::string sum_, row_, column_;  // row, column: those of a tile, once there are tiles
  std::string rows_, tile_;         // the loops over tiles
  std::vector<std::string> terms_;  // of the reduction, outermost first
  std::string adds_;                // the columns that are added to
  std::vector<std::string> sums_;   // the outermost loop of each copy of the reduction
  std::vector<std::string> stores_;
};

Status apply(schedule::Schedule& s, const Point& point) {
  // Tasks that have a tile of what they read are made already.
  const std::vector<loop::StmtPtr> nest = perfect_nest(s.function().body);
  if (!nest.empty() && nest.back() == windows_of(s.function())->column) TRY(divide_outputs(s, kRowsOfTask));
  return WindowSchedule(s, point).apply();
}

}  // namespace

const Template kWindow{"window", match, apply};

}  // namespace pliant::lower
