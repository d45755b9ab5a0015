#include "runtime/pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

namespace pliant::runtime {
namespace {

struct Marks {
  std::vector<int> done;
  std::vector<int> slice_of;
};
void mark(void* context, int slice, int, int64_t begin, int64_t end) {
  auto& m = *static_cast<Marks*>(context);
  for (int64_t i = begin; i < end; ++i) {
    ++m.done[static_cast<size_t>(i)];
    m.slice_of[static_cast<size_t>(i)] = slice;
  }
}

TEST(pool, every_task_once_in_fixed_slices) {
  for (int threads : {1, 2, 5, 16}) {
    ThreadPool pool(threads);
    ASSERT_TRUE(pool.try_acquire());
    for (int64_t tasks : {0, 1, 2, 7, 1000}) {
      for (int slices = 1; slices <= threads; ++slices) {
        Marks m{std::vector<int>(static_cast<size_t>(tasks)), std::vector<int>(static_cast<size_t>(tasks), -1)};
        pool.run(slices, tasks, &mark, &m);
        for (int64_t i = 0; i < tasks; ++i) {
          ASSERT_EQ(m.done[static_cast<size_t>(i)], 1);
          const int s = m.slice_of[static_cast<size_t>(i)];
          ASSERT_TRUE(tasks * s / slices <= i && i < tasks * (s + 1) / slices);
        }
      }
    }
    pool.release();
  }
}

TEST(pool, one_holder_at_a_time) {
  ThreadPool pool(2);
  EXPECT_TRUE(pool.try_acquire());
  EXPECT_FALSE(pool.try_acquire());
  pool.release();
  EXPECT_TRUE(pool.try_acquire());
}

TEST(pool, many_calls_with_pauses_between) {
  ThreadPool pool(4);
  ASSERT_TRUE(pool.try_acquire());
  for (int i = 0; i < 3000; ++i) {
    Marks m{std::vector<int>(64), std::vector<int>(64)};
    pool.run(1 + i % 4, 64, &mark, &m);
    ASSERT_EQ(std::accumulate(m.done.begin(), m.done.end(), 0), 64);
    // Now and then long enough for the workers to fall asleep.
    if (i % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void note_thread(void* context, int slice, int thread, int64_t, int64_t) {
  auto& busy = *static_cast<std::atomic<int>(*)[8]>(context);
  EXPECT_TRUE(thread == slice || thread == 0);
  EXPECT_EQ(busy[thread].fetch_add(1), 0) << "a thread number is used twice at once";
  std::this_thread::yield();
  busy[thread].fetch_sub(1);
}

TEST(pool, thread_numbers_are_exclusive) {
  ThreadPool pool(8);
  ASSERT_TRUE(pool.try_acquire());
  std::atomic<int> busy[8] = {};
  for (int i = 0; i < 2000; ++i) pool.run(8, 8, &note_thread, &busy);
}

TEST(pool, a_forked_child_runs_alone) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "forking with threads";
#endif
  ThreadPool* pool = new ThreadPool(4);  // the child leaves without joining workers that it does not have
  ASSERT_TRUE(pool->try_acquire());
  Marks m{std::vector<int>(100), std::vector<int>(100)};
  pool->run(4, 100, &mark, &m);
  const pid_t child = fork();
  if (child == 0) {
    pool->run(4, 100, &mark, &m);
    _exit(std::all_of(m.done.begin(), m.done.end(), [](int n) { return n == 2; }) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  pool->release();
  delete pool;
}

}  // namespace
}  // namespace pliant::runtime
