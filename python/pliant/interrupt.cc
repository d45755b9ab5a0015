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

// What is asked before every run, found once. Never freed: the interpreter may be gone before this library.
struct Python {
  nb::object getsignal, default_handler, interrupt = nb::int_(SIGINT);
  unsigned long main_thread;
  Python() {
    // The module below `signal`, which does not look its answers up in an enum.
    nb::module_ signal = nb::module_::import_("_signal");
    getsignal = signal.attr("getsignal");
    default_handler = signal.attr("default_int_handler");
    main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  }
};
const Python& python() {
  static const Python* found = new Python;
  return *found;
}

// Puts our handler before Python's, and leaves it there: one that passes signals on is harmless between runs.
bool is_installed() {
  struct sigaction now;
  if (sigaction(SIGINT, nullptr, &now) != 0) return false;
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &on_interrupt) return true;
  before = now;
  now.sa_flags |= SA_SIGINFO;
  now.sa_sigaction = &on_interrupt;
  return sigaction(SIGINT, &now, nullptr) == 0;
}

}  // namespace

InterruptScope::InterruptScope(int32_t& stop) {
  const Python& p = python();
  if (PyThread_get_thread_ident() != p.main_thread || flag.load() != nullptr) return;
  if (!p.getsignal(p.interrupt).is(p.default_handler) || !is_installed()) return;
  flag.store(&stop);
  active_ = true;
}

InterruptScope::~InterruptScope() {
  if (active_) flag.store(nullptr);
}

}  // namespace pliant::python
