// Scalars: a DAG of nodes, each emitted once a statement and guard.
//
// Both sides of a Select are computed and blended. What a side loads is kept inside its condition by the guard: a uniform
// condition turns the address of a scalar or vector load to a block of zeros, a condition of lanes masks the load. A side
// that is long beyond what both sides share gets a branch that skips it where no lane takes it.
#include <algorithm>

#include "codegen/legalize/legalize.h"
#include "codegen/llvm/emitter.h"
#include "expr/parts.h"
#include "expr/scalar/packed.h"

namespace pliant::codegen {

using expr::BinaryOp;
using expr::Scalar;
using expr::ScalarKind;
using llvm::Value;

namespace {

// The cost from which a side of a Select is worth a branch. Functions of f32 that choose between two forms stay below: both
// forms are usually wanted.
constexpr int64_t kLazyCost = 48;

// Roughly instructions for each 16 lanes.
int64_t cost_of(Scalar s) {
  const bool is_call = s.dtype() == DType::F64 &&
                       ((s->kind == ScalarKind::Unary && s->unary() >= expr::UnaryOp::Exp &&
                         s->unary() <= expr::UnaryOp::Erf && s->unary() != expr::UnaryOp::Sqrt) ||
                        (s->kind == ScalarKind::Binary && (s->binary() == BinaryOp::Pow || s->binary() == BinaryOp::Rem)));
  return is_call ? kLazyCost : byte_size(s.dtype()) == 8 ? 2 : 1;
}

}  // namespace

// `s` and what is below it, not entering what is emitted already: what that needed is of no account any more.
std::unordered_set<const expr::ScalarNode*> Emitter::not_emitted(Scalar s) {
  std::unordered_set<const expr::ScalarNode*> out;
  std::vector<Scalar> todo{s};
  while (!todo.empty()) {
    const Scalar x = todo.back();
    todo.pop_back();
    if (x->kind == ScalarKind::Const || emitted(x) || !out.insert(x.node()).second) continue;
    todo.insert(todo.end(), x->args.begin(), x->args.end());
  }
  return out;
}

bool Emitter::has_load(Scalar s) {
  if (auto it = has_load_.find(s.node()); it != has_load_.end()) return it->second;
  bool found = s->kind == ScalarKind::Load;
  for (const Scalar& a : s->args) found = has_load(a) || found;
  for (expr::Dim d : s->index) found = found || !expr::loads_of(expr::make_index(d)).empty();
  has_load_[s.node()] = found;
  return found;
}

bool Emitter::is_worth_a_branch(Scalar side, Scalar other) {
  const std::unordered_set<const expr::ScalarNode*> own = not_emitted(side);
  int64_t cost = 0;
  if (own.size() * 2 < kLazyCost &&
      std::none_of(own.begin(), own.end(), [](auto* n) { return cost_of(Scalar(n)) >= kLazyCost; }))
    return false;
  const std::unordered_set<const expr::ScalarNode*> shared = not_emitted(other);
  for (const expr::ScalarNode* n : own)
    if (!shared.count(n)) cost += cost_of(Scalar(n));
  return cost >= kLazyCost;
}

void Emitter::emit_shared(Scalar side, Scalar other) {
  const std::unordered_set<const expr::ScalarNode*> shared = not_emitted(other);
  std::unordered_set<const expr::ScalarNode*> seen;
  std::vector<Scalar> todo{side};
  while (!todo.empty()) {
    const Scalar x = todo.back();
    todo.pop_back();
    if (x->kind == ScalarKind::Const || emitted(x) || !seen.insert(x.node()).second) continue;
    if (shared.count(x.node()) && !has_load(x)) {
      emit(x);
    } else {
      todo.insert(todo.end(), x->args.begin(), x->args.end());
    }
  }
}

void Emitter::clear_memo() {
  memo_.clear();
  memo_log_.clear();
}

void Emitter::forget_since(size_t log) {
  for (; memo_log_.size() > log; memo_log_.pop_back()) memo_.erase(memo_log_.back());
}

void Emitter::with_guard(Guard g, const std::function<void()>& body) {
  const auto next = static_cast<unsigned>(guard_ids_.size() + 1);
  g.id = g.any() ? guard_ids_.try_emplace({g.uniform, g.mask}, next).first->second : 0;
  std::swap(guard_, g);
  outer_guards_.push_back(g.id);
  body();
  outer_guards_.pop_back();
  std::swap(guard_, g);
}

const Val* Emitter::emitted(Scalar s) {
  const MemoKey key{s.node(), has_load(s) ? guard_.id : 0};
  if (auto it = memo_.find(key); it != memo_.end()) return &it->second;
  if (key.guard == 0) return nullptr;
  // What was computed where more lanes run holds for these as well.
  for (size_t i = outer_guards_.size(); i-- > 0;)
    if (auto it = memo_.find({s.node(), outer_guards_[i]}); it != memo_.end()) return &it->second;
  auto it = memo_.find({s.node(), 0});
  return it == memo_.end() ? nullptr : &it->second;
}

Val Emitter::emit(Scalar s) {
  if (const Val* known = emitted(s)) return *known;
  const MemoKey key{s.node(), has_load(s) ? guard_.id : 0};
  const Val v = emit_uncached(s);
  memo_.emplace(key, v);
  memo_log_.push_back(key);
  return v;
}

Val Emitter::emit_value_atom(const expr::Atom& a) {
  const Scalar s = legalize_scalar(Scalar(a.scalar));
  const Val v = emit(s);
  llvm::Type* wide = type(DType::I64, v.vec);
  return {is_signed_int(s.dtype()) ? b_.CreateSExt(v.v, wide) : b_.CreateZExt(v.v, wide), v.vec};
}

Val Emitter::emit_uncached(Scalar s) {
  switch (s->kind) {
    case ScalarKind::Const: return {constant(s.dtype(), s->bits), false};
    case ScalarKind::Index: {
      const Index x = index_of(s->index[0]);
      if (x.is_uniform()) return {uniform_part(x), false};
      return {wide_lanes(x), true};
    }
    case ScalarKind::Load: return emit_load(s);
    case ScalarKind::Select: return emit_select(s);
    case ScalarKind::Unary: {
      const Val x = emit(s->args[0]);
      return {unary(s->unary(), s->args[0].dtype(), x.v), x.vec};
    }
    case ScalarKind::Binary: {
      if (expr::is_comparison(s->binary())) {
        const std::optional<expr::Dim> p = expr::as_index(s->args[0]), q = expr::as_index(s->args[1]);
        if (p && q) return compare_index(s->binary(), index_of(*p - *q));
      }
      if (s->binary() == BinaryOp::Mul)
        if (Value* scaled = emit_scale(s)) return {scaled, true};
      if (auto first = expr::as_loaded_word(s))
        if (Value* word = load_word(*first)) return {word, false};
      const Val x = emit(s->args[0]), y = emit(s->args[1]);
      const DType t = s->args[0].dtype();
      if (!x.vec && !y.vec) return {binary(s->binary(), t, x.v, y.v), false};
      return {binary(s->binary(), t, splat(x), splat(y)), true};
    }
    case ScalarKind::Cast: {
      const Val x = emit(s->args[0]);
      return {cast(s.dtype(), s->args[0].dtype(), x.v), x.vec};
    }
    case ScalarKind::Bitcast: {
      const Val x = emit(s->args[0]);
      llvm::Type* to = type(s.dtype(), x.vec);
      // A bool is one bit in registers and a byte in memory.
      if (s->args[0].dtype() == DType::Bool && s.dtype() != DType::Bool) return {b_.CreateZExt(x.v, to), x.vec};
      if (s.dtype() == DType::Bool && s->args[0].dtype() != DType::Bool) return {b_.CreateIsNotNull(x.v), x.vec};
      return {b_.CreateBitCast(x.v, to), x.vec};
    }
    case ScalarKind::Fma: {
      const Val x = emit(s->args[0]), y = emit(s->args[1]), z = emit(s->args[2]);
      const bool vec = x.vec || y.vec || z.vec;
      auto arg = [&](const Val& v) { return vec ? splat(v) : v.v; };
      Value* a = arg(x);
      return {b_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, arg(y), arg(z)}), vec};
    }
  }
  PLIANT_CHECK(false) << "unknown scalar";
  return {};
}

Val Emitter::emit_side(Scalar side, Scalar other, Val cond, bool negate) {
  Value* c = negate ? b_.CreateNot(cond.v) : cond.v;
  Guard g = guard_;
  Value* take = c;  // uniform: some lane takes this side
  if (cond.vec) {
    g.mask = g.mask ? b_.CreateAnd(g.mask, c) : c;
    g.some_lane = false;
  }
  if (!is_worth_a_branch(side, other)) {
    if (!has_load(side)) return emit(side);
    if (!cond.vec) g.uniform = g.uniform ? b_.CreateAnd(g.uniform, c) : c;
    Val v;
    with_guard(g, [&] { v = emit(side); });
    return v;
  }
  emit_shared(side, other);
  if (cond.vec) {
    take = b_.CreateOrReduce(g.mask);
    g.some_lane = true;
  }
  auto* taken = llvm::BasicBlock::Create(llvm_, "side", function_);
  auto* join = llvm::BasicBlock::Create(llvm_, "join", function_);
  llvm::BasicBlock* from = b_.GetInsertBlock();
  b_.CreateCondBr(take, taken, join);
  hoist_->enter(taken);
  const size_t log = memo_log_.size();
  Val v;
  with_guard(g, [&] { v = emit(side); });
  forget_since(log);
  llvm::BasicBlock* end = b_.GetInsertBlock();
  b_.CreateBr(join);
  hoist_->leave(join);
  auto* phi = b_.CreatePHI(v.v->getType(), 2);
  phi->addIncoming(llvm::Constant::getNullValue(v.v->getType()), from);
  phi->addIncoming(v.v, end);
  return {phi, v.vec};
}

Val Emitter::emit_select(Scalar s) {
  const Val cond = emit(s->args[0]);
  if (auto* c = llvm::dyn_cast<llvm::ConstantInt>(cond.v); c && !cond.vec) return emit(s->args[c->isOne() ? 1 : 2]);
  const Val x = emit_side(s->args[1], s->args[2], cond, false);
  const Val y = emit_side(s->args[2], s->args[1], cond, true);
  const bool vec = cond.vec || x.vec || y.vec;
  auto side = [&](const Val& v) { return vec ? splat(v) : v.v; };
  return {b_.CreateSelect(cond.v, side(x), side(y)), vec};
}

}  // namespace pliant::codegen
