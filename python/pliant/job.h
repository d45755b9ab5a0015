// Long work on a thread of its own, so that Python's main thread can see Ctrl-C meanwhile.
#pragma once
#include <nanobind/nanobind.h>

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace pliant::python {

// An artifact, or nothing where the work gives none.
using Artifact = Result<std::vector<std::byte>>;
using Progress = std::function<void(const std::string& stage, double fraction)>;

// Runs `work`, which owns what it uses or has it from `keep`, and returns what it gives; called with Python's lock, which is
// released meanwhile. Throws Python's error when a signal's handler raises one: `work` is told to stop then (base/stop.h),
// and what is left of it, at most one function in LLVM's hands or one call of the system, ends on its own. `progress` is
// called with the lock, or null. Of the exceptions of `work` std::bad_alloc and InternalError get through, others become
// InternalErrors.
Artifact run_job(std::function<Artifact(const Progress& report)> work, nanobind::object keep, const Progress& progress);

// For shut_down(): tells all jobs to stop and waits for their ends.
void stop_jobs();

}  // namespace pliant::python
