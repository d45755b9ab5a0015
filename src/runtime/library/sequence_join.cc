// Sequences to tensors and back: concatenation and splitting.
#include <algorithm>
#include <cinttypes>

#include "runtime/library/sequence.h"
#include "runtime/text.h"
#include "runtime/values/elements.h"

namespace pliant::runtime {
namespace {

constexpr int64_t kWorkOfOneTensor = 64;  // to find it, and to look at its shape

// The shape of the elements joined along `axis` of the result.
struct Joined {
  int64_t shape[PLIANT_MAX_RANK];
  size_t rank = 0;
};

pliant_status join(const LibraryCall& call, const TensorList& list, Joined& out) {
  const int64_t axis = call.ints[0];
  const bool stacks = call.ints[1] != 0;
  if (list.size() == 0) return call.fault("an empty sequence has no shape to join");
  const auto first = list[0].shape();
  out.rank = first.size() + (stacks ? 1 : 0);
  if (axis < 0 || static_cast<size_t>(axis) >= out.rank || out.rank > PLIANT_MAX_RANK)
    return call.fault("a tensor of shape %s cannot be joined along axis %" PRId64,
                      shape_text(first.data(), first.size()).str(), axis);
  for (size_t k = 0, from = 0; k < out.rank; ++k)
    out.shape[k] = stacks && k == static_cast<size_t>(axis) ? 0 : first[from++];
  out.shape[axis] = 0;
  TurnCounter turns(call.stop);
  for (uint64_t i = 0; i < list.size(); ++i) {
    if (turns.is_over(kWorkOfOneTensor)) return cancelled();
    const auto shape = list[i].shape();
    bool fits = shape.size() == first.size() && list[i].dtype == list[0].dtype;
    for (size_t k = 0; fits && k < shape.size(); ++k)
      fits = shape[k] == first[k] || (!stacks && k == static_cast<size_t>(axis));
    if (!fits)
      return call.fault("tensors of shapes %s and %s do not join along axis %" PRId64,
                        shape_text(first.data(), first.size()).str(), shape_text(shape.data(), shape.size()).str(), axis);
    if (__builtin_add_overflow(out.shape[axis], stacks ? 1 : shape[static_cast<size_t>(axis)], &out.shape[axis]))
      return call.fault("the joined tensors are too large");
  }
  return PLIANT_OK;
}

// The sizes of the pieces, one after the other: those of the second input, or all of one size but the last.
class Pieces {
 public:
  pliant_status open(const LibraryCall& call, int64_t size) {
    left_ = size;
    chunk_ = call.ints[2];
    if (call.inputs.size() > 1) {
      const LibraryInput& in = call.inputs[1];
      if (is_float(in.dtype) || in.shape.size() > 1) return call.fault("the sizes of a split are integers");
      if (in.shape.empty())
        chunk_ = read_integer(in.dtype, in.data);
      else
        sizes_ = &in, left_pieces_ = in.elements;
    }
    if (sizes_ != nullptr && left_pieces_ == 0 && size > 0) return too_many(call, -size);
    if (sizes_ == nullptr && chunk_ < 1) return call.fault("a piece of a split has the size %" PRId64, chunk_);
    return PLIANT_OK;
  }
  bool is_done() const { return sizes_ != nullptr ? left_pieces_ == 0 : left_ == 0; }
  pliant_status next(const LibraryCall& call, int64_t& size) {
    size = std::min(chunk_, left_);
    if (sizes_ != nullptr) {
      size = read_integer(sizes_->dtype, sizes_->data + (sizes_->elements - left_pieces_--) * byte_size(sizes_->dtype));
      if (size < 0) return call.fault("a piece of a split has the size %" PRId64, size);
    }
    if (size > left_) return too_many(call, size - left_);
    left_ -= size;
    if (sizes_ != nullptr && left_pieces_ == 0 && left_ > 0) return too_many(call, -left_);
    return PLIANT_OK;
  }

 private:
  static pliant_status too_many(const LibraryCall& call, int64_t excess) {
    return call.fault("the pieces of a split have together %" PRId64 " %s than the axis", excess < 0 ? -excess : excess,
                      excess < 0 ? "less" : "more");
  }
  const LibraryInput* sizes_ = nullptr;
  int64_t left_ = 0, left_pieces_ = 0, chunk_ = 0;
};

}  // namespace

pliant_status library_sequence_concat_shape(LibraryCall& call) {
  const TensorList* list;
  PLIANT_TRY(list_of(call, list));
  Joined joined;
  PLIANT_TRY(join(call, *list, joined));
  if (static_cast<int64_t>(joined.rank) != call.ints[2])
    return call.fault("the result has %zu axes instead of %" PRId64, joined.rank, call.ints[2]);
  return give_sizes(call, {joined.shape, joined.rank}, call.ints.subspan(3));
}

pliant_status library_sequence_concat(LibraryCall& call) {
  const TensorList* list;
  PLIANT_TRY(list_of(call, list));
  Joined joined;
  PLIANT_TRY(join(call, *list, joined));
  const auto sizes = call.ints.subspan(2);
  if (!std::equal(sizes.begin(), sizes.end(), joined.shape, joined.shape + joined.rank))
    return call.fault("the result has another shape than the model says");
  const AxisSplit split = split_at({joined.shape, joined.rank}, call.ints[0]);
  const DType dtype = (*list)[0].dtype;
  const auto each = static_cast<uint64_t>(byte_size(dtype));
  const auto outer = static_cast<uint64_t>(split.outer), inner = static_cast<uint64_t>(split.inner) * each;
  const uint64_t row = static_cast<uint64_t>(split.size) * inner;
  PLIANT_TRY(call.require_output(0, dtype, outer * row / each));
  if (outer == 0) return PLIANT_OK;
  std::byte* to = call.outputs[0].data;
  TurnCounter turns(call.stop);
  for (uint64_t i = 0; i < list->size(); ++i) {
    const ListTensor& t = (*list)[i];
    if (turns.is_over(kWorkOfOneTensor)) return cancelled();
    PLIANT_TRY(copy_rows(to, row, t.data, t.bytes / outer, outer, t.bytes / outer, call.stop));
    to += t.bytes / outer;
  }
  return PLIANT_OK;
}

pliant_status library_sequence_split(LibraryCall& call) {
  const LibraryInput& x = call.inputs[0];
  const int64_t axis = call.ints[0];
  if (axis < 0 || static_cast<size_t>(axis) >= x.shape.size()) return call.fault("a split has no axis %" PRId64, axis);
  const bool drops_axis = call.ints[1] == 0;
  const int64_t size = x.shape[static_cast<size_t>(axis)];
  const AxisSplit split = split_at(x.shape, axis);
  const auto each = static_cast<uint64_t>(byte_size(x.dtype));
  const auto outer = static_cast<uint64_t>(split.outer), inner = static_cast<uint64_t>(split.inner) * each;
  TensorList& list = *call.list_outputs[0];
  if (!list.make_empty()) return PLIANT_OUT_OF_MEMORY;
  Pieces pieces;
  PLIANT_TRY(pieces.open(call, size));
  const std::byte* from = x.data;
  TurnCounter turns(call.stop);
  while (!pieces.is_done()) {
    if (turns.is_over(4 * kWorkOfOneTensor)) return cancelled();
    int64_t n;
    PLIANT_TRY(pieces.next(call, n));
    int64_t shape[PLIANT_MAX_RANK];
    size_t rank = 0;
    for (size_t k = 0; k < x.shape.size(); ++k) {
      if (drops_axis && static_cast<int64_t>(k) == axis) continue;
      shape[rank++] = static_cast<int64_t>(k) == axis ? n : x.shape[k];
    }
    if (drops_axis && n != 1) return call.fault("a piece of size %" PRId64 " keeps its axis", n);
    std::byte* data = nullptr;
    TensorRef tensor = call.list_memory->allocate(x.dtype, {shape, rank}, data);
    if (!tensor) return PLIANT_OUT_OF_MEMORY;
    const uint64_t bytes = static_cast<uint64_t>(n) * inner;
    PLIANT_TRY(copy_rows(data, bytes, from, static_cast<uint64_t>(size) * inner, outer, bytes, call.stop));
    from += bytes;
    if (!list.append(std::move(tensor))) return PLIANT_OUT_OF_MEMORY;
  }
  return PLIANT_OK;
}

}  // namespace pliant::runtime
