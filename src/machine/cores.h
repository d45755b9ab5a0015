// How many cores the machine has, and how much of it this process may use.
#pragma once

namespace pliant::machine {

// Physical cores of the machine, whatever this process may use; at least 1.
int machine_cores();
// Physical cores that the affinity mask allows (one for each set of sibling hardware threads), at most the cgroup's CPU
// quota rounded up; at least 1.
int default_threads();

}  // namespace pliant::machine
