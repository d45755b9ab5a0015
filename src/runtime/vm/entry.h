// The start of a run: finds each input, checks it against its description, and binds the key slots.
#pragma once
#include "runtime/load/model.h"
#include "runtime/text.h"

namespace pliant::runtime {

// Fills state.inputs and state.key. Messages name the input, axis, symbol, what was expected and where that came from.
pliant_status bind_inputs(const Model& model, State& state, const pliant_input* given, size_t count);
// A dense tensor of the caller's.
struct TensorView {
  const std::byte* data = nullptr;  // never null
  const int64_t* shape = nullptr;
  size_t rank = 0;
  uint64_t bytes = 0;
};
// `input "x"`, or one tensor of it: `input "x" element 3`.
inline constexpr int64_t kNoElement = -1;
Text input_text(const artifact::TensorDesc& desc, int64_t element);
// The form of that tensor: element type, rank, sizes, address.
pliant_status check_tensor(const artifact::TensorDesc& desc, int64_t element, const pliant_input& given, TensorView& view);
// The axes that no bind covers, against the slots of the plan.
pliant_status check_unbound_axes(const Model& model, const State& state, const std::vector<int64_t>& slots);

}  // namespace pliant::runtime
