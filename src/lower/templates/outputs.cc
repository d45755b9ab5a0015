// Tasks of a reduction whose lanes lie along the output.
#include "lower/templates/template.h"

namespace pliant::lower {

namespace {

// `loop` as parts of at most `size` iterations, whose loop goes to `tasks`; the loop over one.
Result<std::string> part_of(schedule::Schedule& s, const std::string& loop, int64_t size, std::vector<std::string>& tasks) {
  if (!has_parts(s.ctx(), loop_named(s, loop)->extent, size)) return loop;
  const std::string task = fresh_name(s, "t"), part = fresh_name(s, "p");
  TRY(s.split(loop, size, task, part));
  tasks.push_back(task);
  return part;
}

}  // namespace

bool has_parts(expr::Context& ctx, Dim extent, int64_t size) {
  return const_upper(ctx, extent).value_or(INT64_MAX) > 2 * size;
}

Status divide_outputs(schedule::Schedule& s, int64_t rows) {
  std::vector<std::string> loops = loop_names(s, perfect_nest(s.function().body)), tasks, inner;
  for (const int64_t size : {kColumnsOfTask, rows}) {
    if (size == 0 || loops.empty()) break;
    inner.insert(inner.begin(), TRY(part_of(s, loops.back(), size, tasks)));
    loops.pop_back();
  }
  loops.insert(loops.end(), tasks.begin(), tasks.end());
  std::vector<std::string> order = loops;
  order.insert(order.end(), inner.begin(), inner.end());
  if (order != loop_names(s, perfect_nest(s.function().body))) TRY(s.reorder(order));
  for (const std::string& l : loops) TRY(s.parallel(l));
  return ok();
}

}  // namespace pliant::lower
