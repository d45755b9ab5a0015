// Passes over loop functions between lowering and the printer of a back end, one a file. Each takes any function that
// verifies and gives one that verifies, does the same and has the property that its declaration states; the passes behind it
// keep that property.
#pragma once
#include <functional>
#include <span>
#include <string>

#include "loop/loop.h"

namespace pliant::loop {

// What the passes know of the machine, and of whom to tell.
struct PassOptions {
  int64_t most_lanes = 1;      // of one vector loop, a power of two; 1: no loop becomes vectors
  bool masked_memory = false;  // loads and stores of some lanes cost no more than those of all
  // What is done in a slower way than was asked for, and why.
  std::function<void(const std::string&)> remark;
};

// collapse.cc: there is at most one Parallel loop, and it is the function's body. Lets in it give the indices of a task grid
// of several loops.
Function collapse(const Function& f, expr::Context& ctx, const PassOptions& options);

// vectorize.cc: a Vector loop has a power of two of lanes, at most `most_lanes` and at least two, is in no other one, and
// its lanes run the same statements: no While, Let or Scratch Alloc is inside, and how often inner loops run is the same for
// all lanes. Loops of other lengths become several; a loop that cannot be one becomes Serial, with a remark. Tensor loops
// become Serial where no loop becomes vectors.
Function vectorize(const Function& f, expr::Context& ctx, const PassOptions& options);

// privatize.cc: no Alloc is inside a Vector loop. A Local buffer that was has the lane as its last index, so that what the
// lanes keep at one place is one vector.
Function privatize(const Function& f, expr::Context& ctx, const PassOptions& options);

// mask.cc: without `masked_memory`, an If in a Vector loop without an else, whose condition cuts off the first or the last
// lanes, has code for the vectors of which no lane is cut off, and runs under a mask otherwise.
Function mask(const Function& f, expr::Context& ctx, const PassOptions& options);

// The model's nodes that the function came from, or its name: where a remark is about.
std::string place_of(const Function& f);

struct Pass {
  const char* name;
  Function (*run)(const Function& f, expr::Context& ctx, const PassOptions& options);
};
// In the order in which they run.
std::span<const Pass> passes();
// Called with the name of each pass that changed something and what it gave.
using PassObserver = std::function<void(const char* pass, const Function& f)>;
Function run_passes(const Function& f, expr::Context& ctx, const PassOptions& options, const PassObserver& observer = {});

}  // namespace pliant::loop
