// Storage of a Context: arenas of immutable nodes, hash-consed, with the memo tables of the proofs. Internal to expr.
#pragma once
#include <deque>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "expr/dim/sample.h"
#include "expr/expr.h"

namespace pliant::expr {

using Factors = std::vector<std::pair<const Atom*, uint32_t>>;
using Term = std::pair<const Monomial*, int64_t>;
using Terms = std::vector<Term>;

inline size_t mix(size_t seed, size_t v) { return seed ^ (v * 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2)); }

// Nodes are compared by content; members that are interned themselves are compared by address.
struct ContentHash {
  size_t operator()(const Atom* a) const;
  size_t operator()(const Monomial* m) const;
  size_t operator()(const DimNode* d) const;
  size_t operator()(const ScalarNode* s) const;
};
struct ContentEqual {
  bool operator()(const Atom* a, const Atom* b) const;
  bool operator()(const Monomial* a, const Monomial* b) const;
  bool operator()(const DimNode* a, const DimNode* b) const;
  bool operator()(const ScalarNode* a, const ScalarNode* b) const;
};
template <class T>
using InternSet = std::unordered_set<const T*, ContentHash, ContentEqual>;

// The only way to make nodes. `terms` of a Dim are sorted by monomial id without zero coefficients; `factors` of a Monomial
// are sorted by atom id; `args` of Min, Max and Broadcast are sorted by Dim id.
struct Interner {
  using Impl = Context::Impl;
  static const Atom* atom(Context& ctx, AtomKind kind, std::vector<Dim> args, const ScalarNode* scalar = nullptr);
  static const Monomial* monomial(Context& ctx, Factors factors);
  static Dim dim(Context& ctx, Terms terms);
  static Scalar scalar(ScalarNode node);
  // The Dim that is just this atom.
  static Dim dim_of(Context& ctx, const Atom* atom);
};

// What a loop index was asked for by.
struct IndexKey {
  std::string name;
  int64_t hi;
  const DimNode* upper;  // null: none
  bool operator==(const IndexKey&) const = default;
};
struct IndexHash {
  size_t operator()(const IndexKey& k) const {
    return mix(mix(std::hash<std::string>()(k.name), static_cast<size_t>(k.hi)), std::hash<const void*>()(k.upper));
  }
};

struct Context::Impl {
  // Guards the arenas, the tables and the symbols. Nodes never move, and are immutable once published.
  std::mutex mutex;
  std::deque<Atom> atoms;
  std::deque<Monomial> monomials;
  std::deque<DimNode> dims;
  std::deque<ScalarNode> scalars;
  InternSet<Atom> atom_set;
  InternSet<Monomial> monomial_set;
  InternSet<DimNode> dim_set;
  InternSet<ScalarNode> scalar_set;
  std::deque<SymbolInfo> symbols;
  std::vector<Dim> symbol_dims;
  std::unordered_map<std::string, SymbolId> names;
  std::unordered_map<std::string, uint32_t> next_suffix;
  std::unordered_map<IndexKey, std::vector<SymbolId>, IndexHash> indices;
  TensorId next_tensor = 0;

  // Memo tables are emptied when facts about symbols change.
  std::mutex memo_mutex;
  std::unordered_map<const DimNode*, Interval> range_memo;
  std::unordered_map<const Atom*, Interval> atom_range_memo;
  std::unordered_map<const DimNode*, Tri> nonneg_memo;
  std::unordered_map<const DimNode*, Tri> zero_memo;
  std::unordered_map<const Atom*, Samples> sample_memo;
  std::unordered_map<const Atom*, int64_t> divisor_memo;
  std::unordered_map<const ScalarNode*, Interval> value_range_memo;

  std::unordered_map<const Atom*, int64_t> weight_memo;  // depends on no facts
};

}  // namespace pliant::expr
