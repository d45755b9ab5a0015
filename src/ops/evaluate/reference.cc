#include "ops/evaluate/reference.h"

#include <cmath>
#include <cstring>

#include "base/half.h"

namespace pliant::ops {
namespace {

template <class T>
T read(const std::byte* at) {
  T v;
  std::memcpy(&v, at, sizeof v);
  return v;
}

std::byte* element(te::Array& a, int64_t i) { return a.data.data() + i * byte_size(a.dtype); }

}  // namespace

int64_t count_of(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

long double number_at(const te::ArrayView& a, int64_t i) {
  const std::byte* at = a.data + i * byte_size(a.dtype);
  switch (a.dtype) {
    case DType::Bool:
    case DType::U8: return read<uint8_t>(at);
    case DType::I8: return read<int8_t>(at);
    case DType::I16: return read<int16_t>(at);
    case DType::U16: return read<uint16_t>(at);
    case DType::I32: return read<int32_t>(at);
    case DType::U32: return read<uint32_t>(at);
    case DType::I64: return static_cast<long double>(read<int64_t>(at));
    case DType::U64: return static_cast<long double>(read<uint64_t>(at));
    case DType::F16: return f16_to_f32(read<uint16_t>(at));
    case DType::BF16: return bf16_to_f32(read<uint16_t>(at));
    case DType::F32: return read<float>(at);
    case DType::F64: return read<double>(at);
  }
  return 0;
}

int compare_numbers(long double a, long double b) {
  bool a_nan = std::isnan(a), b_nan = std::isnan(b);
  if (a_nan || b_nan) return static_cast<int>(a_nan) - static_cast<int>(b_nan);
  return a < b ? -1 : a > b ? 1 : 0;
}

te::Array make_array(DType t, std::vector<int64_t> shape) {
  te::Array a{t, std::move(shape), {}};
  a.data.resize(static_cast<size_t>(count_of(a.shape) * byte_size(t)));
  return a;
}

void copy_element(te::Array& out, int64_t to, const te::ArrayView& a, int64_t from) {
  std::memcpy(element(out, to), a.data + from * byte_size(a.dtype), static_cast<size_t>(byte_size(a.dtype)));
}

void set_i64(te::Array& out, int64_t i, int64_t v) { std::memcpy(element(out, i), &v, sizeof v); }

AxisView split_axis(const std::vector<int64_t>& shape, int64_t axis) {
  AxisView v;
  for (int64_t k = 0; k < static_cast<int64_t>(shape.size()); ++k)
    (k < axis ? v.outer : k == axis ? v.size : v.inner) *= shape[static_cast<size_t>(k)];
  return v;
}

}  // namespace pliant::ops
