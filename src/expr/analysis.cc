// Questions about expressions: symbols, loads, affine coefficients, values.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "expr/dim/polynomial.h"

namespace pliant::expr {
namespace {

// Visits every node below an expression once, Value atoms included.
class Walker {
 public:
  std::vector<SymbolId> symbols;
  std::vector<Scalar> loads;

  void visit(Dim d) {
    if (!seen_.insert(d.node()).second) return;
    for (const auto& [m, k] : d->terms) {
      for (const auto& [atom, power] : m->factors) visit(atom);
    }
  }
  void visit(Scalar s) {
    if (!seen_.insert(s.node()).second) return;
    if (s->kind == ScalarKind::Load) loads.push_back(s);
    for (Scalar a : s->args) visit(a);
    for (Dim d : s->index) visit(d);
  }

 private:
  void visit(const Atom* atom) {
    if (!seen_.insert(atom).second) return;
    if (atom->kind == AtomKind::Symbol) symbols.push_back(atom->symbol);
    if (atom->kind == AtomKind::Value) visit(Scalar(atom->scalar));
    for (Dim arg : atom->args) visit(arg);
  }

  std::unordered_set<const void*> seen_;
};

template <class T>
std::vector<SymbolId> sorted_symbols(T expression) {
  Walker w;
  w.visit(expression);
  std::sort(w.symbols.begin(), w.symbols.end());
  return std::move(w.symbols);
}

using Lookup = std::function<std::optional<int64_t>(SymbolId)>;

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

std::optional<int64_t> combine(AtomKind kind, int64_t a, int64_t b) {
  switch (kind) {
    case AtomKind::FloorDiv:
      if (b == 0) return 0;
      if (b == -1) return a == INT64_MIN ? std::nullopt : std::optional<int64_t>(-a);
      return floor_div(a, b);
    case AtomKind::Mod:
      if (b == 0 || b == -1) return 0;
      return a - b * floor_div(a, b);
    case AtomKind::Min: return std::min(a, b);
    case AtomKind::Max: return std::max(a, b);
    case AtomKind::Broadcast:
      if (a != 1 && b != 1 && a != b) return std::nullopt;
      return a == 1 ? b : a;
    case AtomKind::Symbol:
    case AtomKind::Value: break;
  }
  return std::nullopt;
}

// Each part once, however often it occurs.
class Evaluation {
 public:
  explicit Evaluation(const Lookup& bindings) : bindings_(bindings) {}

  std::optional<int64_t> value(Dim d) {
    int64_t sum = 0;
    for (const auto& [m, k] : d->terms) {
      int64_t term = k;
      for (const auto& [atom, power] : m->factors) {
        const std::optional<int64_t> v = value(atom);
        if (!v) return std::nullopt;
        for (uint32_t i = 0; i < power; ++i) {
          if (__builtin_mul_overflow(term, *v, &term)) return std::nullopt;
        }
      }
      if (__builtin_add_overflow(sum, term, &sum)) return std::nullopt;
    }
    return sum;
  }

 private:
  std::optional<int64_t> value(const Atom* atom) {
    if (atom->kind == AtomKind::Symbol) return bindings_(atom->symbol);
    if (atom->kind == AtomKind::Value) return std::nullopt;
    if (auto it = known_.find(atom); it != known_.end()) return it->second;
    std::optional<int64_t> out = value(atom->args[0]);
    for (size_t i = 1; out && i < atom->args.size(); ++i) {
      const std::optional<int64_t> arg = value(atom->args[i]);
      out = arg ? combine(atom->kind, *out, *arg) : std::nullopt;
    }
    known_.emplace(atom, out);
    return out;
  }

  const Lookup& bindings_;
  std::unordered_map<const Atom*, std::optional<int64_t>> known_;
};

}  // namespace

std::vector<SymbolId> symbols_of(Dim d) { return sorted_symbols(d); }
std::vector<SymbolId> symbols_of(Scalar s) { return sorted_symbols(s); }
bool uses_symbol(Dim d, SymbolId s) {
  const std::vector<SymbolId> all = symbols_of(d);
  return std::binary_search(all.begin(), all.end(), s);
}
bool uses_symbol(Scalar s, SymbolId sym) {
  const std::vector<SymbolId> all = symbols_of(s);
  return std::binary_search(all.begin(), all.end(), sym);
}

std::vector<Scalar> loads_of(Scalar s) {
  Walker w;
  w.visit(s);
  std::sort(w.loads.begin(), w.loads.end(), [](Scalar a, Scalar b) { return a->id < b->id; });
  return std::move(w.loads);
}

std::optional<Dim> coefficient_of(Dim d, SymbolId s) {
  const Atom* atom = as_atom(d->ctx->symbol_dim(s));
  const std::optional<Linear> linear = linear_in(d, atom);
  if (!linear || uses_symbol(linear->coefficient, s) || uses_symbol(linear->rest, s)) return std::nullopt;
  return linear->coefficient;
}

std::optional<Dim> as_index(Scalar s) {
  if (s->kind == ScalarKind::Index) return s->index[0];
  if (s->kind == ScalarKind::Const && s.dtype() == DType::I64) return s->ctx->constant(static_cast<int64_t>(s->bits));
  return std::nullopt;
}

std::vector<Scalar> unconditional_loads(Scalar s) {
  std::vector<Scalar> out;
  std::unordered_set<const ScalarNode*> seen;
  auto visit = [&](auto&& self, Scalar x) -> void {
    if (!seen.insert(x.node()).second) return;
    if (x->kind == ScalarKind::Load) out.push_back(x);
    for (size_t k = 0; k < (x->kind == ScalarKind::Select ? 1 : x->args.size()); ++k) self(self, x->args[k]);
  };
  visit(visit, s);
  return out;
}

bool uses_as_value(Scalar s, SymbolId var) {
  std::unordered_set<const ScalarNode*> seen;
  auto visit = [&](auto&& self, Scalar x) -> bool {
    if (!seen.insert(x.node()).second) return false;
    if (x->kind == ScalarKind::Index) return uses_symbol(x->index[0], var);
    return std::any_of(x->args.begin(), x->args.end(), [&](Scalar a) { return self(self, a); });
  };
  return visit(visit, s);
}

std::vector<Scalar> conjuncts_of(Scalar s) {
  if (s->kind != ScalarKind::Binary || s->binary() != BinaryOp::And) return {s};
  std::vector<Scalar> all = conjuncts_of(s->args[0]);
  const std::vector<Scalar> rest = conjuncts_of(s->args[1]);
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

Scalar conjunction(const std::vector<Scalar>& terms) {
  Scalar all;
  for (Scalar t : terms) all = all ? logical_and(all, t) : t;
  return all;
}

std::optional<int64_t> evaluate(Dim d, const Lookup& bindings) { return Evaluation(bindings).value(d); }

}  // namespace pliant::expr
