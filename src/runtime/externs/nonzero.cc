#include <cstring>

#include "runtime/externs.h"

namespace pliant::runtime {
namespace {

// A float's sign does not count; NaN is not zero.
bool is_zero(DType dtype, const std::byte* p) {
  const auto bytes = static_cast<size_t>(byte_size(dtype));
  uint64_t v = 0;
  std::memcpy(&v, p, bytes);
  if (is_float(dtype)) v &= ~(uint64_t{1} << (8 * bytes - 1));
  return v == 0;
}

}  // namespace

pliant_status extern_nonzero(ExternCall& call) {
  const ExternInput& x = call.inputs[0];
  const size_t rank = x.shape.size();
  const int64_t each = byte_size(x.dtype);
  int64_t count = 0;
  for (int64_t i = 0; i < x.elements; ++i) count += !is_zero(x.dtype, x.data + i * each);
  if (!call.results.empty()) call.results[0] = count;
  PLIANT_TRY(call.require_output(0, DType::I64, rank * static_cast<uint64_t>(count)));
  auto* out = reinterpret_cast<int64_t*>(call.outputs[0].data);
  int64_t index[PLIANT_MAX_RANK] = {};
  for (int64_t i = 0, found = 0; found < count; ++i) {
    if (!is_zero(x.dtype, x.data + i * each)) {
      for (size_t d = 0; d < rank; ++d) out[static_cast<int64_t>(d) * count + found] = index[d];
      ++found;
    }
    for (size_t d = rank; d-- > 0;) {
      if (++index[d] < x.shape[d]) break;
      index[d] = 0;
    }
  }
  return PLIANT_OK;
}

}  // namespace pliant::runtime
