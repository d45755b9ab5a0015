// Memory of the runtime that is not the C++ heap's: mapped files, arenas that grow in place, and the blocks of outputs.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include "runtime/error.h"
#include "runtime/threads/turns.h"

namespace pliant::runtime {

inline constexpr uint64_t kAlignment = 64;
inline constexpr uint64_t round_up(uint64_t v, uint64_t to) { return (v + to - 1) / to * to; }

// A range of mapped pages, unmapped when it goes. A file of up to kReadBytes is read, so that nothing that happens to it
// afterwards reaches us; a larger one is mapped, and whoever cuts it short meanwhile ends the process.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept { *this = std::move(other); }
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping() { unmap(); }
  static constexpr uint64_t kReadBytes = 1u << 20;
  pliant_status open_file(const char* path);
  // Zeroed private memory; base at a multiple of 2 MiB and huge pages allowed when it is larger than that.
  pliant_status map_memory(uint64_t bytes);
  // From here on a write stops the process.
  pliant_status make_read_only();
  std::byte* data() const { return base_; }
  uint64_t size() const { return size_; }

 private:
  void unmap();
  pliant_status take_file(int fd, const char* path);
  pliant_status read_file(int fd, uint64_t size, const char* path);
  std::byte* base_ = nullptr;
  uint64_t size_ = 0, mapped_ = 0;
};

// One growing block: address space is reserved once, pages are committed as needed and kept. The base moves only when the
// reservation was too small, which changes `generation`.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  ~Arena();
  // Makes [base, base + bytes) usable. The contents are kept unless the base moves; `pinned` refuses to move it.
  pliant_status commit(uint64_t bytes, bool pinned);
  // Gives memory past the first `bytes` back to the system; the base stays.
  void shrink(uint64_t bytes);
  std::byte* base() const { return base_; }
  uint64_t committed() const { return committed_; }
  uint32_t generation() const { return generation_; }

 private:
  pliant_status reserve(uint64_t bytes);
  std::byte* base_ = nullptr;
  std::byte* reserved_at_ = nullptr;
  uint64_t reserved_ = 0, committed_ = 0, usable_ = 0;
  uint32_t generation_ = 0;
};

// Blocks for outputs. The blocks released last are kept for the next runs, up to a bound or twice the largest of them; the
// pool lives until its owner and all its blocks are gone.
// A large block moves to huge pages when it is handed out for the third time. Small pages make it up to 1.6 times slower to
// write, because their tables fill the L2 as well; but the first touch of huge pages can cost 2 us a KB (0.6 on small ones)
// where a virtual machine's host has to find them, which a block of a single run would not get back.
class BlockPool {
 public:
  static BlockPool* create() { return new BlockPool; }
  // Null when there is no memory. One reference; data is 64-byte aligned.
  pliant_buffer* allocate(uint64_t bytes, StopFlag flag = StopFlag(nullptr));
  void release(pliant_buffer* block);
  // The owner's reference.
  void drop();

 private:
  BlockPool() = default;
  ~BlockPool();
  // Null when no kept block fits.
  pliant_buffer* take_kept(uint64_t capacity);
  void take_out(int index);
  static constexpr uint64_t kLargeBlock = 32u << 20;
  static constexpr uint32_t kReusesOnSmallPages = 2;
  static constexpr int kKept = 64;
  static constexpr uint64_t kKeptBytes = 128u << 20;
  std::mutex mutex_;
  pliant_buffer* kept_[kKept] = {};  // the oldest first
  int kept_count_ = 0;
  uint64_t kept_bytes_ = 0;
  uint64_t references_ = 1;
};

}  // namespace pliant::runtime

// Stands directly before the data of a block.
struct alignas(64) pliant_buffer {
  std::atomic<uint32_t> references;
  uint32_t reuses;  // times it was handed out again; of large blocks only
  uint64_t capacity;
  pliant::runtime::BlockPool* pool;
  void* data() { return this + 1; }
};
static_assert(sizeof(pliant_buffer) == 64);
