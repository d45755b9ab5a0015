// Elements as integers whose order is the values' order: negative zero equals zero, all NaNs are equal and greatest.
#pragma once
#include <cstddef>
#include <cstdint>

#include "artifact/dtype.h"
#include "runtime/threads/turns.h"

namespace pliant::runtime {

inline bool has_narrow_keys(DType dtype) { return byte_size(dtype) <= 4; }

// Elements in memory: rows of columns, the rows `stride` elements apart.
struct KeySource {
  DType dtype;
  const std::byte* data;
  int64_t rows, columns, stride;
};
// The keys of column c go to keys + c * lane. Each is flipped by `flip`: with ~0 the order is reversed. Keys of 32 bits are
// only for elements of up to as many (has_narrow_keys).
void fill_keys(const KeySource& from, int32_t flip, int64_t lane, int32_t* keys);
void fill_keys(const KeySource& from, int64_t flip, int64_t lane, int64_t* keys);

// The same, in turns.
template <class Key>
pliant_status fill_keys(StopFlag flag, const KeySource& from, Key flip, int64_t lane, Key* keys) {
  return flag.in_turns(from.rows, from.columns, [&](int64_t begin, int64_t end) {
    const std::byte* data = from.data + begin * from.stride * byte_size(from.dtype);
    fill_keys({from.dtype, data, end - begin, from.columns, from.stride}, flip, lane, keys + begin);
  });
}

}  // namespace pliant::runtime
