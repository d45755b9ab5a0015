// What a repeated shape must not do: allocate. Counted under every allocation function of this executable.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "runtime/vm/fixture_test.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLIANT_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define PLIANT_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef PLIANT_COUNTS_ALLOCATIONS
#define PLIANT_COUNTS_ALLOCATIONS 1
#endif

namespace {
std::atomic<int64_t> allocations{0};
}  // namespace

#if PLIANT_COUNTS_ALLOCATIONS
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void* malloc(size_t n) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(n);
}
void* calloc(size_t n, size_t each) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(n, each);
}
void* realloc(void* p, size_t n) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(p, n);
}
void* aligned_alloc(size_t alignment, size_t n) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, n);
}
}
#endif

namespace pliant::runtime::fixture {
namespace {

int64_t resident_bytes() {
  std::FILE* f = std::fopen("/proc/self/statm", "r");
  long long total = 0, resident = 0;
  const int got = f != nullptr ? std::fscanf(f, "%lld %lld", &total, &resident) : 0;
  if (f != nullptr) std::fclose(f);
  return got == 2 ? resident * sysconf(_SC_PAGESIZE) : 0;
}

// Allocations of `runs` runs of add_chain at each of `sizes`, into the caller's buffer.
int64_t count_allocations(pliant_model* model, const std::vector<int64_t>& sizes, int runs, bool own_buffer) {
  static std::vector<float> a(200'000, 1);
  static void* room = aligned_alloc(64, 800'000);
  const int64_t before = allocations.load();
  for (int i = 0; i < runs; ++i)
    for (int64_t n : sizes) {
      const int64_t shape[] = {1, n};
      const pliant_input in[] = {{"a", a.data(), PLIANT_F32, 2, shape}, {"b", a.data(), PLIANT_F32, 2, shape}};
      pliant_output out = {};
      if (own_buffer) out.data = room, out.capacity = 800'000;
      EXPECT_EQ(pliant_run(model, in, 2, &out, 1), PLIANT_OK) << pliant_last_error();
      pliant_release_buffer(out.buffer);
    }
  return allocations.load() - before;
}

TEST(allocation, none_on_a_repeated_shape) {
  if (!PLIANT_COUNTS_ALLOCATIONS) GTEST_SKIP() << "the sanitizer owns malloc";
  const ModelPtr model = load(add_chain(5), 2);
  const std::vector<int64_t> sizes = {1, 100, 7, 150'000, 0};
  EXPECT_GT(count_allocations(model.get(), sizes, 1, true), 0);
  EXPECT_EQ(count_allocations(model.get(), sizes, 20, true), 0);
  count_allocations(model.get(), sizes, 1, false);
  EXPECT_EQ(count_allocations(model.get(), sizes, 20, false), 0) << "blocks of outputs are used again";
}

TEST(allocation, none_after_the_prefix) {
  if (!PLIANT_COUNTS_ALLOCATIONS) GTEST_SKIP() << "the sanitizer owns malloc";
  const ModelPtr model = load(nonzero_program());
  const std::vector<float> x(1000, 1);
  const int64_t shape[] = {1000};
  const pliant_input in = {"x", x.data(), PLIANT_F32, 1, shape};
  int64_t before = 0;
  for (int i = 0; i < 10; ++i) {
    if (i == 1) before = allocations.load();
    pliant_output out = {};
    ASSERT_EQ(pliant_run(model.get(), &in, 1, &out, 1), PLIANT_OK);
    pliant_release_buffer(out.buffer);
  }
  EXPECT_EQ(allocations.load(), before);
}

TEST(allocation, memory_stays_flat_over_a_thousand_shapes) {
  if (!PLIANT_COUNTS_ALLOCATIONS) GTEST_SKIP() << "the sanitizer keeps what is freed";
  const ModelPtr model = load(add_chain(8), 2);
  int64_t after_warm_up = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    // The largest early, then all others.
    const int64_t m = 1 + (i * 7919 + 100'000) % 100'003;
    ASSERT_EQ(run_add_chain(model.get(), 8, 1, m), PLIANT_OK);
    if (i == 50) after_warm_up = resident_bytes();
  }
  EXPECT_LT(resident_bytes() - after_warm_up, 4 << 20);
  pliant_stats stats = {sizeof stats};
  pliant_read_stats(model.get(), &stats);
  EXPECT_EQ(stats.plan_misses, 1000u);
}

}  // namespace
}  // namespace pliant::runtime::fixture
