// How much of the machine this process may use.
#pragma once

namespace pliant::runtime {

// Physical cores that the affinity mask allows (one for each set of sibling hardware threads), at most the cgroup's CPU
// quota rounded up; at least 1.
int default_threads();

}  // namespace pliant::runtime
