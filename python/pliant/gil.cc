#include "gil.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "job.h"

namespace nb = nanobind;

namespace pliant::python {
namespace {

std::atomic<bool> ending{false};
std::atomic<int> returning{0};  // threads between the question whether it ends and the lock
unsigned long main_thread = 0;
// The flags of runs in flight; guarded by the lock. Never freed: threads may outlive static destructors.
std::vector<int32_t*>& running() {
  static auto* flags = new std::vector<int32_t*>;
  return *flags;
}

}  // namespace

GilRelease::~GilRelease() {
  returning.fetch_add(1);
  if (ending.load() && !is_main_thread()) {
    returning.fetch_sub(1);
    for (;;) pause();
  }
  PyEval_RestoreThread(state_);
  returning.fetch_sub(1);
}

RunningScope::RunningScope(int32_t& stop) : stop_(&stop) { running().push_back(stop_); }
RunningScope::~RunningScope() {
  std::vector<int32_t*>& flags = running();
  flags.erase(std::find(flags.begin(), flags.end(), stop_));
}

void remember_main_thread() {
  main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
}
bool is_shutting_down() { return ending.load(); }
bool is_main_thread() { return PyThread_get_thread_ident() == main_thread; }

void shut_down() {
  ending.store(true);
  for (int32_t* stop : running()) __atomic_store_n(stop, 1, __ATOMIC_RELAXED);
  stop_jobs();
  GilRelease unlocked;
  while (returning.load() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace pliant::python
