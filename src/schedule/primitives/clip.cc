// for o … { for k in E { … if x <= k && k < y && c { S } } }  ->
// let first = max(0, x) { let count = max(0, min(E, y) - first) { for o … { for k in count { … if c { S(first + k) } } } }
// }.
#include <algorithm>

#include "schedule/dependence.h"
#include "schedule/guard.h"

namespace pliant::schedule {
namespace {

// The iterations that are left of a loop.
struct Range {
  Dim first, end;
};

// Whether the condition of `home`'s nest is asked at all; nothing where that is not known before it. Null for always.
std::optional<Scalar> is_asked(const StmtPtr& home) {
  const auto nest = guarded_nest(home);
  if (!nest) return std::nullopt;
  Scalar all;
  for (const StmtPtr& l : nest->loops) {
    expr::Context& ctx = *l->extent->ctx;
    if (uses_bound(l->extent, home)) return std::nullopt;
    if (ctx.proves_less(ctx.constant(0), l->extent)) continue;
    const Scalar runs = expr::less(ctx.constant(0), l->extent);
    all = all ? expr::logical_and(all, runs) : runs;
  }
  return all;
}

// Whether what `term` reads is there wherever `home` is reached.
bool is_there(const Edit& e, Scalar term, const StmtPtr& home) {
  const Extents around = e.enclosing_loops(home);
  const std::vector<Scalar> loads = expr::loads_of(term);
  return std::all_of(loads.begin(), loads.end(), [&](Scalar l) {
    const Buffer& b = *loop::find_buffer(e.function, l->tensor);
    for (size_t k = 0; k < l->index.size(); ++k) {
      const auto bounds = bounds_of(l->index[k], around, e.ctx);
      if (!bounds || !e.ctx.proves_less_equal(e.ctx.constant(0), bounds->lo) || !e.ctx.proves_less(bounds->hi, b.shape[k]))
        return false;
    }
    return true;
  });
}

// Whether `term` may be asked once before `home`: what it reads is there, at least where the nest asks at all, and stays.
bool is_fixed(const Edit& e, Scalar term, const StmtPtr& home) {
  bool fixed = is_there(e, term, home) || is_asked(home).has_value();
  for (Scalar load : expr::loads_of(term))
    loop::for_each(home, [&](const Stmt& x) { fixed = fixed && (x.kind != StmtKind::Store || x.buffer != load->tensor); });
  return fixed;
}

// What `term` leaves of `loop`; nothing where the term also follows from what is inside `home`.
bool narrow_by(const Edit& e, Range& range, Scalar term, const StmtPtr& loop, const StmtPtr& home) {
  expr::Context& ctx = *term->ctx;
  const auto slack = slack_of(term);
  const auto step = slack ? expr::coefficient_of(*slack, loop->var) : std::nullopt;
  if (!step || !step->is_const() || step->is_const(0)) return false;
  const Dim at_zero = expr::substitute(*slack, {{loop->var, ctx.constant(0)}});
  if (uses_bound(at_zero, home) || !is_fixed(e, term, home)) return false;
  if (const int64_t c = step->const_value(); c > 0)
    range.first = expr::max(range.first, expr::ceildiv(-at_zero, c));
  else
    range.end = expr::min(range.end, expr::floordiv(at_zero, -c) + 1);
  // Of any value that data may have: the distance from a first one, which is not negative, fits 64 bits.
  if (!expr::loads_of(term).empty()) range.end = expr::max(range.end, ctx.constant(0));
  return true;
}

}  // namespace

Status Schedule::clip(std::string_view name, std::string_view at) {
  Edit e(*this, "clip", name, "at", at);
  const StmtPtr home = TRY(e.find_loop(at)), old = TRY(e.find_serial_loop(name));
  const auto nest = guarded_nest(old);
  if (!nest) return e.refuse("the nest of loop " + std::string(name) + " is not all under one condition");
  const std::vector<StmtPtr> around = e.enclosing(old);
  if (home != old && std::find(around.begin(), around.end(), home) == around.end())
    return e.refuse("loop " + std::string(name) + " is not inside " + std::string(at));
  if (home->for_kind == ForKind::Parallel) return e.refuse("loop " + std::string(at) + " is parallel");
  if (uses_bound(old->extent, home)) return e.refuse("the extent of loop " + std::string(name) + " is not known there");
  Range range{e.ctx.constant(0), old->extent};
  std::vector<Scalar> rest;
  for (Scalar term : nest->terms())
    if (!narrow_by(e, range, term, old, home)) rest.push_back(term);
  if (rest.size() == nest->terms().size()) return e.refuse("no condition bounds loop " + std::string(name) + " alone");
  // What is known of values that are read is that they are cut at the loop's end.
  const bool reads = !expr::loads_of(expr::make_index(range.first + range.end)).empty();
  if (reads) range.first = expr::min(range.first, old->extent);
  const Dim first = e.derived_index(std::string(name) + ".first", (reads ? old->extent : range.first) + 1);
  const Dim left = expr::max(e.ctx.constant(0), range.end - first);
  const Dim count = e.derived_index(std::string(name) + ".count", (reads ? old->extent : left) + 1);
  const Dim k = e.rename(old->var, count);
  const StmtPtr kept = e.substitute(nest->with(rest)->body[0], {{old->var, first + k}});
  const StmtPtr now = make_for(k, count, ForKind::Serial, kept);
  const StmtPtr body = loop::rewrite(home, [&](const StmtPtr& s) { return s == old ? now : s; });
  StmtPtr all = loop::make_let(*first.as_symbol(), range.first, loop::make_let(*count.as_symbol(), left, body));
  const bool there = is_there(e, expr::make_index(range.first + range.end), home);
  if (const Scalar asked = there ? Scalar() : *is_asked(home)) all = loop::make_if(asked, all);
  e.replace(home, all);
  return e.commit();
}

}  // namespace pliant::schedule
