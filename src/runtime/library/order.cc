// Lanes are turned into keys whose least come first. A few of many are found in one scan that passes over blocks of keys
// none of which is less than the worst kept; else the whole lane is sorted.
#include "runtime/library/order.h"

#include <cstring>
#include <limits>

#include "runtime/library/bits.h"
#include "runtime/library/keys.h"
#include "runtime/library/ranked.h"

namespace pliant::runtime {
namespace {

constexpr int64_t kInserted = 24;      // as many are kept in order while scanning
constexpr int64_t kKeyColumns = 16;    // other lanes side by side are read together
constexpr int64_t kLeastAbreast = 16;  // so many lanes side by side are scanned together
constexpr int64_t kFew = 16;           // up to a part in so many of a lane is scanned for

// How many ranks a lane needs room for: those kept, and as many again before the worst are dropped.
struct LanePlan {
  int64_t size, k, kept;

  LanePlan(int64_t lane_size, int64_t wanted) : size(lane_size), k(wanted), kept(lane_size) {
    if (scans()) kept = inserts() ? k : 2 * k + kWordBits;
  }
  bool scans() const { return k <= size / kFew; }
  bool inserts() const { return scans() && k <= kInserted; }
  bool sorts_all() const { return !scans() && (k == size || size >= kRadixFrom); }
};

// Calls visit(position) for the keys below `limit`, which visit may lower, from position `first` on.
template <class Key, class Visit>
pliant_status scan_below(StopFlag flag, const Key* keys, int64_t first, int64_t size, const Key& limit, Visit&& visit) {
  return flag.in_turns(size - first, 4, [&](int64_t begin, int64_t end) {
    int64_t i = first + begin;
    for (; i + kWordBits <= first + end; i += kWordBits) {
      const Key bound = limit;
      uint8_t below[kWordBits];
      for (int64_t j = 0; j < kWordBits; ++j) below[j] = keys[i + j] < bound;
      if (count_of(below) == 0) continue;
      for_each_bit(bits_of(below), [&](int bit) { visit(i + bit); });
    }
    for (; i < first + end; ++i)
      if (keys[i] < limit) visit(i);
  });
}

// Puts a rank in its place among `count` that are in order.
template <class Rank>
void insert(Rank* ranks, int64_t count, Rank r) {
  int64_t at = count;
  for (; at > 0 && r < ranks[at - 1]; --at) ranks[at] = ranks[at - 1];
  ranks[at] = r;
}

// The k least in order, each put in its place when it is found.
template <class Rank>
pliant_status select_by_insertion(StopFlag flag, const typename Rank::Key* keys, int64_t size, int64_t k, Rank* ranks) {
  for (int64_t i = 0; i < k; ++i) insert(ranks, i, Rank::of(keys[i], i));
  typename Rank::Key limit = ranks[k - 1].key();
  return scan_below(flag, keys, k, size, limit, [&](int64_t i) {
    if (keys[i] >= limit) return;  // a rank before it has lowered the limit
    insert(ranks, k - 1, Rank::of(keys[i], i));
    limit = ranks[k - 1].key();
  });
}

// The same for up to 64 lanes that lie side by side, all at once: the ranks of lane c start at ranks + c * k.
template <class Rank>
pliant_status select_abreast(StopFlag flag, const KeySource& from, typename Rank::Key flip, int64_t k, Rank* ranks) {
  using Key = typename Rank::Key;
  Key keys[kWordBits] = {}, limits[kWordBits];
  std::fill_n(limits, kWordBits, std::numeric_limits<Key>::min());  // nothing is below
  KeySource row{from.dtype, from.data, from.columns, 1, 1};
  return flag.in_turns(from.rows, 2 * kWordBits, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r, row.data += from.stride * byte_size(from.dtype)) {
      fill_keys(row, flip, 0, keys);
      if (r < k) {
        for (int64_t c = 0; c < from.columns; ++c) insert(ranks + c * k, r, Rank::of(keys[c], r));
        if (r + 1 == k)
          for (int64_t c = 0; c < from.columns; ++c) limits[c] = ranks[c * k + k - 1].key();
        continue;
      }
      uint8_t below[kWordBits];
      for (int64_t c = 0; c < kWordBits; ++c) below[c] = keys[c] < limits[c];
      if (count_of(below) == 0) continue;
      for_each_bit(bits_of(below), [&](int c) {
        insert(ranks + c * k, k - 1, Rank::of(keys[c], r));
        limits[c] = ranks[c * k + k - 1].key();
      });
    }
  });
}

// The k least in order, from a heap of candidates whose worst are dropped when it is full.
template <class Rank>
pliant_status select_by_dropping(StopFlag flag, const typename Rank::Key* keys, int64_t size, int64_t k, int64_t room,
                                 Rank* ranks) {
  int64_t count = room < size ? room : size;
  PLIANT_TRY(fill_ranks(flag, keys, count, ranks));
  const int64_t begin = count;
  typename Rank::Key limit;
  pliant_status status = PLIANT_OK;
  auto drop = [&] {
    if (status == PLIANT_OK) status = select_nth(flag, ranks, k - 1, count);
    limit = ranks[k - 1].key();
    count = k;
  };
  drop();
  PLIANT_TRY(scan_below(flag, keys, begin, size, limit, [&](int64_t i) {
    ranks[count++] = Rank::of(keys[i], i);
    if (count == room) drop();
  }));
  if (count > k) drop();
  PLIANT_TRY(status);
  return sort_in_place(flag, ranks, k);
}

// The k least of a lane in order; in `ranks` or `other`: `selected`.
template <class Rank>
pliant_status select(StopFlag flag, const LanePlan& plan, const typename Rank::Key* keys, Rank* ranks, Rank* other,
                     Rank*& selected) {
  selected = ranks;
  if (plan.inserts()) return select_by_insertion(flag, keys, plan.size, plan.k, ranks);
  if (plan.scans()) return select_by_dropping(flag, keys, plan.size, plan.k, plan.kept, ranks);
  PLIANT_TRY(fill_ranks(flag, keys, plan.size, ranks));
  if (plan.sorts_all()) return sort_ranks(flag, ranks, other, plan.size, selected);
  std::nth_element(ranks, ranks + plan.k, ranks + plan.size);  // few: see sorts_all
  std::sort(ranks, ranks + plan.k);
  return PLIANT_OK;
}

// A lane's results, `stride` elements apart.
template <size_t Bytes, class Rank>
void write_fixed(const Rank* ranks, int64_t k, const std::byte* from, int64_t stride, std::byte* values, int64_t* indices) {
  constexpr auto each = static_cast<int64_t>(Bytes);
  for (int64_t j = 0; j < k; ++j) {
    const int64_t index = ranks[j].index();
    std::memcpy(values + j * stride * each, from + index * stride * each, Bytes);
    indices[j * stride] = index;
  }
}

// The k results of the lane of `call` in column i of slice o.
template <class Rank>
pliant_status write_lane(LibraryCall& call, const AxisSplit& s, int64_t k, int64_t o, int64_t i, const Rank* ranks) {
  const LibraryInput& x = call.inputs[0];
  const int64_t each = byte_size(x.dtype), stride = s.inner, at = o * k * stride + i;
  const std::byte* from = x.data + (o * s.size * stride + i) * each;
  std::byte* values = call.outputs[0].data + at * each;
  int64_t* indices = reinterpret_cast<int64_t*>(call.outputs[1].data) + at;
  return call.stop.in_turns(k, 4, [&](int64_t begin, int64_t end) {
    const Rank* r = ranks + begin;
    std::byte* to = values + begin * stride * each;
    int64_t *to_index = indices + begin * stride, n = end - begin;
    switch (each) {
      case 1: return write_fixed<1>(r, n, from, stride, to, to_index);
      case 2: return write_fixed<2>(r, n, from, stride, to, to_index);
      case 4: return write_fixed<4>(r, n, from, stride, to, to_index);
      default: return write_fixed<8>(r, n, from, stride, to, to_index);
    }
  });
}

template <class Rank>
pliant_status select_lanes(LibraryCall& call, const AxisSplit& s, int64_t k, bool descending) {
  using Key = typename Rank::Key;
  const LibraryInput& x = call.inputs[0];
  const LanePlan plan(s.size, k);
  const bool abreast = plan.inserts() && s.inner >= kLeastAbreast;
  const int64_t columns = std::min(s.inner, abreast ? kWordBits : kKeyColumns);
  // An odd number of cache lines from lane to lane, so that they do not share places in a cache.
  const int64_t lane = columns == 1 ? s.size : ((s.size / kKeyColumns + 1) | 1) * kKeyColumns;
  auto* keys = call.room<Key>(static_cast<uint64_t>(abreast ? 0 : columns * lane));
  auto* ranks = call.room<Rank>(static_cast<uint64_t>(abreast ? columns * k : plan.kept));
  auto* other = call.room<Rank>(static_cast<uint64_t>(plan.sorts_all() ? s.size : 0));
  if (keys == nullptr || ranks == nullptr || other == nullptr) return PLIANT_OUT_OF_MEMORY;
  const auto flip = static_cast<Key>(descending ? -1 : 0);
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t i = 0; i < s.inner; i += columns) {
      const int64_t width = std::min(columns, s.inner - i);
      const KeySource from{x.dtype, x.data + (o * s.size * s.inner + i) * byte_size(x.dtype), s.size, width, s.inner};
      if (abreast)
        PLIANT_TRY(select_abreast(call.stop, from, flip, k, ranks));
      else
        PLIANT_TRY(fill_keys(call.stop, from, flip, lane, keys));
      for (int64_t c = 0; c < width; ++c) {
        Rank* selected = ranks + c * k;
        if (!abreast) PLIANT_TRY(select(call.stop, plan, keys + c * lane, ranks, other, selected));
        PLIANT_TRY(write_lane(call, s, k, o, i + c, selected));
      }
    }
  return PLIANT_OK;
}

}  // namespace

pliant_status select_along_axis(LibraryCall& call, int64_t axis, int64_t k, bool descending) {
  const LibraryInput& x = call.inputs[0];
  const AxisSplit s = split_at(x.shape, axis);
  const auto count = static_cast<uint64_t>(s.outer * k * s.inner);
  PLIANT_TRY(call.require_output(0, x.dtype, count));
  PLIANT_TRY(call.require_output(1, DType::I64, count));
  if (count == 0) return PLIANT_OK;
  const bool packs = has_narrow_keys(x.dtype) && s.size <= UINT32_MAX;
  return packs ? select_lanes<PackedRank>(call, s, k, descending) : select_lanes<WideRank>(call, s, k, descending);
}

}  // namespace pliant::runtime
