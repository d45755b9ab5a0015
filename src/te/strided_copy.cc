#include "te/strided_copy.h"

#include <algorithm>
#include <cstring>

namespace pliant::te {
namespace {

constexpr int64_t kTile = 32;

struct Axis {
  int64_t extent, stride, to_stride;
};

// Axes of extent 1 dropped, neighbours that run on in both memories joined. The last axis has to_stride 1.
std::vector<Axis> joined_axes(const std::vector<int64_t>& strides, const std::vector<int64_t>& extents) {
  std::vector<Axis> axes;
  int64_t to_stride = 1;
  for (size_t i = extents.size(); i-- > 0;) {
    const Axis a{extents[i], strides[i], to_stride};
    to_stride *= extents[i];
    if (a.extent == 1) continue;
    if (!axes.empty() && a.stride == axes.back().stride * axes.back().extent) {
      axes.back().extent *= a.extent;
    } else {
      axes.push_back(a);
    }
  }
  std::reverse(axes.begin(), axes.end());
  return axes;
}

template <class E>
void copy_row(const E* from, int64_t stride, E* to, int64_t n) {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(E));
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
  }
}

// The two axes of a transposition in tiles, so that both memories are touched by whole cache lines.
template <class E>
void copy_tiles(const E* from, const Axis& fast, E* to, const Axis& row) {
  for (int64_t f = 0; f < fast.extent; f += kTile) {
    for (int64_t r = 0; r < row.extent; r += kTile) {
      const int64_t f_end = std::min(f + kTile, fast.extent), r_end = std::min(r + kTile, row.extent);
      for (int64_t i = f; i < f_end; ++i) {
        for (int64_t k = r; k < r_end; ++k) to[i * fast.to_stride + k] = from[i * fast.stride + k * row.stride];
      }
    }
  }
}

template <class E>
void copy_axes(const E* from, E* to, const std::vector<Axis>& axes, size_t level, size_t tiled) {
  if (level + 1 == axes.size()) {
    if (tiled < axes.size()) {
      copy_tiles(from, axes[tiled], to, axes.back());
    } else {
      copy_row(from, axes.back().stride, to, axes.back().extent);
    }
    return;
  }
  if (level == tiled) return copy_axes(from, to, axes, level + 1, tiled);
  const Axis& a = axes[level];
  for (int64_t i = 0; i < a.extent; ++i) copy_axes(from + i * a.stride, to + i * a.to_stride, axes, level + 1, tiled);
}

template <class E>
void copy(const std::byte* from, std::byte* to, const std::vector<Axis>& axes) {
  // Where the last axis strides, the axis that is contiguous in `from` makes tiles with it.
  size_t tiled = axes.size();
  if (axes.back().stride != 1) {
    for (size_t i = 0; i + 1 < axes.size(); ++i) {
      if (axes[i].stride == 1) tiled = i;
    }
  }
  copy_axes(reinterpret_cast<const E*>(from), reinterpret_cast<E*>(to), axes, 0, tiled);
}

}  // namespace

void strided_copy(const std::byte* from, const std::vector<int64_t>& strides, std::byte* to,
                  const std::vector<int64_t>& extents, int64_t bytes) {
  const std::vector<Axis> axes = joined_axes(strides, extents);
  if (axes.empty()) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  switch (bytes) {
    case 1: return copy<uint8_t>(from, to, axes);
    case 2: return copy<uint16_t>(from, to, axes);
    case 4: return copy<uint32_t>(from, to, axes);
    default: return copy<uint64_t>(from, to, axes);
  }
}

}  // namespace pliant::te
