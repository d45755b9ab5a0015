// The threads of one loaded model. A parallel call divides its task grid [0, tasks) into one contiguous slice a thread,
// always the same for the same count, and returns when all are done. The caller runs slice 0, then any slice that no worker
// has begun: a worker that sleeps, or that another process keeps off its CPU, costs nothing but its help.
//
// Workers wait for the next call by spinning for a bounded time and then sleep; nothing is ever pinned to a CPU. When calls
// keep taking much longer than their slices, or slices are interrupted (the machine is shared with others), calls run on one
// thread for a while.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

namespace pliant::runtime {

class ThreadPool {
 public:
  // Runs tasks [begin, end) as thread `thread`, which is in [0, threads) and runs nothing else meanwhile.
  using Slice = void (*)(void* context, int slice, int thread, int64_t begin, int64_t end);

  // `threads` counts the caller. Workers start with the first parallel call; those that the system refuses are done without.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;

  int threads() const { return threads_; }
  // One run at a time has the pool; another that asks meanwhile is told no and runs serially.
  bool try_acquire() { return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire); }
  void release() { taken_.store(false, std::memory_order_release); }
  // Wakes up to `threads - 1` sleeping workers ahead of the first call. Only with the pool acquired.
  void warm_up(int threads);
  // Only with the pool acquired; `slices` in [1, threads()].
  void run(int slices, int64_t tasks, Slice slice, void* context);
  // How many threads the next call should use: threads(), or one for a while on a crowded machine. Only with the pool
  // acquired, once a call.
  int threads_now();

 private:
  struct Worker;
  struct Job {
    Slice slice = nullptr;
    void* context = nullptr;
    int64_t tasks = 0;
    int slices = 0;
  };
  static void* worker_main(void* worker);
  void work(Worker& w);
  void start_workers();
  void run_slice(int slice, int thread);
  void wait_for(Worker& w, uint32_t done);
  void note_call(bool overrun);

  const int threads_;
  int started_ = 0;
  bool start_tried_ = false;
  std::atomic<bool> taken_{false};
  Job job_;
  uint32_t ticket_ = 0;        // of the current call; even
  int overruns_ = 0;           // recent calls that took much longer than their slices, or had one interrupted
  int64_t crowded_until_ = 0;  // when to try more threads again; 0: not crowded
  int64_t crowded_ns_;         // for how long the next time
  std::unique_ptr<Worker[]> workers_;
};

}  // namespace pliant::runtime
