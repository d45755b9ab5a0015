// core.loop as one native function:
//
//   state = init
//   while i in trip when go {        the condition is a bool in memory that registers hold
//     the body's kernels, inlined    small values in registers, scan values and appends written in place
//     state = next
//   }
//   outputs = state
//
// One thread runs all of it, however heavy the body is: iterations depend on each other, and a region of threads for each
// kernel would cost more than kernels of a few microseconds. A body that is heavy (kHeavyBody) is left to bytecode, which
// runs each kernel on all threads.
#include "lower/native_loop/carry.h"

namespace pliant::lower {

using graph::LoopParts;
using graph::Node;
using graph::ValueId;

Status RegionLowering::lower_loop(const Node& n, Block& out) {
  const LoopParts parts = graph::loop_parts(n);
  const bool counts = !graph::is_unconditional(f_, parts), diverges = graph::diverges(*parts.body);
  const SymbolId index = *parts.index.as_symbol();
  for (ValueId v : n.outputs)
    if (!f_.value(v).type.tensor()) return not_native(n, "it carries values other than tensors");
  std::vector<Carried> carried = carry(n, parts);
  for (Carried& c : carried) TRY(place_carried(n, c, parts, out));
  std::vector<Place> scans = TRY(place_scans(n, parts, out));

  Place go, counter;
  Scalar holds;
  if (counts) {
    go = new_local("go", DType::Bool, 1, out);
    counter = new_local("count", DType::I64, 1, out);
    out.add(store_first(go, parts.condition == graph::kNoValue ? expr::make_const_int(ctx_, DType::Bool, 1)
                                                               : load_first(place_of(parts.condition), DType::Bool)));
    out.add(store_first(counter, expr::make_index(ctx_.constant(0))));
    holds = load_first(go, DType::Bool);
  }

  iterations_.push_back({describe(n.loc), parts.index});
  const std::set<SymbolId> bound_outside = bound_;
  const Reach reach_outside = reach_;
  bound_.insert(index);
  reach_ = reach_of_body(parts);
  Block body;
  begin_iteration(carried, body);
  if (!diverges) plan_destinations(parts, carried, scans);
  TRY(lower_nodes(parts.body->nodes, body));
  if (!diverges) {
    if (counts) {
      // The next condition first: it may lie where a carried value is about to change.
      const std::optional<bool> known = graph::constant_condition(f_, parts.next_condition());
      body.add(store_first(go, known ? expr::make_const_int(ctx_, DType::Bool, *known)
                                     : load_first(place_of(parts.next_condition()), DType::Bool)));
      body.add(store_first(counter, expr::make_index(parts.index + 1)));
    }
    TRY(end_iteration(n, parts, carried, scans, body));
  }
  iterations_.pop_back();
  bound_ = bound_outside;
  reach_ = reach_outside;
  out.add(loop::make_while(index, parts.trip ? *parts.trip : Dim(), holds, body.finish()));

  if (counts) {
    bind(*parts.count.as_symbol(), expr::value(load_first(counter, DType::I64)), out);
  }
  for (const Carried& c : carried) finish_carried(c, parts.count, out);
  return ok();
}

}  // namespace pliant::lower
