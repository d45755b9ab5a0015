#include "runtime/pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace pliant::runtime {
namespace {

constexpr int64_t kSpinNs = 100'000;     // a worker between calls
constexpr int64_t kYieldNs = 50'000;     // the caller, before it gives its CPU away while it waits
constexpr int64_t kOverrunNs = 100'000;  // waiting this long for a worker that lost its CPU hints at a crowded machine
constexpr int kOverrunLimit = 8;
constexpr int kCrowdedCalls = 512;
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
    if (until == 0) until = now + ns;
    else if (now >= until) return false;
  }
}

}  // namespace

// `ticket` names the newest call that has a slice for this worker; whoever moves `claimed` to it runs that slice, once. The job
// is not changed before all its slices are done, so a late worker finds either its slice or nothing.
struct alignas(128) ThreadPool::Worker {
  std::atomic<uint32_t> ticket{0};
  std::atomic<uint32_t> claimed{0};
  std::atomic<uint32_t> sleeping{0};
  alignas(64) std::atomic<uint32_t> done{0};
  std::atomic<int64_t> lost{0};  // slices during which it was taken off its CPU; only long ones are looked at
  ThreadPool* pool = nullptr;
  int index = 0;  // also its slice and thread number
  pthread_t thread{};
};

ThreadPool::ThreadPool(int threads) : threads_(std::max(1, threads)) {}

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
      // Announced before the last look at the ticket, which the kernel takes inside the wait: a call that comes in between sees
      // the announcement and wakes.
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
    if (now_ns() - begun > kOverrunNs) {
      const int64_t so_far = preemptions();
      if (so_far != preempted) w.lost.fetch_add(1, std::memory_order_relaxed);
      preempted = so_far;
    }
    w.done.store(seen, std::memory_order_release);
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
  if (crowded_calls_ == 0) return threads_;
  --crowded_calls_;
  return 1;
}

void ThreadPool::wait_for(Worker& w, uint32_t done) {
  auto ready = [&] { return w.done.load(std::memory_order_acquire) == done; };
  while (!spin(kYieldNs, ready)) sched_yield();
}

void ThreadPool::note_wait(int64_t own_ns, int64_t waited_ns, int workers) {
  int64_t lost = lost_;
  if (waited_ns > kOverrunNs && waited_ns > own_ns) {
    lost = 0;
    for (int i = 1; i <= workers; ++i) lost += workers_[static_cast<size_t>(i)].lost.load(std::memory_order_relaxed);
  }
  if (lost == lost_) {
    overruns_ = std::max(0, overruns_ - 1);
  } else if (++overruns_ >= kOverrunLimit) {
    overruns_ = kOverrunLimit / 2;
    crowded_calls_ = kCrowdedCalls;
  }
  lost_ = lost;
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
    w.done.store(ticket_, std::memory_order_relaxed);
  }
  const int64_t finished = workers > 0 ? now_ns() : begun;
  bool waited = false;
  for (int i = 1; i <= workers; ++i) {
    Worker& w = workers_[static_cast<size_t>(i)];
    if (w.done.load(std::memory_order_acquire) == ticket_) continue;
    wait_for(w, ticket_);
    waited = true;
  }
  if (workers > 0) note_wait(finished - begun, waited ? now_ns() - finished : 0, workers);
}

}  // namespace pliant::runtime
