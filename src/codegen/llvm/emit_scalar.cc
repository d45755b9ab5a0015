// Scalars: a DAG of nodes, each emitted once a statement and guard.
//
// Both sides of a Select are computed and blended. What a side loads is kept inside its condition by the guard: a uniform
// condition turns the address of a scalar or vector load to a block of zeros, a condition of lanes masks the load. A side
// of many instructions gets a branch that skips it where no lane takes it.
#include <set>

#include "codegen/legalize/legalize.h"
#include "codegen/llvm/emitter.h"

namespace pliant::codegen {

using expr::BinaryOp;
using expr::Scalar;
using expr::ScalarKind;
using llvm::Value;

namespace {
// Nodes from which a side of a Select is worth a branch.
constexpr int64_t kLazyCost = 24;
}  // namespace

bool Emitter::has_load(Scalar s) {
  if (auto it = has_load_.find(s.node()); it != has_load_.end()) return it->second;
  bool found = s->kind == ScalarKind::Load;
  for (const Scalar& a : s->args) found = has_load(a) || found;
  for (expr::Dim d : s->index) found = found || !expr::loads_of(expr::make_index(d)).empty();
  has_load_[s.node()] = found;
  return found;
}

int64_t Emitter::cost(Scalar s, int64_t limit) const {
  std::set<const expr::ScalarNode*> seen;
  std::vector<Scalar> todo{s};
  while (!todo.empty() && static_cast<int64_t>(seen.size()) < limit) {
    const Scalar x = todo.back();
    todo.pop_back();
    if (x->kind == ScalarKind::Const || memo_.count({x.node(), 0}) || !seen.insert(x.node()).second) continue;
    todo.insert(todo.end(), x->args.begin(), x->args.end());
  }
  return static_cast<int64_t>(seen.size());
}

void Emitter::clear_memo() {
  memo_.clear();
  memo_log_.clear();
}

unsigned Emitter::guard_id(Value* uniform, Value* mask) {
  if (!uniform && !mask) return 0;
  return guard_ids_.try_emplace({uniform, mask}, static_cast<unsigned>(guard_ids_.size() + 1)).first->second;
}

void Emitter::with_guard(Guard g, const std::function<void()>& body) {
  g.id = guard_id(g.uniform, g.mask);
  std::swap(guard_, g);
  body();
  std::swap(guard_, g);
}

Val Emitter::emit(Scalar s) {
  const MemoKey key{s.node(), has_load(s) ? guard_.id : 0};
  if (auto it = memo_.find(key); it != memo_.end()) return it->second;
  const Val v = emit_uncached(s);
  memo_.emplace(key, v);
  memo_log_.push_back(key);
  return v;
}

Val Emitter::emit_value_atom(const expr::Atom& a) {
  const Scalar s = legalize_scalar(Scalar(a.scalar), ctx_);
  const Val v = emit(s);
  llvm::Type* wide = type(DType::I64, v.vec);
  return {is_signed_int(s.dtype()) ? b_.CreateSExt(v.v, wide) : b_.CreateZExt(v.v, wide), v.vec};
}

Val Emitter::emit_comparison(Scalar s) {
  const Scalar a = s->args[0], b = s->args[1];
  auto as_dim = [&](Scalar x) -> expr::Dim {
    if (x->kind == ScalarKind::Index) return x->index[0];
    if (x->kind == ScalarKind::Const) return ctx_.constant(static_cast<int64_t>(x->bits));
    return {};
  };
  if (a.dtype() == DType::I64) {
    const expr::Dim p = as_dim(a), q = as_dim(b);
    if (p && q) return compare_index(s->binary(), index_of(p - q));
  }
  const Val x = emit(a), y = emit(b);
  if (!x.vec && !y.vec) return {binary(s->binary(), a.dtype(), x.v, y.v), false};
  return {binary(s->binary(), a.dtype(), splat(x), splat(y)), true};
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
      if (expr::is_comparison(s->binary())) return emit_comparison(s);
      const Val x = emit(s->args[0]), y = emit(s->args[1]);
      if (!x.vec && !y.vec) return {binary(s->binary(), s.dtype(), x.v, y.v), false};
      return {binary(s->binary(), s.dtype(), splat(x), splat(y)), true};
    }
    case ScalarKind::Cast: {
      const Val x = emit(s->args[0]);
      return {cast(s.dtype(), s->args[0].dtype(), x.v), x.vec};
    }
    case ScalarKind::Bitcast: {
      const Val x = emit(s->args[0]);
      return {b_.CreateBitCast(x.v, type(s.dtype(), x.vec)), x.vec};
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

Val Emitter::emit_arm(Scalar arm, Val cond, bool negate) {
  Value* c = negate ? b_.CreateNot(cond.v) : cond.v;
  Guard g = guard_;
  Value* take = c;  // uniform: some lane takes this side
  if (cond.vec) {
    g.mask = g.mask ? b_.CreateAnd(g.mask, c) : c;
    g.some_lane = false;
  }
  if (cost(arm, kLazyCost) < kLazyCost) {
    if (!has_load(arm)) return emit(arm);
    if (!cond.vec) g.uniform = g.uniform ? b_.CreateAnd(g.uniform, c) : c;
    Val v;
    with_guard(g, [&] { v = emit(arm); });
    return v;
  }
  if (cond.vec) {
    take = any_lane(g.mask);
    g.some_lane = true;
  }
  auto* side = llvm::BasicBlock::Create(llvm_, "side", function_);
  auto* join = llvm::BasicBlock::Create(llvm_, "join", function_);
  llvm::BasicBlock* from = b_.GetInsertBlock();
  b_.CreateCondBr(take, side, join);
  hoist_->enter(side);
  const size_t log = memo_log_.size();
  Val v;
  with_guard(g, [&] { v = emit(arm); });
  // What was emitted inside does not dominate what follows.
  while (memo_log_.size() > log) {
    memo_.erase(memo_log_.back());
    memo_log_.pop_back();
  }
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
  const Val x = emit_arm(s->args[1], cond, false);
  const Val y = emit_arm(s->args[2], cond, true);
  const bool vec = cond.vec || x.vec || y.vec;
  auto arm = [&](const Val& v) { return vec ? splat(v) : v.v; };
  return {b_.CreateSelect(cond.v, arm(x), arm(y)), vec};
}

}  // namespace pliant::codegen
