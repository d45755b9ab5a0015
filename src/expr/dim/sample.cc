#include "expr/dim/sample.h"

#include <algorithm>

#include "expr/dim/polynomial.h"

namespace pliant::expr {
namespace {

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

// Sizes near their lower bounds in the even samples, spread out in the odd ones, and in the last two larger than the blocks
// that extents are split into; indices at their ends and in between.
int64_t pick_size(int sample, SymbolId id, int64_t lo) {
  const uint64_t h = (id + 1) * 0x9e3779b97f4a7c15ull + static_cast<uint64_t>(sample) * 0xbf58476d1ce4e5b9ull;
  const int64_t spread = static_cast<int64_t>((h >> 40) % 61);
  switch (sample) {
    case 0: return lo;
    case 2: return lo + 1;
    case 4:
    case 6: return lo + spread % 4;
    case 8:
    case 9: return lo + 5000 + 61 * spread;
    default: return lo + 2 + spread;
  }
}

int64_t pick_index(int sample, SymbolId id, int64_t hi) {
  switch (sample % 4) {
    case 0: return 0;
    case 1: return hi;
    case 2: return hi;
    default: return (static_cast<int64_t>(id) * 7 + sample) % (hi + 1);
  }
}

int64_t sample_of_symbol(const SymbolInfo& info, SymbolId id, int sample, int64_t upper) {
  const int64_t lo = info.lo == INT64_MIN ? -3 : info.lo;
  const int64_t hi = std::min(info.hi, upper);
  if (hi < lo) return kNoSample;
  int64_t v = info.origin.kind == Origin::Kind::LoopIndex && lo == 0 && hi < INT64_MAX
                  ? pick_index(sample, id, hi)
                  : std::min(pick_size(sample, id, lo), hi);
  if (info.multiple_of > 1) {
    v = -floor_div(-v, info.multiple_of) * info.multiple_of;
    if (v > hi) v -= info.multiple_of;
    if (v < lo) return kNoSample;
  }
  return v;
}

int64_t combine(AtomKind kind, int64_t a, int64_t b) {
  switch (kind) {
    case AtomKind::FloorDiv: return b > 0 ? floor_div(a, b) : kNoSample;
    case AtomKind::Mod: return b > 0 ? a - b * floor_div(a, b) : kNoSample;
    case AtomKind::Min: return std::min(a, b);
    case AtomKind::Max: return std::max(a, b);
    case AtomKind::Broadcast: return a == b || b == 1 ? a : a == 1 ? b : kNoSample;
    case AtomKind::Symbol:
    case AtomKind::Value: break;
  }
  return kNoSample;
}

Samples compute(const Atom* atom, Context& ctx) {
  Samples out;
  if (atom->kind == AtomKind::Symbol) {
    Samples upper;
    upper.fill(INT64_MAX);
    if (atom->info->upper) upper = samples_of(*atom->info->upper);
    for (int k = 0; k < kSampleCount; ++k) {
      const size_t i = static_cast<size_t>(k);
      out[i] = upper[i] == kNoSample ? kNoSample : sample_of_symbol(*atom->info, atom->symbol, k, upper[i]);
    }
    return out;
  }
  if (atom->kind == AtomKind::Value) {
    const Interval r = ctx.range(Interner::dim_of(ctx, atom));
    for (int k = 0; k < kSampleCount; ++k) out[static_cast<size_t>(k)] = std::clamp<int64_t>((k - 3) * 5, r.lo, r.hi);
    return out;
  }
  out = samples_of(atom->args[0]);
  for (size_t i = 1; i < atom->args.size(); ++i) {
    const Samples arg = samples_of(atom->args[i]);
    for (size_t k = 0; k < kSampleCount; ++k) {
      out[k] = out[k] == kNoSample || arg[k] == kNoSample ? kNoSample : combine(atom->kind, out[k], arg[k]);
    }
  }
  return out;
}

Samples samples_of_atom(const Atom* atom, Context& ctx) {
  {
    std::lock_guard lock(ctx.impl().memo_mutex);
    auto it = ctx.impl().sample_memo.find(atom);
    if (it != ctx.impl().sample_memo.end()) return it->second;
  }
  const Samples out = compute(atom, ctx);
  std::lock_guard lock(ctx.impl().memo_mutex);
  ctx.impl().sample_memo.emplace(atom, out);
  return out;
}

}  // namespace

Samples samples_of(Dim d) {
  Samples sum{};
  for (const auto& [m, k] : d->terms) {
    Samples term;
    term.fill(k);
    for (const auto& [atom, power] : m->factors) {
      const Samples value = samples_of_atom(atom, *d->ctx);
      for (size_t i = 0; i < kSampleCount; ++i) {
        for (uint32_t p = 0; p < power && term[i] != kNoSample; ++p) {
          if (value[i] == kNoSample || __builtin_mul_overflow(term[i], value[i], &term[i])) term[i] = kNoSample;
        }
      }
    }
    for (size_t i = 0; i < kSampleCount; ++i) {
      if (sum[i] == kNoSample) continue;
      if (term[i] == kNoSample || __builtin_add_overflow(sum[i], term[i], &sum[i])) sum[i] = kNoSample;
    }
  }
  return sum;
}

bool some_sample_negative(Dim d) {
  const Samples s = samples_of(d);
  return std::any_of(s.begin(), s.end(), [](int64_t v) { return v != kNoSample && v < 0; });
}
bool some_sample_nonnegative(Dim d) {
  const Samples s = samples_of(d);
  return std::any_of(s.begin(), s.end(), [](int64_t v) { return v != kNoSample && v >= 0; });
}

}  // namespace pliant::expr
