#include "frontend/onnx/file/mapped_file.h"

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

// As many of the `size` bytes as there are: somebody may have cut the file meanwhile.
Result<MappedFile> read_bytes(int fd, size_t size, const std::string& path) {
  std::shared_ptr<std::byte[]> memory(new std::byte[size]);
  size_t done = 0;
  while (done < size) {
    const ssize_t n = ::read(fd, memory.get() + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(path, "the file cannot be read");
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  const std::byte* data = memory.get();
  return MappedFile{data, done, std::move(memory)};
}

Result<MappedFile> map_bytes(int fd, size_t size, const std::string& path) {
  void* p = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (p == MAP_FAILED) return system_error(path, "the file cannot be mapped");
  std::shared_ptr<const void> keep(p, [size](const void* q) { ::munmap(const_cast<void*>(q), size); });
  return MappedFile{static_cast<const std::byte*>(p), size, std::move(keep)};
}

Result<MappedFile> take_file(int fd, const std::string& path) {
  struct stat st{};
  if (::fstat(fd, &st) != 0) return system_error(path, "the file cannot be examined");
  if (!S_ISREG(st.st_mode))
    return make_error("file-unreadable", path,
                      S_ISDIR(st.st_mode) ? "this is a folder, not a file" : "this is not a regular file");
  const auto size = static_cast<size_t>(st.st_size);
  MappedFile file;
  if (size > 0) file = TRY(size <= kReadBytes ? read_bytes(fd, size, path) : map_bytes(fd, size, path));
  file.device = st.st_dev;
  file.number = st.st_ino;
  return file;
}

}  // namespace

Result<MappedFile> map_file(const std::string& path) {
  if (path.find('\0') != std::string::npos)
    return make_error("file-unreadable", path.substr(0, path.find('\0')), "its name has a zero byte");
  // Without O_NONBLOCK, opening a pipe waits for somebody who writes to it.
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return system_error(path, "the file cannot be opened");
  auto file = take_file(fd, path);
  ::close(fd);
  return file;
}

MappedFile copy_bytes(const void* data, size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  auto owned = std::make_shared<std::vector<std::byte>>(bytes, bytes + size);
  return MappedFile{owned->data(), size, owned};
}

}  // namespace pliant::frontend::onnx
