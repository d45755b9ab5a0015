#include "base/output_file.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/stop.h"

namespace pliant {
namespace {

// How long a pipe is waited for that nobody reads yet.
constexpr int kPipeTries = 200;
constexpr int kWaitMs = 50;  // between two looks at the stop flag
constexpr size_t kPieceBytes = size_t{16} << 20;

Error error_of(const std::string& path, const std::string& what) { return make_error("file", path, what); }
std::string unwritable(int error) { return std::string("cannot be written: ") + std::strerror(error); }

// ---- the names that files have before they are finished

struct Unfinished {
  std::atomic<int> state{0};  // 0: free, 1: being filled in, 2: a file
  char path[PATH_MAX];
};
Unfinished unfinished[16];

void remember(const std::string& path) {
  if (path.size() >= PATH_MAX) return;
  for (Unfinished& u : unfinished) {
    int free = 0;
    if (!u.state.compare_exchange_strong(free, 1)) continue;
    std::memcpy(u.path, path.c_str(), path.size() + 1);
    u.state.store(2);
    return;
  }
}
void forget(const std::string& path) {
  for (Unfinished& u : unfinished) {
    if (u.state.load() != 2 || path != u.path) continue;
    u.state.store(0);
    return;
  }
}

// ---- places

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// The file that links lead to, whether it is there or not; empty, with errno, where they lead in a circle.
std::string follow_links(std::string path) {
  for (int hops = 0; hops < 40; ++hops) {
    char to[PATH_MAX];
    const ssize_t n = readlink(path.c_str(), to, sizeof to);
    if (n < 0) return path;
    const std::string target(to, static_cast<size_t>(n));
    path = target.starts_with('/') ? target : folder_of(path) + "/" + target;
  }
  errno = ELOOP;
  return "";
}

std::string unique_name(const std::string& folder) {
  uint64_t random[2] = {};
  if (getrandom(random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
    random[0] = static_cast<uint64_t>(getpid());
  char name[64];
  std::snprintf(name, sizeof name, "/.pliant-%016llx%016llx", static_cast<unsigned long long>(random[0]),
                static_cast<unsigned long long>(random[1]));
  return folder + name;
}

// A new file in the folder: without a name where `temporary` stays empty. -1 with errno.
int create_in(const std::string& folder, std::string& temporary) {
  constexpr mode_t kMode = 0666;
  int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kMode);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
  for (int tries = 0; tries < 100; ++tries) {
    temporary = unique_name(folder);
    remember(temporary);
    file = open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode);
    if (file >= 0) return file;
    forget(temporary);
    if (errno != EEXIST) break;
  }
  temporary.clear();
  return -1;
}

void remove_temporary(std::string& temporary) {
  if (temporary.empty()) return;
  unlink(temporary.c_str());
  forget(temporary);
  temporary.clear();
}

// 0, or the errno of making a file there.
int try_folder(const std::string& folder) {
  std::string temporary;
  const int file = create_in(folder, temporary);
  if (file < 0) return errno;
  close(file);
  remove_temporary(temporary);
  return 0;
}

// Until a pipe or terminal takes something, or the stop flag is set. Others take everything at all times.
void wait_for_room(int file) {
  pollfd at{file, POLLOUT, 0};
  do poll_stop();
  while (::poll(&at, 1, kWaitMs) == 0);
}

// The errno of what keeps the bytes from being written, or 0. Pieces of `piece` bytes; between them, and while nobody reads
// from a pipe, it looks at the stop flag.
int write_all(int file, std::span<const std::byte> bytes, size_t piece) {
  while (!bytes.empty()) {
    wait_for_room(file);
    const ssize_t n = write(file, bytes.data(), std::min(bytes.size(), piece));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return errno;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return 0;
}

// What fits into a pipe that has room, so that writing does not wait: for descriptors that others have too, whose mode is
// not ours to change.
size_t piece_of_standard_output() {
  struct stat out{};
  return fstat(STDOUT_FILENO, &out) == 0 && S_ISREG(out.st_mode) ? kPieceBytes : PIPE_BUF;
}

bool is_pipe(const std::string& path) {
  struct stat at{};
  return stat(path.c_str(), &at) == 0 && S_ISFIFO(at.st_mode);
}

// A pipe, terminal or device, open for writing without waiting; -1 with errno. A pipe must find its reader within some
// seconds.
int open_stream(const std::string& path) {
  const bool waits = is_pipe(path);
  for (int tries = 0;; ++tries) {
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file >= 0) return file;
    if (errno != ENXIO || !waits || tries == kPipeTries) return -1;
    poll_stop();
    ::poll(nullptr, 0, kWaitMs);
  }
}

}  // namespace

Result<OutputFile> OutputFile::open(const std::string& path) {
  if (path == "-") return OutputFile(Kind::StandardOutput, "standard output", "");
  if (path.find('\0') != std::string::npos) return error_of(path.substr(0, path.find('\0')), "its name has a zero byte");
  struct stat at{}, out{};
  const bool exists = stat(path.c_str(), &at) == 0;
  if (!exists && errno != ENOENT) return error_of(path, unwritable(errno));
  // /dev/stdout and its kin: what they name may have no place of its own.
  if (exists && fstat(STDOUT_FILENO, &out) == 0 && S_ISREG(at.st_mode) && at.st_dev == out.st_dev && at.st_ino == out.st_ino)
    return OutputFile(Kind::StandardOutput, path, "");
  if (exists && S_ISDIR(at.st_mode)) return error_of(path, unwritable(EISDIR));
  if (exists && S_ISBLK(at.st_mode)) return error_of(path, "is a disk, which is not written to");
  if (exists && S_ISSOCK(at.st_mode)) return error_of(path, "is a socket, which is not written to");
  if (exists && faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) return error_of(path, unwritable(errno));
  if (exists && !S_ISREG(at.st_mode)) return OutputFile(Kind::Stream, path, path);
  if (path.empty() || path.ends_with('/')) return error_of(path, unwritable(path.empty() ? ENOENT : EISDIR));
  std::string target = follow_links(path);
  if (target.empty()) return error_of(path, unwritable(errno));
  if (const int error = try_folder(folder_of(target)); error != 0) return error_of(path, unwritable(error));
  return OutputFile(Kind::Regular, path, std::move(target));
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : kind_(other.kind_),
      path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::exchange(other.file_, -1)) {}

OutputFile::~OutputFile() { discard(); }

void OutputFile::discard() {
  if (file_ >= 0 && kind_ != Kind::StandardOutput) close(file_);
  file_ = -1;
  remove_temporary(temporary_);
}

Error OutputFile::failed(int error) const { return error_of(path_, unwritable(error)); }

Status OutputFile::begin() {
  if (file_ >= 0) return ok();
  switch (kind_) {
    case Kind::StandardOutput:
      std::fflush(stdout);
      file_ = STDOUT_FILENO;
      return ok();
    case Kind::Stream:
      file_ = open_stream(target_);
      if (file_ < 0 && errno == ENXIO && is_pipe(target_))
        return error_of(path_, "cannot be written: nobody reads from this pipe");
      break;
    case Kind::Regular: file_ = create_in(folder_of(target_), temporary_); break;
  }
  return file_ < 0 ? Status(failed(errno)) : ok();
}

Status OutputFile::append(std::span<const std::byte> bytes) {
  TRY(begin());
  const int error = write_all(file_, bytes, kind_ == Kind::StandardOutput ? piece_of_standard_output() : kPieceBytes);
  if (error == 0) return ok();
  discard();
  return failed(error);
}

Status OutputFile::put_in_place() {
  struct stat before{};
  const bool replaces = lstat(target_.c_str(), &before) == 0;
  if (replaces && !S_ISREG(before.st_mode)) return error_of(path_, "is something else now than it was");
  if (replaces) {
    // Ownership is the superuser's to give; without it the new file is the writer's, as it would be in a new place.
    if (fchown(file_, before.st_uid, before.st_gid) != 0) errno = 0;
    if (fchmod(file_, before.st_mode & 07777) != 0) return failed(errno);
  }
  if (fsync(file_) != 0 && errno != EINVAL && errno != EROFS) return failed(errno);
  poll_stop();
  if (temporary_.empty()) {
    const std::string self = "/proc/self/fd/" + std::to_string(file_);
    auto link_to = [&](const std::string& name) {
      return linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
    };
    if (!replaces && link_to(target_)) return ok();
    if (!replaces && errno != EEXIST) return failed(errno);
    const std::string name = unique_name(folder_of(target_));
    remember(name);
    if (!link_to(name)) {
      const int error = errno;
      forget(name);
      return failed(error);
    }
    temporary_ = name;
  }
  if (rename(temporary_.c_str(), target_.c_str()) != 0) return failed(errno);
  forget(temporary_);
  temporary_.clear();
  return ok();
}

Status OutputFile::finish() {
  TRY(begin());
  if (kind_ == Kind::Regular) {
    Status placed = put_in_place();
    if (!placed.ok()) {
      discard();
      return placed;
    }
    // The name is on the disk when its folder is.
    const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
      fsync(folder);
      close(folder);
    }
  }
  discard();
  return ok();
}

Status write_file(const std::string& path, std::span<const std::byte> bytes) {
  OutputFile file = TRY(OutputFile::open(path));
  TRY(file.append(bytes));
  return file.finish();
}

Status write_file(const std::string& path, std::string_view text) {
  return write_file(path, std::as_bytes(std::span(text.data(), text.size())));
}

Status make_output_folder(const std::string& path) {
  if (path.find('\0') != std::string::npos) return error_of(path.substr(0, path.find('\0')), "its name has a zero byte");
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && !std::filesystem::is_directory(path, error)) error = std::make_error_code(std::errc::not_a_directory);
  if (error) return error_of(path, "the folder cannot be made: " + error.message());
  if (const int number = try_folder(path); number != 0) return error_of(path, unwritable(number));
  return ok();
}

void remove_unfinished_files() noexcept {
  for (Unfinished& u : unfinished)
    if (u.state.load() == 2) unlink(u.path);
}

}  // namespace pliant
