// One nest of independent iterations: tasks of rows, or of parts of long rows, and vectors along them.
#include <algorithm>

#include "loop/walk.h"
#include "lower/movement/strided.h"
#include "lower/movement/vector_rows.h"
#include "lower/templates/template.h"

namespace pliant::lower {

namespace {

enum : size_t { Lanes, Part, Halving, Shared, Cut };

constexpr int64_t kShortRow = 4;  // vectors of a row that is not worth parts of its own around a cut

// Whether a selection is dear enough, and an element cheap enough, that leaving it out pays for loops of its own.
bool pays_to_cut(const target::Target& target, const std::vector<Scalar>& values) {
  constexpr int64_t kMostCost = 24;
  int64_t cost = 0;
  for (Scalar s : values) cost += cost_of(s);
  // Positions are compared in 64 bits: of smaller elements a vector has several such comparisons.
  const bool has_small = std::any_of(values.begin(), values.end(), [](Scalar s) { return byte_size(s->dtype) < 4; });
  return cost <= kMostCost && (!target.masked_memory || has_small);
}

std::vector<Scalar> values_of(const loop::StmtPtr& body) {
  std::vector<Scalar> out;
  loop::for_each(body, [&](const loop::Stmt& s) {
    if (s.kind == loop::StmtKind::Store || s.kind == loop::StmtKind::Check) out.push_back(s.value);
  });
  return out;
}

std::optional<Space> match(const Work& work, const target::Target& target) {
  const std::vector<loop::StmtPtr> loops = perfect_nest(work.function.body);
  if (loops.empty()) return std::nullopt;
  for (const loop::StmtPtr& s : loops)
    if (work.loops.at(s->var) != LoopRole::Spatial) return std::nullopt;
  const loop::StmtPtr body = loops.back()->body[0];
  bool is_map = true;
  loop::for_each(body, [&](const loop::Stmt& s) {
    is_map = is_map && (s.kind == loop::StmtKind::Block || s.kind == loop::StmtKind::Check ||
                        (s.kind == loop::StmtKind::Store && s.store_kind == loop::StoreKind::Assign));
  });
  if (!is_map) return std::nullopt;
  const std::vector<Scalar> values = values_of(body);
  expr::Context& ctx = *values[0]->ctx;
  const int64_t lanes = lanes_of(ctx, target, values, loops.back()->extent), part = chunk_of(values);
  const int64_t halving = tail_for(target, values) == Tail::Halving ? 1 : 0, cut = pays_to_cut(target, values) ? 1 : 0;
  return Space{{"lanes", {lanes, lanes / 2, lanes * 2}},
               {"elements of a task", {part, part / 4, part * 4}},
               {"halving rest", {halving, 1 - halving}},
               {"iterations at shared places", {8, 1, 4}},
               {"cut rows", {cut, 1 - cut}}};
}

// The loops that a schedule has made so far, by their names.
class MapSchedule : TemplateSchedule {
 public:
  MapSchedule(schedule::Schedule& s, const Point& point) : TemplateSchedule(s, point) {
    const std::vector<loop::StmtPtr> nest = perfect_nest(s.function().body);
    const loop::StmtPtr body = nest.back()->body[0];
    values_ = values_of(body);
    loop::for_each(body, [&](const loop::Stmt& x) { has_checks_ = has_checks_ || x.kind == loop::StmtKind::Check; });
    for (const loop::StmtPtr& l : nest) loops_.push_back({l->var, l->extent});
    parallel_ = loop_names(s);
  }

  Status apply() {
    TRY(choose_vector());
    TRY(make_tasks());
    // Tasks, rows, the vector loop, then what is done for each of its elements.
    TRY(nest(parallel_, {row_, vector_, sharing_, few_}));
    for (const std::string& l : parallel_) TRY(s_.parallel(l));
    if (!few_.empty()) TRY(s_.unroll(few_));
    return vectorize();
  }

 private:
  std::string take_last() {
    std::string last = parallel_.back();
    parallel_.pop_back();
    return last;
  }

  // The innermost loop, or the one before a few elements; and iterations that share the places that they read at.
  Status choose_vector() {
    vector_ = take_last();
    extent_ = loops_.back().extent;
    if (!parallel_.empty() && is_few(extent_, point_[Lanes])) {
      few_ = vector_;
      vector_ = take_last();
      extent_ = loops_[loops_.size() - 2].extent;
      return ok();
    }
    const auto j = point_[Shared] == 1 || has_checks_ ? std::nullopt : loop_of_shared_places(ctx_, loops_, values_);
    if (!j) return ok();
    const std::string block = fresh("b");
    sharing_ = fresh("c");
    TRY(s_.split(parallel_[*j], point_[Shared], block, sharing_));
    parallel_[*j] = block;
    return ok();
  }

  Status make_tasks() {
    const std::optional<int64_t> upper = const_upper(ctx_, extent_);
    if (!upper && !parallel_.empty()) {
      const std::string row = take_last(), block = fresh("b");
      row_ = fresh("r");
      TRY(s_.split(row, rows_of_task(ctx_, extent_), block, row_));
      parallel_.push_back(block);
    }
    if (!upper || *upper > 2 * point_[Part]) {
      const std::string task = fresh("t"), part = fresh("p");
      TRY(s_.split(vector_, point_[Part], task, part));
      parallel_.push_back(task);
      vector_ = part;
    } else if (row_.empty() && !parallel_.empty() && *upper <= kShortTask) {
      row_ = take_last();
    }
    return ok();
  }

  Status vectorize() {
    const auto rest = point_[Halving] != 0 ? schedule::Rest::Halving : schedule::Rest::Masked;
    const std::string v = fresh("v");
    (void)s_.vectorize(vector_, point_[Lanes], v, fresh("l"), fresh("m"), rest);
    const bool is_short = const_upper(ctx_, extent_).value_or(INT64_MAX) < kShortRow * point_[Lanes];
    if (point_[Cut] != 0 && !is_short && !has_checks_ && few_.empty() && sharing_.empty())
      (void)s_.cut(v, fresh("b"), fresh("m"), fresh("a"));
    const bool chooses =
        std::any_of(values_.begin(), values_.end(), [](Scalar s) { return s->kind == expr::ScalarKind::Select; });
    if (!chooses) return ok();
    for (const schedule::LoopInfo& l : s_.loops())
      if (l.kind == loop::ForKind::Vector) (void)s_.branch(l.name);
    return ok();
  }

  std::vector<Scalar> values_;
  bool has_checks_ = false;
  std::vector<Loop> loops_;            // as they were
  std::vector<std::string> parallel_;  // outermost first
  std::string row_, vector_, sharing_, few_;
  Dim extent_;  // of the vector loop, before it is taken apart
};

}  // namespace

const Template kMap{"map", match, apply_as<MapSchedule>};

}  // namespace pliant::lower
