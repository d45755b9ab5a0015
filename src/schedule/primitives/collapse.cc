// for i in E { for j in D { … } }  ->  for f in E*D { … } where everything that is touched lies at c*(i*D + j) + rest, so
// that c*f + rest takes its place.
#include <algorithm>

#include "expr/parts.h"
#include "schedule/edit.h"

namespace pliant::schedule {
namespace {

// The axes of buffers that the two loops walk through, from the first to the last one; those of a buffer become one.
struct Axes {
  size_t first = SIZE_MAX, last = 0;
};
using AxesOf = std::map<BufferId, Axes>;

class Collapse {
 public:
  Collapse(Edit& e, const StmtPtr& outer, const StmtPtr& inner)
      : e_(e), vars_{outer->var, inner->var}, inner_extent_(inner->extent), body_(inner->body[0]) {}

  Status find_axes() {
    loop::for_each(body_, [&](const Stmt& s) {
      for_each_access(s, [&](BufferId b, const std::vector<Dim>& index) { widen(b, index); });
    });
    for (const auto& [id, axes] : axes_) {
      const Buffer b = *loop::find_buffer(e_.function, id);
      const std::vector<Dim> strides = loop::strides_of(b, e_.ctx);
      for (size_t k = axes.first; k < axes.last; ++k)
        if (!(strides[k] == strides[k + 1] * b.shape[k + 1]))
          return e_.refuse("axes " + std::to_string(k) + " and " + std::to_string(k + 1) + " of %" + b.name +
                           " do not follow each other");
    }
    return ok();
  }

  // The buffers that lose axes.
  std::set<BufferId> merged() const {
    std::set<BufferId> out;
    for (const auto& [id, axes] : axes_)
      if (axes.first < axes.last) out.insert(id);
    return out;
  }

  // Merges the axes in the whole function.
  void merge_axes() {
    for (Buffer& b : e_.params_to_change()) merge(b);
    auto moved = [&](BufferId b, const std::vector<Dim>& index) -> std::optional<loop::Element> {
      return axes_.count(b) ? std::optional(loop::Element{b, merged_index(b, index)}) : std::nullopt;
    };
    e_.set_body(loop::rewrite(loop::redirect(e_.function.body, e_.ctx, moved), [&](const StmtPtr& s) -> StmtPtr {
      if (!s->alloc || !axes_.count(s->alloc->id)) return s;
      Buffer b = *s->alloc;
      merge(b);
      return loop::make_alloc(std::move(b), s->body[0]);
    }));
  }

  // After merge_axes: whether f can stand for both loops.
  Status check(const StmtPtr& body) const {
    std::string why;
    loop::for_each(body, [&](const Stmt& s) {
      if (s.extent && uses_any(s.extent)) why = "an extent or value inside depends on the loops";
      if (s.value && (uses_as_value(s.value, vars_[0]) || uses_as_value(s.value, vars_[1])))
        why = "a loop's variable is used as a value";
      for_each_access(s, [&](BufferId b, const std::vector<Dim>& index) { look(b, index, why); });
    });
    if (why.empty()) return ok();
    return e_.refuse(why);
  }

 private:
  // Where a statement reads and writes, except for the values of a Check's message.
  static void for_each_access(const Stmt& s, const std::function<void(BufferId, const std::vector<Dim>&)>& f) {
    if (s.kind == StmtKind::Store) f(s.buffer, s.index);
    if (s.kind != StmtKind::Check) return loop::for_each_load(s, [&](Scalar l) { f(l->tensor, l->index); });
    for (Scalar l : expr::loads_of(s.value)) f(l->tensor, l->index);
  }
  bool uses_any(Dim d) const { return expr::uses_symbol(d, vars_[0]) || expr::uses_symbol(d, vars_[1]); }

  void widen(BufferId b, const std::vector<Dim>& index) {
    for (size_t k = 0; k < index.size(); ++k) {
      if (!uses_any(index[k])) continue;
      Axes& a = axes_[b];
      a.first = std::min(a.first, k);
      a.last = std::max(a.last, k);
    }
  }

  void merge(Buffer& b) {
    const auto at = axes_.find(b.id);
    if (at == axes_.end()) return;
    const auto [first, last] = at->second;
    Dim size = e_.ctx.constant(1);
    std::vector<Dim>& steps = steps_[b.id];
    steps.assign(last - first + 1, size);
    for (size_t k = last + 1; k-- > first;) {
      steps[k - first] = size;
      size = size * b.shape[k];
    }
    const auto from = static_cast<std::ptrdiff_t>(first), to = static_cast<std::ptrdiff_t>(last);
    b.shape[first] = size;
    b.shape.erase(b.shape.begin() + from + 1, b.shape.begin() + to + 1);
    if (!b.strides.empty()) b.strides.erase(b.strides.begin() + from, b.strides.begin() + to);
  }

  std::vector<Dim> merged_index(BufferId b, std::vector<Dim> index) {
    const auto [first, last] = axes_.at(b);
    if (!steps_.count(b)) {  // an Alloc is reached after what is inside it
      Buffer copy = *loop::find_buffer(e_.function, b);
      merge(copy);
    }
    const std::vector<Dim>& steps = steps_.at(b);
    Dim at = e_.ctx.constant(0);
    for (size_t k = first; k <= last; ++k) at = at + index[k] * steps[k - first];
    index[first] = at;
    index.erase(index.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                index.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    return index;
  }

  void look(BufferId b, const std::vector<Dim>& index, std::string& why) const {
    for (Dim d : index) {
      if (!uses_any(d)) continue;
      const auto c = expr::coefficient_of(d, vars_[0]), i = expr::coefficient_of(d, vars_[1]);
      if (!c || !i || !(*c == *i * inner_extent_))
        why = "%" + loop::find_buffer(e_.function, b)->name + " is not walked through in even steps";
    }
  }

  Edit& e_;
  std::vector<SymbolId> vars_;
  Dim inner_extent_;
  StmtPtr body_;
  AxesOf axes_;
  std::map<BufferId, std::vector<Dim>> steps_;
};

}  // namespace

Status Schedule::collapse(std::string_view outer, std::string_view inner, std::string_view fused) {
  Edit e(*this, "collapse", outer, inner, "->", fused);
  StmtPtr out = TRY(e.find_loop(outer)), in = TRY(e.find_loop(inner));
  TRY(check_fusable(e, out, in));
  std::set<BufferId> merged;
  const bool one = out->extent.is_const(1) || in->extent.is_const(1);
  if (!one) {
    Collapse c(e, out, in);
    TRY(c.find_axes());
    c.merge_axes();
    out = TRY(e.find_loop(outer));
    in = TRY(e.find_loop(inner));
    TRY(c.check(in->body[0]));
    merged = c.merged();
  }
  const Dim d = in->extent, extent = out->extent * d;
  const Dim f = TRY(e.new_index(fused, extent));
  // The message of a Check speaks of the loops as they were.
  const StmtPtr body = loop::rewrite(in->body[0], [&](const StmtPtr& s) -> StmtPtr {
    if (s->kind != StmtKind::Check) return s;
    return loop::changed(s, [&](Stmt& c) {
      for (Dim& v : c.index) v = expr::substitute(v, {{out->var, expr::floordiv(f, d)}, {in->var, expr::mod(f, d)}});
    });
  });
  const bool keeps_outer = d.is_const(1);
  const Dim zero = e.ctx.constant(0);
  const expr::DimMap map{{out->var, keeps_outer ? f : zero}, {in->var, keeps_outer ? zero : f}};
  e.replace(out, make_for(f, extent, out->for_kind, e.substitute(body, map)));
  TRY(e.commit());
  merged_.insert(merged.begin(), merged.end());
  return ok();
}

}  // namespace pliant::schedule
