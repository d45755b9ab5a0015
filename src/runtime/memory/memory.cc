#include "runtime/memory/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdlib>
#include <cstring>

#include "machine/pages.h"

namespace pliant::runtime {
namespace {

constexpr uint64_t kHugePage = machine::kHugePage;
constexpr uint64_t kReservation = uint64_t{64} << 30;
// Larger requests are refused before the kernel sees them, so that sums with them cannot wrap.
constexpr uint64_t kAddressSpace = uint64_t{1} << 46;

std::byte* align(std::byte* p, uint64_t to) {
  return reinterpret_cast<std::byte*>(round_up(reinterpret_cast<uint64_t>(p), to));
}

// Lets the next writes to the block's data find huge pages; the contents are lost. Nothing changes where the system has
// none.
// In pieces, as far as the run goes on: a gigabyte of small pages takes a tenth of a second.
void use_huge_pages(pliant_buffer& block, StopFlag flag) {
  constexpr uint64_t kPiece = 32 * kHugePage;
  std::byte* data = static_cast<std::byte*>(block.data());
  std::byte* begin = align(data, kHugePage);
  const uint64_t end = reinterpret_cast<uint64_t>(data + block.capacity) / kHugePage * kHugePage;
  const uint64_t bytes = end - reinterpret_cast<uint64_t>(begin);
  if (madvise(begin, bytes, MADV_HUGEPAGE) != 0) return;
  for (uint64_t at = 0; at < bytes && !flag.is_set(); at += kPiece)
    madvise(begin + at, std::min(kPiece, bytes - at), MADV_DONTNEED);
}

pliant_status out_of_memory(uint64_t bytes) {
  return fail(PLIANT_OUT_OF_MEMORY, "no memory for %" PRIu64 " bytes of intermediate tensors", bytes);
}

}  // namespace

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

void Mapping::unmap() {
  if (base_ != nullptr) munmap(base_, mapped_);
}

pliant_status Mapping::open_file(const char* path) {
  // Without O_NONBLOCK, opening a pipe waits for somebody who writes to it.
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return fail(PLIANT_FILE_ERROR, "cannot open \"%s\": %s", path, std::strerror(errno));
  const pliant_status status = take_file(fd, path);
  close(fd);
  return status;
}

pliant_status Mapping::take_file(int fd, const char* path) {
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return fail(PLIANT_FILE_ERROR, "\"%s\" is not a regular file", path);
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size == 0) return fail(PLIANT_BAD_ARTIFACT, "\"%s\" is empty", path);
  if (size <= kReadBytes) return read_file(fd, size, path);
  void* p = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (p == MAP_FAILED) return fail(PLIANT_FILE_ERROR, "cannot map \"%s\": %s", path, std::strerror(errno));
  base_ = static_cast<std::byte*>(p);
  mapped_ = size_ = size;
  madvise(base_, size_, MADV_WILLNEED);
  return PLIANT_OK;
}

pliant_status Mapping::read_file(int fd, uint64_t size, const char* path) {
  PLIANT_TRY(map_memory(size));
  size_ = 0;
  while (size_ < size) {
    const ssize_t n = read(fd, base_ + size_, size - size_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(PLIANT_FILE_ERROR, "cannot read \"%s\": %s", path, std::strerror(errno));
    if (n == 0) break;  // somebody cut it meanwhile
    size_ += static_cast<uint64_t>(n);
  }
  return PLIANT_OK;
}

pliant_status Mapping::map_memory(uint64_t bytes) {
  const bool huge = bytes >= kHugePage;
  const uint64_t total = round_up(bytes, uint64_t{machine::kPage}) + (huge ? kHugePage : 0);
  void* p = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return fail(PLIANT_OUT_OF_MEMORY, "no memory for %" PRIu64 " bytes", bytes);
  base_ = static_cast<std::byte*>(p);
  mapped_ = total;
  size_ = bytes;
  if (!huge) return PLIANT_OK;
  std::byte* begin = align(base_, kHugePage);
  if (begin > base_) munmap(base_, static_cast<size_t>(begin - base_));
  mapped_ = static_cast<uint64_t>(base_ + total - begin);
  base_ = begin;
  madvise(base_, mapped_, MADV_HUGEPAGE);
  return PLIANT_OK;
}

pliant_status Mapping::make_read_only() {
  if (mprotect(base_, size_, PROT_READ) == 0) return PLIANT_OK;
  return fail(PLIANT_OUT_OF_MEMORY, "cannot protect %" PRIu64 " bytes: %s", size_, std::strerror(errno));
}

Arena::~Arena() {
  if (reserved_at_ != nullptr) munmap(reserved_at_, reserved_);
}

pliant_status Arena::reserve(uint64_t bytes) {
  if (reserved_at_ != nullptr) munmap(reserved_at_, reserved_);
  reserved_at_ = base_ = nullptr;
  committed_ = usable_ = 0;
  ++generation_;
  const uint64_t least = round_up(bytes, kHugePage) + kHugePage;
  // A limit on address space makes the usual reservation fail; then less must do.
  for (uint64_t size = std::max(least, kReservation);; size = std::max(least, size / 4)) {
    // Without MAP_NORESERVE: committing is then checked against the machine's memory, and absurd sizes fail there.
    void* p = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED) {
      reserved_at_ = static_cast<std::byte*>(p);
      reserved_ = size;
      base_ = align(reserved_at_, kHugePage);
      usable_ = static_cast<uint64_t>(reserved_at_ + reserved_ - base_);
      return PLIANT_OK;
    }
    if (size == least) return out_of_memory(bytes);
  }
}

pliant_status Arena::commit(uint64_t bytes, bool pinned) {
  if (bytes <= committed_) return PLIANT_OK;
  if (bytes > kAddressSpace || (pinned && base_ != nullptr && bytes > usable_)) return out_of_memory(bytes);
  if (bytes > usable_) PLIANT_TRY(reserve(bytes));
  const uint64_t until = std::min(round_up(bytes, bytes < kHugePage ? 65536 : kHugePage), usable_);
  if (mprotect(base_ + committed_, until - committed_, PROT_READ | PROT_WRITE) != 0) return out_of_memory(bytes);
  if (until >= 2 * kHugePage) madvise(base_, until, MADV_HUGEPAGE);
  committed_ = until;
  return PLIANT_OK;
}

void Arena::shrink(uint64_t bytes) {
  const uint64_t until = round_up(bytes, kHugePage);
  if (until >= committed_) return;
  madvise(base_ + until, committed_ - until, MADV_DONTNEED);
  mprotect(base_ + until, committed_ - until, PROT_NONE);
  committed_ = until;
}

pliant_buffer* BlockPool::allocate(uint64_t bytes, StopFlag flag) {
  if (bytes > kAddressSpace) return nullptr;
  const uint64_t capacity = round_up(std::max<uint64_t>(bytes, 1), kAlignment);
  pliant_buffer* block = take_kept(capacity);
  if (block != nullptr) {
    if (block->capacity >= kLargeBlock && ++block->reuses == kReusesOnSmallPages) use_huge_pages(*block, flag);
  } else {
    void* p = std::aligned_alloc(kAlignment, sizeof(pliant_buffer) + capacity);
    if (p == nullptr) return nullptr;
    block = new (p) pliant_buffer;
    block->capacity = capacity;
    block->pool = this;
    block->reuses = 0;
    std::lock_guard<std::mutex> lock(mutex_);
    ++references_;
  }
  block->references.store(1, std::memory_order_relaxed);
  return block;
}

pliant_buffer* BlockPool::take_kept(uint64_t capacity) {
  std::lock_guard<std::mutex> lock(mutex_);
  int best = -1;
  for (int i = 0; i < kept_count_; ++i)
    if (kept_[i]->capacity >= capacity && kept_[i]->capacity <= 2 * capacity &&
        (best < 0 || kept_[i]->capacity < kept_[best]->capacity))
      best = i;
  if (best < 0) return nullptr;
  pliant_buffer* block = kept_[best];
  take_out(best);
  ++references_;
  return block;
}

void BlockPool::take_out(int index) {
  kept_bytes_ -= kept_[index]->capacity;
  std::copy(kept_ + index + 1, kept_ + kept_count_, kept_ + index);
  --kept_count_;
}

void BlockPool::release(pliant_buffer* block) {
  bool last;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    uint64_t largest = block->capacity;
    for (int i = 0; i < kept_count_; ++i) largest = std::max(largest, kept_[i]->capacity);
    const uint64_t bound = std::max(kKeptBytes, 2 * largest);
    while (kept_count_ == kKept || kept_bytes_ + block->capacity > bound) {
      pliant_buffer* oldest = kept_[0];
      take_out(0);
      std::free(oldest);
    }
    kept_[kept_count_++] = block;
    kept_bytes_ += block->capacity;
    last = --references_ == 0;
  }
  if (last) delete this;
}

void BlockPool::drop() {
  bool last;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    last = --references_ == 0;
  }
  if (last) delete this;
}

BlockPool::~BlockPool() {
  for (int i = 0; i < kept_count_; ++i) std::free(kept_[i]);
}

}  // namespace pliant::runtime
