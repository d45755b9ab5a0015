#include "emit/emit.h"

#include <algorithm>

#include "artifact/verify.h"
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

// The limits of the loader's verifier that a model can reach.
Status check_limits(const artifact::Program& p, const std::string& source) {
  uint32_t epochs = 0;
  for (const artifact::Instr& in : p.code)
    if (in.op == artifact::Opcode::Plan) epochs = std::max(epochs, in.a + 1);
  if (p.code.size() <= artifact::kMaxCode && epochs <= artifact::kMaxEpochs) return ok();
  return make_error("too-large", source,
                    "the model takes " + std::to_string(p.code.size()) + " instructions and " + std::to_string(epochs) +
                        " places where data decide sizes; at most " + std::to_string(artifact::kMaxCode) + " and " +
                        std::to_string(artifact::kMaxEpochs) + " are supported: split it, or write repeated parts as loops");
}

}  // namespace

Result<Emitted> emit(const graph::Module& module, const codegen::Target& target, const Options& options) {
  Unit unit{module, *module.ctx, target, options, {}, {}, {}, {}, {}};
  TRY(Emitter(module.main(), unit).run_entry());
  for (uint32_t i = 0; i < unit.called.size(); ++i) TRY(Emitter(*unit.called[i], unit).run_function(i));
  resolve_sizes(unit);
  TRY(check_limits(unit.out.program, module.source));
  return std::move(unit.out);
}

}  // namespace pliant::emit
