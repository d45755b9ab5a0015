// One nest on one thread: its loops merge where memory allows it, and the innermost one becomes vectors where its iterations
// write side by side or nothing at all.
#include "loop/walk.h"
#include "lower/templates/template.h"

namespace pliant::lower {

namespace {

constexpr int64_t kFewIterations = 4;  // not worth a vector

// Whether iterations of the innermost loop that follow each other store to elements that do.
bool stores_side_by_side(const loop::StmtPtr& inner) {
  bool all = true;
  loop::for_each(inner, [&](const loop::Stmt& s) {
    if (s.kind != loop::StmtKind::Store) return;
    for (size_t k = 0; k < s.index.size(); ++k) {
      const bool last = k + 1 == s.index.size();
      if (!last && !expr::uses_symbol(s.index[k], inner->var)) continue;
      const auto step = expr::coefficient_of(s.index[k], inner->var);
      all = all && last && step && step->is_const(1);
    }
  });
  return all;
}

std::optional<Space> match(const Work& work, const target::Target& target) {
  const std::vector<loop::StmtPtr> loops = perfect_nest(work.function.body);
  const loop::StmtPtr body = loops.empty() ? work.function.body : loops.back()->body[0];
  if (body->kind != loop::StmtKind::Store && body->kind != loop::StmtKind::Check) return std::nullopt;
  return Space{{"lanes", {lanes_for(target, {body->value}), 1}}};
}

Status apply(schedule::Schedule& s, const Point& point) {
  // Neighbouring loops merge where every offset allows it, from the innermost pair outwards.
  for (size_t k = perfect_nest(s.function().body).size(); k-- > 1;) {
    const std::vector<std::string> names = loop_names(s);
    (void)s.collapse(names[k - 1], names[k], "c" + std::to_string(k - 1));
  }
  const std::vector<loop::StmtPtr> loops = perfect_nest(s.function().body);
  if (loops.empty() || point[0] == 1 || !stores_side_by_side(loops.back())) return ok();
  const Dim extent = loops.back()->extent;
  if (extent.is_const() && extent.const_value() <= kFewIterations) return ok();
  (void)s.vectorize(s.loops().back().name, point[0], "v", "l", "t");
  return ok();
}

}  // namespace

const Template kSerial{"serial", match, apply};

}  // namespace pliant::lower
