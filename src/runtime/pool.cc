#include "runtime/pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace pliant::runtime {
namespace {

constexpr int64_t kSpinNs = 100'000;  // a worker between calls, and the caller that waits for one, before they sleep
constexpr int64_t kOverrunNs =
    100'000;                       // a call that took this much longer than its longest slice hints at a crowded machine
constexpr int kOverrunLimit = 8;   // so many in near succession, and calls run on one thread
constexpr int kRetryOverruns = 6;  // what counts already when the pool tries again
constexpr int64_t kCrowdedNs = 50'000'000;  // on one thread at first; doubled each time that trying again fails
constexpr int64_t kMostCrowdedNs = 2'000'000'000;
constexpr uint32_t kStop = 1;  // a ticket; those of calls are even

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

void futex_wait(std::atomic<uint32_t>& word, uint32_t while_value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, while_value, nullptr, nullptr, 0);
}
void futex_wake(std::atomic<uint32_t>& word) { syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

// How often the system took this thread off its CPU.
int64_t preemptions() {
  rusage r;
  return getrusage(RUSAGE_THREAD, &r) == 0 ? r.ru_nivcsw : 0;
}

// Spins until `ready` or for `ns`; true when ready.
template <class Ready>
bool spin(int64_t ns, Ready ready) {
  for (int64_t until = 0;;) {
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
      relax();
    }
    const int64_t now = now_ns();
    if (until == 0)
      until = now + ns;
    else if (now >= until)
      return false;
  }
}

}  // namespace

// `ticket` names the newest call that has a slice for this worker; whoever moves `claimed` to it runs that slice, once. The
// job is not changed before all its slices are done, so a late worker finds either its slice or nothing.
struct alignas(128) ThreadPool::Worker {
  std::atomic<uint32_t> ticket{0};
  std::atomic<uint32_t> claimed{0};
  std::atomic<uint32_t> sleeping{0};
  alignas(64) std::atomic<uint32_t> done{0};
  std::atomic<uint32_t> awaited{0};  // the caller sleeps on `done`
  // About the slice that `done` names.
  int64_t slice_ns = 0;
  bool preempted = false;  // looked at only for long slices
  ThreadPool* pool = nullptr;
  int index = 0;  // also its slice and thread number
  pthread_t thread{};
};

ThreadPool::ThreadPool(int threads) : threads_(std::max(1, threads)), crowded_ns_(kCrowdedNs) {}

ThreadPool::~ThreadPool() {
  for (int i = 1; i <= started_; ++i) {
    Worker& w = workers_[static_cast<size_t>(i)];
    w.ticket.store(kStop);
    futex_wake(w.ticket);
    pthread_join(w.thread, nullptr);
  }
}

void ThreadPool::start_workers() {
  start_tried_ = true;
  workers_ = std::make_unique<Worker[]>(static_cast<size_t>(threads_));
  for (int i = 1; i < threads_; ++i) {
    Worker& w = workers_[static_cast<size_t>(i)];
    w.pool = this;
    w.index = i;
    if (pthread_create(&w.thread, nullptr, &worker_main, &w) != 0) break;
    started_ = i;
  }
}

void* ThreadPool::worker_main(void* worker) {
  Worker& w = *static_cast<Worker*>(worker);
  w.pool->work(w);
  return nullptr;
}

void ThreadPool::work(Worker& w) {
  uint32_t seen = 0;
  int64_t preempted = 0;
  for (;;) {
    auto ready = [&] { return w.ticket.load(std::memory_order_acquire) != seen; };
    while (!spin(kSpinNs, ready)) {
      // Announced before the last look at the ticket, which the kernel takes inside the wait: a call that comes in between
      // sees the announcement and wakes.
      w.sleeping.store(1);
      futex_wait(w.ticket, seen);
      w.sleeping.store(0);
    }
    seen = w.ticket.load(std::memory_order_acquire);
    if (seen == kStop) return;
    uint32_t before = seen - 2;
    if (!w.claimed.compare_exchange_strong(before, seen, std::memory_order_acq_rel)) continue;
    const int64_t begun = now_ns();
    run_slice(w.index, w.index);
    w.slice_ns = now_ns() - begun;
    w.preempted = false;
    if (w.slice_ns > kOverrunNs) {
      const int64_t so_far = preemptions();
      w.preempted = so_far != preempted;
      preempted = so_far;
    }
    w.done.store(seen);
    if (w.awaited.load() != 0) futex_wake(w.done);
  }
}

void ThreadPool::run_slice(int slice, int thread) {
  const __int128 tasks = job_.tasks;
  const auto begin = static_cast<int64_t>(tasks * slice / job_.slices);
  const auto end = static_cast<int64_t>(tasks * (slice + 1) / job_.slices);
  job_.slice(job_.context, slice, thread, begin, end);
}

void ThreadPool::warm_up(int threads) {
  if (!start_tried_) start_workers();
  for (int i = 1; i < threads && i <= started_; ++i) {
    Worker& w = workers_[static_cast<size_t>(i)];
    if (w.sleeping.load(std::memory_order_relaxed) != 0) futex_wake(w.ticket);
  }
}

int ThreadPool::threads_now() {
  if (crowded_until_ == 0) return threads_;
  if (now_ns() < crowded_until_) return 1;
  crowded_until_ = 0;
  return threads_;
}

// Sleeping, not yielding: a thread that yields on a crowded machine gets its CPU back after everybody else's turn, one that
// is woken gets it soon.
void ThreadPool::wait_for(Worker& w, uint32_t done) {
  auto ready = [&] { return w.done.load(std::memory_order_acquire) == done; };
  if (spin(kSpinNs, ready)) return;
  w.awaited.store(1);
  for (uint32_t seen; (seen = w.done.load()) != done;) futex_wait(w.done, seen);
  w.awaited.store(0);
}

void ThreadPool::note_call(bool overrun) {
  if (!overrun) {
    if (overruns_ > 0 && --overruns_ == 0) crowded_ns_ = kCrowdedNs;
    return;
  }
  if (++overruns_ < kOverrunLimit) return;
  overruns_ = kRetryOverruns;
  crowded_until_ = now_ns() + crowded_ns_;
  crowded_ns_ = std::min(2 * crowded_ns_, kMostCrowdedNs);
}

void ThreadPool::run(int slices, int64_t tasks, Slice slice, void* context) {
  if (!start_tried_ && slices > 1) start_workers();
  job_ = {slice, context, tasks, slices};
  // A worker left out of some calls has an old `claimed`; it must be the ticket before this one.
  ticket_ += 2;
  const int workers = std::min(slices - 1, started_);
  for (int i = 1; i <= workers; ++i) {
    Worker& w = workers_[static_cast<size_t>(i)];
    w.claimed.store(ticket_ - 2, std::memory_order_relaxed);
    w.ticket.store(ticket_);
    if (w.sleeping.load() != 0) futex_wake(w.ticket);
  }
  const int64_t begun = now_ns();
  run_slice(0, 0);
  for (int s = workers + 1; s < slices; ++s) run_slice(s, 0);
  // Backwards: the workers woken last are the least likely to have begun.
  for (int i = workers; i >= 1; --i) {
    uint32_t before = ticket_ - 2;
    Worker& w = workers_[static_cast<size_t>(i)];
    if (!w.claimed.compare_exchange_strong(before, ticket_, std::memory_order_acq_rel)) continue;
    run_slice(i, 0);
    w.slice_ns = 0;
    w.preempted = false;
    w.done.store(ticket_, std::memory_order_relaxed);
  }
  if (workers == 0) return;
  int64_t longest = now_ns() - begun;
  bool preempted = false;
  for (int i = 1; i <= workers; ++i) {
    Worker& w = workers_[static_cast<size_t>(i)];
    if (w.done.load(std::memory_order_acquire) != ticket_) wait_for(w, ticket_);
    longest = std::max(longest, w.slice_ns);
    preempted = preempted || w.preempted;
  }
  const int64_t beyond = now_ns() - begun - longest;
  note_call(beyond > kOverrunNs || preempted);
}

}  // namespace pliant::runtime
