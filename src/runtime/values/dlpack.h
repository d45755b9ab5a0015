/* The structs of the DLPack exchange format (versions 0 and 1), as its specification fixes their layout. Names are ours
 * where the public functions do not need them, so that users may include dlpack.h beside pliant.h. */
#pragma once
#include <cstdint>

namespace pliant::runtime {

inline constexpr int32_t kDlCpu = 1;
enum DlTypeCode : uint8_t { kDlInt = 0, kDlUInt = 1, kDlFloat = 2, kDlBfloat = 4, kDlBool = 6 };

struct DlDevice {
  int32_t type;
  int32_t id;
};
struct DlType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  int32_t ndim;
  DlType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null for dense row-major
  uint64_t byte_offset;
};
struct DlVersion {
  uint32_t major, minor;
};

}  // namespace pliant::runtime

struct DLManagedTensor {
  pliant::runtime::DlTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};
struct DLManagedTensorVersioned {
  pliant::runtime::DlVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  pliant::runtime::DlTensor dl_tensor;
};
