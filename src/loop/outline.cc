#include "loop/outline.h"

#include <numeric>
#include <set>
#include <unordered_map>

#include "expr/dim/products.h"
#include "expr/scalar/with_args.h"
#include "loop/walk.h"

namespace pliant::loop {

namespace {

constexpr size_t kShortSum = 2;  // terms

class Outliner {
 public:
  // Without `makes_symbols` sizes are only collected.
  Outliner(const Function& f, expr::Context& ctx, bool makes_symbols) : ctx_(ctx), makes_symbols_(makes_symbols) {
    for_each(f.body, [&](const Stmt& s) {
      if (binds_variable(s)) bound_.insert(s.var);
    });
  }

  Function run(const Function& f) {
    Function out = f;
    for (Buffer& b : out.params) b = visit(b);
    out.body = visit(f.body);
    return out;
  }
  // What stands for a size, and the size, in order of first occurrence.
  const std::vector<std::pair<Dim, Dim>>& sizes() const { return sizes_; }

 private:
  Dim visit(Dim d) {
    if (is_plain(d)) return d;
    if (auto it = dims_.find(d.node()); it != dims_.end()) return it->second;
    Dim sum = ctx_.constant(0);
    for (const auto& [fixed, varying] : expr::products_of(d, [this](const expr::Atom& a) { return !is_free(a); })) {
      Dim term = outline(fixed);
      for (const auto& [atom, power] : varying) {
        const Dim by = visit(*atom);
        for (uint32_t k = 0; k < power && makes_symbols_; ++k) term = term * by;
      }
      if (makes_symbols_) sum = sum + term;
    }
    return dims_[d.node()] = makes_symbols_ ? sum : d;
  }

  // An atom that a variable or memory has a part in.
  Dim visit(const expr::Atom& a) {
    using expr::AtomKind;
    if (a.kind == AtomKind::Symbol) {
      auto it = vars_.find(a.symbol);
      return it == vars_.end() ? ctx_.symbol_dim(a.symbol) : it->second;
    }
    if (a.kind == AtomKind::Value) return expr::value(visit(Scalar(a.scalar)));
    std::vector<Dim> args;
    for (Dim d : a.args) args.push_back(visit(d));
    if (!makes_symbols_) return a.args[0];  // nobody asks
    return with_args(a.kind, args);
  }

  Scalar visit(Scalar s) {
    return expr::with_dims(s, [this](Dim d) { return visit(d); });
  }

  Buffer visit(Buffer b) {
    for (Dim& d : b.shape) d = visit(d);
    for (Dim& d : b.strides) d = visit(d);
    return b;
  }

  StmtPtr visit(const StmtPtr& s) {
    Stmt copy = *s;
    if (s->extent) copy.extent = visit(s->extent);
    if (s->alloc) copy.alloc = std::make_shared<const Buffer>(visit(*s->alloc));
    if (binds_variable(*s)) copy.var = variable(*s, copy.extent);
    for (Dim& d : copy.index) d = visit(d);
    if (s->value) copy.value = visit(s->value);
    for (StmtPtr& child : copy.body) child = visit(child);
    return std::make_shared<const Stmt>(std::move(copy));
  }

  // The variable that `s` binds, whose extent or value is `extent`, in the outlined function.
  SymbolId variable(const Stmt& s, Dim extent) {
    if (auto it = vars_.find(s.var); it != vars_.end()) return *it->second.as_symbol();
    expr::SymbolInfo info = ctx_.info(s.var);
    if (s.kind != StmtKind::For && info.upper) info.upper = visit(*info.upper);
    if (!makes_symbols_) return s.var;
    const Dim fresh = s.kind == StmtKind::For ? ctx_.index_symbol(info.name, extent) : ctx_.symbol(std::move(info));
    vars_[s.var] = fresh;
    return *fresh.as_symbol();
  }

  Dim outline(Dim d) {
    if (d.is_const() || is_short(d)) return d;
    int64_t factor = 0;
    for (const auto& [monomial, coefficient] : d->terms) factor = std::gcd(factor, coefficient);
    if (d->terms.size() == 1 && d->terms[0].second < 0) factor = -factor;
    const std::optional<Dim> size = ctx_.divide_exact(d, ctx_.constant(factor));
    PLIANT_CHECK(size) << d.str() << " is not divided by its coefficients";
    const auto [it, is_new] = known_.try_emplace(size->node(), *size);
    if (is_new) {
      if (makes_symbols_) it->second = make_symbol(*size);
      sizes_.push_back({it->second, *size});
    }
    return it->second * factor;
  }

  // Ranges are rounded, so that kernels of similar sizes have equal ones: at least 1, at least 0, at most 1.
  Dim make_symbol(Dim size) {
    const expr::Interval range = ctx_.range(size);
    expr::SymbolInfo info;
    info.name = "size";
    info.lo = range.lo >= 1 ? 1 : range.lo >= 0 ? 0 : INT64_MIN;
    if (range.hi <= 1) info.hi = 1;
    return ctx_.symbol(std::move(info));
  }

  static Dim with_args(expr::AtomKind kind, const std::vector<Dim>& args) {
    Dim out = args[0];
    for (size_t k = 1; k < args.size(); ++k) {
      switch (kind) {
        case expr::AtomKind::FloorDiv: out = floordiv(out, args[k]); break;
        case expr::AtomKind::Mod: out = mod(out, args[k]); break;
        case expr::AtomKind::Min: out = min(out, args[k]); break;
        case expr::AtomKind::Max: out = max(out, args[k]); break;
        default: out = broadcast(out, args[k]);
      }
    }
    return out;
  }

  static bool is_short(Dim d) {
    if (d->terms.size() > kShortSum) return false;
    for (const auto& [monomial, coefficient] : d->terms)
      for (const auto& [atom, power] : monomial->factors)
        if (atom->kind != expr::AtomKind::Symbol) return false;
    return true;
  }
  // Whether nothing in `d` can change.
  bool is_plain(Dim d) const {
    if (!is_short(d)) return false;
    for (const auto& [monomial, coefficient] : d->terms)
      for (const auto& [atom, power] : monomial->factors)
        if (bound_.count(atom->symbol)) return !makes_symbols_;
    return true;
  }
  bool is_free(const expr::Atom& a) {
    if (auto it = free_.find(&a); it != free_.end()) return it->second;
    bool free = a.kind == expr::AtomKind::Symbol ? bound_.count(a.symbol) == 0 : a.kind != expr::AtomKind::Value;
    for (Dim arg : a.args)
      for (const auto& [monomial, coefficient] : arg->terms)
        for (const auto& [atom, power] : monomial->factors) free = free && is_free(*atom);
    return free_[&a] = free;
  }

  expr::Context& ctx_;
  const bool makes_symbols_;
  std::set<SymbolId> bound_;
  std::unordered_map<SymbolId, Dim> vars_;
  std::unordered_map<const expr::DimNode*, Dim> dims_, known_;
  std::unordered_map<const expr::Atom*, bool> free_;
  std::vector<std::pair<Dim, Dim>> sizes_;
};

class KeyWriter {
 public:
  std::string run(const Function& f) {
    for (const Buffer& b : f.params) number(static_cast<int64_t>(b.dtype) * 2 + (b.is_output ? 1 : 0));
    for_each(f.body, [&](const Stmt& s) { statement(s); });
    return std::move(out_);
  }

 private:
  void number(int64_t n) {
    out_ += std::to_string(n);
    out_ += ' ';
  }
  void statement(const Stmt& s) {
    number(static_cast<int64_t>(s.kind));
    number(static_cast<int64_t>(s.body.size()));
    if (s.kind == StmtKind::For) {
      number(static_cast<int64_t>(s.for_kind));
      out_ += s.instruction;
      if (s.extent.is_const()) number(s.extent.const_value());
    }
    if (s.kind == StmtKind::Store) number(static_cast<int64_t>(s.store_kind));
    if (s.value) scalar(s.value);
  }
  void scalar(Scalar s) {
    const auto [it, is_new] = known_.try_emplace(s.node(), known_.size());
    number(static_cast<int64_t>(it->second));
    if (!is_new) return;
    number(static_cast<int64_t>(s->kind));
    number(static_cast<int64_t>(s.dtype()));
    number(s->op);
    if (s->kind == expr::ScalarKind::Const) number(static_cast<int64_t>(s->bits));
    for (Scalar a : s->args) scalar(a);
  }

  std::string out_;
  std::unordered_map<const expr::ScalarNode*, size_t> known_;
};

}  // namespace

std::vector<Dim> outlined_sizes(const Function& f, expr::Context& ctx) {
  Outliner o(f, ctx, false);
  o.run(f);
  std::vector<Dim> out;
  for (const auto& [symbol, size] : o.sizes()) out.push_back(size);
  return out;
}

Outlined outline_sizes(const Function& f, expr::Context& ctx) {
  Outliner o(f, ctx, true);
  Outlined out{o.run(f), {}};
  for (const auto& [symbol, size] : o.sizes()) out.sizes.push_back({*symbol.as_symbol(), size});
  return out;
}

std::string outline_key(const Function& f) { return KeyWriter().run(f); }

}  // namespace pliant::loop
