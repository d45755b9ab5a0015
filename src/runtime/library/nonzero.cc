// One pass over the elements makes a bit of each and counts them; another walks the bits and writes coordinates.
#include <algorithm>

#include "runtime/library/bits.h"
#include "runtime/library/library.h"

namespace pliant::runtime {
namespace {

// A float's sign does not count; NaN is not zero.
pliant_status mark(StopFlag flag, DType dtype, const std::byte* data, int64_t elements, uint64_t* words, int64_t& count) {
  auto with = [&]<class Bits>(Bits all) {
    return mark_nonzero<Bits>(flag, data, elements, is_float(dtype) ? static_cast<Bits>(all >> 1) : all, words, count);
  };
  switch (byte_size(dtype)) {
    case 1: return with(uint8_t{UINT8_MAX});
    case 2: return with(uint16_t{UINT16_MAX});
    case 4: return with(uint32_t{UINT32_MAX});
    default: return with(uint64_t{UINT64_MAX});
  }
}

// The axes of more than one element, the innermost apart: coordinates along the others are 0.
struct Axes {
  size_t outer = 0;
  int64_t extent[PLIANT_MAX_RANK] = {}, inner = 1;
  int64_t* to[PLIANT_MAX_RANK] = {};  // where the coordinates along each go
  int64_t* inner_to = nullptr;

  void add(int64_t axis_extent, int64_t* coordinates) {
    if (inner_to != nullptr) {
      extent[outer] = inner;
      to[outer++] = inner_to;
    }
    inner = axis_extent;
    inner_to = coordinates;
  }
};

// How far the coordinates are written.
struct Progress {
  int64_t index[PLIANT_MAX_RANK] = {}, row = 0, at = 0;  // the row of the innermost axis that the coordinates name
};

// Those of words [first, end). `Outer` is axes.outer, or -1 for any.
template <int Outer>
void write_part(const Axes& axes, const uint64_t* words, int64_t first, int64_t end, Progress& progress) {
  const size_t outer = Outer < 0 ? axes.outer : static_cast<size_t>(Outer);
  Progress p = progress;
  auto& [index, row, at] = p;
  auto go_to_row_of = [&](int64_t position) {
    const int64_t rows = position - row < 2 * axes.inner ? 1 : (position - row) / axes.inner;
    row += rows * axes.inner;
    index[outer - 1] += rows;
    for (size_t d = outer; --d > 0 && index[d] >= axes.extent[d];) {
      const int64_t carry = index[d] / axes.extent[d];
      index[d] -= carry * axes.extent[d];
      index[d - 1] += carry;
    }
  };
  for (int64_t w = first; w < end; ++w)
    for_each_bit(words[w], [&](int bit) {
      const int64_t position = w * kWordBits + bit;
      if constexpr (Outer != 0)
        if (position - row >= axes.inner) go_to_row_of(position);
      for (size_t d = 0; d < outer; ++d) axes.to[d][at] = index[d];
      axes.inner_to[at++] = position - row;
    });
  progress = p;
}

template <int Outer>
pliant_status write_coordinates(StopFlag flag, const Axes& axes, const uint64_t* words, int64_t word_count) {
  Progress progress;
  return flag.in_turns(word_count, kWordBits * static_cast<int64_t>(axes.outer + 1),
                       [&](int64_t begin, int64_t end) { write_part<Outer>(axes, words, begin, end, progress); });
}

}  // namespace

pliant_status library_nonzero(LibraryCall& call) {
  const LibraryInput& x = call.inputs[0];
  const size_t rank = x.shape.size();
  const int64_t word_count = words_for(x.elements);
  auto* words = call.room<uint64_t>(static_cast<uint64_t>(word_count));
  if (words == nullptr) return PLIANT_OUT_OF_MEMORY;
  int64_t count;
  PLIANT_TRY(mark(call.stop, x.dtype, x.data, x.elements, words, count));
  if (!call.results.empty()) call.results[0] = count;
  PLIANT_TRY(call.require_output(0, DType::I64, rank * static_cast<uint64_t>(count)));
  if (count == 0) return PLIANT_OK;
  auto* out = reinterpret_cast<int64_t*>(call.outputs[0].data);
  Axes axes;
  for (size_t d = 0; d < rank; ++d, out += count) {
    if (x.shape[d] > 1)
      axes.add(x.shape[d], out);
    else
      PLIANT_TRY(call.stop.in_turns(count, 1, [&](int64_t begin, int64_t end) { std::fill(out + begin, out + end, 0); }));
  }
  if (axes.inner_to == nullptr) return PLIANT_OK;
  switch (axes.outer) {
    case 0: return write_coordinates<0>(call.stop, axes, words, word_count);
    case 1: return write_coordinates<1>(call.stop, axes, words, word_count);
    case 2: return write_coordinates<2>(call.stop, axes, words, word_count);
    case 3: return write_coordinates<3>(call.stop, axes, words, word_count);
    default: return write_coordinates<-1>(call.stop, axes, words, word_count);
  }
}

}  // namespace pliant::runtime
