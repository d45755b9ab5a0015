// Where a thread runs, whether it does, and for how long.
#pragma once
#include <pthread.h>
#include <sched.h>

#include <cstdint>

namespace pliant::runtime {

int64_t now_ns();
// -1 when unknown.
int current_processor();

// Another thread of this process, seen from outside. All of it is best effort: a system that refuses is no error.
class ObservedThread {
 public:
  void observe(pthread_t thread);
  // Nanoseconds that it ran; -1 when unknown.
  int64_t processor_time() const;
  // Moves it to that processor alone, until `keep_off` or `restore`. False when refused, or when it might
  // not run there anyway.
  bool move_to(int processor);
  // Lets it run where it might before `move_to`, but for that processor, unless there is no other.
  bool keep_off(int processor);
  void restore();

 private:
  bool remember();

  pthread_t thread_{};
  clockid_t clock_{};
  bool known_ = false, has_clock_ = false, remembered_ = false;
  cpu_set_t before_{};
};

}  // namespace pliant::runtime
