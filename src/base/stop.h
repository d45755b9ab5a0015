// Ending a compilation from outside: a flag that whoever compiles sets, and that everything that may take long looks at.
#pragma once
#include <atomic>
#include <exception>

namespace pliant {

// Thrown by poll_stop(). Not a fault: the compilation ends because somebody does not want it any more.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "the compilation was stopped"; }
};

using StopFlag = std::atomic<bool>;

// While one lives, this thread looks at `flag`; null: at none.
class StopScope {
 public:
  explicit StopScope(const StopFlag* flag);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  const StopFlag* before_;
};

// The flag that this thread looks at, for threads that it starts; may be null.
const StopFlag* stop_flag();
bool is_stopped();
// Throws Stopped once the flag is set. A few nanoseconds: to be called wherever more than some milliseconds can pass.
void poll_stop();

}  // namespace pliant
