#include "base/stop.h"

namespace pliant {
namespace {

thread_local const StopFlag* current = nullptr;

}  // namespace

StopScope::StopScope(const StopFlag* flag) : before_(current) { current = flag; }
StopScope::~StopScope() { current = before_; }

const StopFlag* stop_flag() { return current; }

bool is_stopped() { return current != nullptr && current->load(std::memory_order_relaxed); }

void poll_stop() {
  if (is_stopped()) throw Stopped();
}

}  // namespace pliant
