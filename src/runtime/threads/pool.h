// The threads of one loaded model. A parallel call divides its task grid [0, tasks) into one contiguous slice a thread, and
// each slice into chunks. A thread runs the chunks of its own slice in order, then those that are left of the others': which
// thread runs a task is not fixed, how often is: once. The caller takes part, so a worker that sleeps, or that another
// process keeps off its CPU, costs nothing but its help.
//
// Workers wait for the next call by spinning, for longer while a run has the pool than between runs, and then sleep; one
// that loses its CPU while it spins sleeps at once, since somebody else has work to do there. No thread is pinned to a CPU,
// but when the caller finds that a worker was stopped inside its last chunk, it lends it its own CPU, and then keeps that
// worker off it until the run ends (processor.h).
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

namespace pliant::runtime {

class ThreadPool {
 public:
  // Runs tasks [begin, end) as thread `thread`, which is in [0, slices) and runs nothing else meanwhile. False: no later
  // chunk of the slice needs to run.
  using Chunk = bool (*)(void* context, int thread, int64_t begin, int64_t end);

  // `threads` counts the caller. Workers start with the first parallel call; those that the system refuses are done without.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;

  int threads() const { return threads_; }
  // One run at a time has the pool; another that asks meanwhile is told no and runs serially.
  bool try_acquire() { return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire); }
  void release();
  // Wakes up to `threads - 1` sleeping workers ahead of the first call. Only with the pool acquired.
  void warm_up(int threads);
  // Only with the pool acquired; `slices` in [1, threads()], `grain` >= 1 the tasks of a chunk.
  void run(int slices, int64_t tasks, int64_t grain, Chunk chunk, void* context);

 private:
  struct Worker;
  struct Job {
    Chunk chunk = nullptr;
    void* context = nullptr;
    int64_t tasks = 0, grain = 1;
    int slices = 0;
  };
  struct Range {
    int64_t begin, end;
  };
  static void* worker_main(void* worker);
  void start_workers();
  void work(Worker& w);
  uint64_t next_call(Worker& w, uint64_t seen);
  bool is_in_the_way(Worker& w) const;
  bool spin_for_call(Worker& w, uint64_t seen) const;
  bool has_call(const Worker& w, uint64_t seen) const;
  void wake_children(int index, int threads);
  Range slice_range(int slice) const;
  int64_t chunks_of(int slice) const;
  int64_t help(Worker& w, uint32_t ticket, int slices);
  int64_t run_slice(Worker& w, int slice, uint32_t ticket);
  static int64_t take_rest(std::atomic<uint64_t>& left, uint64_t& seen);
  void finish(Worker& w, int64_t chunks);
  void wait_for_helpers();
  Worker* stopped_worker(int64_t now);
  void sleep_until_woken();
  void keep_off(Worker& w, int processor);

  const int threads_;
  int started_ = 0;
  bool start_tried_ = false;
  uint32_t ticket_ = 0;                // of the newest call
  std::unique_ptr<Worker[]> workers_;  // the first is the caller
  std::unique_ptr<std::atomic<uint64_t>[]> open_;
  bool any_kept_off_ = false;
  alignas(128) std::atomic<bool> taken_{false};
  // The newest call: its ticket above, the threads it may use below; kStop.
  alignas(128) std::atomic<uint64_t> call_{0};
  Job job_;                                          // changes only when no chunk of a call is left
  std::atomic<int> processor_{-1};                   // where the caller was last seen
  alignas(128) std::atomic<int64_t> unfinished_{0};  // chunks of the newest call
  alignas(128) std::atomic<uint32_t> caller_sleeps_{0};
};

}  // namespace pliant::runtime
