#include "runtime/threads/pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "runtime/threads/processor.h"

namespace pliant::runtime {
namespace {

constexpr int64_t kSpinNs = 100'000;         // a worker between runs, before it sleeps
constexpr int64_t kSpinInRunNs = 1'000'000;  // while a run has the pool: what calls on one thread may take between others
constexpr int64_t kLostNs = 200'000;         // between two looks at the clock: the spinning thread lost its CPU
constexpr int64_t kPatienceNs = 40'000;      // the caller for the last chunks, before it looks whether their threads run
constexpr int64_t kSleepNs = 2'000'000;      // the caller, before it looks again
constexpr int kChildren = 4;                 // sleeping workers that one thread wakes
constexpr uint64_t kStop = 0x7fffffff;       // for `call_`: ticket 0, for all threads
constexpr int kTicketShift = 32;

uint32_t ticket_of(uint64_t call) { return static_cast<uint32_t>(call >> kTicketShift); }
int64_t low_of(uint64_t call) { return static_cast<int64_t>(call & 0xffffffff); }

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

void futex_wait(std::atomic<uint32_t>& word, uint32_t while_value, const timespec* at_most = nullptr) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, while_value, at_most, nullptr, 0);
}

// `sleeps` is 1 from before its thread's last look at what it waits for until somebody wakes it.
void wake(std::atomic<uint32_t>& sleeps) {
  if (sleeps.load() != 0 && sleeps.exchange(0) != 0) syscall(SYS_futex, &sleeps, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace

// `left` counts the chunks of the worker's slice that nobody has taken, below the ticket of the call that they belong to:
// a thread that comes late to a call finds another ticket there.
struct alignas(128) ThreadPool::Worker {
  std::atomic<uint64_t> left{0};
  alignas(128) std::atomic<uint32_t> sleeps{0};
  std::atomic<uint32_t> holds{0};       // the ticket of the call that this thread runs a chunk of; 0: none
  std::atomic<bool> in_the_way{false};  // it found itself on the caller's CPU
  // Of the caller.
  alignas(128) ObservedThread thread;
  int kept_off = -1;
  uint32_t sampled_in = 0;  // a ticket
  int64_t sampled_at = 0, sampled = 0;
  ThreadPool* pool = nullptr;
  int index = 0;
  pthread_t handle{};
};

ThreadPool::ThreadPool(int threads) : threads_(std::max(1, threads)) {}

ThreadPool::~ThreadPool() {
  call_.store(kStop);
  for (int i = 1; i <= started_; ++i) wake(workers_[static_cast<size_t>(i)].sleeps);
  for (int i = 1; i <= started_; ++i) pthread_join(workers_[static_cast<size_t>(i)].handle, nullptr);
}

void ThreadPool::start_workers() {
  start_tried_ = true;
  workers_ = std::make_unique<Worker[]>(static_cast<size_t>(threads_));
  open_ = std::make_unique<std::atomic<uint64_t>[]>(static_cast<size_t>((threads_ + 63) / 64));
  for (int i = 0; i < threads_; ++i) {
    Worker& w = workers_[static_cast<size_t>(i)];
    w.pool = this;
    w.index = i;
    if (i == 0) continue;
    if (pthread_create(&w.handle, nullptr, &worker_main, &w) != 0) break;
    w.thread.observe(w.handle);
    started_ = i;
  }
}

void* ThreadPool::worker_main(void* worker) {
  Worker& w = *static_cast<Worker*>(worker);
  w.pool->work(w);
  return nullptr;
}

bool ThreadPool::has_call(const Worker& w, uint64_t seen) const {
  const uint64_t call = call_.load();
  return call != seen && w.index < low_of(call);
}

// Whether the worker takes the caller's CPU from it.
bool ThreadPool::is_in_the_way(Worker& w) const {
  if (current_processor() != processor_.load(std::memory_order_relaxed)) return false;
  w.in_the_way.store(true, std::memory_order_relaxed);
  return true;
}

// False when there was no call for the worker in time, or somebody else needs its CPU.
bool ThreadPool::spin_for_call(Worker& w, uint64_t seen) const {
  for (int64_t start = 0, last = 0;;) {
    for (int i = 0; i < 32; ++i) {
      if (has_call(w, seen)) return true;
      relax();
    }
    const int64_t now = now_ns();
    if (start == 0) {
      start = now;
      if (is_in_the_way(w)) return false;
    } else if (now - last > kLostNs || now - start > (taken_.load(std::memory_order_relaxed) ? kSpinInRunNs : kSpinNs)) {
      return false;
    }
    last = now;
  }
}

uint64_t ThreadPool::next_call(Worker& w, uint64_t seen) {
  while (!spin_for_call(w, seen)) {
    w.sleeps.store(1);
    if (has_call(w, seen)) {
      w.sleeps.store(0);
      break;
    }
    while (w.sleeps.load() != 0) futex_wait(w.sleeps, 1);
  }
  return call_.load();
}

void ThreadPool::work(Worker& w) {
  for (uint64_t call = 0; (call = next_call(w, call)) != kStop;) {
    const auto threads = static_cast<int>(low_of(call));
    if (w.index >= threads) continue;  // the call that it saw ended meanwhile, and this one is for fewer
    wake_children(w.index, threads);
    const int64_t done = help(w, ticket_of(call), threads);
    if (done > 0) finish(w, done);
  }
}

void ThreadPool::wake_children(int index, int threads) {
  const int first = index * kChildren + 1, end = std::min(first + kChildren, std::min(threads, started_ + 1));
  for (int i = first; i < end; ++i) wake(workers_[static_cast<size_t>(i)].sleeps);
}

ThreadPool::Range ThreadPool::slice_range(int slice) const {
  const __int128 tasks = job_.tasks;
  return {static_cast<int64_t>(tasks * slice / job_.slices), static_cast<int64_t>(tasks * (slice + 1) / job_.slices)};
}

int64_t ThreadPool::chunks_of(int slice) const {
  const Range r = slice_range(slice);
  return (r.end - r.begin + job_.grain - 1) / job_.grain;
}

// Takes what is left of a slice, of the call that `seen` belongs to, without running it: so many chunks.
int64_t ThreadPool::take_rest(std::atomic<uint64_t>& left, uint64_t& seen) {
  const uint32_t ticket = ticket_of(seen);
  while (ticket_of(seen) == ticket && low_of(seen) > 0)
    if (left.compare_exchange_weak(seen, uint64_t{ticket} << kTicketShift, std::memory_order_acq_rel,
                                   std::memory_order_acquire)) {
      const int64_t taken = low_of(seen);
      seen = uint64_t{ticket} << kTicketShift;
      return taken;
    }
  return 0;
}

// How many chunks this thread ran, or took because they need not run. The job may be looked at only between taking a chunk
// and finishing it.
int64_t ThreadPool::run_slice(Worker& w, int slice, uint32_t ticket) {
  std::atomic<uint64_t>& left = workers_[static_cast<size_t>(slice)].left;
  int64_t done = 0;
  for (uint64_t seen = left.load(std::memory_order_acquire); ticket_of(seen) == ticket && low_of(seen) > 0;) {
    if (!left.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
    const int64_t number = low_of(seen);
    if (number == 1)
      open_[static_cast<size_t>(slice / 64)].fetch_and(~(uint64_t{1} << (slice % 64)), std::memory_order_relaxed);
    if (w.index != 0 && w.holds.load(std::memory_order_relaxed) != ticket) w.holds.store(ticket, std::memory_order_relaxed);
    const Range r = slice_range(slice);
    const int64_t begin = r.begin + (chunks_of(slice) - number) * job_.grain;
    const bool goes_on = job_.chunk(job_.context, w.index, begin, std::min(begin + job_.grain, r.end));
    ++done;
    seen = left.load(std::memory_order_acquire);
    if (!goes_on) done += take_rest(left, seen);
  }
  return done;
}

int64_t ThreadPool::help(Worker& w, uint32_t ticket, int slices) {
  int64_t done = run_slice(w, w.index, ticket);
  // Of the others those after it come first, so that helpers spread.
  const int words = (slices + 63) / 64;
  for (int i = 0; i <= words; ++i) {
    const int word = (w.index / 64 + i) % words;
    uint64_t open = open_[static_cast<size_t>(word)].load(std::memory_order_relaxed);
    if (i == 0) open &= ~uint64_t{0} << (w.index % 64);
    for (; open != 0; open &= open - 1) {
      const int slice = word * 64 + std::countr_zero(open);
      if (slice < slices) done += run_slice(w, slice, ticket);
    }
  }
  return done;
}

void ThreadPool::finish(Worker& w, int64_t chunks) {
  w.holds.store(0, std::memory_order_relaxed);
  unfinished_.fetch_sub(chunks);
  wake(caller_sleeps_);
}

void ThreadPool::keep_off(Worker& w, int processor) {
  if (w.thread.keep_off(processor)) w.kept_off = processor, any_kept_off_ = true;
}

void ThreadPool::release() {
  if (any_kept_off_)
    for (int i = 1; i <= started_; ++i) {
      Worker& w = workers_[static_cast<size_t>(i)];
      if (w.kept_off >= 0) w.thread.restore();
      w.kept_off = -1;
    }
  any_kept_off_ = false;
  taken_.store(false, std::memory_order_release);
}

void ThreadPool::warm_up(int threads) {
  if (!start_tried_) start_workers();
  for (int i = 1; i < threads && i <= started_; ++i) wake(workers_[static_cast<size_t>(i)].sleeps);
}

void ThreadPool::sleep_until_woken() {
  caller_sleeps_.store(1);
  if (unfinished_.load() != 0) {
    const timespec t{0, kSleepNs};
    futex_wait(caller_sleeps_, 1, &t);
  }
  caller_sleeps_.store(0);
}

// A worker that holds chunks and stood still since the last look at it.
ThreadPool::Worker* ThreadPool::stopped_worker(int64_t now) {
  Worker* found = nullptr;
  for (int i = 1; i < job_.slices && i <= started_; ++i) {
    Worker& w = workers_[static_cast<size_t>(i)];
    if (w.holds.load(std::memory_order_relaxed) != ticket_) continue;
    const int64_t ran = w.thread.processor_time();
    if (ran < 0) continue;
    if (w.sampled_in == ticket_ && (ran - w.sampled) * 4 < now - w.sampled_at && found == nullptr) found = &w;
    w.sampled_in = ticket_;
    w.sampled_at = now;
    w.sampled = ran;
  }
  return found;
}

void ThreadPool::wait_for_helpers() {
  for (int64_t start = 0, last = 0;;) {
    for (int i = 0; i < 32; ++i) {
      if (unfinished_.load(std::memory_order_acquire) == 0) return;
      relax();
    }
    const int64_t now = now_ns();
    if (start == 0) start = last = now;
    if (now - last < kPatienceNs) continue;
    last = now;
    Worker* w = stopped_worker(now);
    if (w == nullptr && now - start < kSpinInRunNs) continue;
    const int here = current_processor();
    const bool moved = w != nullptr && w->thread.move_to(here);
    do sleep_until_woken();
    while (moved && w->holds.load(std::memory_order_relaxed) == ticket_);
    if (moved) keep_off(*w, here);
  }
}

void ThreadPool::run(int slices, int64_t tasks, int64_t grain, Chunk chunk, void* context) {
  if (!start_tried_) start_workers();
  if (tasks == 0) return;
  slices = static_cast<int>(std::min<int64_t>(slices, tasks));
  job_ = {chunk, context, tasks, std::max<int64_t>(grain, tasks >> 30), slices};
  if (++ticket_ == 0) ++ticket_;
  int64_t chunks = 0;
  for (int s = 0; s < slices; ++s) {
    const int64_t n = chunks_of(s);
    chunks += n;
    workers_[static_cast<size_t>(s)].left.store(uint64_t{ticket_} << kTicketShift | static_cast<uint64_t>(n),
                                                std::memory_order_relaxed);
  }
  for (int s = 0; s < slices; s += 64)
    open_[static_cast<size_t>(s / 64)].store(slices - s >= 64 ? ~uint64_t{0} : (uint64_t{1} << (slices - s)) - 1,
                                             std::memory_order_relaxed);
  unfinished_.store(chunks, std::memory_order_relaxed);
  const int here = current_processor();
  if (processor_.load(std::memory_order_relaxed) != here) processor_.store(here, std::memory_order_relaxed);
  for (int i = 1; i < slices && i <= started_; ++i) {
    Worker& w = workers_[static_cast<size_t>(i)];
    const bool in_the_way = w.in_the_way.load(std::memory_order_relaxed);
    if (in_the_way) w.in_the_way.store(false, std::memory_order_relaxed);
    if (in_the_way || (w.kept_off >= 0 && w.kept_off != here)) keep_off(w, here);
  }
  call_.store(uint64_t{ticket_} << kTicketShift | static_cast<uint64_t>(slices));
  wake_children(0, slices);
  unfinished_.fetch_sub(help(workers_[0], ticket_, slices));
  wait_for_helpers();
}

}  // namespace pliant::runtime
