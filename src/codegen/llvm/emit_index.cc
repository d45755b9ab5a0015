// Dims as functions of the lane.
//
// Divisions by a uniform divisor stay cheap: with base + s, 0 <= s <= hi, the quotient is floordiv(base, d) + (mod(base, d)
// + s) / d, where the second part is at most hi and is computed in 32 bits. A batch index taken apart by floordiv and mod,
// or a window clamped by min and max, therefore still yields a uniform base and a small offset.
#include <algorithm>
#include <bit>

#include "codegen/llvm/emitter.h"

namespace pliant::codegen {

using expr::Dim;
using llvm::ConstantInt;
using llvm::Value;

namespace {

// Bounds under which 32-bit lane arithmetic and its f32 division are exact.
constexpr int64_t kSmallLimit = 1 << 12;
constexpr int64_t kSmallProductLimit = 1 << 28;

std::optional<int64_t> const_of(Value* v) {
  if (auto* c = llvm::dyn_cast_or_null<ConstantInt>(v)) return c->getSExtValue();
  return std::nullopt;
}

Index of_uniform(Value* v) {
  if (const auto k = const_of(v)) return {.constant = *k};
  return {.terms = {v}};
}
Index of_wide(Value* v) { return {.wide = v}; }

}  // namespace

Value* Emitter::lane_numbers(llvm::Type* element) {
  std::vector<llvm::Constant*> numbers;
  for (int64_t i = 0; i < lanes_; ++i) numbers.push_back(ConstantInt::get(element, static_cast<uint64_t>(i)));
  return llvm::ConstantVector::get(numbers);
}

Value* Emitter::add_lanes(Value* x, Value* y) {
  if (!x || !y) return x ? x : y;
  return hoist_->pure("vadd", {x, y}, [&] { return b_.CreateAdd(x, y); });
}

Value* Emitter::multiply_lanes(Value* x, Value* y) {
  return hoist_->pure("vmul", {x, y}, [&] { return b_.CreateMul(x, y); });
}

Value* Emitter::uniform_sum(std::vector<Value*> terms) {
  std::stable_sort(terms.begin(), terms.end(), [&](Value* x, Value* y) { return hoist_->level(x) < hoist_->level(y); });
  Value* sum = hoist_->constant(0);
  for (Value* t : terms) sum = hoist_->add(sum, t);
  return sum;
}

Value* Emitter::uniform_part(const Index& x) { return hoist_->add(uniform_sum(x.terms), hoist_->constant(x.constant)); }

Value* Emitter::uniform_dim(Dim d) {
  const Index x = index_of(d);
  PLIANT_CHECK(x.is_uniform()) << d.str() << " differs between lanes";
  return uniform_part(x);
}

Value* Emitter::wide_lanes(const Index& x) {
  Value* v = spread(uniform_part(x));
  if (x.step) {
    Value* step = spread(x.step);
    Value* lanes = lane_numbers(b_.getInt64Ty());
    Value* ramp = const_of(x.step) == 1 ? lanes : hoist_->pure("ramp", {step}, [&] { return b_.CreateMul(step, lanes); });
    v = add_lanes(v, ramp);
  }
  if (x.small)
    v = add_lanes(v, hoist_->pure("vsext", {x.small}, [&] { return b_.CreateSExt(x.small, vector_of(b_.getInt64Ty())); }));
  return add_lanes(v, x.wide);
}

std::optional<Emitter::Small> Emitter::small_part(const Index& x) {
  if (x.wide) return std::nullopt;
  Small s{x.small, x.small_lo, x.small_hi};
  if (x.step) {
    const std::optional<int64_t> step = const_of(x.step);
    if (!step || std::abs(*step) > kSmallLimit / lanes_) return std::nullopt;
    Value* ramp = lane_numbers(b_.getInt32Ty());
    if (*step != 1) ramp = b_.CreateMul(ramp, splat(b_.getInt32(static_cast<uint32_t>(*step))));
    const int64_t end = *step * (lanes_ - 1);
    s.lo += std::min<int64_t>(end, 0);
    s.hi += std::max<int64_t>(end, 0);
    s.v = add_lanes(s.v, ramp);
  }
  if (s.hi - s.lo > kSmallLimit) return std::nullopt;
  return s;
}

void Emitter::accumulate(Index& sum, const Index& x) {
  sum.terms.insert(sum.terms.end(), x.terms.begin(), x.terms.end());
  sum.constant += x.constant;
  if (x.step) sum.step = sum.step ? hoist_->add(sum.step, x.step) : x.step;
  if (sum.step && const_of(sum.step) == 0) sum.step = nullptr;
  sum.small = add_lanes(sum.small, x.small);
  sum.small_lo += x.small_lo;
  sum.small_hi += x.small_hi;
  sum.wide = add_lanes(sum.wide, x.wide);
}

Index Emitter::scale(const Index& x, Value* by) {
  const std::optional<int64_t> k = const_of(by);
  Index out;
  for (Value* t : x.terms) out.terms.push_back(hoist_->mul(t, by));
  if (k) {
    out.constant = x.constant * *k;
  } else if (x.constant != 0) {
    out.terms.push_back(hoist_->mul(by, hoist_->constant(x.constant)));
  }
  if (x.step) out.step = hoist_->mul(x.step, by);
  if (x.small) {
    const int64_t bound = std::max(std::abs(x.small_lo), std::abs(x.small_hi));
    if (k && std::abs(*k) <= kSmallProductLimit / std::max<int64_t>(bound, 1)) {
      Value* factor = splat(b_.getInt32(static_cast<uint32_t>(*k)));
      out.small = *k == 1 ? x.small : multiply_lanes(x.small, factor);
      out.small_lo = std::min(x.small_lo * *k, x.small_hi * *k);
      out.small_hi = std::max(x.small_lo * *k, x.small_hi * *k);
    } else {
      Value* factor = spread(by);
      out.wide = hoist_->pure("vsextmul", {x.small, factor},
                              [&] { return b_.CreateMul(b_.CreateSExt(x.small, vector_of(b_.getInt64Ty())), factor); });
    }
  }
  if (x.wide) out.wide = add_lanes(out.wide, multiply_lanes(x.wide, spread(by)));
  return out;
}

Index Emitter::product(const expr::Monomial& m, int64_t coefficient) {
  std::vector<Value*> factors;
  std::optional<Index> varying;
  for (const auto& [atom, power] : m.factors) {
    const Index x = index_of_atom(*atom);
    for (uint32_t i = 0; i < power; ++i) {
      if (x.is_const()) {
        coefficient *= x.constant;
      } else if (x.is_uniform()) {
        factors.push_back(uniform_part(x));
      } else if (!varying) {
        varying = x;
      } else {
        Value* p = wide_lanes(*varying);
        varying = of_wide(multiply_lanes(p, wide_lanes(x)));
      }
    }
  }
  std::stable_sort(factors.begin(), factors.end(), [&](Value* x, Value* y) { return hoist_->level(x) < hoist_->level(y); });
  Value* uniform = hoist_->constant(coefficient);
  for (Value* f : factors) uniform = hoist_->mul(uniform, f);
  if (varying) return scale(*varying, uniform);
  return of_uniform(uniform);
}

Index Emitter::index_of(Dim d) {
  if (known_dims_ != nullptr)
    if (auto it = known_dims_->find(d); it != known_dims_->end()) return it->second;
  Index sum;
  for (const auto& [monomial, coefficient] : d->terms) accumulate(sum, product(*monomial, coefficient));
  if (known_dims_ != nullptr) known_dims_->emplace(d, of_uniform(uniform_part(sum)));
  return sum;
}

Index Emitter::index_of_atom(const expr::Atom& a) {
  switch (a.kind) {
    case expr::AtomKind::Symbol: {
      if (lanes_ && a.symbol == lane_var_) return {.step = hoist_->constant(1)};
      if (auto it = env_.find(a.symbol); it != env_.end()) return of_uniform(it->second);
      PLIANT_CHECK(read_symbol_) << "symbol " << ctx_.info(a.symbol).name << " is not bound";
      return of_uniform(read_symbol_(a.symbol));
    }
    case expr::AtomKind::FloorDiv: return divide(a.args[0], a.args[1], false);
    case expr::AtomKind::Mod: return divide(a.args[0], a.args[1], true);
    case expr::AtomKind::Min:
    case expr::AtomKind::Max: return extremum(a);
    case expr::AtomKind::Broadcast: {
      Index x = index_of(a.args[0]);
      for (size_t i = 1; i < a.args.size(); ++i) {
        const Index y = index_of(a.args[i]);
        if (x.is_uniform() && y.is_uniform()) {
          x = of_uniform(hoist_->broadcast(uniform_part(x), uniform_part(y)));
          continue;
        }
        Value* p = wide_lanes(x);
        Value* q = wide_lanes(y);
        x = of_wide(hoist_->pure("vbroadcast", {p, q},
                                 [&] { return b_.CreateSelect(b_.CreateICmpEQ(p, splat(hoist_->constant(1))), q, p); }));
      }
      return x;
    }
    case expr::AtomKind::Value: {
      const Val v = emit_value_atom(a);
      return v.vec ? of_wide(v.v) : of_uniform(v.v);
    }
  }
  PLIANT_CHECK(false) << "unknown atom";
  return {};
}

Index Emitter::divide(Dim numerator, Dim divisor, bool want_mod) {
  const Index n = index_of(numerator);
  const Index d = index_of(divisor);
  const bool nonnegative = ctx_.range(numerator).lo >= 0;
  if (n.is_uniform() && d.is_uniform()) {
    Value* p = uniform_part(n);
    Value* q = uniform_part(d);
    return of_uniform(want_mod ? hoist_->mod(p, q, nonnegative) : hoist_->floordiv(p, q, nonnegative));
  }
  const std::optional<Small> small = d.is_uniform() ? small_part(n) : std::nullopt;
  if (small) return divide_small(n, *small, uniform_part(d), nonnegative, want_mod);
  Value* p = wide_lanes(n);
  Value* q = wide_lanes(d);
  Value* one = splat(hoist_->constant(1));
  return of_wide(hoist_->pure(want_mod ? "vmod" : "vfloordiv", {p, q}, [&] {
    Value* safe = llvm::isa<llvm::Constant>(q) ? q : b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, q, one);
    Value* quotient = b_.CreateSDiv(p, safe);
    Value* r = b_.CreateSub(p, b_.CreateMul(quotient, safe));
    Value* sign = b_.CreateAShr(r, splat(hoist_->constant(63)));
    return want_mod ? b_.CreateAdd(r, b_.CreateAnd(sign, safe)) : b_.CreateAdd(quotient, sign);
  }));
}

Value* Emitter::small_carry(Value* r, Value* s, Value* div, int64_t hi) {
  const std::optional<int64_t> k = const_of(div);
  auto sum_with = [&](Value* remainder) { return b_.CreateAdd(splat(b_.CreateTrunc(remainder, b_.getInt32Ty())), s); };
  if (k && *k <= kSmallLimit) {
    return hoist_->pure("vcarry", {r, s, div},
                        [&] { return b_.CreateUDiv(sum_with(r), splat(b_.CreateTrunc(div, b_.getInt32Ty()))); });
  }
  // Divisors above `cap` > hi act as `cap` with the remainder moved by as much: either can carry at most once.
  Value* cap = hoist_->constant(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(hi) + 1)));
  auto* small_type = vector_of(b_.getInt32Ty());
  return hoist_->pure("vcarry", {r, s, div}, [&]() -> Value* {
    Value* d32 = b_.CreateTrunc(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, div, cap), b_.getInt32Ty());
    Value* over = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(div, cap), hoist_->constant(0));
    Value* moved = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(r, over), hoist_->constant(0));
    if (k) return b_.CreateZExt(b_.CreateICmpUGE(sum_with(moved), splat(d32)), small_type);
    Value* sum = b_.CreateSIToFP(sum_with(moved), vector_of(b_.getFloatTy()));
    Value* quotient = b_.CreateFDiv(sum, splat(b_.CreateSIToFP(d32, b_.getFloatTy())));
    return b_.CreateFPToSI(quotient, small_type);
  });
}

Index Emitter::divide_small(const Index& n, const Small& small, Value* div, bool nonnegative, bool want_mod) {
  // base + s with s in [0, hi]; `r` is the remainder of the base.
  Value* base = uniform_part({n.terms, n.constant + small.lo});
  const int64_t hi = small.hi - small.lo;
  Value* s = small.v;
  if (small.lo != 0) s = add_lanes(s, splat(b_.getInt32(static_cast<uint32_t>(-small.lo))));
  const std::optional<int64_t> k = const_of(div);
  if (!k) div = hoist_->smax(div, hoist_->constant(1));
  const bool base_nonnegative = nonnegative && small.lo == 0;  // lane 0 alone is the base
  Value* q = hoist_->floordiv(base, div, base_nonnegative);
  Value* r = hoist_->mod(base, div, base_nonnegative);
  Value* carry = small_carry(r, s, div, hi);  // (r + s) / d
  Index out;
  if (!want_mod) {
    out = of_uniform(q);
    out.small = carry;
    out.small_hi = hi;
    return out;
  }
  if (k && *k <= kSmallLimit) {
    out.small = hoist_->pure("vmod", {r, s, carry, div}, [&] {
      Value* sum = b_.CreateAdd(splat(b_.CreateTrunc(r, b_.getInt32Ty())), s);
      return b_.CreateSub(sum, b_.CreateMul(carry, splat(b_.CreateTrunc(div, b_.getInt32Ty()))));
    });
    out.small_hi = *k - 1;
    return out;
  }
  // r + s - d * carry
  Index rest = of_uniform(r);
  rest.small = s;
  rest.small_hi = hi;
  accumulate(out, rest);
  accumulate(out, scale({.small = carry, .small_hi = hi}, hoist_->mul(div, hoist_->constant(-1))));
  return out;
}

Index Emitter::extremum(const expr::Atom& a) {
  const bool want_max = a.kind == expr::AtomKind::Max;
  auto pick = [&](Value* x, Value* y) { return want_max ? hoist_->smax(x, y) : hoist_->smin(x, y); };
  Index x = index_of(a.args[0]);
  for (size_t i = 1; i < a.args.size(); ++i) {
    Index y = index_of(a.args[i]);
    if (x.is_uniform() && y.is_uniform()) {
      x = of_uniform(pick(uniform_part(x), uniform_part(y)));
      continue;
    }
    if (x.is_uniform()) std::swap(x, y);
    const std::optional<Small> s = y.is_uniform() ? small_part(x) : std::nullopt;
    if (s) {
      // min(b + s, u) = min(b, u - lo) + min(s, clamp(u - b, lo, hi)), and max alike with the bounds exchanged.
      Value* base = uniform_part({x.terms, x.constant});
      Value* u = uniform_part(y);
      Value* gap = hoist_->smax(hoist_->smin(hoist_->sub(u, base), hoist_->constant(s->hi)), hoist_->constant(s->lo));
      Value* new_base = pick(base, hoist_->sub(u, hoist_->constant(want_max ? s->hi : s->lo)));
      Value* v = hoist_->pure(want_max ? "vsmax" : "vsmin", {s->v, gap}, [&] {
        Value* bound = splat(b_.CreateTrunc(gap, b_.getInt32Ty()));
        return b_.CreateBinaryIntrinsic(want_max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin, s->v, bound);
      });
      x = {.terms = {new_base}, .small = v, .small_lo = s->lo, .small_hi = s->hi};
      continue;
    }
    Value* p = wide_lanes(x);
    Value* q = wide_lanes(y);
    x = of_wide(hoist_->pure(want_max ? "vsmax" : "vsmin", {p, q}, [&] {
      return b_.CreateBinaryIntrinsic(want_max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin, p, q);
    }));
  }
  return x;
}

Val Emitter::compare_index(expr::BinaryOp op, const Index& x) {
  const llvm::CmpInst::Predicate predicate = predicate_of(op, DType::I64);
  const std::string tag = "icmp" + std::to_string(static_cast<int>(predicate));
  auto compare = [&](Value* p, Value* q) {
    return hoist_->pure(tag.c_str(), {p, q}, [&] { return b_.CreateICmp(predicate, p, q); });
  };
  if (x.is_uniform()) return {compare(uniform_sum(x.terms), hoist_->constant(-x.constant)), false};
  const std::optional<Small> s = small_part(x);
  if (!s) return {compare(wide_lanes(x), splat(hoist_->constant(0))), true};
  // base + s OP 0 is s OP -base, with -base brought next to the bounds of s.
  Value* bound = hoist_->sub(hoist_->constant(-x.constant), uniform_sum(x.terms));
  Value* near = hoist_->smax(hoist_->smin(bound, hoist_->constant(s->hi + 1)), hoist_->constant(s->lo - 1));
  Value* limit = hoist_->pure("vlimit", {near}, [&] { return splat(b_.CreateTrunc(near, b_.getInt32Ty())); });
  return {compare(s->v, limit), true};
}

}  // namespace pliant::codegen
