// Work without Python's lock, also while the interpreter ends: a daemon thread that would take the lock again then must not,
// since Python ends the thread in a way that C++ cannot survive.
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>

namespace pliant::python {

// In place of nb::gil_scoped_release. Once shut_down() has begun, threads other than Python's main one stay in the
// destructor for ever.
class GilRelease {
 public:
  GilRelease() : state_(PyEval_SaveThread()) {}
  ~GilRelease();
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  PyThreadState* state_;
};

// A run's stop flag, which shut_down() sets. With the lock held.
class RunningScope {
 public:
  explicit RunningScope(int32_t& stop);
  ~RunningScope();
  RunningScope(const RunningScope&) = delete;
  RunningScope& operator=(const RunningScope&) = delete;

 private:
  int32_t* stop_;
};

// With the lock held, on any thread, before the first GilRelease.
void remember_main_thread();
bool is_main_thread();
// Before the interpreter ends: stops runs and compilations, and returns when no thread of ours is in the compiler or about
// to take the lock. Called by Python's atexit.
void shut_down();
bool is_shutting_down();

}  // namespace pliant::python
