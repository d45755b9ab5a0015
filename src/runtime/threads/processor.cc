#include "runtime/threads/processor.h"

#include <time.h>

namespace pliant::runtime {
namespace {

int64_t nanoseconds(clockid_t clock) {
  timespec t;
  if (clock_gettime(clock, &t) != 0) return -1;
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

}  // namespace

int64_t now_ns() { return nanoseconds(CLOCK_MONOTONIC); }

int current_processor() { return sched_getcpu(); }

void ObservedThread::observe(pthread_t thread) {
  thread_ = thread;
  has_clock_ = pthread_getcpuclockid(thread, &clock_) == 0;
}

int64_t ObservedThread::processor_time() const { return has_clock_ ? nanoseconds(clock_) : -1; }

// What its owner allowed it may have changed since the last time.
bool ObservedThread::remember() {
  return remembered_ || (remembered_ = pthread_getaffinity_np(thread_, sizeof before_, &before_) == 0);
}

bool ObservedThread::move_to(int processor) {
  if (processor < 0 || processor >= CPU_SETSIZE || !remember()) return false;
  if (!CPU_ISSET(processor, &before_)) return false;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  return pthread_setaffinity_np(thread_, sizeof one, &one) == 0;
}

bool ObservedThread::keep_off(int processor) {
  if (processor < 0 || processor >= CPU_SETSIZE || !remember()) return false;
  cpu_set_t others = before_;
  CPU_CLR(processor, &others);
  const cpu_set_t& set = CPU_COUNT(&others) > 0 ? others : before_;
  return pthread_setaffinity_np(thread_, sizeof set, &set) == 0;
}

void ObservedThread::restore() {
  if (remembered_) pthread_setaffinity_np(thread_, sizeof before_, &before_);
  remembered_ = false;
}

}  // namespace pliant::runtime
