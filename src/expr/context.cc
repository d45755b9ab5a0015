// Interning and symbols.
#include <algorithm>

#include "base/stop.h"
#include "expr/indices.h"
#include "expr/interner.h"

namespace pliant::expr {
namespace {

size_t hash_pointer(const void* p) { return std::hash<const void*>()(p); }

template <class T>
const T* find_in(const InternSet<T>& set, const T& key) {
  auto it = set.find(&key);
  return it == set.end() ? nullptr : *it;
}

template <class T>
const T* publish(std::deque<T>& arena, InternSet<T>& set, T node) {
  node.id = static_cast<uint32_t>(arena.size());
  arena.push_back(std::move(node));
  set.insert(&arena.back());
  return &arena.back();
}

}  // namespace

size_t ContentHash::operator()(const Atom* a) const {
  size_t h = mix(static_cast<size_t>(a->kind), a->symbol);
  for (Dim d : a->args) h = mix(h, hash_pointer(d.node()));
  return mix(h, hash_pointer(a->scalar));
}
size_t ContentHash::operator()(const Monomial* m) const {
  size_t h = m->factors.size();
  for (const auto& [atom, power] : m->factors) h = mix(mix(h, hash_pointer(atom)), power);
  return h;
}
size_t ContentHash::operator()(const DimNode* d) const {
  size_t h = d->terms.size();
  for (const auto& [mono, coef] : d->terms) h = mix(mix(h, hash_pointer(mono)), static_cast<size_t>(coef));
  return h;
}
size_t ContentHash::operator()(const ScalarNode* s) const {
  size_t h = mix(static_cast<size_t>(s->kind) * 64 + static_cast<size_t>(s->dtype), s->op);
  h = mix(mix(h, s->tensor), s->bits);
  for (Scalar a : s->args) h = mix(h, hash_pointer(a.node()));
  for (Dim d : s->index) h = mix(h, hash_pointer(d.node()));
  return h;
}
bool ContentEqual::operator()(const Atom* a, const Atom* b) const {
  return a->kind == b->kind && a->symbol == b->symbol && a->args == b->args && a->scalar == b->scalar;
}
bool ContentEqual::operator()(const Monomial* a, const Monomial* b) const { return a->factors == b->factors; }
bool ContentEqual::operator()(const DimNode* a, const DimNode* b) const { return a->terms == b->terms; }
bool ContentEqual::operator()(const ScalarNode* a, const ScalarNode* b) const {
  return a->kind == b->kind && a->dtype == b->dtype && a->op == b->op && a->tensor == b->tensor && a->bits == b->bits &&
         a->args == b->args && a->index == b->index;
}

const Atom* Interner::atom(Context& ctx, AtomKind kind, std::vector<Dim> args, const ScalarNode* scalar) {
  Impl& impl = ctx.impl();
  Atom key{0, kind, 0, std::move(args), scalar};
  std::lock_guard lock(impl.mutex);
  if (const Atom* found = find_in(impl.atom_set, key)) return found;
  return publish(impl.atoms, impl.atom_set, std::move(key));
}

const Monomial* Interner::monomial(Context& ctx, Factors factors) {
  Impl& impl = ctx.impl();
  Monomial key{0, std::move(factors)};
  for (const auto& [atom, power] : key.factors) key.has_quotient |= atom->kind == AtomKind::FloorDiv;
  std::lock_guard lock(impl.mutex);
  if (const Monomial* found = find_in(impl.monomial_set, key)) return found;
  return publish(impl.monomials, impl.monomial_set, std::move(key));
}

// Whatever takes long makes dims or scalars, or reads them.
Dim Interner::dim(Context& ctx, Terms terms) {
  poll_stop();
  Impl& impl = ctx.impl();
  DimNode key{&ctx, 0, std::move(terms)};
  std::lock_guard lock(impl.mutex);
  if (const DimNode* found = find_in(impl.dim_set, key)) return Dim(found);
  return Dim(publish(impl.dims, impl.dim_set, std::move(key)));
}

Scalar Interner::scalar(ScalarNode node) {
  poll_stop();
  Impl& impl = node.ctx->impl();
  std::lock_guard lock(impl.mutex);
  if (const ScalarNode* found = find_in(impl.scalar_set, node)) return Scalar(found);
  return Scalar(publish(impl.scalars, impl.scalar_set, std::move(node)));
}

Dim Interner::dim_of(Context& ctx, const Atom* atom) { return dim(ctx, {{monomial(ctx, {{atom, 1}}), 1}}); }

Context::Context() : impl_(std::make_unique<Impl>()) {}
Context::~Context() = default;

Dim Context::constant(int64_t v) {
  if (v == 0) return Interner::dim(*this, {});
  return Interner::dim(*this, {{Interner::monomial(*this, {}), v}});
}

namespace {

IndexKey key_of(const SymbolInfo& info) { return {info.name, info.hi, info.upper ? info.upper->node() : nullptr}; }

}  // namespace

Dim Context::symbol(SymbolInfo info) {
  if (info.name.empty()) info.name = "s";
  const Atom* atom = nullptr;
  {
    std::lock_guard lock(impl_->mutex);
    if (info.origin.kind == Origin::Kind::LoopIndex)
      impl_->indices[key_of(info)].push_back(static_cast<SymbolId>(impl_->symbols.size()));
    if (impl_->names.count(info.name) != 0) {
      const std::string base = info.name;
      uint32_t& suffix = impl_->next_suffix[base];
      do {
        info.name = base + "_" + std::to_string(++suffix);
      } while (impl_->names.count(info.name) != 0);
    }
    const SymbolId id = static_cast<SymbolId>(impl_->symbols.size());
    impl_->names.emplace(info.name, id);
    impl_->symbols.push_back(std::move(info));
    impl_->symbol_dims.emplace_back();
    atom = publish(impl_->atoms, impl_->atom_set, Atom{0, AtomKind::Symbol, id, {}, nullptr, &impl_->symbols.back()});
  }
  const Dim dim = Interner::dim_of(*this, atom);
  std::lock_guard lock(impl_->mutex);
  impl_->symbol_dims[atom->symbol] = dim;
  return dim;
}

Dim Context::index_symbol(std::string_view name, Dim extent) {
  SymbolInfo info;
  info.name = std::string(name);
  info.origin.kind = Origin::Kind::LoopIndex;
  const Interval r = range(extent);
  // An index exists only while its loop runs, so the extent is at least 1 wherever the index has a value.
  if (r.hi != INT64_MAX) info.hi = std::max<int64_t>(r.hi - 1, 0);
  info.upper = extent - 1;
  return symbol(std::move(info));
}

Dim Context::symbol_dim(SymbolId id) {
  std::lock_guard lock(impl_->mutex);
  PLIANT_CHECK(id < impl_->symbol_dims.size()) << "no symbol " << id;
  return impl_->symbol_dims[id];
}

std::optional<SymbolId> Context::find_symbol(std::string_view name) const {
  std::lock_guard lock(impl_->mutex);
  auto it = impl_->names.find(std::string(name));
  if (it == impl_->names.end()) return std::nullopt;
  return it->second;
}

std::vector<SymbolId> find_indices(Context& ctx, const SymbolInfo& like) {
  std::lock_guard lock(ctx.impl().mutex);
  auto it = ctx.impl().indices.find(key_of(like));
  return it == ctx.impl().indices.end() ? std::vector<SymbolId>{} : it->second;
}

const SymbolInfo& Context::info(SymbolId id) const {
  std::lock_guard lock(impl_->mutex);
  PLIANT_CHECK(id < impl_->symbols.size()) << "no symbol " << id;
  return impl_->symbols[id];
}

SymbolInfo& Context::mutable_info(SymbolId id) {
  std::scoped_lock lock(impl_->mutex, impl_->memo_mutex);
  PLIANT_CHECK(id < impl_->symbols.size()) << "no symbol " << id;
  impl_->range_memo.clear();
  impl_->atom_range_memo.clear();
  impl_->nonneg_memo.clear();
  impl_->zero_memo.clear();
  impl_->sample_memo.clear();
  impl_->divisor_memo.clear();
  impl_->value_range_memo.clear();
  return impl_->symbols[id];
}

uint32_t Context::symbol_count() const {
  std::lock_guard lock(impl_->mutex);
  return static_cast<uint32_t>(impl_->symbols.size());
}

TensorId Context::fresh_tensor() {
  std::lock_guard lock(impl_->mutex);
  return impl_->next_tensor++;
}

}  // namespace pliant::expr
