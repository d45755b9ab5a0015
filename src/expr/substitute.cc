#include "expr/dim/polynomial.h"
#include "expr/scalar/with_args.h"

namespace pliant::expr {
namespace {

class Substituter {
 public:
  Substituter(const DimMap& map, const std::function<Scalar(Scalar)>& load, const std::function<Dim(Dim)>& dim = {})
      : map_(map), load_(load), dim_(dim) {}

  Dim visit(Dim d) {
    if (dim_) return dim_(d);
    auto it = dims_.find(d.node());
    if (it != dims_.end()) return it->second;
    Context& ctx = *d->ctx;
    Terms kept;
    Dim changed;
    for (const Term& t : d->terms) {
      bool same = true;
      for (const auto& [atom, power] : t.first->factors) same &= is_same(ctx, atom);
      if (same) {
        kept.push_back(t);
        continue;
      }
      Dim term = ctx.constant(t.second);
      for (const auto& [atom, power] : t.first->factors) {
        const Dim by = visit_atom(ctx, atom);
        for (uint32_t i = 0; i < power; ++i) term = term * by;
      }
      changed = changed ? changed + term : term;
    }
    const Dim out = !changed ? d : kept.empty() ? changed : Interner::dim(ctx, std::move(kept)) + changed;
    dims_.emplace(d.node(), out);
    return out;
  }

  Scalar visit(Scalar s) {
    auto it = scalars_.find(s.node());
    if (it != scalars_.end()) return it->second;
    const Scalar out = rebuild(s);
    scalars_.emplace(s.node(), out);
    return out;
  }

 private:
  bool is_same(Context& ctx, const Atom* atom) {
    const Dim by = visit_atom(ctx, atom);
    return as_atom(by) == atom;
  }

  Dim visit_atom(Context& ctx, const Atom* atom) {
    auto it = atoms_.find(atom);
    if (it != atoms_.end()) return it->second;
    const Dim out = rebuild(ctx, atom);
    atoms_.emplace(atom, out);
    return out;
  }

  Dim rebuild(Context& ctx, const Atom* atom) {
    if (atom->kind == AtomKind::Symbol) {
      auto it = map_.find(atom->symbol);
      return it == map_.end() ? Interner::dim_of(ctx, atom) : it->second;
    }
    if (atom->kind == AtomKind::Value) {
      const Scalar by = visit(Scalar(atom->scalar));
      return by.node() == atom->scalar ? Interner::dim_of(ctx, atom) : value(by);
    }
    std::vector<Dim> args;
    for (Dim arg : atom->args) args.push_back(visit(arg));
    if (args == atom->args) return Interner::dim_of(ctx, atom);
    if (atom->kind == AtomKind::FloorDiv) return floordiv(args[0], args[1]);
    if (atom->kind == AtomKind::Mod) return mod(args[0], args[1]);
    Dim out = args[0];
    for (size_t i = 1; i < args.size(); ++i) {
      out = atom->kind == AtomKind::Min   ? min(out, args[i])
            : atom->kind == AtomKind::Max ? max(out, args[i])
                                          : broadcast(out, args[i]);
    }
    return out;
  }

  Scalar rebuild(Scalar s) {
    std::vector<Scalar> args;
    std::vector<Dim> index;
    for (Scalar a : s->args) args.push_back(visit(a));
    for (Dim d : s->index) index.push_back(visit(d));
    if (s->kind == ScalarKind::Load) {
      const Scalar load = index == s->index ? s : make_load(*s->ctx, s->tensor, s->dtype, std::move(index));
      return load_ ? load_(load) : load;
    }
    if (args == s->args && index == s->index) return s;
    return s->kind == ScalarKind::Index ? make_index(index[0]) : with_args(s, args);
  }

  const DimMap& map_;
  const std::function<Scalar(Scalar)>& load_;
  const std::function<Dim(Dim)> dim_;
  std::unordered_map<const DimNode*, Dim> dims_;
  std::unordered_map<const Atom*, Dim> atoms_;
  std::unordered_map<const ScalarNode*, Scalar> scalars_;
};

}  // namespace

Dim substitute(Dim d, const DimMap& map) {
  if (map.empty()) return d;
  const std::function<Scalar(Scalar)> none;
  return Substituter(map, none).visit(d);
}

Scalar substitute(Scalar s, const DimMap& map, const std::function<Scalar(Scalar load)>& load) {
  if (map.empty() && !load) return s;
  return Substituter(map, load).visit(s);
}

Scalar with_dims(Scalar s, const std::function<Dim(Dim)>& dim) {
  const std::function<Scalar(Scalar)> none;
  return Substituter({}, none, dim).visit(s);
}

}  // namespace pliant::expr
