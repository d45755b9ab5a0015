#include "graph/list_type.h"

namespace pliant::graph {
namespace {

constexpr const char* kAnyName = "?";

std::shared_ptr<const Type> shared(Type t) { return std::make_shared<const Type>(std::move(t)); }

std::optional<Type> join_tensors(const TensorType& a, const TensorType& b, expr::Context& ctx) {
  if (a.dtype != b.dtype) return std::nullopt;
  if (a.rank == Rank::None) return Type{b};
  if (b.rank == Rank::None) return Type{a};
  if (a.rank == Rank::Any || b.rank == Rank::Any || a.shape.size() != b.shape.size())
    return Type{TensorType{a.dtype, {}, Rank::Any}};
  TensorType out = a;
  for (size_t k = 0; k < out.shape.size(); ++k) {
    Dim x = a.shape[k], y = b.shape[k];
    bool same = x == y || (!is_any_size(x) && !is_any_size(y) && ctx.proves_equal(x, y));
    if (!same) out.shape[k] = any_size(ctx);
  }
  return Type{std::move(out)};
}

}  // namespace

Dim any_size(expr::Context& ctx) {
  if (auto id = ctx.find_symbol(kAnyName)) return ctx.symbol_dim(*id);
  expr::SymbolInfo info;
  info.name = kAnyName;
  return ctx.symbol(std::move(info));
}

bool is_any_size(Dim d) {
  auto s = d.as_symbol();
  if (!s) return false;
  const expr::SymbolInfo& info = d->ctx->info(*s);
  return info.origin.kind == expr::Origin::Kind::Anonymous && info.name == kAnyName;
}

Type make_sequence_type(Type element) { return Type{SequenceType{shared(std::move(element))}}; }
Type make_optional_type(Type element) { return Type{OptionalType{shared(std::move(element))}}; }

const Type* sequence_element(const Type& t) {
  const auto* s = std::get_if<SequenceType>(&t.v);
  return s != nullptr ? s->element.get() : nullptr;
}

const Type* optional_element(const Type& t) {
  const auto* o = std::get_if<OptionalType>(&t.v);
  return o != nullptr ? o->element.get() : nullptr;
}

bool is_list(const Type& t) { return sequence_element(t) != nullptr || optional_element(t) != nullptr; }

const TensorType& element_of(const Type& list) {
  const Type* t = &list;
  while (t->tensor() == nullptr) {
    const Type* inner = sequence_element(*t) != nullptr ? sequence_element(*t) : optional_element(*t);
    PLIANT_CHECK(inner != nullptr) << print(list) << " has no tensors inside";
    t = inner;
  }
  return *t->tensor();
}

Type with_element(const Type& list, TensorType element) {
  if (list.tensor() != nullptr) return Type{std::move(element)};
  if (const Type* s = sequence_element(list)) return make_sequence_type(with_element(*s, std::move(element)));
  const Type* o = optional_element(list);
  PLIANT_CHECK(o != nullptr) << print(list) << " has no tensors inside";
  return make_optional_type(with_element(*o, std::move(element)));
}

std::optional<Type> join_lists(const Type& a, const Type& b, expr::Context& ctx) {
  if (a == b) return a;
  if (a.tensor() != nullptr && b.tensor() != nullptr) return join_tensors(*a.tensor(), *b.tensor(), ctx);
  const Type *sa = sequence_element(a), *sb = sequence_element(b), *oa = optional_element(a), *ob = optional_element(b);
  auto joined = [&](const Type* x, const Type* y, Type (*make)(Type)) -> std::optional<Type> {
    std::optional<Type> inner = join_lists(*x, *y, ctx);
    if (!inner) return std::nullopt;
    return make(std::move(*inner));
  };
  if (sa != nullptr && sb != nullptr) return joined(sa, sb, &make_sequence_type);
  if (oa != nullptr && ob != nullptr) return joined(oa, ob, &make_optional_type);
  if (oa != nullptr && sb != nullptr) return joined(oa, &b, &make_optional_type);
  if (ob != nullptr && sa != nullptr) return joined(&a, ob, &make_optional_type);
  return std::nullopt;
}

bool fits_list(const Type& from, const Type& to, expr::Context& ctx) {
  std::optional<Type> joined = join_lists(from, to, ctx);
  return joined && *joined == to;
}

Type widen_list(const Type& list, expr::Context& ctx, const std::function<bool(expr::SymbolId)>& is_known) {
  TensorType element = element_of(list);
  for (Dim& d : element.shape)
    for (expr::SymbolId s : expr::symbols_of(d))
      if (!is_known(s)) d = any_size(ctx);
  return with_element(list, std::move(element));
}

}  // namespace pliant::graph
