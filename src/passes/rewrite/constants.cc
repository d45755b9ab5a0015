#include "passes/rewrite/constants.h"

#include <cstring>

#include "base/half.h"

namespace pliant::passes {
namespace {

template <class T>
T read(const std::byte* from) {
  T v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class T>
void write(std::byte* to, T v) {
  std::memcpy(to, &v, sizeof v);
}

double element(DType t, const std::byte* p) {
  switch (t) {
    case DType::Bool:
    case DType::U8: return read<uint8_t>(p);
    case DType::I8: return read<int8_t>(p);
    case DType::I16: return read<int16_t>(p);
    case DType::I32: return read<int32_t>(p);
    case DType::I64: return static_cast<double>(read<int64_t>(p));
    case DType::U16: return read<uint16_t>(p);
    case DType::U32: return read<uint32_t>(p);
    case DType::U64: return static_cast<double>(read<uint64_t>(p));
    case DType::F16: return f16_to_f32(read<uint16_t>(p));
    case DType::BF16: return bf16_to_f32(read<uint16_t>(p));
    case DType::F32: return read<float>(p);
    case DType::F64: return read<double>(p);
  }
  return 0;
}

// Copies runs of `block` bytes from strided places, the last axis innermost.
void gather_blocks(const std::byte* from, std::byte*& to, const std::vector<int64_t>& extents,
                   const std::vector<int64_t>& strides, size_t axis, size_t block) {
  if (axis == extents.size()) {
    std::memcpy(to, from, block);
    to += block;
    return;
  }
  if (axis + 1 == extents.size() && block == 4) {
    for (int64_t i = 0; i < extents[axis]; ++i, to += 4) std::memcpy(to, from + i * strides[axis], 4);
    return;
  }
  for (int64_t i = 0; i < extents[axis]; ++i) gather_blocks(from + i * strides[axis], to, extents, strides, axis + 1, block);
}

}  // namespace

ConstantPtr permute(const ConstantData& c, const std::vector<int64_t>& perm) {
  size_t rank = c.shape.size();
  std::vector<int64_t> source_strides(rank, byte_size(c.dtype)), extents(rank), strides(rank);
  for (size_t k = rank; k-- > 1;) source_strides[k - 1] = source_strides[k] * c.shape[k];
  for (size_t k = 0; k < rank; ++k) {
    extents[k] = c.shape[static_cast<size_t>(perm[k])];
    strides[k] = source_strides[static_cast<size_t>(perm[k])];
  }
  auto [out, memory] = graph::make_blank_constant(c.dtype, extents);
  if (c.bytes == 0) return out;
  // Trailing axes that stay in place move together.
  size_t block = static_cast<size_t>(byte_size(c.dtype));
  while (!extents.empty() && strides.back() == static_cast<int64_t>(block)) {
    block *= static_cast<size_t>(extents.back());
    extents.pop_back();
    strides.pop_back();
  }
  gather_blocks(c.data, memory, extents, strides, 0, block);
  return out;
}

ConstantPtr with_shape(const ConstantPtr& c, std::vector<int64_t> shape) {
  auto out = std::make_shared<ConstantData>(*c);
  out->shape = std::move(shape);
  out->keep = c;
  PLIANT_CHECK(element_count(*out) == element_count(*c)) << "a constant of " << element_count(*c) << " elements reshaped";
  return out;
}

std::vector<double> to_doubles(const ConstantData& c) {
  std::vector<double> out(static_cast<size_t>(element_count(c)));
  for (size_t i = 0; i < out.size(); ++i) out[i] = element(c.dtype, c.data + static_cast<int64_t>(i) * byte_size(c.dtype));
  return out;
}

ConstantPtr from_doubles(DType t, std::vector<int64_t> shape, const std::vector<double>& values) {
  auto [out, memory] = graph::make_blank_constant(t, std::move(shape));
  PLIANT_CHECK(graph::element_count(*out) == static_cast<int64_t>(values.size())) << values.size() << " values";
  for (size_t i = 0; i < values.size(); ++i) {
    std::byte* p = memory + static_cast<int64_t>(i) * byte_size(t);
    switch (t) {
      case DType::F16: write(p, f64_to_f16(values[i])); break;
      case DType::BF16: write(p, f64_to_bf16(values[i])); break;
      case DType::F32: write(p, static_cast<float>(values[i])); break;
      case DType::F64: write(p, values[i]); break;
      default: PLIANT_CHECK(false) << "from_doubles of " << name_of(t);
    }
  }
  return out;
}

std::optional<double> uniform_value(const ConstantData& c) {
  int64_t n = element_count(c), size = byte_size(c.dtype);
  if (n == 0) return std::nullopt;
  for (int64_t i = 1; i < n; ++i) {
    if (std::memcmp(c.data, c.data + i * size, static_cast<size_t>(size)) != 0) return std::nullopt;
  }
  return element(c.dtype, c.data);
}

}  // namespace pliant::passes
