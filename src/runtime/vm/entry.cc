#include "runtime/vm/entry.h"

#include <cinttypes>

#include "runtime/text.h"
#include "runtime/values/elements.h"
#include "runtime/values/lists.h"

namespace pliant::runtime {
namespace {

using artifact::Bind;
using artifact::TensorDesc;

const char* kUnknownType = "of an unknown dtype";

const char* dtype_text(int32_t dtype) {
  return dtype >= 0 && dtype < kDTypeCount ? name_of(static_cast<DType>(dtype)) : kUnknownType;
}

// The index of the input that `given`, at position `at`, stands for; -1 for none. Names usually come in the model's order.
int64_t find_input(const std::vector<TensorDesc>& inputs, const pliant_input& given, size_t at) {
  if (given.name == nullptr) return at < inputs.size() ? static_cast<int64_t>(at) : -1;
  if (at < inputs.size() && inputs[at].name == given.name) return static_cast<int64_t>(at);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].name == given.name) return static_cast<int64_t>(i);
  return -1;
}

pliant_status unknown_input(const Model& model, const pliant_input& given, size_t at) {
  Text names;
  for (const TensorDesc& t : model.program.inputs)
    names.add("%s\"%s\"", &t == &model.program.inputs[0] ? "" : ", ", t.name.c_str());
  if (given.name == nullptr)
    return fail(PLIANT_BAD_INPUT, "input number %zu was given but the model has %zu: %s", at + 1,
                model.program.inputs.size(), names.str());
  return fail(PLIANT_BAD_INPUT, "there is no input \"%s\"; the model has %s", given.name, names.str());
}

pliant_status check_input(const TensorDesc& desc, const pliant_input& given, InputView& view) {
  const char* name = desc.name.c_str();
  if (desc.kind != TensorDesc::Kind::Tensor)
    return fail(PLIANT_BAD_INPUT, "input \"%s\" is %s, not a tensor: it is given through pliant_run_options", name,
                kind_name(desc.kind));
  TensorView tensor;
  PLIANT_TRY(check_tensor(desc, kNoElement, given, tensor));
  const size_t rank = tensor.rank;
  if (rank != desc.axes.size())
    return fail(PLIANT_BAD_INPUT, "input \"%s\" has rank %zu, shape %s, but rank %zu is expected: %s", name, rank,
                shape_text(given.shape, rank).str(), desc.axes.size(), shape_text(desc).str());
  for (size_t i = 0; i < rank; ++i) {
    const artifact::Int& expected = desc.axes[i].size;
    if (!expected.is_slot && expected.value != given.shape[i])
      return fail(PLIANT_BAD_INPUT, "input \"%s\" axis %zu is %" PRId64 " but %" PRId64 " is expected: %s", name, i,
                  given.shape[i], expected.value, shape_text(desc).str());
  }
  view = {tensor.data, given.shape, tensor.bytes};
  return PLIANT_OK;
}

// Inputs that were not given: the default, or an error.
pliant_status fill_defaults(const Model& model, State& state) {
  size_t missing = 0;
  for (size_t i = 0; i < state.inputs.size(); ++i)
    missing += state.inputs[i].data == nullptr && model.program.inputs[i].kind == TensorDesc::Kind::Tensor;
  if (missing == 0) return PLIANT_OK;
  size_t axes = 0;
  for (const TensorDesc& t : model.program.inputs) axes += t.axes.size();
  state.default_shapes.resize(axes);
  int64_t* shape = state.default_shapes.data();
  for (size_t i = 0; i < state.inputs.size(); ++i) {
    const TensorDesc& desc = model.program.inputs[i];
    if (state.inputs[i].data != nullptr || desc.kind != TensorDesc::Kind::Tensor) continue;
    if (desc.default_constant < 0)
      return fail(PLIANT_BAD_INPUT, "input \"%s\" is missing: %s%s", desc.name.c_str(), name_of(desc.dtype),
                  shape_text(desc).str());
    const artifact::ConstantDesc& c = model.program.constants[static_cast<size_t>(desc.default_constant)];
    state.inputs[i] = {model.constants + c.offset, shape, c.bytes};
    for (const artifact::Axis& a : desc.axes) *shape++ = a.size.value;
  }
  return PLIANT_OK;
}

// `input 'ids' axis 1`
Text place_text(const Model& model, const Bind& b) {
  Text t;
  t.add("input \"%s\" %s %u", model.program.inputs[b.input].name.c_str(), b.is_element ? "element" : "axis", b.axis);
  return t;
}

pliant_status bind_slot(const Model& model, State& state, size_t index) {
  const Bind& b = model.program.binds[index];
  const InputView& in = state.inputs[b.input];
  int64_t value;
  if (b.is_element) {
    const DType dtype = model.program.inputs[b.input].dtype;
    const auto each = static_cast<uint64_t>(byte_size(dtype));
    if (b.axis >= in.bytes / each)
      return fail(PLIANT_BAD_INPUT, "input \"%s\" has %" PRIu64 " elements but its element %u gives symbol \"%s\"",
                  model.program.inputs[b.input].name.c_str(), in.bytes / each, b.axis, b.symbol.c_str());
    value = read_integer(dtype, in.data + b.axis * each);
  } else {
    value = in.shape[b.axis];
  }
  const Bind& first = model.program.binds[model.first_bind[b.slot]];
  if (&first != &b && state.key[b.slot] != value)
    return fail(PLIANT_BAD_INPUT, "%s is %" PRId64 " but symbol \"%s\" is %" PRId64 " from %s", place_text(model, b).str(),
                value, b.symbol.c_str(), state.key[b.slot], place_text(model, first).str());
  if (value < b.lo || value > b.hi)
    return fail(PLIANT_BAD_INPUT, "%s is %" PRId64 " but symbol \"%s\" must be at %s %" PRId64, place_text(model, b).str(),
                value, b.symbol.c_str(), value < b.lo ? "least" : "most", value < b.lo ? b.lo : b.hi);
  if (value % b.multiple_of != 0)
    return fail(PLIANT_BAD_INPUT, "%s is %" PRId64 " but symbol \"%s\" must be a multiple of %" PRId64,
                place_text(model, b).str(), value, b.symbol.c_str(), b.multiple_of);
  state.key[b.slot] = value;
  return PLIANT_OK;
}

}  // namespace

Text input_text(const TensorDesc& desc, int64_t element) {
  Text text;
  text.add("input \"%s\"", desc.name.c_str());
  if (element != kNoElement) text.add(" element %" PRId64, element);
  return text;
}

pliant_status check_tensor(const TensorDesc& desc, int64_t element, const pliant_input& given, TensorView& view) {
  const DType dtype = desc.dtype;
  auto name = [&] { return input_text(desc, element); };
  if (given.dtype != static_cast<int32_t>(dtype))
    return fail(PLIANT_BAD_INPUT, "%s is %s but %s is expected", name().str(), dtype_text(given.dtype), name_of(dtype));
  if (given.rank < 0 || given.rank > PLIANT_MAX_RANK || (given.rank > 0 && given.shape == nullptr))
    return fail(PLIANT_INVALID_ARGUMENT, "%s has rank %d and %s shape", name().str(), given.rank, given.shape ? "a" : "no");
  view.rank = static_cast<size_t>(given.rank);
  view.shape = given.shape;
  view.bytes = static_cast<uint64_t>(byte_size(dtype));
  bool empty = false, overflow = false;
  for (size_t i = 0; i < view.rank; ++i) {
    const int64_t size = given.shape[i];
    if (size < 0) return fail(PLIANT_BAD_INPUT, "%s axis %zu has the negative size %" PRId64, name().str(), i, size);
    empty = empty || size == 0;
    overflow = overflow || __builtin_mul_overflow(view.bytes, static_cast<uint64_t>(size), &view.bytes);
  }
  if (empty)
    view.bytes = 0;
  else if (overflow || view.bytes > (uint64_t{1} << 46))
    return fail(PLIANT_BAD_INPUT, "%s is too large: shape %s", name().str(), shape_text(given.shape, view.rank).str());
  if (given.data == nullptr && view.bytes > 0) return fail(PLIANT_INVALID_ARGUMENT, "%s has no data", name().str());
  if (reinterpret_cast<uintptr_t>(given.data) % static_cast<uint64_t>(byte_size(dtype)) != 0)
    return fail(PLIANT_INVALID_ARGUMENT, "the data of %s is not aligned to its elements", name().str());
  alignas(64) static const std::byte nothing[64] = {};
  view.data = view.bytes > 0 ? static_cast<const std::byte*>(given.data) : nothing;
  return PLIANT_OK;
}

pliant_status bind_inputs(const Model& model, State& state, const pliant_input* given, size_t count) {
  for (InputView& v : state.inputs) v = {};
  for (size_t at = 0; at < count; ++at) {
    const int64_t index = find_input(model.program.inputs, given[at], at);
    if (index < 0) return unknown_input(model, given[at], at);
    const TensorDesc& desc = model.program.inputs[static_cast<size_t>(index)];
    InputView& view = state.inputs[static_cast<size_t>(index)];
    if (view.data != nullptr) return fail(PLIANT_BAD_INPUT, "input \"%s\" is given twice", desc.name.c_str());
    PLIANT_TRY(check_input(desc, given[at], view));
  }
  PLIANT_TRY(fill_defaults(model, state));
  for (size_t i = 0; i < model.program.binds.size(); ++i) PLIANT_TRY(bind_slot(model, state, i));
  return PLIANT_OK;
}

pliant_status check_unbound_axes(const Model& model, const State& state, const std::vector<int64_t>& slots) {
  for (const Model::UnboundAxis& u : model.unbound_axes) {
    const int64_t size = state.inputs[u.input].shape[u.axis];
    if (size == slots[u.slot]) continue;
    const TensorDesc& desc = model.program.inputs[u.input];
    return fail(PLIANT_BAD_INPUT, "input \"%s\" axis %u is %" PRId64 " but %s is %" PRId64, desc.name.c_str(), u.axis, size,
                desc.axes[u.axis].text.c_str(), slots[u.slot]);
  }
  return PLIANT_OK;
}

}  // namespace pliant::runtime
