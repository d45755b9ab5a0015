// for o … { for i in R { S } }  ->  for o … { if R == 14 { for i in 14 { S } } else if R == 13 { … } … }.
#include "loop/lexer.h"
#include "schedule/primitives/tail.h"

namespace pliant::schedule {
namespace {

// The body where every loop of extent `size` has the extent `value`, and masks of loops of that extent are gone where they
// are full.
StmtPtr at_value(const Edit& e, const StmtPtr& body, Dim size, int64_t value, int64_t limit, ForKind kind, Constant mark) {
  return loop::rewrite(body, [&](const StmtPtr& s) -> StmtPtr {
    if (s->kind != StmtKind::For) return s;
    if (s->extent == size) {
      if (value == 0) return nullptr;
      return loop::make_for(s->var, e.ctx.constant(value), mark == Constant::Keep ? s->for_kind : kind, s->body[0]);
    }
    auto it = e.padded.find(s->var);
    if (value == limit && it != e.padded.end() && it->second == size && is_mask(*s->body[0], s->var, size, e.ctx))
      return loop::make_for(s->var, s->extent, s->for_kind, s->body[0]->body[0]);
    return s;
  });
}

const char* mark_text(Constant c) {
  return c == Constant::Unroll ? "unroll" : c == Constant::Vectorize ? "vectorize" : "keep";
}

}  // namespace

Status Schedule::specialize(std::string_view name, std::string_view at, Constant mark, std::vector<int64_t> values) {
  std::vector<std::string> words{"specialize", loop::quote_name(name), "at", loop::quote_name(at), mark_text(mark)};
  if (!values.empty()) words.push_back(list_text(values));
  Edit e(*this, trace_line(words));
  StmtPtr target = TRY(e.find_loop(name)), home;
  if (at != "root") home = TRY(e.find_loop(at));
  StmtPtr body = home ? home->body[0] : e.function.body;
  auto was = e.padded.find(target->var);
  Dim size = target->extent.is_const() && was != e.padded.end() ? was->second : target->extent;
  auto tail = tail_of(size, e.ctx);
  if (!tail) return e.refuse("the extent of loop " + std::string(name) + " is constant or has no constant bound");
  for (auto& [var, extent] : loops_below(body))
    if (expr::uses_symbol(size, var))
      return e.refuse("the extent of loop " + std::string(name) + " depends on " + e.name_of(var) + ", which is inside " +
                      std::string(at));
  if (!expr::loads_of(expr::make_index(size)).empty())
    return e.refuse("the extent of loop " + std::string(name) + " is read from memory");
  bool below = false, parallel_below = false;
  Status independent = ok();
  auto visit = [&](auto&& self, const StmtPtr& s) -> void {
    below |= s == target;
    parallel_below |= s->kind == StmtKind::For && s->for_kind == ForKind::Parallel;
    if (mark == Constant::Vectorize && s->kind == StmtKind::For && s->extent == size && independent.ok())
      independent = check_independent(e, s, true);
    for (const StmtPtr& child : s->body) self(self, child);
  };
  visit(visit, body);
  if (!below) return e.refuse("loop " + std::string(name) + " is not inside " + std::string(at));
  if (parallel_below) return e.refuse("there is a parallel loop inside " + std::string(at));
  TRY(std::move(independent));
  bool all = values.empty();
  for (int64_t v = tail->limit; all && v > 0; --v) values.push_back(v);
  for (int64_t v : values)
    if (v < 1 || v > tail->limit) return e.refuse(std::to_string(v) + " is not in 1 … " + std::to_string(tail->limit));
  constexpr size_t kMostVariants = 64;
  if (values.size() > kMostVariants)
    return e.refuse("that would be " + std::to_string(values.size()) + " variants, more than " +
                    std::to_string(kMostVariants));
  ForKind kind = mark == Constant::Unroll ? ForKind::Unroll : ForKind::Vector;
  // Where every value has its branch, the last one needs no condition if there is an iteration at all.
  bool total = all && e.ctx.proves_less_equal(e.ctx.constant(1), size);
  std::vector<std::pair<int64_t, StmtPtr>> branches;
  for (size_t k = 0; k < values.size(); ++k)
    branches.emplace_back(values[k], at_value(e, k ? e.copy(body) : body, size, values[k], tail->limit, kind, mark));
  StmtPtr chain;
  if (!total) chain = all ? at_value(e, e.copy(body), size, 0, tail->limit, kind, Constant::Keep) : e.copy(body);
  for (size_t k = branches.size(); k-- > 0;) {
    bool last = total && k + 1 == branches.size();
    StmtPtr branch = branches[k].second ? branches[k].second : loop::make_block({});
    chain = last ? branch : loop::make_if(expr::equal(size, e.ctx.constant(branches[k].first)), branch, chain);
  }
  if (home) {
    e.replace(home, loop::make_for(home->var, home->extent, home->for_kind, chain));
  } else {
    e.set_body(chain);
  }
  return e.commit();
}

}  // namespace pliant::schedule
