#include "runtime/memory/grow.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "machine/pages.h"
#include "runtime/memory/memory.h"

namespace pliant::runtime {
namespace {

constexpr uint64_t kSmallest = 1024;
// From this capacity on blocks are mappings of their own.
constexpr uint64_t kMapped = 256u << 10;
constexpr uint64_t kPage = machine::kPage;

void* map(uint64_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

}  // namespace

bool GrowBlock::is_mapped() const { return capacity_ >= kMapped && zone_ == 0; }

bool GrowBlock::reserve(uint64_t bytes, uint64_t most) {
  if (bytes <= capacity_) return true;
  uint64_t wanted = std::max({bytes, std::min(2 * capacity_, most), kSmallest});
  void* p;
  if (wanted >= kMapped) {
    wanted = round_up(wanted, kPage);
    if (is_mapped()) {
      p = mremap(data_, capacity_, wanted, MREMAP_MAYMOVE);
      if (p == MAP_FAILED) return false;
      data_ = static_cast<std::byte*>(p);
      capacity_ = wanted;
      return true;
    }
    p = map(wanted);
  } else {
    wanted = round_up(wanted, kAlignment);
    p = std::aligned_alloc(kAlignment, wanted);
  }
  if (p == nullptr) return false;
  if (capacity_ > 0) std::memcpy(p, data_, capacity_);
  release();
  data_ = static_cast<std::byte*>(p);
  capacity_ = wanted;
  return true;
}

bool GrowBlock::reserve_apart(uint64_t bytes, uint64_t zone) {
  if (bytes <= capacity_) return true;
  auto* p = static_cast<std::byte*>(std::aligned_alloc(kAlignment, zone + round_up(bytes, kAlignment) + zone));
  if (p == nullptr) return false;
  if (capacity_ > 0) std::memcpy(p + zone, data_, capacity_);
  release();
  data_ = p + zone;
  capacity_ = bytes;
  zone_ = zone;
  return true;
}

void GrowBlock::release() {
  if (is_mapped())
    munmap(data_, capacity_);
  else if (data_ != nullptr)
    std::free(data_ - zone_);
  data_ = nullptr;
  capacity_ = zone_ = 0;
}

}  // namespace pliant::runtime
