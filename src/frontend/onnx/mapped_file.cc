#include "frontend/onnx/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace pliant::frontend::onnx {
namespace {

Error system_error(const std::string& path, const std::string& what) {
  return make_error("file-unreadable", path, what + ": " + std::strerror(errno));
}

}  // namespace

Result<MappedFile> map_file(const std::string& path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return system_error(path, "the file cannot be opened");
  struct stat st{};
  if (::fstat(fd, &st) != 0) {
    Error e = system_error(path, "the file cannot be examined");
    ::close(fd);
    return e;
  }
  if (!S_ISREG(st.st_mode)) {
    ::close(fd);
    return make_error("file-unreadable", path,
                      S_ISDIR(st.st_mode) ? "this is a folder, not a file" : "this is not a regular file");
  }
  size_t size = static_cast<size_t>(st.st_size);
  if (size == 0) {
    ::close(fd);
    return MappedFile{};
  }
  void* p = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (p == MAP_FAILED) {
    Error e = system_error(path, "the file cannot be mapped");
    ::close(fd);
    return e;
  }
  ::close(fd);
  std::shared_ptr<const void> keep(p, [size](const void* q) { ::munmap(const_cast<void*>(q), size); });
  return MappedFile{static_cast<const std::byte*>(p), size, std::move(keep)};
}

MappedFile copy_bytes(const void* data, size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  auto owned = std::make_shared<std::vector<std::byte>>(bytes, bytes + size);
  return MappedFile{owned->data(), size, owned};
}

}  // namespace pliant::frontend::onnx
