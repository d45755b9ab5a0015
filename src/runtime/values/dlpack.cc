#include "runtime/values/dlpack.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/error.h"
#include "runtime/memory/memory.h"

namespace {

using namespace pliant::runtime;  // the structs of dlpack.h

constexpr struct {
  uint8_t code, bits;
} kTypes[] = {
    {kDlBool, 8},  {kDlInt, 8},   {kDlInt, 16},   {kDlInt, 32},    {kDlInt, 64},   {kDlUInt, 8},   {kDlUInt, 16},
    {kDlUInt, 32}, {kDlUInt, 64}, {kDlFloat, 16}, {kDlBfloat, 16}, {kDlFloat, 32}, {kDlFloat, 64},
};

int32_t dtype_of(const DlType& t) {
  if (t.lanes != 1) return -1;
  for (int32_t i = 0; i <= PLIANT_F64; ++i)
    if (kTypes[i].code == t.code && kTypes[i].bits == t.bits) return i;
  return -1;
}

bool is_dense(const DlTensor& t) {
  if (t.strides == nullptr) return true;
  int64_t stride = 1;
  for (int32_t i = 0; i < t.ndim; ++i)
    if (t.shape[i] == 0) return true;
  for (int32_t i = t.ndim - 1; i >= 0; --i) {
    if (t.shape[i] != 1 && t.strides[i] != stride) return false;
    stride *= t.shape[i];
  }
  return true;
}

pliant_status view_tensor(const DlTensor& t, pliant_input* input) {
  if (t.device.type != kDlCpu)
    return fail(PLIANT_INVALID_ARGUMENT, "the tensor is on a device of type %d, not in CPU memory", t.device.type);
  if (t.ndim < 0 || t.ndim > PLIANT_MAX_RANK) return fail(PLIANT_INVALID_ARGUMENT, "the tensor has rank %d", t.ndim);
  const int32_t dtype = dtype_of(t.dtype);
  if (dtype < 0)
    return fail(PLIANT_INVALID_ARGUMENT, "the tensor's type (code %d, %d bits, %d lanes) has no counterpart", t.dtype.code,
                t.dtype.bits, t.dtype.lanes);
  if (!is_dense(t)) return fail(PLIANT_INVALID_ARGUMENT, "the tensor is not dense and row-major");
  input->data = t.data == nullptr ? nullptr : static_cast<const std::byte*>(t.data) + t.byte_offset;
  input->dtype = dtype;
  input->rank = t.ndim;
  input->shape = t.shape;
  return PLIANT_OK;
}

// A managed tensor with the shape behind it, in one piece of memory.
template <class Managed>
struct Exported {
  Managed managed;
  pliant_buffer* buffer;
  int64_t shape[PLIANT_MAX_RANK];
  int64_t strides[PLIANT_MAX_RANK];
};

template <class Managed>
void delete_exported(Managed* self) {
  auto* e = static_cast<Exported<Managed>*>(self->manager_ctx);
  pliant_release_buffer(e->buffer);
  std::free(e);
}

template <class Managed>
pliant_status export_output(pliant_output* output, Managed** tensor) {
  if (output == nullptr || tensor == nullptr) return fail(PLIANT_INVALID_ARGUMENT, "a null pointer was given for a tensor");
  if (output->buffer == nullptr) return fail(PLIANT_INVALID_ARGUMENT, "the output's memory does not belong to the runtime");
  auto* e = static_cast<Exported<Managed>*>(std::malloc(sizeof(Exported<Managed>)));
  if (e == nullptr) return fail(PLIANT_OUT_OF_MEMORY, "no memory for a tensor");
  new (e) Exported<Managed>();
  e->buffer = output->buffer;
  std::memcpy(e->shape, output->shape, sizeof e->shape);
  int64_t stride = 1;
  for (int32_t i = output->rank - 1; i >= 0; --i) {
    e->strides[i] = stride;
    stride *= e->shape[i];
  }
  const auto& type = kTypes[output->dtype];
  e->managed.dl_tensor = {output->data, {kDlCpu, 0}, output->rank, {type.code, type.bits, 1}, e->shape, e->strides, 0};
  e->managed.manager_ctx = e;
  e->managed.deleter = &delete_exported<Managed>;
  output->buffer = nullptr;
  output->data = nullptr;
  *tensor = &e->managed;
  return PLIANT_OK;
}

}  // namespace

extern "C" {

pliant_status pliant_input_from_dlpack(const DLManagedTensor* tensor, pliant_input* input) {
  if (tensor == nullptr || input == nullptr) return fail(PLIANT_INVALID_ARGUMENT, "a null pointer was given for a tensor");
  return view_tensor(tensor->dl_tensor, input);
}

pliant_status pliant_input_from_dlpack_versioned(const DLManagedTensorVersioned* tensor, pliant_input* input) {
  if (tensor == nullptr || input == nullptr) return fail(PLIANT_INVALID_ARGUMENT, "a null pointer was given for a tensor");
  if (tensor->version.major != 1)
    return fail(PLIANT_INVALID_ARGUMENT, "the tensor has DLPack version %u, not 1", tensor->version.major);
  return view_tensor(tensor->dl_tensor, input);
}

pliant_status pliant_output_to_dlpack(pliant_output* output, DLManagedTensor** tensor) {
  return export_output(output, tensor);
}

pliant_status pliant_output_to_dlpack_versioned(pliant_output* output, DLManagedTensorVersioned** tensor) {
  PLIANT_TRY(export_output(output, tensor));
  (*tensor)->version = {1, 0};
  (*tensor)->flags = 0;
  return PLIANT_OK;
}

}  // extern "C"
