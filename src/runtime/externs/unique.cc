// Items are single elements of the flattened tensor, or the slices along an axis, which are compared element by element.
// Items are sorted with their positions, so that the first of equal ones is the first occurrence; equal runs become groups,
// which are then left in order of value or put in order of first occurrence.
#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "runtime/externs.h"

namespace pliant::runtime {
namespace {

struct Items {
  const uint64_t* keys;  // of all elements, row-major
  AxisSplit split;

  int compare(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < split.outer; ++o)
      for (int64_t i = 0; i < split.inner; ++i) {
        const uint64_t x = keys[(o * split.size + a) * split.inner + i], y = keys[(o * split.size + b) * split.inner + i];
        if (x != y) return x < y ? -1 : 1;
      }
    return 0;
  }
};

struct Group {
  int64_t first;  // the item of the first occurrence
  int64_t count;
  int64_t id;  // in order of value
};

}  // namespace

pliant_status extern_unique(ExternCall& call) {
  const ExternInput& x = call.inputs[0];
  const int64_t axis = call.ints[0];
  if (axis < -1 || axis >= static_cast<int64_t>(x.shape.size())) return call.fault("axis %" PRId64 " is out of range", axis);
  Items items;
  items.split = axis < 0 ? AxisSplit{1, x.elements, 1} : split_at(x.shape, axis);
  const auto n = static_cast<uint64_t>(items.split.size);
  auto* keys = call.room<uint64_t>(static_cast<uint64_t>(x.elements));
  auto* order = call.room<int64_t>(n);
  auto* group_of = call.room<int64_t>(n);
  auto* groups = call.room<Group>(n);
  auto* number = call.room<int64_t>(n);
  if (keys == nullptr || order == nullptr || group_of == nullptr || groups == nullptr || number == nullptr)
    return PLIANT_OUT_OF_MEMORY;
  order_keys(x.dtype, x.data, 1, x.elements, keys);
  items.keys = keys;
  for (uint64_t i = 0; i < n; ++i) order[i] = static_cast<int64_t>(i);
  std::sort(order, order + n, [&](int64_t a, int64_t b) {
    const int c = items.compare(a, b);
    return c != 0 ? c < 0 : a < b;
  });
  int64_t count = 0;
  for (uint64_t i = 0; i < n; ++i) {
    if (i == 0 || items.compare(order[i - 1], order[i]) != 0) {
      groups[count] = {order[i], 0, count};
      ++count;
    }
    ++groups[count - 1].count;
    group_of[order[i]] = count - 1;
  }
  if (call.ints[1] == 0) std::sort(groups, groups + count, [](const Group& a, const Group& b) { return a.first < b.first; });
  for (int64_t g = 0; g < count; ++g) number[groups[g].id] = g;
  if (!call.results.empty()) call.results[0] = count;

  const AxisSplit& s = items.split;
  const int64_t each = byte_size(x.dtype);
  PLIANT_TRY(call.require_output(0, x.dtype, static_cast<uint64_t>(s.outer * count * s.inner)));
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t g = 0; g < count; ++g)
      std::memcpy(call.outputs[0].data + (o * count + g) * s.inner * each,
                  x.data + (o * s.size + groups[g].first) * s.inner * each, static_cast<size_t>(s.inner * each));
  auto i64_output = [&](size_t i) { return reinterpret_cast<int64_t*>(call.outputs[i].data); };
  if (call.outputs.size() > 1) {
    PLIANT_TRY(call.require_output(1, DType::I64, static_cast<uint64_t>(count)));
    for (int64_t g = 0; g < count; ++g) i64_output(1)[g] = groups[g].first;
  }
  if (call.outputs.size() > 2) {
    PLIANT_TRY(call.require_output(2, DType::I64, n));
    for (uint64_t i = 0; i < n; ++i) i64_output(2)[i] = number[group_of[i]];
  }
  if (call.outputs.size() > 3) {
    PLIANT_TRY(call.require_output(3, DType::I64, static_cast<uint64_t>(count)));
    for (int64_t g = 0; g < count; ++g) i64_output(3)[g] = groups[g].count;
  }
  return PLIANT_OK;
}

}  // namespace pliant::runtime
