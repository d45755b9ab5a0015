#include "interrupt.h"

#include <nanobind/nanobind.h>

#include <atomic>
#include <csignal>

namespace nb = nanobind;

namespace pliant::python {
namespace {

// What the handler works on: signals are the process's, so this is too. Only Python's main thread changes it.
std::atomic<int32_t*> flag{nullptr};
struct sigaction before;

void on_interrupt(int number, siginfo_t* info, void* context) {
  if (int32_t* stop = flag.load()) __atomic_store_n(stop, 1, __ATOMIC_RELAXED);
  if (before.sa_flags & SA_SIGINFO)
    before.sa_sigaction(number, info, context);
  else if (before.sa_handler != SIG_IGN && before.sa_handler != SIG_DFL)
    before.sa_handler(number);
}

// The module below `signal`, which does not look its answers up in an enum.
bool means_keyboard_interrupt() {
  nb::module_ signal = nb::module_::import_("_signal");
  nb::object handler = signal.attr("getsignal")(SIGINT);
  return handler.is(signal.attr("default_int_handler"));
}

bool on_main_thread() {
  nb::module_ threading = nb::module_::import_("threading");
  return nb::object(threading.attr("current_thread")()).is(threading.attr("main_thread")());
}

}  // namespace

InterruptScope::InterruptScope(int32_t& stop) {
  if (flag.load() != nullptr || !on_main_thread() || !means_keyboard_interrupt()) return;
  flag.store(&stop);
  struct sigaction ours = {};
  ours.sa_sigaction = &on_interrupt;
  ours.sa_flags = SA_SIGINFO | SA_RESTART;
  active_ = sigaction(SIGINT, &ours, &before) == 0;
  if (!active_) flag.store(nullptr);
}

InterruptScope::~InterruptScope() {
  if (!active_) return;
  sigaction(SIGINT, &before, nullptr);
  flag.store(nullptr);
}

}  // namespace pliant::python
