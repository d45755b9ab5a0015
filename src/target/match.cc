#include "target/match.h"

#include <algorithm>
#include <map>

#include "loop/walk.h"
#include "target/description.h"

namespace pliant::target {

using expr::BinaryOp;
using expr::Dim;
using expr::Scalar;
using expr::ScalarKind;
using expr::SymbolId;
using loop::Stmt;
using loop::StmtKind;
using loop::StmtPtr;

namespace {

bool commutes(Scalar s) {
  if (s->kind != ScalarKind::Binary) return false;
  const BinaryOp op = s->binary();
  return op == BinaryOp::Add || op == BinaryOp::Mul || op == BinaryOp::Max || op == BinaryOp::Min;
}

// Walks a description's expression beside one of a function; `leaf` compares their loads. `state` is what leaves found
// out: where one order of operands fails, it is set back before the other is tried.
template <class State>
class Unifier {
 public:
  Unifier(State& state, std::function<bool(Scalar p, Scalar s)> leaf) : state_(state), leaf_(std::move(leaf)) {}

  bool unify(Scalar p, Scalar s) {
    if (p->kind == ScalarKind::Load) return leaf_(p, s);
    if (p->kind != s->kind || p->dtype != s->dtype || p->op != s->op || p->bits != s->bits || !p->index.empty())
      return false;
    if (!commutes(p)) return all(p, s, false);
    const State before = state_;
    if (all(p, s, false)) return true;
    state_ = before;
    return all(p, s, true);
  }

 private:
  bool all(Scalar p, Scalar s, bool swapped) {
    for (size_t k = 0; k < p->args.size(); ++k)
      if (!unify(p->args[k], s->args[swapped ? 1 - k : k])) return false;
    return true;
  }

  State& state_;
  std::function<bool(Scalar, Scalar)> leaf_;
};

class Matcher {
 public:
  Matcher(const loop::Function& f, expr::Context& ctx, const FindBuffer& find, std::string& why)
      : f_(f), ctx_(ctx), find_(find), why_(why) {
    match_.operands.resize(f.params.size());
  }

  std::optional<Match> run(const StmtPtr& nest) {
    if (!statement(*f_.body, *nest)) return std::nullopt;
    const Operand& sum = match_.operands.back();
    for (const Operand& o : match_.operands) {
      if (!o.buffer || !sum.buffer) return fail("an operand is not read");
      const std::string reads = "it reads %" + sum.buffer->name + ", which it writes";
      if (&o != &sum && o.buffer->id == sum.buffer->id) return fail(reads);
      for (const Scalar& load : expr::loads_of(expr::make_index(o.base)))
        if (load->tensor == sum.buffer->id) return fail(reads);
    }
    return std::move(match_);
  }

 private:
  std::nullopt_t fail(const std::string& reason) {
    if (why_.empty()) why_ = reason;
    return std::nullopt;
  }
  bool no(const std::string& reason) {
    fail(reason);
    return false;
  }

  bool statement(const Stmt& p, const Stmt& s) {
    if (p.kind != s.kind) return no("its statements are others");
    switch (p.kind) {
      case StmtKind::Block: {
        if (p.body.size() != s.body.size()) return no("its statements are others");
        for (size_t k = 0; k < p.body.size(); ++k)
          if (!statement(*p.body[k], *s.body[k])) return false;
        return true;
      }
      case StmtKind::For: return loop(p, s);
      case StmtKind::Store: return store(p, s);
      default: return no("its statements are others");
    }
  }

  bool loop(const Stmt& p, const Stmt& s) {
    const std::string name = ctx_.info(s.var).name;
    if (!s.extent.is_const()) return no("the extent of loop " + name + " is not constant");
    if (p.extent.is_const() && !(p.extent.const_value() == s.extent.const_value()))
      return no("loop " + name + " does not run " + std::to_string(p.extent.const_value()) + " times");
    if (!p.extent.is_const()) match_.lanes = s.extent.const_value();
    loops_.emplace_back(p.var, s.var);
    return statement(*p.body[0], *s.body[0]);
  }

  bool store(const Stmt& p, const Stmt& s) {
    if (p.store_kind != s.store_kind) return no("it updates in another way");
    if (!operand(p.buffer, p.value.dtype(), p.index, s.buffer, s.value.dtype(), s.index)) return false;
    Unifier<std::vector<Operand>> values(match_.operands, [&](Scalar x, Scalar y) {
      return y->kind == ScalarKind::Load && operand(x->tensor, x.dtype(), x->index, y->tensor, y.dtype(), y->index);
    });
    return values.unify(p.value, s.value) || no("it computes another value");
  }

  // The factor of a loop's variable in `d`; nothing where it is no constant.
  std::optional<int64_t> step(Dim d, SymbolId var) {
    const Dim next = expr::substitute(d, {{var, ctx_.symbol_dim(var) + 1}}) - d;
    return next.is_const() ? std::optional(next.const_value()) : std::nullopt;
  }

  bool operand(loop::BufferId param, DType t, const std::vector<Dim>& at, loop::BufferId id, DType u,
               const std::vector<Dim>& index) {
    size_t k = 0;
    while (f_.params[k].id != param) ++k;
    const loop::Buffer* buffer = find_(id);
    if (!buffer || t != u) return no("its operands have other types");
    Dim flat = ctx_.constant(0);
    const std::vector<Dim> by = loop::strides_of(*buffer, ctx_);
    for (size_t d = 0; d < index.size(); ++d) flat = flat + index[d] * by[d];
    std::map<SymbolId, int64_t> steps;
    for (auto [p, s] : loops_) {
      const auto step_of = step(flat, s);
      if (!step_of) return no("%" + buffer->name + " is read at a distance that is not constant");
      steps[p] = *step_of;
      flat = expr::substitute(flat, {{s, ctx_.constant(0)}});
    }
    Operand o = shaped(f_.params[k]);
    o.buffer = buffer;
    std::vector<Affine> axes;
    for (Dim d : at) axes.push_back(affine(d));
    const bool is_sum = k + 1 == f_.params.size();
    for (;; ++o.first_axis) {
      if (o.first_axis > 0) o.strides[static_cast<size_t>(o.first_axis) - 1] = 0;
      if (has_steps(o, axes, steps)) break;
      if (is_sum || o.first_axis == static_cast<int64_t>(o.shape.size()))
        return no("the elements of %" + buffer->name + " do not lie side by side");
    }
    o.base = flat;
    for (size_t d = 0; d < axes.size(); ++d) o.base = o.base - axes[d].constant * o.strides[d];
    name_loops(o, axes, index);
    Operand& known = match_.operands[k];
    if (known.buffer) {
      const bool same = known.buffer->id == id && known.base == o.base && known.strides == o.strides;
      return same || no("an operand is read in several places");
    }
    known = std::move(o);
    return true;
  }

  Operand shaped(const loop::Buffer& param) const {
    Operand o;
    int64_t stride = 1;
    for (size_t d = param.shape.size(); d-- > 0; stride *= o.shape.front()) {
      o.strides.insert(o.strides.begin(), stride);
      o.shape.insert(o.shape.begin(), d == 0 ? match_.lanes : param.shape[d].const_value());
    }
    return o;
  }

  bool has_steps(const Operand& o, const std::vector<Affine>& axes, const std::map<SymbolId, int64_t>& steps) const {
    for (auto [var, step] : steps) {
      int64_t sum = 0;
      for (size_t d = 0; d < axes.size(); ++d)
        for (auto [v, factor] : axes[d].terms) sum += v == var ? factor * o.strides[d] : 0;
      if (sum != step) return false;
    }
    return true;
  }

  void name_loops(Operand& o, const std::vector<Affine>& axes, const std::vector<Dim>& index) const {
    o.index = index;
    for (const Affine& a : axes) {
      std::optional<SymbolId> var;
      for (auto [p, s] : loops_)
        if (a.constant == 0 && a.terms.size() == 1 && a.terms[0] == std::pair{p, int64_t{1}}) var = s;
      o.loops.push_back(var);
    }
  }

  const loop::Function& f_;
  expr::Context& ctx_;
  const FindBuffer& find_;
  std::string& why_;
  Match match_;
  std::vector<std::pair<SymbolId, SymbolId>> loops_;  // of the description and of the nest
};

// Writes a description into another Context.
class Instance {
 public:
  // `nest`: whose loops the instance takes.
  Instance(const loop::Function& f, const Match& m, const StmtPtr& nest, expr::Context& ctx) : f_(f), m_(m), ctx_(ctx) {
    loop::for_each(nest, [&](const Stmt& s) {
      if (s.kind == StmtKind::For) loops_.push_back(s.var);
    });
  }

  // The body of the loop over lanes.
  StmtPtr run() {
    vars_[f_.body->var] = loops_[0];
    return statement(*f_.body->body[0]);
  }

 private:
  StmtPtr statement(const Stmt& s) {
    if (s.kind == StmtKind::For) {
      PLIANT_CHECK(vars_.size() < loops_.size()) << "a description has more loops than the nest that it replaces";
      const SymbolId var = loops_[vars_.size()];
      vars_[s.var] = var;
      return loop::make_for(var, ctx_.constant(s.extent.const_value()), loop::ForKind::Serial, statement(*s.body[0]));
    }
    if (s.kind == StmtKind::Block) {
      std::vector<StmtPtr> body;
      for (const StmtPtr& child : s.body) body.push_back(statement(*child));
      return loop::make_block(std::move(body));
    }
    const Scalar value = transplant(s.value, ctx_, [&](Scalar load) {
      const Operand& o = operand(load->tensor);
      return expr::make_load(ctx_, o.buffer->id, load.dtype(), index(o, load->index));
    });
    const Operand& sum = operand(s.buffer);
    return loop::make_store(sum.buffer->id, index(sum, s.index), value, s.store_kind);
  }

  const Operand& operand(loop::BufferId param) const {
    size_t k = 0;
    while (f_.params[k].id != param) ++k;
    return m_.operands[k];
  }

  std::vector<Dim> index(const Operand& o, const std::vector<Dim>& at) const {
    expr::DimMap map;
    for (size_t d = 0; d < at.size(); ++d) {
      if (static_cast<int64_t>(d) < o.first_axis) continue;  // the same for all
      PLIANT_CHECK(o.loops[d]) << "%" << o.buffer->name << " has no loop along an axis of its operand";
      const Affine a = affine(at[d]);
      Dim where = ctx_.constant(a.constant);
      for (auto [var, factor] : a.terms) where = where + ctx_.symbol_dim(vars_.at(var)) * factor;
      map[*o.loops[d]] = where;
    }
    std::vector<Dim> out;
    for (Dim d : o.index) out.push_back(expr::substitute(d, map));
    return out;
  }

  const loop::Function& f_;
  const Match& m_;
  expr::Context& ctx_;
  std::vector<SymbolId> loops_;
  std::map<SymbolId, SymbolId> vars_;  // of the description's loops, outermost first
};

}  // namespace

std::optional<Match> match(const Instruction& i, bool written, const StmtPtr& nest, expr::Context& ctx,
                           const FindBuffer& find, std::string& why) {
  const Description& d = description_of(i);
  why.clear();
  auto m = Matcher(written ? d.stands_for : d.computes, ctx, find, why).run(nest);
  if (m) why.clear();  // one order of operands may have failed before the other
  return m;
}

StmtPtr instance_of(const Instruction& i, const Match& m, const StmtPtr& nest, expr::Context& ctx) {
  return Instance(description_of(i).computes, m, nest, ctx).run();
}

bool has_lane_form(const Instruction& i, DType dtype) {
  const Description& d = description_of(i);
  return d.lane && d.lane.dtype() == dtype;
}

Scalar lane_term(const Instruction& i, Scalar a, Scalar b) {
  const Description& d = description_of(i);
  PLIANT_CHECK(d.lane) << "instruction " << i.name << " is not one of lanes";
  return transplant(d.lane, *a->ctx, [&](Scalar load) { return load->tensor == d.holes[0] ? a : b; });
}

std::optional<std::pair<Scalar, Scalar>> as_lane_term(const Instruction& i, Scalar s) {
  const Description& d = description_of(i);
  if (!d.lane) return std::nullopt;
  std::pair<Scalar, Scalar> found;
  Unifier<std::pair<Scalar, Scalar>> lanes(found, [&](Scalar p, Scalar x) {
    Scalar& hole = p->tensor == d.holes[0] ? found.first : found.second;
    if (!hole) hole = x;
    return hole == x && p.dtype() == x.dtype();
  });
  if (!lanes.unify(d.lane, s)) return std::nullopt;
  return found;
}

}  // namespace pliant::target
