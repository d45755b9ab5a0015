// for v in E { … select(p < x, a, b) … }, p = W*v + l + r, for the lanes l of vectors of W in the body, or W = 1 without  ->
// let c = the iterations of v and l, 0 … W*E, for which p < x {
//   for b in floordiv(c, W) { … a … }  for m in ceildiv(c, W) - floordiv(c, W) { … }  for t in E - ceildiv(c, W) { … b … } }
#include <unordered_map>

#include "expr/parts.h"
#include "expr/scalar/with_args.h"
#include "schedule/edit.h"
#include "schedule/guard.h"

namespace pliant::schedule {
namespace {

using expr::ScalarKind;

// `condition` holds for the first `count` places alone, or for all but these.
struct Cut {
  Scalar condition;
  Dim count;
  int64_t width;
  bool holds_first;
};

std::optional<Cut> cut_of(const Edit& e, Scalar s, const StmtPtr& loop, const Extents& inner) {
  if (s->kind != ScalarKind::Binary || !expr::loads_of(s).empty()) return std::nullopt;
  const bool strict = s->binary() == expr::BinaryOp::Lt;
  if (!strict && s->binary() != expr::BinaryOp::Le) return std::nullopt;
  const std::optional<Dim> low = expr::as_index(s->args[0]), high = expr::as_index(s->args[1]);
  if (!low || !high) return std::nullopt;
  const bool first = expr::uses_symbol(*low, loop->var);
  const Dim place = first ? *low : *high, limit = first ? *high : *low;
  const auto width = expr::coefficient_of(place, loop->var);
  if (!width || !width->is_const() || width->const_value() < 1) return std::nullopt;
  Dim rest = place - *width * e.ctx.symbol_dim(loop->var);
  for (const auto& [var, extent] : inner)
    if (extent == *width && expr::coefficient_of(rest, var) == e.ctx.constant(1)) {
      rest = rest - e.ctx.symbol_dim(var);
      break;
    }
  if (rest == place - *width * e.ctx.symbol_dim(loop->var) && !width->is_const(1)) return std::nullopt;
  if (expr::uses_symbol(limit, loop->var) || uses_bound(limit, loop) || uses_bound(rest, loop)) return std::nullopt;
  // Clamped before anything is added to it, for a limit may be any integer.
  const int64_t beyond = strict == first ? 0 : 1;
  const Dim end = rest + loop->extent * *width;
  return Cut{s, expr::max(rest, expr::min(limit, end - beyond) + beyond) - rest, width->const_value(), first};
}

// The first condition in the body's values.
std::optional<Cut> find_cut(const Edit& e, const StmtPtr& loop) {
  std::optional<Cut> found;
  std::set<const expr::ScalarNode*> seen;
  const Extents inner = loops_below(loop->body[0]);
  const std::function<void(Scalar)> visit = [&](Scalar s) {
    if (found || !seen.insert(s.node()).second) return;
    found = cut_of(e, s, loop, inner);
    for (Scalar a : s->args) visit(a);
  };
  loop::for_each(loop->body[0], [&](const Stmt& s) {
    if (s.kind == StmtKind::Store) visit(s.value);
  });
  return found;
}

// A value where the condition is known.
class Assumption {
 public:
  Assumption(Scalar condition, bool holds) : condition_(condition), holds_(holds) {}
  Scalar visit(Scalar s) {
    if (s == condition_) return expr::make_const_bits(*s->ctx, DType::Bool, holds_ ? 1 : 0);
    if (s->args.empty()) return s;
    if (auto found = known_.find(s.node()); found != known_.end()) return found->second;
    return known_[s.node()] = rebuild(s);
  }

 private:
  Scalar rebuild(Scalar s) {
    std::vector<Scalar> args;
    for (Scalar a : s->args) args.push_back(visit(a));
    if (args == s->args) return s;
    return s->kind == ScalarKind::Binary ? binary(s, args) : expr::with_args(s, args);
  }
  static Scalar binary(Scalar s, const std::vector<Scalar>& args) {
    for (size_t k = 0; k < 2 && s->dtype == DType::Bool; ++k) {
      if (args[k]->kind != ScalarKind::Const) continue;
      const bool value = args[k]->bits != 0;
      if (s->binary() == expr::BinaryOp::And) return value ? args[1 - k] : args[k];
      if (s->binary() == expr::BinaryOp::Or) return value ? args[k] : args[1 - k];
    }
    return expr::make_binary(s->binary(), args[0], args[1]);
  }

  Scalar condition_;
  bool holds_;
  std::unordered_map<const expr::ScalarNode*, Scalar> known_;
};

StmtPtr assume(const StmtPtr& body, Scalar condition, bool holds) {
  Assumption known(condition, holds);
  return loop::rewrite(body, [&](const StmtPtr& s) -> StmtPtr {
    if (s->kind != StmtKind::Store) return s;
    const Scalar value = known.visit(s->value);
    return value == s->value ? s : loop::changed(s, [&](Stmt& c) { c.value = value; });
  });
}

}  // namespace

Status Schedule::cut(std::string_view name, std::string_view first, std::string_view both, std::string_view last) {
  Edit e(*this, "cut", name, "->", first, both, last);
  const StmtPtr old = TRY(e.find_serial_loop(name));
  const std::optional<Cut> cut = find_cut(e, old);
  if (!cut) return e.refuse("no condition in loop " + std::string(name) + " compares its place with what does not change");
  const Dim places = old->extent * cut->width;
  const Dim count = e.derived_index("cut", places + 1), begin = floordiv(count, cut->width),
            end = ceildiv(count, cut->width);
  const StmtPtr body = old->body[0];
  std::vector<StmtPtr> parts;
  auto add = [&](std::string_view part, Dim from, Dim extent, const StmtPtr& s) -> Status {
    const Dim i = TRY(e.new_index(part, extent));
    const StmtPtr now = e.substitute(parts.empty() ? s : e.copy(s), {{old->var, from + i}});
    parts.push_back(make_for(i, extent, ForKind::Serial, now));
    return ok();
  };
  TRY(add(first, e.ctx.constant(0), begin, assume(body, cut->condition, cut->holds_first)));
  if (cut->width > 1) TRY(add(both, begin, end - begin, body));
  TRY(add(last, end, old->extent - end, assume(body, cut->condition, !cut->holds_first)));
  e.replace(old, loop::make_let(*count.as_symbol(), cut->count, loop::make_block(std::move(parts))));
  return e.commit();
}

}  // namespace pliant::schedule
