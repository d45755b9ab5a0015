// min, max and broadcast: sets of sizes from which proofs drop what another member covers.
#include <algorithm>
#include <iterator>

#include "expr/dim/polynomial.h"

namespace pliant::expr {
namespace {

using Dims = std::vector<Dim>;

void flatten(AtomKind kind, Dim d, Dims& out) {
  const Atom* atom = as_atom(d);
  if (atom && atom->kind == kind) {
    for (Dim arg : atom->args) flatten(kind, arg, out);
    return;
  }
  if (std::find(out.begin(), out.end(), d) == out.end()) out.push_back(d);
}

Dim make_set(Context& ctx, AtomKind kind, Dims args) {
  if (args.size() == 1) return args[0];
  std::sort(args.begin(), args.end(), [](Dim a, Dim b) { return a->id < b->id; });
  return Interner::dim_of(ctx, Interner::atom(ctx, kind, std::move(args)));
}

// True when `a` makes `b` superfluous.
bool covers(Context& ctx, AtomKind kind, Dim a, Dim b) {
  switch (kind) {
    case AtomKind::Min: return ctx.proves_less_equal(a, b);
    case AtomKind::Max: return ctx.proves_less_equal(b, a);
    default: return ctx.proves_equal(a, b);
  }
}

Dim reduce_set(AtomKind kind, Dim a, Dim b) {
  PLIANT_CHECK(a->ctx == b->ctx) << "dims of two contexts";
  Context& ctx = *a->ctx;
  if (a == b) return a;
  // The arguments of one set do not cover each other.
  Dims kept, others;
  flatten(kind, a, kept);
  flatten(kind, b, others);
  Dims added;
  for (Dim d : others) {
    if (std::any_of(kept.begin(), kept.end(), [&](Dim k) { return covers(ctx, kind, k, d); })) continue;
    kept.erase(std::remove_if(kept.begin(), kept.end(), [&](Dim k) { return covers(ctx, kind, d, k); }), kept.end());
    added.push_back(d);
  }
  kept.insert(kept.end(), added.begin(), added.end());
  return make_set(ctx, kind, std::move(kept));
}

// True when `d` is a minimum of `e` and of sizes that are at least 1. Broadcast against `e` it is then equal to `e`, or 1,
// which it can only be where `e` is 1 as well or decides: a table cut to a length and broadcast against that length.
bool is_cut_of(Context& ctx, Dim d, Dim e) {
  const Atom* atom = as_atom(d);
  if (!atom || atom->kind != AtomKind::Min) return false;
  bool has_e = std::find(atom->args.begin(), atom->args.end(), e) != atom->args.end();
  return has_e &&
         std::all_of(atom->args.begin(), atom->args.end(), [&](Dim arg) { return arg == e || ctx.range(arg).lo >= 1; });
}

}  // namespace

Dim min(Dim a, Dim b) { return reduce_set(AtomKind::Min, a, b); }
Dim max(Dim a, Dim b) { return reduce_set(AtomKind::Max, a, b); }

Dim broadcast(Dim a, Dim b) {
  PLIANT_CHECK(a->ctx == b->ctx) << "dims of two contexts";
  Context& ctx = *a->ctx;
  if (a == b || b.is_const(1)) return a;
  if (a.is_const(1)) return b;
  Dims all, kept;
  flatten(AtomKind::Broadcast, a, all);
  const size_t own = all.size();
  flatten(AtomKind::Broadcast, b, all);
  // A size that is never 1 decides: the others are 1 or equal to it. A constant is the plainest of those.
  for (Dim d : all) {
    if (d.is_const() && !d.is_const(1)) return d;
  }
  for (Dim d : all) {
    if (ctx.range(d).lo >= 2) return d;
  }
  const auto is_cut = [&](Dim d) {
    return std::any_of(all.begin(), all.end(), [&](Dim e) { return is_cut_of(ctx, d, e); });
  };
  std::copy_if(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(own), std::back_inserter(kept),
               [&](Dim d) { return !is_cut(d); });
  // The arguments of one set are not equal to each other.
  const Dims before = kept;
  std::copy_if(all.begin() + static_cast<std::ptrdiff_t>(own), all.end(), std::back_inserter(kept), [&](Dim d) {
    return !is_cut(d) && std::none_of(before.begin(), before.end(), [&](Dim k) { return ctx.proves_equal(k, d); });
  });
  return make_set(ctx, AtomKind::Broadcast, std::move(kept));
}

}  // namespace pliant::expr
