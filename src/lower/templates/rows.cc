// One loop over rows around all nests: what passes between them is in registers or in a row of scratch memory. Along a row
// maps and running values are vectors; of positions of best values neighbouring rows may be.
#include <algorithm>
#include <climits>

#include "loop/walk.h"
#include "lower/reduction/long_sum.h"
#include "lower/templates/template.h"
#include "schedule/edit.h"

namespace pliant::lower {

namespace {

enum : size_t { Bytes, Vectors, Searches, Columns, TaskColumns, TaskElements, Short };

// So many windows, if their number is known, are one task.
constexpr int64_t kWindowsOfTask = 128;

// The nests that are to run row by row, each as the loops that hold nothing but each other.
std::vector<std::vector<loop::StmtPtr>> nests_of(const loop::Function& f) {
  std::vector<std::vector<loop::StmtPtr>> out;
  const loop::StmtPtr body = schedule::inside_allocs(f.body).body;
  if (body->kind != loop::StmtKind::Block) return {perfect_nest(body)};
  for (const loop::StmtPtr& s : body->body) out.push_back(perfect_nest(s));
  return out;
}

// How many loops are outside all that any nest does: those over rows.
size_t rank_of(const std::vector<std::vector<loop::StmtPtr>>& nests) {
  size_t rank = nests.empty() ? 0 : nests[0].size();
  for (const auto& nest : nests) rank = std::min(rank, nest.size());
  return rank;
}

std::optional<Space> match(const Work& work, const target::Target& target) {
  const auto nests = nests_of(work.function);
  const size_t rank = rank_of(nests);
  for (const auto& nest : nests)
    for (size_t k = 0; k < rank; ++k)
      if (work.loops.at(nest[k]->var) != LoopRole::Spatial || !(nest[k]->extent == nests[0][k]->extent)) return std::nullopt;
  const int64_t bytes = target.vector_bytes;
  // As far as positions, which are wide, fit registers.
  const int64_t searches = std::max<int64_t>(1, target.vector_registers / 16);
  return Space{{"bytes of a vector", {bytes, bytes / 2, bytes * 2}},
               {"vectors of a running value", {4, 2, 1, 8}},
               {"vectors of a search", {searches, 2 * searches}},
               // A row of them that is read is more than a line of the caches, where registers allow it.
               {"vectors of neighbouring searches", {target.vector_registers >= 32 ? 4 : 1, 2, 8}},
               {"searches of a task", {1024, 256, 4096}},
               {"elements of a task", {8192, 2048, 32768}},
               {"elements of a short search", {48, 16, 96}}};
}

// Whether what `s` reads lies side by side along `var`, or stays.
bool runs_along(Scalar s, SymbolId var) {
  for (Scalar x : expr::loads_of(s))
    for (size_t k = 0; k < x->index.size(); ++k) {
      const auto step = stride_in(*s->ctx, x->index[k], var);
      if (!step || !(step->is_const(0) || (step->is_const(1) && k + 1 == x->index.size()))) return false;
    }
  return true;
}

class RowsSchedule : TemplateSchedule {
 public:
  RowsSchedule(schedule::Schedule& s, const Point& point) : TemplateSchedule(s, point), count_(ctx_.constant(1)) {
    const auto nests = nests_of(s.function());
    for (size_t k = 0; k < rank_of(nests); ++k) count_ = count_ * nests[0][k]->extent;
  }

  Status apply() {
    share_results();
    TRY(merge_rows());
    TRY(keep_in_rows());
    for (size_t k = rows_.size(); k-- > 1;) join(rows_, k);
    keep_results();
    std::vector<std::string> nests;
    int lanes_outside = INT_MAX;  // depth of the vector loop around
    const loop::Stmt* only = nullptr;
    for (const schedule::LoopInfo& l : s_.loops()) {
      const bool is_part = l.loop.get() == only;
      only = l.loop->body[0].get();
      if (l.depth <= lanes_outside) lanes_outside = l.kind == loop::ForKind::Vector ? l.depth : INT_MAX;
      if (static_cast<size_t>(l.depth) >= rows_.size() && l.depth < lanes_outside && !is_part && !l.extent.is_const(1))
        nests.push_back(l.name);
    }
    is_alone_ = nests.size() == 1;
    for (const std::string& head : nests) TRY(make_vectors(loop_names(s_, perfect_nest(loop_named(s_, head)))));
    return make_tasks();
  }

 private:
  // An intermediate lies in the output that follows from it, where it may. One of an element a row is a register.
  void share_results() {
    const std::vector<loop::Buffer> params = s_.function().params;
    for (const loop::Buffer& t : scratch_buffers())
      for (const loop::Buffer& y : params)
        if (!has_one_a_row(t) && y.is_output && s_.in_place(s_.name_of(t.id), s_.name_of(y.id)).ok()) break;
  }

  std::vector<loop::Buffer> scratch_buffers() const {
    std::vector<loop::Buffer> all;
    loop::for_each(s_.function().body, [&](const loop::Stmt& x) {
      if (x.alloc && x.alloc->scope == loop::Scope::Scratch) all.push_back(*x.alloc);
    });
    return all;
  }

  // One nest of loops over rows.
  Status merge_rows() {
    std::vector<std::vector<std::string>> nests;
    const size_t rank = rank_of(nests_of(s_.function()));
    if (rank == 0) return ok();
    for (const schedule::LoopInfo& l : s_.loops()) {
      if (l.depth == 0) nests.emplace_back();
      if (static_cast<size_t>(l.depth) < rank) nests.back().push_back(l.name);
    }
    rows_ = nests[0];
    is_single_ = nests.size() == 1;
    for (size_t n = 1; n < nests.size(); ++n)
      for (size_t k = 0; k < rank; ++k) TRY(s_.merge(rows_[k], nests[n][k]));
    return ok();
  }

  bool has_one_a_row(const loop::Buffer& b) const { return product(ctx_, b.shape) == count_; }

  // Values of a row lie in registers, parts of rows in scratch memory of a row.
  Status keep_in_rows() {
    for (const loop::Buffer& b : scratch_buffers()) {
      const loop::Scope scope = has_one_a_row(b) ? loop::Scope::Local : loop::Scope::Scratch;
      TRY(rows_.empty() ? s_.bind(s_.name_of(b.id), scope) : s_.narrow(s_.name_of(b.id), rows_.back(), scope));
    }
    return ok();
  }

  // Results of one element a row are computed in registers.
  void keep_results() {
    const std::vector<loop::Buffer> params = s_.function().params;
    for (const loop::Buffer& b : params)
      if (b.is_output && has_one_a_row(b))
        (void)s_.cache_write(s_.name_of(b.id), rows_.empty() ? "root" : rows_.back(), fresh("row"), loop::Scope::Local);
  }

  // Rows are tasks; of windows, which lie where the run says, few rows are one task.
  Status make_tasks() {
    int64_t windows = 1;
    while (has_bounds() && !rows_.empty() && loop_named(s_, rows_.back())->extent.is_const()) {
      windows *= std::max<int64_t>(1, loop_named(s_, rows_.back())->extent.const_value());
      if (windows > kWindowsOfTask) break;
      rows_.pop_back();
    }
    for (const std::string& row : rows_)
      if (!loop_named(s_, row)->extent.is_const(1)) TRY(s_.parallel(row));
    rows_.clear();
    return ok();
  }

  // Whether loops run within bounds that conditions left of them.
  bool has_bounds() const {
    const auto is_let = [](const loop::Stmt& x) { return x.kind == loop::StmtKind::Let; };
    return schedule::find_first(s_.function().body, is_let) != nullptr;
  }

  Status make_vectors(std::vector<std::string> loops) {
    for (const std::string& l : loops) (void)s_.clip(l, loops.front());
    for (size_t k = loops.size(); k-- > 1;) join(loops, k);
    const std::string inner = loops.back();
    const loop::StmtPtr l = loop_named(s_, inner);
    loop::StmtPtr store = l->body[0];
    while (store->kind == loop::StmtKind::If && store->body.size() == 1) store = store->body[0];
    if (store->kind == loop::StmtKind::Block && loops.size() == 1) return search(*l, inner);
    if (store->kind != loop::StmtKind::Store) return ok();
    const int64_t lanes = lanes_for(point_[Bytes], {store->value});
    if (store->store_kind == loop::StoreKind::Assign) {
      (void)s_.vectorize(inner, lanes, fresh("v"), fresh("l"), fresh("t"));
      return ok();
    }
    // What values of the run leave of several loops is little.
    int64_t wide = lanes * (loops.size() > 1 && has_bounds() ? 1 : point_[Vectors]);
    if (const auto upper = const_upper(ctx_, l->extent))
      while (wide > 1 && wide / 2 >= *upper) wide /= 2;
    const std::string part = fresh("part"), v = fresh("v");
    if (!s_.rfactor(inner, wide, loops.front(), part, loop::Scope::Local).ok()) return ok();
    TRY(s_.vectorize(part + ".in"));
    TRY(s_.vectorize(part + ".out"));
    TRY(s_.vectorize(inner, wide, v, fresh("l"), fresh("t")));
    const std::string outermost = loops.size() > 1 ? loops.front() : v;
    if (store->store_kind == loop::StoreKind::Add && s_.has_loop(outermost))
      (void)s_.carry(part, outermost, kSumBlock, fresh("long"));
    return ok();
  }

  // The position of a best value. Where a task has nothing else to do, neighbouring rows are lanes if memory is read along
  // them or the axis is short.
  Status search(const loop::Stmt& l, const std::string& name) {
    const Scalar value = searched(l);
    if (!value) return ok();
    const loop::StmtPtr column = is_alone_ && !rows_.empty() ? loop_named(s_, rows_.back()) : nullptr;
    const bool runs = column && runs_along(value, column->var);
    const Dim length = l.extent, most = ctx_.constant(point_[Short]), one = ctx_.constant(1);
    const bool stays = !is_single_ && runs_along(value, l.var);
    if (!column || (!runs && (stays || ctx_.proves_less(most, length)))) return search_in_vectors(l, value, name);
    Dim size = runs ? ctx_.constant(point_[TaskColumns])
                    : max(one, expr::floordiv(ctx_.constant(point_[TaskElements]), max(one, length)));
    if (const auto upper = const_upper(ctx_, column->extent); size.is_const() && upper && *upper <= 2 * size.const_value())
      size = ctx_.constant(std::max<int64_t>(1, *upper));
    const std::string part = fresh("p");
    const std::string row = rows_.back();
    TRY(make_tasks());  // while it can be proved
    TRY(s_.split(row, size, fresh("t"), part));
    const bool is_long = !runs && !ctx_.proves_less_equal(length, most);
    if (is_long) TRY(s_.version(part, length, point_[Short]));
    const int64_t lanes = lanes_for(point_[Bytes], {value}) * (runs ? point_[Columns] : 1);
    TRY(s_.vectorize(part, lanes, fresh("v"), fresh("l"), fresh("r")));
    const std::vector<schedule::LoopInfo> loops = s_.loops();
    const auto other = std::find_if(loops.rbegin(), loops.rend(), [](auto& x) { return bool(searched(*x.loop)); });
    return is_long ? search_in_vectors(*other->loop, searched(*other->loop), other->name) : ok();
  }
  // The value that a loop finds the best of; null for other loops.
  static Scalar searched(const loop::Stmt& l) {
    if (l.body[0]->kind != loop::StmtKind::Block) return {};
    const loop::Stmt& best = *l.body[0]->body.back();
    return best.kind == loop::StmtKind::Store && best.value->kind == expr::ScalarKind::Select ? best.value->args[1]
                                                                                              : Scalar();
  }

  Status search_in_vectors(const loop::Stmt& l, Scalar value, const std::string& name) {
    if (!runs_along(value, l.var)) return ok();
    int64_t lanes = lanes_for(point_[Bytes], {value}) * point_[Searches];
    if (const auto upper = const_upper(ctx_, l.extent))
      while (lanes > 1 && lanes > *upper) lanes /= 2;
    if (lanes > 1 && s_.rfactor_arg(name, lanes, fresh("best")).ok())
      TRY(s_.vectorize(name, lanes, fresh("v"), fresh("l"), fresh("t")));
    return ok();
  }

  // Loop k of `loops` and the one around it as one, where memory allows it.
  void join(std::vector<std::string>& loops, size_t k) {
    const std::string both = fresh("c");
    if (!s_.collapse(loops[k - 1], loops[k], both).ok()) return;
    loops[k - 1] = both;
    loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(k));
  }

  Dim count_;  // of rows
  std::vector<std::string> rows_;
  bool is_single_ = false;  // one nest is all there is
  bool is_alone_ = false;   // one nest inside the rows has loops
};

}  // namespace

const Template kRows{"rows", match, apply_as<RowsSchedule>};

}  // namespace pliant::lower
