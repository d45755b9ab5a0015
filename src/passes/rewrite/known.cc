#include "passes/rewrite/known.h"

namespace pliant::passes {

std::optional<int64_t> known_int(const Attrs& attrs, const std::string& name) {
  const AttrValue* v = attrs.find(name);
  if (v == nullptr) return std::nullopt;
  if (const auto* i = std::get_if<int64_t>(v)) return *i;
  const auto* d = std::get_if<Dim>(v);
  return d != nullptr && d->is_const() ? std::optional(d->const_value()) : std::nullopt;
}

std::optional<std::vector<int64_t>> known_ints(const Attrs& attrs, const std::string& name) {
  const AttrValue* v = attrs.find(name);
  if (v == nullptr) return std::nullopt;
  if (const auto* list = std::get_if<std::vector<int64_t>>(v)) return *list;
  const auto* dims = std::get_if<std::vector<Dim>>(v);
  if (dims == nullptr) return std::nullopt;
  std::vector<int64_t> out;
  for (Dim d : *dims) {
    if (!d.is_const()) return std::nullopt;
    out.push_back(d.const_value());
  }
  return out;
}

std::vector<Dim> dims_of(const Attrs& attrs, const std::string& name, expr::Context& ctx) {
  const AttrValue* v = attrs.find(name);
  const auto* list = v != nullptr ? std::get_if<std::vector<int64_t>>(v) : nullptr;
  if (list == nullptr) return attrs.dims_or(name, {});
  std::vector<Dim> out;
  for (int64_t i : *list) out.push_back(ctx.constant(i));
  return out;
}

}  // namespace pliant::passes
