#include "frontend/core/known.h"

#include <cmath>
#include <cstring>

namespace pliant::frontend {
namespace {

template <class T>
T load(const std::byte* p, int64_t i) {
  T v;
  std::memcpy(&v, p + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return v;
}

std::optional<Element> load_element(const graph::ConstantData& c, int64_t i, expr::Context& ctx) {
  auto integer = [&](int64_t v) { return Element::make_int(ctx.constant(v)); };
  switch (c.dtype) {
    case DType::Bool:
    case DType::U8: return integer(load<uint8_t>(c.data, i));
    case DType::I8: return integer(load<int8_t>(c.data, i));
    case DType::I16: return integer(load<int16_t>(c.data, i));
    case DType::U16: return integer(load<uint16_t>(c.data, i));
    case DType::I32: return integer(load<int32_t>(c.data, i));
    case DType::U32: return integer(load<uint32_t>(c.data, i));
    case DType::I64: return integer(load<int64_t>(c.data, i));
    case DType::U64: {
      uint64_t v = load<uint64_t>(c.data, i);
      if (v > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
      return integer(static_cast<int64_t>(v));
    }
    case DType::F32: return Element::make_real(load<float>(c.data, i));
    case DType::F64: return Element::make_real(load<double>(c.data, i));
    case DType::F16:
    case DType::BF16: return std::nullopt;
  }
  return std::nullopt;
}

template <class T>
void store(std::byte* p, size_t i, T v) {
  std::memcpy(p + i * sizeof(T), &v, sizeof(T));
}

void store_element(std::byte* p, size_t i, DType t, const Element& e) {
  if (t == DType::F32) return store(p, i, static_cast<float>(e.real));
  if (t == DType::F64) return store(p, i, e.real);
  int64_t v = e.num.const_value();
  switch (byte_size(t)) {
    case 1: return store(p, i, static_cast<uint8_t>(v));
    case 2: return store(p, i, static_cast<uint16_t>(v));
    case 4: return store(p, i, static_cast<uint32_t>(v));
    default: return store(p, i, v);
  }
}

}  // namespace

bool Known::is_const() const {
  for (const Element& e : elements) {
    if (!e.is_const()) return false;
  }
  return true;
}

std::optional<std::vector<Dim>> Known::dims() const {
  std::vector<Dim> out;
  for (const Element& e : elements) {
    if (e.kind != Element::Kind::Int) return std::nullopt;
    out.push_back(e.num);
  }
  return out;
}

std::optional<std::vector<int64_t>> Known::ints() const {
  std::vector<int64_t> out;
  for (const Element& e : elements) {
    if (e.kind != Element::Kind::Int || !e.num.is_const()) return std::nullopt;
    out.push_back(e.num.const_value());
  }
  return out;
}

Known make_known(DType t, std::vector<int64_t> shape, const std::vector<Dim>& dims) {
  Known k{t, std::move(shape), {}};
  for (Dim d : dims) k.elements.push_back(Element::make_int(d));
  return k;
}

std::optional<Known> known_of(const graph::ConstantData& c, expr::Context& ctx) {
  auto n = small_count(c.shape);
  if (!n) return std::nullopt;
  Known k{c.dtype, c.shape, {}};
  for (int64_t i = 0; i < *n; ++i) {
    auto e = load_element(c, i, ctx);
    if (!e) return std::nullopt;
    k.elements.push_back(*e);
  }
  return k;
}

graph::ConstantPtr constant_of(const Known& k) {
  auto [constant, memory] = graph::make_blank_constant(k.dtype, k.shape);
  for (size_t i = 0; i < k.elements.size(); ++i) store_element(memory, i, k.dtype, k.elements[i]);
  return constant;
}

std::optional<int64_t> small_count(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t d : shape) {
    if (d < 0) return std::nullopt;
    if (d == 0) return 0;
  }
  for (int64_t d : shape) {
    if (d > kMaxKnown) return std::nullopt;
    n *= d;
    if (n > kMaxKnown) return std::nullopt;
  }
  return n;
}

bool proves_non_negative(Dim d, expr::Context& ctx) { return ctx.proves_less_equal(ctx.constant(0), d); }

Dim tight_max(Dim a, Dim b, expr::Context& ctx) {
  if (ctx.proves_less_equal(a, b)) return b;
  if (ctx.proves_less_equal(b, a)) return a;
  return expr::max(a, b);
}

Dim tight_min(Dim a, Dim b, expr::Context& ctx) {
  if (ctx.proves_less_equal(a, b)) return a;
  if (ctx.proves_less_equal(b, a)) return b;
  return expr::min(a, b);
}

Dim is_negative(Dim d, expr::Context& ctx) { return tight_min(tight_max(-d, ctx.constant(0), ctx), ctx.constant(1), ctx); }

Dim is_zero(Dim d, expr::Context& ctx) { return 1 - tight_min(tight_max(d, -d, ctx), ctx.constant(1), ctx); }

}  // namespace pliant::frontend
