// Items are single elements of the flattened tensor, or the slices along an axis, which are compared element by element.
// Items are sorted with their positions, so that the first of equal ones is the first occurrence; equal runs become groups,
// which are then left in order of value or numbered in order of first occurrence.
#include <cinttypes>

#include "runtime/library/copy_rows.h"
#include "runtime/library/keys.h"
#include "runtime/library/library.h"
#include "runtime/library/ranked.h"

namespace pliant::runtime {
namespace {

// The items in order, and which of them differ from the one before.
struct Sorted {
  int64_t* order;
  bool* starts;
};

// The keys of all elements, row-major.
template <class Key>
pliant_status make_keys(LibraryCall& call, Key*& keys) {
  const LibraryInput& x = call.inputs[0];
  keys = call.room<Key>(static_cast<uint64_t>(x.elements));
  if (keys == nullptr) return PLIANT_OUT_OF_MEMORY;
  return fill_keys(call.stop, {x.dtype, x.data, x.elements, 1, 1}, Key{0}, x.elements, keys);
}

// Slices along an axis by their keys. Sorted by merging, which stays inside its arrays even where comparisons contradict
// each other: they do once the run is to end. Then no merge goes on, those neither that are half done around this one.
class SliceOrder {
 public:
  SliceOrder(const int64_t* keys, const AxisSplit& s, StopFlag flag) : keys_(keys), s_(s), turns_(flag) {}

  // `order` and `other` hold the same permutation; `order` is sorted.
  void sort(int64_t* order, int64_t* other, int64_t count) {
    if (count < 2 || is_over(0)) return;
    const int64_t half = count / 2;
    sort(other, order, half);
    sort(other + half, order + half, count - half);
    for (int64_t i = 0, a = 0, b = half; i < count && !is_over(0); ++i) {
      const bool takes_first = b == count || (a < half && compare(other[a], other[b]) <= 0);
      order[i] = takes_first ? other[a++] : other[b++];
    }
  }
  int compare(int64_t a, int64_t b) {
    for (int64_t o = 0; o < s_.outer; ++o) {
      const int64_t *x = keys_ + (o * s_.size + a) * s_.inner, *y = keys_ + (o * s_.size + b) * s_.inner;
      for (int64_t begin = 0; begin < s_.inner; begin += kBlock) {
        const int64_t end = std::min(begin + kBlock, s_.inner);
        for (int64_t i = begin; i < end; ++i)
          if (x[i] != y[i]) return is_over(i - begin + 4) || x[i] < y[i] ? -1 : 1;
        if (is_over(end - begin)) return -1;
      }
    }
    return 0;
  }
  bool is_over(int64_t work) { return turns_.is_over(work); }

 private:
  static constexpr int64_t kBlock = 1024;
  const int64_t* keys_;
  AxisSplit s_;
  TurnCounter turns_;
};

// Slices of so few elements are sorted by one after the other, from the last on, where there are many.
constexpr int64_t kShortSlice = 8;

bool sorts_by_element(const AxisSplit& s) { return s.size >= kRadixFrom && s.outer * s.inner <= kShortSlice; }

pliant_status sort_short_slices(LibraryCall& call, const AxisSplit& s, const int64_t* keys, int64_t* order) {
  auto* ranks = call.room<WideRank>(static_cast<uint64_t>(s.size));
  auto* other = call.room<WideRank>(static_cast<uint64_t>(s.size));
  if (ranks == nullptr || other == nullptr) return PLIANT_OUT_OF_MEMORY;
  PLIANT_TRY(call.stop.in_turns(s.size, 2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) order[i] = i;
  }));
  for (int64_t e = s.outer * s.inner; e-- > 0;) {
    const int64_t* column = keys + e / s.inner * s.size * s.inner + e % s.inner;
    PLIANT_TRY(call.stop.in_turns(s.size, 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ranks[i] = WideRank::of(column[order[i] * s.inner], order[i]);
    }));
    WideRank* sorted;
    PLIANT_TRY(radix_sort(call.stop, ranks, other, s.size, sorted));
    PLIANT_TRY(call.stop.in_turns(s.size, 2, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) order[i] = sorted[i].index();
    }));
  }
  return PLIANT_OK;
}

pliant_status merge_slices(LibraryCall& call, SliceOrder& slices, int64_t count, int64_t* order) {
  auto* other = call.room<int64_t>(static_cast<uint64_t>(count));
  if (other == nullptr) return PLIANT_OUT_OF_MEMORY;
  PLIANT_TRY(call.stop.in_turns(count, 2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) order[i] = other[i] = i;
  }));
  slices.sort(order, other, count);
  return PLIANT_OK;
}

pliant_status sort_slices(LibraryCall& call, const AxisSplit& s, const Sorted& to) {
  int64_t* keys;
  PLIANT_TRY(make_keys(call, keys));
  SliceOrder slices(keys, s, call.stop);
  PLIANT_TRY(sorts_by_element(s) ? sort_short_slices(call, s, keys, to.order)
                                 : merge_slices(call, slices, s.size, to.order));
  for (int64_t i = 0; i < s.size && !slices.is_over(0); ++i)
    to.starts[i] = i == 0 || slices.compare(to.order[i - 1], to.order[i]) != 0;
  return call.stop.poll();
}

template <class Rank>
pliant_status sort_elements(LibraryCall& call, int64_t n, const Sorted& to) {
  typename Rank::Key* keys;
  PLIANT_TRY(make_keys(call, keys));
  auto* ranks = call.room<Rank>(static_cast<uint64_t>(n));
  auto* other = call.room<Rank>(static_cast<uint64_t>(n));
  if (ranks == nullptr || other == nullptr) return PLIANT_OUT_OF_MEMORY;
  PLIANT_TRY(fill_ranks(call.stop, keys, n, ranks));
  Rank* sorted;
  PLIANT_TRY(sort_ranks(call.stop, ranks, other, n, sorted));
  return call.stop.in_turns(n, 2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      to.order[i] = sorted[i].index();
      to.starts[i] = i == 0 || sorted[i - 1].key() != sorted[i].key();
    }
  });
}

pliant_status sort_items(LibraryCall& call, bool flat, const AxisSplit& s, const Sorted& to) {
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

pliant_status find_groups(StopFlag flag, const Sorted& sorted, int64_t n, Groups& g) {
  return flag.in_turns(n, 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (sorted.starts[i]) {
        g.first[g.count] = sorted.order[i];
        g.members[g.count++] = 0;
      }
      ++g.members[g.count - 1];
      g.of_item[sorted.order[i]] = g.count - 1;
    }
  });
}

// Numbers the groups anew as their first items come: `number` by group, and each number's group in `group_at`.
pliant_status number_by_occurrence(StopFlag flag, const Groups& g, int64_t n, int64_t* number, int64_t* group_at) {
  int64_t next = 0;
  return flag.in_turns(n, 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && next < g.count; ++i) {
      const int64_t group = g.of_item[i];
      if (g.first[group] != i) continue;
      number[group] = next;
      group_at[next++] = group;
    }
  });
}

pliant_status write_outputs(LibraryCall& call, const AxisSplit& s, const Groups& g, const int64_t* number,
                            const int64_t* group_at) {
  const LibraryInput& x = call.inputs[0];
  const auto count = static_cast<uint64_t>(g.count);
  PLIANT_TRY(call.require_output(0, x.dtype, static_cast<uint64_t>(s.outer) * count * static_cast<uint64_t>(s.inner)));
  const int64_t row = s.inner * byte_size(x.dtype);
  for (int64_t o = 0; o < s.outer; ++o)
    PLIANT_TRY(pick_rows(call.stop, call.outputs[0].data + o * g.count * row, x.data + o * s.size * row,
                         static_cast<size_t>(row), g.count, [&](int64_t i) { return g.first[group_at[i]]; }));
  auto write = [&](size_t output, int64_t n, auto&& element) {
    if (output >= call.outputs.size()) return PLIANT_OK;
    PLIANT_TRY(call.require_output(output, DType::I64, static_cast<uint64_t>(n)));
    auto* to = reinterpret_cast<int64_t*>(call.outputs[output].data);
    return call.stop.in_turns(n, 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = element(i);
    });
  };
  PLIANT_TRY(write(1, g.count, [&](int64_t i) { return g.first[group_at[i]]; }));
  PLIANT_TRY(write(2, s.size, [&](int64_t i) { return number[g.of_item[i]]; }));
  return write(3, g.count, [&](int64_t i) { return g.members[group_at[i]]; });
}

}  // namespace

pliant_status library_unique(LibraryCall& call) {
  const LibraryInput& x = call.inputs[0];
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
  PLIANT_TRY(find_groups(call.stop, sorted, s.size, groups));
  if (!call.results.empty()) call.results[0] = groups.count;
  if (call.ints[1] == 0) {
    PLIANT_TRY(number_by_occurrence(call.stop, groups, s.size, number, group_at));
  } else {
    PLIANT_TRY(call.stop.in_turns(groups.count, 2, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) number[i] = group_at[i] = i;
    }));
  }
  return write_outputs(call, s, groups, number, group_at);
}

}  // namespace pliant::runtime
