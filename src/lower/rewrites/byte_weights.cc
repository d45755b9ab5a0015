#include "lower/rewrites/byte_weights.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace pliant::lower {

namespace {

// The bytes that a load of a constant reads, at points of some loops.
struct ByteView {
  const std::byte* data = nullptr;
  bool is_signed = false;
  std::vector<int64_t> strides;  // one a loop
  int32_t at(int64_t offset) const {
    const auto byte = static_cast<uint8_t>(data[offset]);
    return is_signed ? static_cast<int8_t>(byte) : byte;
  }
};

std::optional<ByteView> view_of(const Problem& p, const StageList& list, Scalar load, const std::vector<Loop>& loops) {
  const Dim offset = flat_offset(p.ctx, list.shapes.at(load->tensor), load->index);
  int64_t first = 0;
  auto strides = const_strides(p.ctx, offset, loops, first);
  if (!strides) return std::nullopt;
  return ByteView{constant_of(p, load->tensor)->data + first, load->dtype == DType::I8, std::move(*strides)};
}

// The sum of at(loop, position) over the loops, at each of their points; the last loop is the fastest.
std::vector<int64_t> at_points(const std::vector<int64_t>& extents, const std::function<int64_t(size_t, int64_t)>& at) {
  std::vector<int64_t> out{0};
  for (size_t i = 0; i < extents.size(); ++i) {
    std::vector<int64_t> next;
    next.reserve(out.size() * static_cast<size_t>(extents[i]));
    for (int64_t base : out)
      for (int64_t k = 0; k < extents[i]; ++k) next.push_back(base + at(i, k));
    out = std::move(next);
  }
  return out;
}

struct Loops {
  std::vector<Loop> all;              // the axes that w varies along, then the reductions
  std::vector<int64_t> outer, inner;  // their sizes
};

std::optional<Loops> loops_of(const te::TensorDef& t, Scalar w, std::vector<size_t>& axes) {
  Loops out;
  for (size_t i = 0; i < t.index.size(); ++i) {
    if (!expr::uses_symbol(w, t.index[i])) continue;
    if (!t.shape[i].is_const()) return std::nullopt;
    axes.push_back(i);
    out.all.push_back({t.index[i], t.shape[i]});
    out.outer.push_back(t.shape[i].const_value());
  }
  for (size_t i = 0; i < t.reduce_index.size(); ++i) {
    out.all.push_back({t.reduce_index[i], t.reduce_extent[i]});
    out.inner.push_back(t.reduce_extent[i].const_value());
  }
  return out;
}

}  // namespace

std::optional<ByteWeights> byte_weights(const Problem& p, const StageList& list, const ByteProduct& f) {
  ByteWeights out;
  auto loops = loops_of(*list.stages[f.root].tensor, f.w, out.axes);
  if (!loops) return std::nullopt;
  const std::vector<int64_t>&outer = loops->outer, &inner = loops->inner;
  const Scalar w_zero = f.w_zero();
  auto value = view_of(p, list, f.w_load(), loops->all);
  auto zero = w_zero ? view_of(p, list, w_zero->args[0], loops->all) : value;
  if (!value || !zero) return std::nullopt;
  auto over = [&](const ByteView& v, const std::vector<int64_t>& extents, size_t first) {
    return at_points(extents, [&](size_t i, int64_t k) { return k * v.strides[first + i]; });
  };
  const std::vector<int64_t> value_outer = over(*value, outer, 0), value_inner = over(*value, inner, outer.size());
  const std::vector<int64_t> zero_outer = over(*zero, outer, 0), zero_inner = over(*zero, inner, outer.size());

  // Where each element lies among the bytes of one point of the axes.
  std::vector<int64_t> shape = outer, strides(inner.size());
  int64_t bytes = kWordBytes;
  for (size_t i = inner.size(); i-- > 0;) {
    strides[i] = bytes;
    bytes *= i == f.tap ? (inner[i] + kWordBytes - 1) / kWordBytes : inner[i];
  }
  for (size_t i = 0; i < inner.size(); ++i)
    shape.push_back(i == f.tap ? (inner[i] + kWordBytes - 1) / kWordBytes : inner[i]);
  const std::vector<int64_t> place = at_points(inner, [&](size_t i, int64_t k) {
    return i == f.tap ? k / kWordBytes * strides[i] + k % kWordBytes : k * strides[i];
  });

  auto [words, word_bytes] = graph::make_blank_constant(DType::I32, shape);
  auto [totals, total_bytes] = graph::make_blank_constant(DType::I32, outer);
  auto [offsets, offset_bytes] = graph::make_blank_constant(DType::I32, outer);
  auto *total = reinterpret_cast<uint32_t*>(total_bytes), *offset = reinterpret_cast<uint32_t*>(offset_bytes);
  constexpr int32_t kLeast = std::numeric_limits<int8_t>::min(), kMost = std::numeric_limits<int8_t>::max();
  bool has_offsets = false;
  std::vector<int32_t> w(place.size());
  for (size_t o = 0; o < value_outer.size(); ++o) {
    uint32_t sum = 0;
    for (size_t k = 0; k < w.size(); ++k) {
      w[k] = value->at(value_outer[o] + value_inner[k]);
      if (w_zero) w[k] -= zero->at(zero_outer[o] + zero_inner[k]);
      sum += static_cast<uint32_t>(w[k]);
    }
    const auto [least, most] = std::minmax_element(w.begin(), w.end());
    // The same zero point for all of them: they are at most 255 apart.
    if (*most - *least > kMost - kLeast) return std::nullopt;
    const int32_t off = *least >= kLeast && *most <= kMost ? 0 : *least - kLeast;
    has_offsets = has_offsets || off != 0;
    total[o] = sum;
    offset[o] = static_cast<uint32_t>(off);
    std::byte* to = word_bytes + static_cast<int64_t>(o) * bytes;
    for (size_t k = 0; k < w.size(); ++k) to[place[k]] = static_cast<std::byte>(w[k] - off);
  }
  out.words = words;
  out.totals = totals;
  if (has_offsets) out.offsets = offsets;
  return out;
}

}  // namespace pliant::lower
