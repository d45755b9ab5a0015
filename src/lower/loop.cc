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
// kernel would cost more than kernels of a few microseconds. A body of constant sizes whose kernels are provably heavy is
// left to bytecode, which runs each kernel on all threads.
#include "lower/loop_carry.h"

namespace pliant::lower {

using graph::LoopParts;
using graph::Node;
using graph::ValueId;

namespace {

// Scalar operations of one iteration from which its kernels are worth threads of their own.
constexpr int64_t kHeavyBody = int64_t{1} << 24;

}  // namespace

Status RegionLowering::lower_loop(const Node& n, Block& out) {
  const LoopParts parts = graph::loop_parts(n);
  const bool counts = !graph::is_unconditional(f_, parts), diverges = graph::diverges(*parts.body);
  const SymbolId index = *parts.index.as_symbol();
  for (ValueId v : n.outputs)
    if (!f_.value(v).type.tensor()) return not_native(n, "it carries values other than tensors");
  std::vector<Carried> carried = carry(n, parts);
  for (Carried& c : carried) TRY(place_carried(n, c, counts, out));
  std::vector<Place> scans = TRY(place_scans(n, parts, counts, out));

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
  bound_.insert(index);
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
  out.add(loop::make_while(index, parts.trip ? *parts.trip : Dim(), holds, body.finish()));

  if (counts) {
    bind(*parts.count.as_symbol(), expr::value(load_first(counter, DType::I64)), out);
  }
  for (const Carried& c : carried) finish_carried(c, parts.count, out);
  return ok();
}

Result<LoweredNode> RegionLowering::lower_outermost(const Node& n) {
  const LoopParts parts = graph::loop_parts(n);
  const bool counts = !graph::is_unconditional(f_, parts);
  outermost_ = &n;
  collect_inner(n);
  Place count;
  if (counts) count = add_temporary("iterations", DType::I64, 1);
  for (ValueId v : n.outputs) {
    if (!f_.value(v).type.tensor()) return not_native(n, "it gives values other than tensors");
    for (Dim d : f_.tensor_type(v).shape)
      if (counts && expr::uses_symbol(d, *parts.count.as_symbol()))
        return not_native(n, "how often it runs, and so the size of an output, is only known after it");
    add_output(v);
  }
  Block out;
  TRY(lower_loop(n, out));
  if (work_ >= kHeavyBody) return not_native(n, "its kernels are heavy enough for threads of their own");
  LoweredNode low;
  if (counts) {
    out.add(store_first(count, expr::make_index(parts.count)));
    low.reads.push_back({0, 0, *parts.count.as_symbol()});
  }
  LoweredKernel k;
  k.function.name = "loop_" + symbol_name(n);
  k.function.params = params_;
  k.function.faults = faults_;
  k.function.loc = n.loc;
  k.function.body = out.finish();
  k.args = args_;
  k.tasks = ctx_.constant(1);
  k.work = ctx_.constant(1);
  low.kernels.push_back(std::move(k));
  low.temporaries = temporaries_;
  return low;
}

Result<std::optional<LoweredNode>> lower_loop(const graph::Function& f, const Node& node, const ConstantValues& constants,
                                              expr::Context& ctx, const codegen::Target& target, const Options& options,
                                              std::string* reason) {
  Result<LoweredNode> low = RegionLowering(f, constants, ctx, target, options).lower_outermost(node);
  if (low.ok()) return std::optional<LoweredNode>(low.take());
  const Diagnostic& d = low.error().diagnostics[0];
  if (d.id != RegionLowering::kNotNative) return low.error();
  if (reason) *reason = d.where + ": " + d.message;
  return std::optional<LoweredNode>();
}

}  // namespace pliant::lower
