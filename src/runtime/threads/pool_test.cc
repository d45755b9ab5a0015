#include "runtime/threads/pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace pliant::runtime {
namespace {

struct Marks {
  std::vector<int> done;
  int64_t grain = 1;
  int slices = 1;
};
bool mark(void* context, int thread, int64_t begin, int64_t end) {
  auto& m = *static_cast<Marks*>(context);
  for (int64_t i = begin; i < end; ++i) ++m.done[static_cast<size_t>(i)];
  EXPECT_TRUE(begin < end && end - begin <= m.grain && thread < m.slices);
  return true;
}

TEST(pool, every_task_once_in_chunks) {
  for (int threads : {1, 2, 5, 16, 70, 150}) {
    ThreadPool pool(threads);
    ASSERT_TRUE(pool.try_acquire());
    for (int64_t tasks : {0, 1, 2, 7, 1000}) {
      for (int slices = 1; slices <= threads; slices += 1 + slices / 8) {
        for (int64_t grain : {1, 3, 64, 5000}) {
          Marks m{std::vector<int>(static_cast<size_t>(tasks)), grain, slices};
          pool.run(slices, tasks, grain, &mark, &m);
          ASSERT_EQ(std::count(m.done.begin(), m.done.end(), 1), tasks);
        }
      }
    }
    pool.release();
  }
}

// Chunks of a slice whose work is to end: 100 billion of them are passed over at once, those of other slices run.
bool give_up(void* context, int, int64_t begin, int64_t) {
  static_cast<std::atomic<int64_t>*>(context)->fetch_add(1);
  return begin % 1000 < 2;
}
TEST(pool, the_rest_of_a_slice_need_not_run) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    ASSERT_TRUE(pool.try_acquire());
    for (int repeat = 0; repeat < 50; ++repeat) {
      std::atomic<int64_t> ran{0};
      pool.run(threads, int64_t{threads} * 1000 * 100'000'000, 1, &give_up, &ran);
      EXPECT_GE(ran, threads);
      EXPECT_LE(ran, 1000 * threads);
    }
    Marks m{std::vector<int>(1000), 3, threads};
    pool.run(threads, 1000, 3, &mark, &m);
    EXPECT_EQ(std::count(m.done.begin(), m.done.end(), 1), 1000);
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
    Marks m{std::vector<int>(64), 4, 1 + i % 4};
    pool.run(1 + i % 4, 64, 4, &mark, &m);
    ASSERT_EQ(std::accumulate(m.done.begin(), m.done.end(), 0), 64);
    // Now and then long enough for the workers to fall asleep.
    if (i % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

bool note_thread(void* context, int thread, int64_t, int64_t) {
  auto& busy = *static_cast<std::atomic<int>(*)[8]>(context);
  EXPECT_EQ(busy[thread].fetch_add(1), 0) << "a thread number is used twice at once";
  std::this_thread::yield();
  busy[thread].fetch_sub(1);
  return true;
}

// Each task yields: beside others that want the CPUs, that is one of their turns each time, so the calls are bounded by
// time.
TEST(pool, thread_numbers_are_exclusive) {
  ThreadPool pool(8);
  ASSERT_TRUE(pool.try_acquire());
  std::atomic<int> busy[8] = {};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  for (int i = 0; i < 2000 && std::chrono::steady_clock::now() < end; ++i) pool.run(8, 24, 1, &note_thread, &busy);
}

// Threads of others that never sleep, as many as there are CPUs.
class Hogs {
 public:
  Hogs() {
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
      threads_.emplace_back([this] {
        while (!stop_.load(std::memory_order_relaxed)) {
        }
      });
  }
  ~Hogs() {
    stop_.store(true);
    for (std::thread& t : threads_) t.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

bool take_a_while(void* context, int, int64_t begin, int64_t end) {
  const auto begun = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begun < std::chrono::microseconds(50)) {
  }
  static_cast<std::atomic<int64_t>*>(context)->fetch_add(end - begin);
  return true;
}

// Workers that lose their CPUs inside chunks are lent the caller's, and may run everywhere again afterwards.
TEST(pool, beside_others_that_take_the_processors) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  ThreadPool pool(4);
  std::atomic<int64_t> done{0};
  Hogs hogs;
  for (int r = 0; r < 10; ++r) {
    ASSERT_TRUE(pool.try_acquire());
    pool.warm_up(4);
    for (int i = 0; i < 20; ++i) {
      done = 0;
      pool.run(4, 16, 1, &take_a_while, &done);
      ASSERT_EQ(done, 16);
    }
    pool.release();
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      cpu_set_t set;
      ASSERT_EQ(sched_getaffinity(std::stoi(task.path().filename()), sizeof set, &set), 0);
      EXPECT_TRUE(CPU_EQUAL(&set, &allowed));
    }
  }
}

// What a run that ends leaves behind sleeps soon.
TEST(pool, idle_workers_sleep) {
  ThreadPool pool(3);
  std::atomic<int64_t> done{0};
  ASSERT_TRUE(pool.try_acquire());
  pool.run(3, 64, 1, &take_a_while, &done);
  pool.release();
  auto sleeping = [] {
    int n = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream file(task.path() / "stat");
      const std::string stat{std::istreambuf_iterator<char>(file), {}};
      n += stat.substr(stat.rfind(')') + 2, 1) == "S";
    }
    return n;
  };
  while (sleeping() < 2) std::this_thread::yield();  // for ever if they do not
}

TEST(pool, a_forked_child_runs_alone) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "forking with threads";
#endif
  ThreadPool* pool = new ThreadPool(4);  // the child leaves without joining workers that it does not have
  ASSERT_TRUE(pool->try_acquire());
  Marks m{std::vector<int>(100), 7, 4};
  pool->run(4, 100, 7, &mark, &m);
  const pid_t child = fork();
  if (child == 0) {
    pool->run(4, 100, 7, &mark, &m);
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
