// Items are single elements of the flattened tensor, or the slices along an axis, which are compared element by element.
// Items are sorted with their positions, so that the first of equal ones is the first occurrence; equal runs become groups,
// which are then left in order of value or numbered in order of first occurrence.
#include <cinttypes>

#include "runtime/externs.h"
#include "runtime/externs/copy_rows.h"
#include "runtime/externs/keys.h"
#include "runtime/externs/ranked.h"

namespace pliant::runtime {
namespace {

// The items in order, and which of them differ from the one before.
struct Sorted {
  int64_t* order;
  bool* starts;
};

int compare_slices(const int64_t* keys, const AxisSplit& s, int64_t a, int64_t b) {
  for (int64_t o = 0; o < s.outer; ++o) {
    const int64_t *x = keys + (o * s.size + a) * s.inner, *y = keys + (o * s.size + b) * s.inner;
    for (int64_t i = 0; i < s.inner; ++i)
      if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  }
  return 0;
}

// The keys of all elements, row-major; null when there is no memory.
template <class Key>
const Key* make_keys(ExternCall& call) {
  const ExternInput& x = call.inputs[0];
  auto* keys = call.room<Key>(static_cast<uint64_t>(x.elements));
  if (keys != nullptr) fill_keys({x.dtype, x.data, x.elements, 1, 1}, Key{0}, x.elements, keys);
  return keys;
}

pliant_status sort_slices(ExternCall& call, const AxisSplit& s, const Sorted& to) {
  const auto* keys = make_keys<int64_t>(call);
  if (keys == nullptr) return PLIANT_OUT_OF_MEMORY;
  for (int64_t i = 0; i < s.size; ++i) to.order[i] = i;
  std::sort(to.order, to.order + s.size, [&](int64_t a, int64_t b) {
    const int c = compare_slices(keys, s, a, b);
    return c != 0 ? c < 0 : a < b;
  });
  for (int64_t i = 0; i < s.size; ++i) to.starts[i] = i == 0 || compare_slices(keys, s, to.order[i - 1], to.order[i]) != 0;
  return PLIANT_OK;
}

template <class Rank>
pliant_status sort_elements(ExternCall& call, int64_t n, const Sorted& to) {
  const auto* keys = make_keys<typename Rank::Key>(call);
  auto* ranks = call.room<Rank>(static_cast<uint64_t>(n));
  auto* other = call.room<Rank>(static_cast<uint64_t>(n));
  if (keys == nullptr || ranks == nullptr || other == nullptr) return PLIANT_OUT_OF_MEMORY;
  for (int64_t i = 0; i < n; ++i) ranks[i] = Rank::of(keys[i], i);
  const Rank* sorted = sort_ranks(ranks, other, n);
  for (int64_t i = 0; i < n; ++i) {
    to.order[i] = sorted[i].index();
    to.starts[i] = i == 0 || sorted[i - 1].key() != sorted[i].key();
  }
  return PLIANT_OK;
}

pliant_status sort_items(ExternCall& call, bool flat, const AxisSplit& s, const Sorted& to) {
  if (s.size == 0) return PLIANT_OK;
  if (!flat) return sort_slices(call, s, to);
  const bool packs = has_narrow_keys(call.inputs[0].dtype) && s.size <= UINT32_MAX;
  return packs ? sort_elements<PackedRank>(call, s.size, to) : sort_elements<WideRank>(call, s.size, to);
}

// Runs of equal items.
struct Groups {
  int64_t count = 0;
  int64_t* first;    // by group: the item of the first occurrence
  int64_t* members;  // by group: how many
  int64_t* of_item;  // by item
};

void find_groups(const Sorted& sorted, int64_t n, Groups& g) {
  for (int64_t i = 0; i < n; ++i) {
    if (sorted.starts[i]) {
      g.first[g.count] = sorted.order[i];
      g.members[g.count++] = 0;
    }
    ++g.members[g.count - 1];
    g.of_item[sorted.order[i]] = g.count - 1;
  }
}

// Numbers the groups anew as their first items come: `number` by group, and each number's group in `group_at`.
void number_by_occurrence(const Groups& g, int64_t n, int64_t* number, int64_t* group_at) {
  int64_t next = 0;
  for (int64_t i = 0; i < n && next < g.count; ++i) {
    const int64_t group = g.of_item[i];
    if (g.first[group] != i) continue;
    number[group] = next;
    group_at[next++] = group;
  }
}

pliant_status write_outputs(ExternCall& call, const AxisSplit& s, const Groups& g, const int64_t* number,
                            const int64_t* group_at) {
  const ExternInput& x = call.inputs[0];
  const auto count = static_cast<uint64_t>(g.count);
  PLIANT_TRY(call.require_output(0, x.dtype, static_cast<uint64_t>(s.outer) * count * static_cast<uint64_t>(s.inner)));
  const int64_t row = s.inner * byte_size(x.dtype);
  for (int64_t o = 0; o < s.outer; ++o)
    copy_rows(call.outputs[0].data + o * g.count * row, x.data + o * s.size * row, static_cast<size_t>(row), g.count,
              [&](int64_t i) { return g.first[group_at[i]]; });
  auto i64_output = [&](size_t i) { return reinterpret_cast<int64_t*>(call.outputs[i].data); };
  if (call.outputs.size() > 1) {
    PLIANT_TRY(call.require_output(1, DType::I64, count));
    for (int64_t i = 0; i < g.count; ++i) i64_output(1)[i] = g.first[group_at[i]];
  }
  if (call.outputs.size() > 2) {
    PLIANT_TRY(call.require_output(2, DType::I64, static_cast<uint64_t>(s.size)));
    for (int64_t i = 0; i < s.size; ++i) i64_output(2)[i] = number[g.of_item[i]];
  }
  if (call.outputs.size() > 3) {
    PLIANT_TRY(call.require_output(3, DType::I64, count));
    for (int64_t i = 0; i < g.count; ++i) i64_output(3)[i] = g.members[group_at[i]];
  }
  return PLIANT_OK;
}

}  // namespace

pliant_status extern_unique(ExternCall& call) {
  const ExternInput& x = call.inputs[0];
  const int64_t axis = call.ints[0];
  if (axis < -1 || axis >= static_cast<int64_t>(x.shape.size())) return call.fault("axis %" PRId64 " is out of range", axis);
  const AxisSplit s = axis < 0 ? AxisSplit{1, x.elements, 1} : split_at(x.shape, axis);
  const auto n = static_cast<uint64_t>(s.size);
  const Sorted sorted{call.room<int64_t>(n), call.room<bool>(n)};
  Groups groups{0, call.room<int64_t>(n), call.room<int64_t>(n), call.room<int64_t>(n)};
  auto* number = call.room<int64_t>(n);
  auto* group_at = call.room<int64_t>(n);
  if (sorted.order == nullptr || sorted.starts == nullptr || groups.first == nullptr || groups.members == nullptr ||
      groups.of_item == nullptr || number == nullptr || group_at == nullptr)
    return PLIANT_OUT_OF_MEMORY;
  PLIANT_TRY(sort_items(call, axis < 0, s, sorted));
  find_groups(sorted, s.size, groups);
  if (!call.results.empty()) call.results[0] = groups.count;
  if (call.ints[1] == 0) {
    number_by_occurrence(groups, s.size, number, group_at);
  } else {
    for (int64_t i = 0; i < groups.count; ++i) number[i] = group_at[i] = i;
  }
  return write_outputs(call, s, groups, number, group_at);
}

}  // namespace pliant::runtime
