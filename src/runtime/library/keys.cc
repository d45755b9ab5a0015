#include "runtime/library/keys.h"

#include <cstring>
#include <limits>

namespace pliant::runtime {
namespace {

// The key of one element from its bits: of 32 bits for types of up to as many, else of 64.
template <class Value>
struct IntegerKey {
  using Bits = Value;
  using Key = int32_t;
  static Key of(Bits v) { return static_cast<Key>(v); }
};
template <>
struct IntegerKey<uint32_t> {
  using Bits = uint32_t;
  using Key = int32_t;
  static Key of(Bits v) { return static_cast<Key>(v ^ 0x80000000u); }
};
template <>
struct IntegerKey<int64_t> {
  using Bits = int64_t;
  using Key = int64_t;
  static Key of(Bits v) { return v; }
};
template <>
struct IntegerKey<uint64_t> {
  using Bits = uint64_t;
  using Key = int64_t;
  static Key of(Bits v) { return static_cast<Key>(v ^ (uint64_t{1} << 63)); }
};
// Signed is the signed type of the float's width, Infinity the bits of infinity.
template <class Signed, class KeyType, Signed Infinity>
struct FloatKey {
  using Bits = Signed;
  using Key = KeyType;
  static Key of(Bits v) {
    constexpr Bits rest = std::numeric_limits<Bits>::max();  // all but the sign
    const Bits magnitude = static_cast<Bits>(v & rest);
    const Key signed_key = static_cast<Bits>(v ^ (v < 0 ? rest : 0));
    const Key key = magnitude == 0 ? Key{0} : signed_key;
    return magnitude > Infinity ? std::numeric_limits<Key>::max() : key;
  }
};

template <class KeyOf, class Key>
void fill(const KeySource& from, Key flip, int64_t lane, Key* keys) {
  using Bits = typename KeyOf::Bits;
  constexpr auto each = static_cast<int64_t>(sizeof(Bits));
  auto key_of = [&](Bits v) { return static_cast<Key>(static_cast<Key>(KeyOf::of(v)) ^ flip); };
  auto key_at = [&](const std::byte* p) {
    Bits v;
    std::memcpy(&v, p, sizeof v);
    return key_of(v);
  };
  const std::byte* data = from.data;
  if (from.columns == 1 && from.stride == 1) {
    constexpr int64_t kBlock = 32;
    Bits v[kBlock];
    Key k[kBlock];
    int64_t i = 0;
    for (; i + kBlock <= from.rows; i += kBlock) {
      std::memcpy(v, data + i * each, sizeof v);
      for (int64_t j = 0; j < kBlock; ++j) k[j] = key_of(v[j]);
      std::memcpy(keys + i, k, sizeof k);
    }
    for (; i < from.rows; ++i) keys[i] = key_at(data + i * each);
    return;
  }
  for (int64_t r = 0; r < from.rows; ++r, data += from.stride * each)
    for (int64_t c = 0; c < from.columns; ++c) keys[c * lane + r] = key_at(data + c * each);
}

template <class Key>
void fill_narrow(const KeySource& from, Key flip, int64_t lane, Key* keys) {
  switch (from.dtype) {
    case DType::I8: return fill<IntegerKey<int8_t>>(from, flip, lane, keys);
    case DType::I16: return fill<IntegerKey<int16_t>>(from, flip, lane, keys);
    case DType::I32: return fill<IntegerKey<int32_t>>(from, flip, lane, keys);
    case DType::U16: return fill<IntegerKey<uint16_t>>(from, flip, lane, keys);
    case DType::U32: return fill<IntegerKey<uint32_t>>(from, flip, lane, keys);
    case DType::F16: return fill<FloatKey<int16_t, int32_t, 0x7c00>>(from, flip, lane, keys);
    case DType::BF16: return fill<FloatKey<int16_t, int32_t, 0x7f80>>(from, flip, lane, keys);
    case DType::F32: return fill<FloatKey<int32_t, int32_t, 0x7f800000>>(from, flip, lane, keys);
    default: return fill<IntegerKey<uint8_t>>(from, flip, lane, keys);
  }
}

}  // namespace

void fill_keys(const KeySource& from, int32_t flip, int64_t lane, int32_t* keys) { fill_narrow(from, flip, lane, keys); }

void fill_keys(const KeySource& from, int64_t flip, int64_t lane, int64_t* keys) {
  switch (from.dtype) {
    case DType::I64: return fill<IntegerKey<int64_t>>(from, flip, lane, keys);
    case DType::U64: return fill<IntegerKey<uint64_t>>(from, flip, lane, keys);
    case DType::F64: return fill<FloatKey<int64_t, int64_t, 0x7ff0000000000000>>(from, flip, lane, keys);
    default: return fill_narrow(from, flip, lane, keys);
  }
}

}  // namespace pliant::runtime
