// for o … { for i in R { S } }  ->  for o … { if R == 14 { for i in 14 { S } } else { … } }, or for all values of R
// for o … { if R <= 7 { if R <= 3 { … } else { … } } else { … for i in 14 { S } } }.
#include "schedule/primitives/tail.h"

namespace pliant::schedule {
namespace {

// The body where every loop of extent `size` has the extent `value`, and masks of loops of that extent are gone where they
// are full.
StmtPtr at_value(const Edit& e, const StmtPtr& body, Dim size, int64_t value, int64_t limit, Constant mark) {
  return loop::rewrite(body, [&](const StmtPtr& s) -> StmtPtr {
    if (s->kind != StmtKind::For) return s;
    if (s->extent == size) {
      if (value == 0) return nullptr;
      return loop::make_for(s->var, e.ctx.constant(value), mark == Constant::Keep ? s->for_kind : ForKind::Unroll,
                            s->body[0]);
    }
    auto it = e.padded.find(s->var);
    if (value == limit && it != e.padded.end() && it->second == size && is_mask(*s->body[0], s->var, size, e.ctx))
      return loop::with_body(s, {s->body[0]->body[0]});
    return s;
  });
}

// branch(size) for a size that is one of lo … hi, found by comparisons as many as its logarithm.
StmtPtr choose(Dim size, int64_t lo, int64_t hi, const std::function<StmtPtr(int64_t)>& branch) {
  if (lo == hi) return branch(lo);
  const int64_t mid = (lo + hi) / 2;
  // The greatest first: it keeps the names.
  const StmtPtr above = choose(size, mid + 1, hi, branch), below = choose(size, lo, mid, branch);
  return loop::make_if(expr::less_equal(size, size->ctx->constant(mid)), below, above);
}

}  // namespace

Status Schedule::specialize(std::string_view name, std::string_view at, Constant mark, std::vector<int64_t> values) {
  Edit e(*this, "specialize", name, "at", at, mark == Constant::Unroll ? "unroll" : "keep", values);
  StmtPtr target = TRY(e.find_loop(name)), body = e.function.body;
  if (at != "root" && !has_loop(at) && has_buffer(at)) {
    const StmtPtr alloc = e.alloc_of(TRY(e.find_buffer(at)).id);
    if (!alloc) return e.refuse("%" + std::string(at) + " is not an allocated buffer");
    body = statements_of(alloc->body[0]).front();
  } else if (at != "root") {
    const StmtPtr home = TRY(e.find_loop(at));
    body = home == target ? home : home->body[0];
  }
  auto was = e.padded.find(target->var);
  Dim size = target->extent.is_const() && was != e.padded.end() ? was->second : target->extent;
  auto tail = tail_of(size, e.ctx);
  if (const int64_t last = e.ctx.info(target->var).hi; !size.is_const() && last < (tail ? tail->limit - 1 : kMostLanes))
    tail = {last + 1, size};
  if (!tail) return e.refuse("the extent of loop " + std::string(name) + " is constant or has no constant bound");
  if (const auto var = uses_bound(size, body))
    return e.refuse("the extent of loop " + std::string(name) + " depends on " + e.name_of(*var) + ", which is inside " +
                    std::string(at));
  if (!expr::loads_of(expr::make_index(size)).empty())
    return e.refuse("the extent of loop " + std::string(name) + " is read from memory");
  if (!find_first(body, [&](const Stmt& s) { return &s == target.get(); }))
    return e.refuse("loop " + std::string(name) + " is not inside " + std::string(at));
  if (find_first(body, [](const Stmt& s) { return s.kind == StmtKind::For && s.for_kind == ForKind::Parallel; }))
    return e.refuse("there is a parallel loop inside " + std::string(at));
  const bool all = values.empty();
  for (int64_t v : values)
    if (v < 1 || v > tail->limit) return e.refuse(std::to_string(v) + " is not in 1 … " + std::to_string(tail->limit));
  constexpr int64_t kMostVariants = 64;
  const int64_t variants = all ? tail->limit : static_cast<int64_t>(values.size());
  if (variants > kMostVariants)
    return e.refuse("that would be " + std::to_string(variants) + " variants, more than " + std::to_string(kMostVariants));
  bool copied = false;
  auto branch = [&](int64_t value) {
    const StmtPtr s = at_value(e, copied ? e.copy(body) : body, size, value, tail->limit, mark);
    copied = true;
    return s ? s : loop::make_block({});
  };
  StmtPtr chain;
  if (all) {
    int64_t least = std::max<int64_t>(0, e.ctx.range(size).lo);
    for (const LoopTile& t : e.tiles)
      if (t.inner == target->var && target->extent == size) least = std::max(least, std::min(t.least, tail->limit));
    // Below the limit the size is what the limit cuts.
    chain = choose(tail->rest, least, tail->limit, branch);
  } else {
    std::vector<StmtPtr> branches;
    for (int64_t v : values) branches.push_back(branch(v));
    chain = e.copy(body);
    for (size_t k = values.size(); k-- > 0;)
      chain = loop::make_if(expr::equal(size, e.ctx.constant(values[k])), branches[k], chain);
  }
  if (body == e.function.body) {
    e.set_body(chain);
  } else {
    e.replace(body, chain);
  }
  return e.commit();
}

}  // namespace pliant::schedule
