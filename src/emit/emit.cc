#include "emit/emit.h"

#include "emit/emitter.h"

namespace pliant::emit {

namespace {

// Where callees leave the sizes of results that their params do not tell.
void resolve_sizes(Unit& unit) {
  for (const Unit::PendingSize& p : unit.pending_sizes) {
    artifact::InvokeDesc& invoke = unit.out.program.invokes[p.invoke];
    const artifact::Int& from = unit.result_sizes[invoke.function][p.result][p.axis];
    PLIANT_CHECK(from.is_slot) << "the size of a result lies in no slot";
    invoke.slot_results.push_back({static_cast<uint32_t>(from.value), p.to});
  }
}

}  // namespace

Result<Emitted> emit(const graph::Module& module, const codegen::Target& target, const Options& options) {
  Unit unit{module, *module.ctx, target, options, {}, {}, {}, {}, {}};
  TRY(Emitter(module.main(), unit).run_entry());
  for (uint32_t i = 0; i < unit.called.size(); ++i) TRY(Emitter(*unit.called[i], unit).run_function(i));
  resolve_sizes(unit);
  return std::move(unit.out);
}

}  // namespace pliant::emit
