// A file's bytes, mapped read-only: nothing is read before it is touched, and files larger than memory work.
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "base/result.h"

namespace pliant::frontend::onnx {

struct MappedFile {
  const std::byte* data = nullptr;
  size_t size = 0;
  std::shared_ptr<const void> keep;  // unmaps when the last owner goes
};
// Errors name the file: it is missing, is a folder, cannot be read.
Result<MappedFile> map_file(const std::string& path);
// A copy of the caller's bytes, owned by `keep`.
MappedFile copy_bytes(const void* data, size_t size);

}  // namespace pliant::frontend::onnx
