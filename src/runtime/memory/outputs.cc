#include "runtime/memory/outputs.h"

#include <algorithm>
#include <cinttypes>

#include "runtime/memory/guards.h"
#include "runtime/text.h"
#include "runtime/vm/prepare.h"

namespace pliant::runtime {

pliant_status size_output(const Model& model, State& state, size_t output, const int64_t* slots) {
  OutputSize& size = state.outputs[output].size;
  const artifact::TensorDesc& desc = model.program.outputs[output];
  if (size.known || desc.kind != artifact::TensorDesc::Kind::Tensor) return PLIANT_OK;
  size.shape.resize(desc.axes.size());
  auto bytes = static_cast<int64_t>(byte_size(desc.dtype));
  bool empty = false, overflow = false;
  for (size_t i = 0; i < desc.axes.size(); ++i) {
    const artifact::Int& axis = desc.axes[i].size;
    const int64_t v = axis.is_slot ? slots[axis.value] : axis.value;
    if (v < 0)
      return fail(PLIANT_RUN_FAULT, "output \"%s\" axis %zu (%s) has the negative size %" PRId64, desc.name.c_str(), i,
                  desc.axes[i].text.c_str(), v);
    size.shape[i] = v;
    empty = empty || v == 0;
    if (v != 0) overflow = overflow || __builtin_mul_overflow(bytes, v, &bytes);
  }
  // Without elements too: arrays of callers cannot have strides that overflow.
  if (overflow || (!empty && static_cast<uint64_t>(bytes) > kMostBytes))
    return fail(PLIANT_OUT_OF_MEMORY, "output \"%s\" is too large: shape %s", desc.name.c_str(),
                shape_text(size.shape.data(), size.shape.size()).str());
  size.bytes = empty ? 0 : static_cast<uint64_t>(bytes);
  size.known = true;
  return PLIANT_OK;
}

pliant_status allocate_output(Model& model, State& state, size_t i) {
  OutputView& v = state.outputs[i];
  if (v.data != nullptr || model.program.outputs[i].kind != artifact::TensorDesc::Kind::Tensor) return PLIANT_OK;
  pliant_output& out = state.given_outputs[i];
  const char* name = model.program.outputs[i].name.c_str();
  if (out.data != nullptr) {
    if (out.capacity < v.size.bytes)
      return fail(PLIANT_BUFFER_TOO_SMALL,
                  "output \"%s\" needs %" PRIu64 " bytes, shape %s, but the given buffer has %" PRIu64, name, v.size.bytes,
                  shape_text(v.size.shape.data(), v.size.shape.size()).str(), out.capacity);
    if (reinterpret_cast<uintptr_t>(out.data) % kAlignment != 0)
      return fail(PLIANT_INVALID_ARGUMENT, "the buffer given for output \"%s\" is not 64-byte aligned", name);
    v.data = static_cast<std::byte*>(out.data);
    return PLIANT_OK;
  }
  if (v.size.bytes > state.budget.left())
    return fail(PLIANT_OUT_OF_MEMORY,
                "output \"%s\" needs %" PRIu64 " bytes, shape %s, which passes the memory limit of %" PRIu64, name,
                v.size.bytes, shape_text(v.size.shape.data(), v.size.shape.size()).str(), state.budget.limit);
  v.block =
      model.blocks->allocate(state.guards != nullptr ? Guards::room(v.size.bytes) : v.size.bytes, StopFlag(state.stop));
  if (v.block == nullptr)
    return fail(PLIANT_OUT_OF_MEMORY, "no memory for the %" PRIu64 " bytes of output \"%s\"", v.size.bytes, name);
  state.budget.outputs += v.size.bytes;
  v.data = static_cast<std::byte*>(v.block->data());
  if (state.guards != nullptr) {
    v.data += Guards::kZone;
    state.guards->protect_output(v);
  }
  return PLIANT_OK;
}

void finish_outputs(Model& model, State& state, pliant_status status) {
  for (size_t i = 0; i < state.outputs.size(); ++i) {
    OutputView& v = state.outputs[i];
    pliant_output& out = state.given_outputs[i];
    out.dtype = static_cast<int32_t>(model.program.outputs[i].dtype);
    out.rank = static_cast<int32_t>(v.size.known ? model.program.outputs[i].axes.size() : 0);
    if (v.size.known) std::copy(v.size.shape.begin(), v.size.shape.end(), out.shape);
    out.buffer = nullptr;
    if (v.block == nullptr) continue;
    if (status == PLIANT_OK) {
      out.buffer = v.block;
      out.data = v.data;
    } else if (StopFlag(state.stop).is_set()) {
      state.abandoned_blocks.push_back(v.block);  // the pool may have to unmap others for it
    } else {
      model.blocks->release(v.block);
    }
  }
}

}  // namespace pliant::runtime
