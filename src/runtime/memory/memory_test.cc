// Which blocks the pool of outputs keeps, hands out again, and moves to huge pages.
#include "runtime/memory/memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>

namespace pliant::runtime {
namespace {

struct DropPool {
  void operator()(BlockPool* pool) const { pool->drop(); }
};
using PoolPtr = std::unique_ptr<BlockPool, DropPool>;

// Whether the mapping that holds `p` may use huge pages: "hg" among its VmFlags.
bool may_use_huge_pages(const void* p) {
  std::FILE* f = std::fopen("/proc/self/smaps", "r");
  if (f == nullptr) return false;
  const uint64_t at = reinterpret_cast<uint64_t>(p);
  bool inside = false, huge = false;
  char line[512];
  while (std::fgets(line, sizeof line, f) != nullptr) {
    uint64_t begin, end;
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &begin, &end) == 2) inside = begin <= at && at < end;
    if (inside && std::strncmp(line, "VmFlags:", 8) == 0) huge = std::strstr(line, " hg") != nullptr;
  }
  std::fclose(f);
  return huge;
}

bool has_huge_pages() { return access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) == 0; }

std::byte* middle_of(pliant_buffer* block) { return static_cast<std::byte*>(block->data()) + block->capacity / 2; }

TEST(block_pool, a_large_block_moves_to_huge_pages_when_handed_out_for_the_third_time) {
  const PoolPtr pool(BlockPool::create());
  const uint64_t bytes = (uint64_t{33} << 20) + 192;
  pliant_buffer* first = nullptr;
  for (int use = 0; use < 5; ++use) {
    pliant_buffer* block = pool->allocate(bytes);
    ASSERT_NE(block, nullptr);
    if (first == nullptr) first = block;
    EXPECT_EQ(block, first);
    EXPECT_EQ(block->capacity, bytes);
    if (has_huge_pages()) {
      EXPECT_EQ(may_use_huge_pages(middle_of(block)), use >= 2) << "use " << use;
    }
    std::memset(block->data(), 1 + use, bytes);
    const auto* data = static_cast<const unsigned char*>(block->data());
    uint64_t sum = 0;
    for (uint64_t i = 0; i < bytes; ++i) sum += data[i];
    EXPECT_EQ(sum, bytes * static_cast<uint64_t>(1 + use));
    pool->release(block);
  }
}

TEST(block_pool, small_blocks_stay_on_small_pages) {
  const PoolPtr pool(BlockPool::create());
  for (int use = 0; use < 5; ++use) {
    pliant_buffer* block = pool->allocate(uint64_t{8} << 20);
    ASSERT_NE(block, nullptr);
    EXPECT_FALSE(may_use_huge_pages(middle_of(block)));
    pool->release(block);
  }
}

TEST(block_pool, a_block_serves_requests_down_to_half_its_size) {
  const PoolPtr pool(BlockPool::create());
  pliant_buffer* block = pool->allocate(6400);
  pool->release(block);
  pliant_buffer* half = pool->allocate(3200);
  EXPECT_EQ(half, block);
  pool->release(half);
  pliant_buffer* less = pool->allocate(3136);
  EXPECT_NE(less, block);
  pool->release(less);
  pliant_buffer* more = pool->allocate(6464);
  EXPECT_NE(more, block);
  pool->release(more);
}

TEST(block_pool, an_absurd_request_is_refused) {
  const PoolPtr pool(BlockPool::create());
  EXPECT_EQ(pool->allocate(UINT64_MAX), nullptr);
  EXPECT_EQ(pool->allocate(uint64_t{1} << 60), nullptr);
}

}  // namespace
}  // namespace pliant::runtime
