// The C ABI: checks of the caller's pointers, then the functions behind it.
#include <algorithm>
#include <cstring>
#include <new>

#include "machine/cores.h"
#include "machine/cpu.h"
#include "runtime/error.h"
#include "runtime/load/model.h"
#include "runtime/values/lists.h"
#include "runtime/vm/vm.h"

namespace {

using pliant::DType;
using pliant::kDTypeCount;
using pliant::runtime::fail;
using pliant::runtime::LoadOptions;
using pliant::runtime::Mapping;

pliant_status null_argument(const char* function) {
  return fail(PLIANT_INVALID_ARGUMENT, "%s was given a null pointer", function);
}

// The options that the caller knows; those that came later keep their defaults.
LoadOptions read_options(const pliant_load_options* options) {
  pliant_load_options o = {};
  if (options != nullptr) std::memcpy(&o, options, std::min(options->struct_size, sizeof o));
  return {o.threads,
          (o.flags & PLIANT_LOAD_SKIP_DIGEST) == 0,
          (o.flags & PLIANT_LOAD_HUGE_PAGES) != 0,
          (o.flags & PLIANT_LOAD_CHOOSE_PAGES) != 0,
          o.memory_limit > 0 ? o.memory_limit : UINT64_MAX,
          (o.flags & PLIANT_LOAD_CHECK_MEMORY) != 0};
}

// Writes as much of a description as the caller's struct has room for.
template <class Info>
pliant_status write_info(Info value, Info* to, const char* function) {
  if (to == nullptr) return null_argument(function);
  if (to->struct_size < sizeof(size_t))
    return fail(PLIANT_INVALID_ARGUMENT, "%s was given a struct without its size", function);
  value.struct_size = to->struct_size;
  std::memcpy(to, &value, std::min(to->struct_size, sizeof value));
  return PLIANT_OK;
}

pliant_status finish_load(std::span<const std::byte> bytes, Mapping file, const pliant_load_options* options,
                          pliant_model** out) {
  auto model = std::make_unique<pliant_model>();
  const pliant_status status = pliant::runtime::load_model(bytes, std::move(file), read_options(options), *model);
  if (status == PLIANT_OK) *out = model.release();
  return status;
}

pliant_status describe_tensor(const pliant::artifact::TensorDesc& t, const pliant_model::Description& d,
                              pliant_tensor_info* info, const char* function) {
  pliant_tensor_info v = {};
  v.name = t.name.c_str();
  v.dtype = static_cast<int32_t>(t.dtype);
  v.rank = static_cast<int32_t>(t.axes.size());
  v.sizes = d.sizes.data();
  v.symbols = d.symbols.data();
  v.kind = static_cast<int32_t>(t.kind);
  v.any_rank = t.any_rank;
  v.optional = t.default_constant >= 0 || v.kind >= PLIANT_OPTIONAL;
  return write_info(v, info, function);
}

pliant_status bad_index(const char* function, size_t index, size_t count) {
  return fail(PLIANT_INVALID_ARGUMENT, "%s was asked for number %zu of %zu", function, index, count);
}

}  // namespace

static_assert(PLIANT_F64 == static_cast<int>(DType::F64) && PLIANT_BOOL == static_cast<int>(DType::Bool) &&
              PLIANT_F16 == static_cast<int>(DType::F16));
static_assert(PLIANT_MAX_RANK == pliant::artifact::kMaxRank);

extern "C" {

uint32_t pliant_abi_version(void) { return PLIANT_ABI_VERSION; }
const char* pliant_version(void) { return PLIANT_VERSION; }

const char* pliant_status_name(pliant_status status) {
  switch (status) {
    case PLIANT_OK: return "ok";
    case PLIANT_INVALID_ARGUMENT: return "invalid argument";
    case PLIANT_FILE_ERROR: return "file error";
    case PLIANT_BAD_ARTIFACT: return "bad artifact";
    case PLIANT_UNSUPPORTED_CPU: return "unsupported cpu";
    case PLIANT_BAD_INPUT: return "bad input";
    case PLIANT_RUN_FAULT: return "run fault";
    case PLIANT_OUT_OF_MEMORY: return "out of memory";
    case PLIANT_BUFFER_TOO_SMALL: return "buffer too small";
    case PLIANT_CANCELLED: return "cancelled";
  }
  return "unknown status";
}
const char* pliant_last_error(void) { return pliant::runtime::last_message(); }

size_t pliant_dtype_size(int32_t dtype) {
  return dtype >= 0 && dtype < kDTypeCount ? static_cast<size_t>(byte_size(static_cast<DType>(dtype))) : 0;
}
const char* pliant_dtype_name(int32_t dtype) {
  return dtype >= 0 && dtype < kDTypeCount ? name_of(static_cast<DType>(dtype)) : "?";
}

pliant_status pliant_load_file(const char* path, const pliant_load_options* options, pliant_model** model) {
  if (path == nullptr || model == nullptr) return null_argument("pliant_load_file");
  *model = nullptr;
  Mapping file;
  PLIANT_TRY(file.open_file(path));
  const std::span<const std::byte> bytes(file.data(), file.size());
  return finish_load(bytes, std::move(file), options, model);
}

pliant_status pliant_load_memory(const void* data, size_t size, const pliant_load_options* options, pliant_model** model) {
  if (data == nullptr || model == nullptr) return null_argument("pliant_load_memory");
  *model = nullptr;
  return finish_load({static_cast<const std::byte*>(data), size}, Mapping(), options, model);
}

void pliant_release_model(pliant_model* model) { delete model; }

pliant_status pliant_loaded_file(const pliant_model* model, const void** data, size_t* size) {
  if (model == nullptr || data == nullptr || size == nullptr) return null_argument(__func__);
  *data = model->file.data();
  *size = model->file.size();
  return PLIANT_OK;
}

size_t pliant_input_count(const pliant_model* model) { return model != nullptr ? model->program.inputs.size() : 0; }
size_t pliant_output_count(const pliant_model* model) { return model != nullptr ? model->program.outputs.size() : 0; }

pliant_status pliant_describe_input(const pliant_model* model, size_t index, pliant_tensor_info* info) {
  if (model == nullptr) return null_argument(__func__);
  const auto& inputs = model->program.inputs;
  if (index >= inputs.size()) return bad_index(__func__, index, inputs.size());
  return describe_tensor(inputs[index], model->inputs[index], info, __func__);
}

pliant_status pliant_describe_output(const pliant_model* model, size_t index, pliant_tensor_info* info) {
  if (model == nullptr) return null_argument(__func__);
  const auto& outputs = model->program.outputs;
  if (index >= outputs.size()) return bad_index(__func__, index, outputs.size());
  return describe_tensor(outputs[index], model->outputs[index], info, __func__);
}

size_t pliant_symbol_count(const pliant_model* model) { return model != nullptr ? model->program.key_slots : 0; }

pliant_status pliant_describe_symbol(const pliant_model* model, size_t index, pliant_symbol_info* info) {
  if (model == nullptr) return null_argument(__func__);
  if (index >= model->program.key_slots) return bad_index(__func__, index, model->program.key_slots);
  pliant_symbol_info v = {0, model->program.slot_names[index].c_str(), INT64_MIN, INT64_MAX, 1};
  for (const pliant::artifact::Bind& b : model->program.binds) {
    if (b.slot != index) continue;
    v.min = std::max(v.min, b.lo);
    v.max = std::min(v.max, b.hi);
    v.multiple_of = std::max(v.multiple_of, b.multiple_of);
  }
  return write_info(v, info, __func__);
}

pliant_status pliant_describe_model(const pliant_model* model, pliant_model_info* info) {
  if (model == nullptr) return null_argument(__func__);
  pliant_model_info v = {};
  v.model = model->program.model.c_str();
  v.producer = model->program.producer.c_str();
  v.precision = model->program.precision.c_str();
  v.target = model->program.image.target.c_str();
  v.threads = model->pool->threads();
  for (const pliant::artifact::ConstantDesc& c : model->program.constants)
    v.constant_bytes = std::max(v.constant_bytes, c.offset + c.bytes);
  v.code_bytes = model->program.image.text.size() + model->program.image.rodata.size() + model->program.image.data.size();
  std::memcpy(v.digest, model->digest.data(), sizeof v.digest);
  return write_info(v, info, __func__);
}

pliant_status pliant_read_stats(const pliant_model* model, pliant_stats* stats) {
  if (model == nullptr) return null_argument(__func__);
  pliant_stats v = {};
  v.runs = model->runs.load(std::memory_order_relaxed);
  v.plan_hits = model->plan_hits.load(std::memory_order_relaxed);
  v.plan_misses = model->plan_misses.load(std::memory_order_relaxed);
  v.peak_bytes = model->peak_bytes.load(std::memory_order_relaxed);
  {
    auto* m = const_cast<pliant_model*>(model);  // for the lock alone
    std::lock_guard<std::mutex> lock(m->states_mutex);
    v.states = m->states.size();
    v.arena_bytes = m->idle_arena_bytes();
  }
  return write_info(v, stats, __func__);
}

void pliant_retain_buffer(pliant_buffer* buffer) {
  if (buffer != nullptr) buffer->references.fetch_add(1, std::memory_order_relaxed);
}
void pliant_release_buffer(pliant_buffer* buffer) {
  if (buffer != nullptr && buffer->references.fetch_sub(1, std::memory_order_acq_rel) == 1) buffer->pool->release(buffer);
}

pliant_status pliant_run(pliant_model* model, const pliant_input* inputs, size_t input_count, pliant_output* outputs,
                         size_t output_count) {
  return pliant_run_with(model, inputs, input_count, outputs, output_count, nullptr);
}

pliant_status pliant_run_with(pliant_model* model, const pliant_input* inputs, size_t input_count, pliant_output* outputs,
                              size_t output_count, const pliant_run_options* options) {
  if (model == nullptr || (inputs == nullptr && input_count > 0) || (outputs == nullptr && output_count > 0))
    return null_argument("pliant_run");
  const size_t expected = model->program.outputs.size();
  if (output_count != expected)
    return fail(PLIANT_INVALID_ARGUMENT, "pliant_run was given room for %zu outputs but the model has %zu", output_count,
                expected);
  pliant_run_options o = {};
  if (options != nullptr) std::memcpy(&o, options, std::min(options->struct_size, sizeof o));
  if (o.lists == nullptr && o.list_count > 0) return null_argument("pliant_run_with");
  for (size_t i = 0; i < output_count; ++i) {
    const pliant::artifact::TensorDesc& t = model->program.outputs[i];
    if (o.list_outputs != nullptr) o.list_outputs[i] = nullptr;
    if (t.kind != pliant::artifact::TensorDesc::Kind::Tensor && o.list_outputs == nullptr)
      return fail(PLIANT_INVALID_ARGUMENT,
                  "output \"%s\" is %s, not a tensor: pliant_run_options has no list_outputs for it", t.name.c_str(),
                  pliant::runtime::kind_name(t.kind));
  }
  return pliant::runtime::run_model(
      *model, inputs, input_count, outputs,
      {o.stop, o.memory_limit > 0 ? o.memory_limit : model->memory_limit, o.lists, o.list_count, o.list_outputs, o.seed});
}
void pliant_cancel(pliant_model* model) {
  if (model != nullptr) model->cancel();
}

int32_t pliant_cpu_has(const char* feature) {
  return feature != nullptr ? static_cast<int32_t>(pliant::machine::cpu_has(feature)) : -1;
}
int32_t pliant_default_threads(void) { return pliant::machine::default_threads(); }

}  // extern "C"
