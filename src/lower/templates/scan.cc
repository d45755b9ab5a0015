// Scans: running reductions, each in one task. Where the axis is not the innermost one, lanes are neighbouring scans. Where
// it is, lanes are neighbouring elements of one.
#include <algorithm>

#include "loop/walk.h"
#include "lower/reduction/long_sum.h"
#include "lower/templates/template.h"

namespace pliant::lower {

namespace {

enum : size_t { Bytes, Vectors };

// Of the two stores in the loop along the axis, the one that updates, or the one that assigns.
const loop::Stmt& store_of(const loop::Stmt& axis, bool updates) {
  const std::vector<loop::StmtPtr>& stores = axis.body[0]->body;
  return *stores[(stores[0]->store_kind == loop::StoreKind::Assign) == updates ? 1 : 0];
}

std::optional<Space> match(const Work& work, const target::Target& target) {
  const loop::Stmt* axis = nullptr;
  loop::for_each(work.function.body, [&](const loop::Stmt& s) { axis = s.kind == loop::StmtKind::For ? &s : axis; });
  if (!axis || work.loops.at(axis->var) != LoopRole::Ordered || axis->body[0]->body.size() != 2) return std::nullopt;
  const int64_t bytes = target.vector_bytes;
  // Several vectors read more of each row at once, which costs registers that work on the elements needs too.
  const int64_t vectors = cost_of(store_of(*axis, true).value) <= 4 ? 8 : 1;
  return Space{{"bytes of a vector", {bytes, bytes / 2, bytes * 2}}, {"vectors of a task", {vectors, 4, 1}}};
}

// The iterations of loop `lane`, each a scan with its running value, go along together.
Status side_by_side(schedule::Schedule& s, const std::string& lane) {
  const std::vector<schedule::LoopInfo> loops = s.loops();
  const auto at = std::find_if(loops.begin(), loops.end(), [&](auto& l) { return l.name == lane; });
  const std::string axis = (at + 1)->name, acc = s.name_of(at->loop->body[0]->alloc->id);
  TRY(s.expand(acc, lane));
  TRY(s.fission(lane));
  TRY(s.reorder({axis, lane + ".1"}));
  TRY(s.vectorize(lane));
  TRY(s.vectorize(lane + ".1"));
  (void)s.carry(acc, axis, kSumBlock, fresh_name(s, "long"));
  return ok();
}

Status apply(schedule::Schedule& s, const Point& point) {
  std::vector<schedule::LoopInfo> loops = s.loops();
  const schedule::LoopInfo axis = loops.back();
  loops.pop_back();
  const int64_t lanes = lanes_for(point[Bytes], {store_of(*axis.loop, true).value});
  if (expr::uses_symbol(store_of(*axis.loop, false).index.back(), axis.var)) {
    for (const schedule::LoopInfo& l : loops) TRY(s.parallel(l.name));
    return s.scan(axis.name, lanes);
  }
  const auto upper = const_upper(s.ctx(), loops.back().extent);
  const int64_t wide = upper && *upper < lanes * point[Vectors] ? lanes : lanes * point[Vectors];
  const std::string task = fresh_name(s, "t"), part = fresh_name(s, "p");
  TRY(s.split(loops.back().name, wide, task, part));
  loops.back().name = task;
  for (const schedule::LoopInfo& l : loops) TRY(s.parallel(l.name));
  if (wide > lanes && !s.loops()[loops.size()].extent.is_const()) {
    TRY(s.specialize(part, task, schedule::Constant::Keep, {wide}));
    const std::string lane = fresh_name(s, "q");
    TRY(s.split(part + ".1", lanes, fresh_name(s, "v"), lane));
    TRY(side_by_side(s, lane));
  }
  return side_by_side(s, part);
}

}  // namespace

const Template kScan{"scan", match, apply};

}  // namespace pliant::lower
