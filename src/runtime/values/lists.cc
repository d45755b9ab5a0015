#include "runtime/values/lists.h"

#include <cinttypes>
#include <new>

#include "runtime/text.h"
#include "runtime/threads/turns.h"
#include "runtime/vm/entry.h"

namespace pliant::runtime {
namespace {

using artifact::TensorDesc;
using Kind = TensorDesc::Kind;

int64_t find_list(const std::vector<TensorDesc>& inputs, const pliant_list_input& given, size_t at) {
  for (size_t i = 0, seen = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind == Kind::Tensor) continue;
    if (given.name != nullptr ? inputs[i].name == given.name : seen == at) return static_cast<int64_t>(i);
    ++seen;
  }
  return -1;
}

// One tensor of an input: its element type, rank and fixed sizes.
pliant_status check_element(const TensorDesc& desc, int64_t index, const pliant_input& given, TensorView& view) {
  PLIANT_TRY(check_tensor(desc, index, given, view));
  if (desc.any_rank) return PLIANT_OK;
  bool fits = view.rank == desc.axes.size();
  for (size_t k = 0; fits && k < view.rank; ++k) {
    const artifact::Int& want = desc.axes[k].size;
    fits = want.is_slot || want.value == artifact::kAnySize || want.value == view.shape[k];
  }
  if (fits) return PLIANT_OK;
  return fail(PLIANT_BAD_INPUT, "%s has shape %s but %s is expected", input_text(desc, index).str(),
              shape_text(view.shape, view.rank).str(), shape_text(desc).str());
}

pliant_status bind_list(const TensorDesc& desc, const pliant_list_input& given, State& state) {
  TensorList& list = state.lists[desc.list];
  const bool is_optional = desc.kind != Kind::Sequence;
  if (given.is_present == 0) {
    if (!is_optional) return fail(PLIANT_BAD_INPUT, "input \"%s\" is a sequence but no value was given", desc.name.c_str());
    return PLIANT_OK;
  }
  if (desc.kind == Kind::Optional && given.count != 1)
    return fail(PLIANT_BAD_INPUT, "input \"%s\" is one optional tensor but %zu were given", desc.name.c_str(), given.count);
  if (given.count > 0 && given.tensors == nullptr)
    return fail(PLIANT_INVALID_ARGUMENT, "input \"%s\" has no tensors", desc.name.c_str());
  if (!list.make_empty(given.count)) return PLIANT_OUT_OF_MEMORY;
  for (size_t i = 0; i < given.count; ++i) {
    TensorView view;
    PLIANT_TRY(check_element(desc, static_cast<int64_t>(i), given.tensors[i], view));
    TensorRef tensor = state.list_memory.borrow(desc.dtype, {view.shape, view.rank}, view.data);
    if (!tensor || !list.append(std::move(tensor))) return PLIANT_OUT_OF_MEMORY;
  }
  return PLIANT_OK;
}

// The list with elements that outlive the run: the caller's are copied.
pliant_status take_out(const TensorDesc& desc, const TensorList& from, State& state, TensorList& to) {
  if (!from.is_present()) {
    if (desc.kind == Kind::Sequence) return fail(PLIANT_RUN_FAULT, "output \"%s\" was not computed", desc.name.c_str());
    return PLIANT_OK;
  }
  if (!to.make_empty(from.size())) return PLIANT_OUT_OF_MEMORY;
  const StopFlag flag(state.stop);
  TurnCounter turns(flag);
  for (uint64_t i = 0; i < from.size(); ++i) {
    if (turns.is_over(64)) return cancelled();
    TensorRef tensor = from.share(i);
    if (tensor->is_borrowed) {
      std::byte* data = nullptr;
      TensorRef copy = state.list_memory.allocate(tensor->dtype, tensor->shape(), data);
      if (!copy) return PLIANT_OUT_OF_MEMORY;
      PLIANT_TRY(copy_bytes(data, tensor->data, copy->bytes, flag));
      tensor = std::move(copy);
    }
    tensor->account = nullptr;
    if (!to.append(std::move(tensor))) return PLIANT_OUT_OF_MEMORY;
  }
  return PLIANT_OK;
}

pliant_status give_lists(Model& model, State& state, pliant_list** lists) {
  for (size_t i = 0; i < model.program.outputs.size(); ++i) {
    const TensorDesc& desc = model.program.outputs[i];
    if (desc.kind == Kind::Tensor) continue;
    lists[i] = new (std::nothrow) pliant_list;
    if (lists[i] == nullptr) return fail(PLIANT_OUT_OF_MEMORY, "no memory for output \"%s\"", desc.name.c_str());
    PLIANT_TRY(take_out(desc, state.lists[desc.list], state, lists[i]->list));
  }
  return PLIANT_OK;
}

}  // namespace

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::Sequence: return "a sequence";
    case Kind::Optional: return "an optional";
    case Kind::OptionalSequence: return "an optional sequence";
    case Kind::Tensor: break;
  }
  return "a tensor";
}

pliant_status bind_lists(const Model& model, State& state, const pliant_list_input* given, size_t count) {
  state.list_memory.used = 0;
  state.list_memory.limit = state.budget.left();
  std::vector<bool>& seen = state.given_lists;
  seen.assign(model.program.inputs.size(), false);
  for (size_t at = 0; at < count; ++at) {
    const int64_t found = find_list(model.program.inputs, given[at], at);
    if (found < 0 && given[at].name != nullptr)
      return fail(PLIANT_BAD_INPUT, "there is no input \"%s\" that is a sequence or an optional", given[at].name);
    if (found < 0)
      return fail(PLIANT_BAD_INPUT, "sequence or optional number %zu was given but the model has fewer", at + 1);
    const auto i = static_cast<size_t>(found);
    const TensorDesc& desc = model.program.inputs[i];
    if (seen[i]) return fail(PLIANT_BAD_INPUT, "input \"%s\" is given twice", desc.name.c_str());
    seen[i] = true;
    PLIANT_TRY(bind_list(desc, given[at], state));
  }
  for (size_t i = 0; i < seen.size(); ++i)
    if (!seen[i] && model.program.inputs[i].kind == Kind::Sequence)
      return fail(PLIANT_BAD_INPUT, "input \"%s\" is missing: a sequence of %s%s", model.program.inputs[i].name.c_str(),
                  name_of(model.program.inputs[i].dtype), shape_text(model.program.inputs[i]).str());
  state.budget.lists = state.list_memory.used;
  return PLIANT_OK;
}

pliant_status release_abandoned(State& state) {
  const StopFlag flag(state.stop);
  for (; !state.abandoned.empty(); state.abandoned.pop_back()) PLIANT_TRY(state.abandoned.back().clear(flag));
  for (; !state.abandoned_blocks.empty(); state.abandoned_blocks.pop_back()) {
    PLIANT_TRY(flag.poll());
    state.list_memory.blocks->release(state.abandoned_blocks.back());
  }
  return PLIANT_OK;
}

pliant_status finish_lists(Model& model, State& state, pliant_list** lists) {
  pliant_status status = PLIANT_OK;
  if (lists != nullptr) {
    state.list_memory.limit = state.budget.left() + state.budget.lists;
    status = give_lists(model, state, lists);
    for (size_t i = 0; status != PLIANT_OK && i < model.program.outputs.size(); ++i) {
      if (lists[i] != nullptr) state.abandon(lists[i]->list);
      pliant_release_list(lists[i]);
      lists[i] = nullptr;
    }
  }
  for (TensorList& l : state.lists) state.abandon(l);
  return status;
}

}  // namespace pliant::runtime

using pliant::runtime::fail;
using pliant::runtime::ListTensor;

extern "C" {

int32_t pliant_list_is_present(const pliant_list* list) { return list != nullptr && list->list.is_present(); }
size_t pliant_list_size(const pliant_list* list) { return list != nullptr ? list->list.size() : 0; }

pliant_status pliant_list_get(const pliant_list* list, size_t index, pliant_output* tensor) {
  if (tensor == nullptr || index >= pliant_list_size(list))
    return fail(PLIANT_INVALID_ARGUMENT, "pliant_list_get was asked for number %zu of %zu", index, pliant_list_size(list));
  const ListTensor& t = list->list[index];
  *tensor = {};
  tensor->data = const_cast<std::byte*>(t.data);
  tensor->capacity = t.bytes;
  tensor->buffer = t.block();
  pliant_retain_buffer(tensor->buffer);
  tensor->dtype = static_cast<int32_t>(t.dtype);
  tensor->rank = t.rank;
  for (size_t k = 0; k < t.rank; ++k) tensor->shape[k] = t.shape()[k];
  return PLIANT_OK;
}

void pliant_release_list(pliant_list* list) { delete list; }

}  // extern "C"
