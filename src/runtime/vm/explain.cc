// What a message says beside the node: the iterations and calls that the instruction was in.
#include <cinttypes>

#include "runtime/text.h"
#include "runtime/vm/interpret.h"

namespace pliant::runtime {
namespace {

// Of a deep recursion the innermost calls are named.
constexpr int kMostCalls = 3;

void add_loops(Text& text, const artifact::Program& program, const Frame& frame, uint32_t at) {
  // An inner loop stands before the loops around it.
  for (const artifact::LoopDesc& l : program.loops)
    if (l.first <= at && at <= l.last) text.add(", in iteration %" PRId64 " of %s", frame.slots[l.index], l.where.c_str());
}

}  // namespace

pliant_status explain(pliant_status status, const Model& model, const Frame& frame, uint32_t at) {
  Text text;
  text.add("%s", last_message());
  add_loops(text, model.program, frame, at);
  int calls = 0;
  for (const Frame* f = &frame; f->caller != nullptr; f = f->caller) {
    if (++calls > kMostCalls) continue;
    text.add(", called by %s", model.program.invokes[f->invoke].where.c_str());
    add_loops(text, model.program, *f->caller, f->caller->at - 1);
  }
  if (calls > kMostCalls) text.add(", %d calls deep", calls);
  return fail(status, "%s", text.str());
}

}  // namespace pliant::runtime
