// A file's bytes. Up to kReadBytes they are read, so that nothing that happens to the file afterwards reaches us; larger
// ones are mapped read-only: nothing is read before it is touched, files larger than memory work, and whoever cuts one short
// meanwhile ends the process.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"

namespace pliant::frontend::onnx {

inline constexpr size_t kReadBytes = size_t{64} << 20;

struct MappedFile {
  const std::byte* data = nullptr;
  size_t size = 0;
  std::shared_ptr<const void> keep;  // unmaps when the last owner goes
  uint64_t device = 0, number = 0;   // which file it is; 0 for bytes of the caller's
};
// Errors name the file: it is missing, is a folder, a pipe or a device, cannot be read.
Result<MappedFile> map_file(const std::string& path);
// A copy of the caller's bytes, owned by `keep`.
MappedFile copy_bytes(const void* data, size_t size);

}  // namespace pliant::frontend::onnx
