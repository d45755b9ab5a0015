// Ctrl-C during a run: the run's stop flag is set by the signal itself, since no Python code runs until the run ends.
#pragma once
#include <cstdint>

namespace pliant::python {

// While one lives on Python's main thread, SIGINT sets `stop`, beside what it does otherwise. On other threads, and where
// SIGINT does not mean KeyboardInterrupt, it does nothing.
class InterruptScope {
 public:
  explicit InterruptScope(int32_t& stop);  // with the GIL held
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  bool active_ = false;
};

}  // namespace pliant::python
