#include "graph/parse_constant.h"

#include <charconv>
#include <cstring>

#include "base/half.h"
#include "graph/text.h"

namespace pliant::graph {
namespace {

template <class T>
bool store_number(std::string_view word, int base, std::byte* to) {
  T v{};
  auto end = word.data() + word.size();
  std::from_chars_result r{};
  if constexpr (std::is_floating_point_v<T>) {
    r = std::from_chars(word.data(), end, v);
  } else {
    r = std::from_chars(word.data(), end, v, base);
  }
  if (r.ec != std::errc() || r.ptr != end) return false;
  std::memcpy(to, &v, sizeof v);
  return true;
}

bool store_half(std::string_view word, uint16_t (*narrow)(float), std::byte* to) {
  float v = 0;
  std::byte wide[sizeof v];
  if (!store_number<float>(word, 10, wide)) return false;
  std::memcpy(&v, wide, sizeof v);
  uint16_t bits = narrow(v);
  std::memcpy(to, &bits, sizeof bits);
  return true;
}

// `0x…` gives the bits of a float.
bool store_element(DType t, std::string_view word, std::byte* to) {
  bool bits = word.substr(0, 2) == "0x";
  std::string_view digits = bits ? word.substr(2) : word;
  int base = bits ? 16 : 10;
  switch (t) {
    case DType::Bool: *to = static_cast<std::byte>(word == "true" ? 1 : 0); return word == "true" || word == "false";
    case DType::I8: return store_number<int8_t>(digits, base, to);
    case DType::I16: return store_number<int16_t>(digits, base, to);
    case DType::I32: return store_number<int32_t>(digits, base, to);
    case DType::I64: return store_number<int64_t>(digits, base, to);
    case DType::U8: return store_number<uint8_t>(digits, base, to);
    case DType::U16: return store_number<uint16_t>(digits, base, to);
    case DType::U32: return store_number<uint32_t>(digits, base, to);
    case DType::U64: return store_number<uint64_t>(digits, base, to);
    case DType::F16: return bits ? store_number<uint16_t>(digits, base, to) : store_half(word, f32_to_f16, to);
    case DType::BF16: return bits ? store_number<uint16_t>(digits, base, to) : store_half(word, f32_to_bf16, to);
    case DType::F32: return bits ? store_number<uint32_t>(digits, base, to) : store_number<float>(word, base, to);
    case DType::F64: return bits ? store_number<uint64_t>(digits, base, to) : store_number<double>(word, base, to);
  }
  return false;
}

uint64_t next_random(uint64_t& state) {
  state += 0x9e3779b97f4a7c15ull;
  uint64_t x = state;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

template <class T>
void store(std::byte* to, T v) {
  std::memcpy(to, &v, sizeof v);
}

// Floats in [-1, 1) on a grid of 1/512, halves of magnitude 0.5 to 1, integers in [-8, 8) or [0, 16).
void store_random(DType t, uint64_t& state, std::byte* to) {
  uint64_t r = next_random(state) >> 40;
  int64_t small = static_cast<int64_t>(r & 15) - (is_signed_int(t) ? 8 : 0);
  double fraction = static_cast<double>(static_cast<int64_t>(r & 1023) - 512) / 512;
  if (t == DType::F32) return store(to, static_cast<float>(fraction));
  if (t == DType::F64) return store(to, fraction);
  if (t == DType::F16) return store(to, static_cast<uint16_t>((r & 0x83ff) | 0x3800));
  if (t == DType::BF16) return store(to, static_cast<uint16_t>((r & 0x807f) | 0x3f00));
  if (t == DType::Bool) return store(to, static_cast<uint8_t>(r & 1));
  std::memcpy(to, &small, static_cast<size_t>(byte_size(t)));
}

bool is_hash(std::string_view word) {
  return word.size() == 32 && word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<ConstantPtr> parse_elements(Cursor& in, DType dtype, std::vector<int64_t> shape, const ConstantTable& constants) {
  auto [constant, memory] = make_blank_constant(dtype, shape);
  int64_t n = element_count(*constant), size = byte_size(dtype);
  if (in.accept("random")) {
    uint64_t state = static_cast<uint64_t>(TRY(in.integer()));
    for (int64_t i = 0; i < n; ++i) store_random(dtype, state, memory + i * size);
    return constant;
  }
  if (in.accept("splat")) {
    std::string_view word = in.word();
    for (int64_t i = 0; i < n; ++i) {
      if (!store_element(dtype, word, memory + i * size))
        return in.fail("'" + std::string(word) + "' is no " + name_of(dtype));
    }
    return constant;
  }
  for (int64_t i = 0; i < n; ++i) {
    if (i > 0) TRY(in.expect(","));
    std::string_view word = in.word();
    if (i == 0 && n > kInlineElements && is_hash(word)) {
      auto known = constants.find(std::string(word));
      if (known == constants.end()) return in.fail("no constant of hash " + std::string(word) + " is known");
      if (known->second->dtype != dtype || known->second->shape != shape) return in.fail("the constant has another type");
      return known->second;
    }
    if (!store_element(dtype, word, memory + i * size))
      return in.fail("'" + std::string(word) + "' is no " + name_of(dtype));
  }
  return constant;
}

}  // namespace

Result<ConstantPtr> parse_constant(Cursor& in, DType dtype, const ConstantTable& constants) {
  // More than any text holds, so that a broken one does not make us allocate without bound.
  constexpr int64_t kMostElements = int64_t{1} << 34;
  TRY(in.expect("["));
  std::vector<int64_t> shape;
  int64_t n = 1;
  while (!in.accept("]")) {
    if (!shape.empty()) TRY(in.expect(","));
    shape.push_back(TRY(in.integer()));
    if (shape.back() < 0 || (shape.back() > 0 && n > kMostElements / shape.back()))
      return in.fail("the constant's shape is too large");
    n *= shape.back();
  }
  TRY(in.expect("dense"));
  TRY(in.expect("<"));
  ConstantPtr constant = TRY(parse_elements(in, dtype, shape, constants));
  TRY(in.expect(">"));
  std::string name = in.peek() == '"' ? TRY(in.quoted()) : "";
  if (constant->name == name) return constant;
  auto renamed = std::make_shared<ConstantData>(*constant);
  renamed->name = std::move(name);
  return ConstantPtr(std::move(renamed));
}

}  // namespace pliant::graph
