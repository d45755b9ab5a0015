// The one way in which files are written: whole or not at all.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pliant {

// Links are followed. A regular file is written beside its place, where the file system can without a name, else under one
// of its own, and put there when its bytes are on the disk, with the permissions of the file that was there. Into a pipe, a
// terminal or a device such as /dev/null the bytes go as they are, into standard output by the name "-". Folders, disks and
// sockets are refused. What is not finished leaves nothing behind. append() and finish() look at the thread's stop flag
// (base/stop.h), also while nobody takes the bytes, and throw Stopped.
class OutputFile {
 public:
  // Finds out what can be known before the bytes are: the place is writable. Changes nothing.
  static Result<OutputFile> open(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  bool is_standard_output() const { return kind_ == Kind::StandardOutput; }
  // A failed append ends the file: nothing of it is left.
  Status append(std::span<const std::byte> bytes);
  // The descriptor of what has been appended so far, for reading it back; -1 where it cannot be.
  int written() const { return kind_ == Kind::Regular ? file_ : -1; }
  Status finish();

 private:
  enum class Kind : uint8_t { Regular, Stream, StandardOutput };
  OutputFile(Kind kind, std::string path, std::string target)
      : kind_(kind), path_(std::move(path)), target_(std::move(target)) {}
  Status begin();
  Status put_in_place();
  void discard();
  Error failed(int error) const;

  Kind kind_;
  std::string path_;       // as the caller named it
  std::string target_;     // with links followed
  std::string temporary_;  // empty while it has no name
  int file_ = -1;
};

// open(), append() and finish() in one.
Status write_file(const std::string& path, std::span<const std::byte> bytes);
Status write_file(const std::string& path, std::string_view text);
// Makes a folder and those above it where they are missing, and finds out whether files can be made in it.
Status make_output_folder(const std::string& path);

// Removes what OutputFiles have under names of their own: for handlers of signals that end the process.
void remove_unfinished_files() noexcept;

}  // namespace pliant
