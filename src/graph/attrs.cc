#include <algorithm>
#include <bit>
#include <cstring>

#include "graph/graph.h"

namespace pliant::graph {
namespace {

bool same_content(const ConstantPtr& a, const ConstantPtr& b) {
  if (a == b) return true;
  if (!a || !b || a->dtype != b->dtype || a->shape != b->shape || a->bytes != b->bytes) return false;
  return a->bytes == 0 || a->data == b->data || std::memcmp(a->data, b->data, a->bytes) == 0;
}
// By bits, so that a NaN equals itself and 0 differs from -0.
bool same_bits(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

template <class T>
const T* typed(const Attrs& attrs, const std::string& name) {
  const AttrValue* v = attrs.find(name);
  if (v == nullptr) return nullptr;
  const T* t = std::get_if<T>(v);
  PLIANT_CHECK(t != nullptr) << "attribute " << name << " has kind " << v->index();
  return t;
}

}  // namespace

bool equal(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* c = std::get_if<ConstantPtr>(&a)) return same_content(*c, std::get<ConstantPtr>(b));
  if (const auto* d = std::get_if<double>(&a)) return same_bits(*d, std::get<double>(b));
  if (const auto* l = std::get_if<std::vector<double>>(&a))
    return std::ranges::equal(*l, std::get<std::vector<double>>(b), same_bits);
  return a == b;
}

bool is_empty_list(const AttrValue& v) {
  return std::visit(
      [](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        if constexpr (requires { x.empty(); } && !std::is_same_v<T, std::string>) return x.empty();
        return false;
      },
      v);
}

bool operator==(const Attrs& a, const Attrs& b) {
  return std::equal(a.map_.begin(), a.map_.end(), b.map_.begin(), b.map_.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && equal(x.second, y.second); });
}

const AttrValue* Attrs::find(const std::string& name) const {
  auto it = map_.find(name);
  return it == map_.end() ? nullptr : &it->second;
}
std::string Attrs::string_or(const std::string& name, const std::string& fallback) const {
  const std::string* v = typed<std::string>(*this, name);
  return v ? *v : fallback;
}
std::vector<Dim> Attrs::dims_or(const std::string& name, std::vector<Dim> fallback) const {
  const AttrValue* v = find(name);
  if (v == nullptr) return fallback;
  if (is_empty_list(*v)) return {};
  return *typed<std::vector<Dim>>(*this, name);
}
ConstantPtr Attrs::constant(const std::string& name) const {
  const ConstantPtr* v = typed<ConstantPtr>(*this, name);
  return v ? *v : nullptr;
}

}  // namespace pliant::graph
