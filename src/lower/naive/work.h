// What a schedule starts from: stages as a loop function that does nothing clever. Buffers have the axes of their tensors,
// loops are serial and in the order of the tensors' axes, and each stage is a nest of its own; the rest is intermediates in
// scratch memory. Running values of reductions and scans are registers.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lower/stage_kernels.h"
#include "schedule/schedule.h"

namespace pliant::lower {

// What the iterations of a loop are to each other.
enum class LoopRole : uint8_t {
  Spatial,    // independent: an axis of what is computed
  Reduction,  // terms of one result, in any order
  Sliding,    // a reduction, of which neighbouring results share terms: the taps of a window
  Ordered,    // each goes on from the one before: the axis of a scan, the updates of a scatter
};

// What a buffer is for stands in it: a param is an output, a constant or an input, a Scratch is an intermediate, a Local a
// running value.
struct Work {
  loop::Function function;
  std::map<SymbolId, LoopRole> loops;  // every loop
  std::vector<KernelArg> args;         // one a param
  // The value of a constant param in the layout that a trace gave it: such params have none before.
  std::function<Result<graph::ConstantPtr>(const schedule::Repack&)> lay_out{};
};

// Some of the stages of `list`, in order. What they read of others, and those of them that `temporaries` names, are params.
Work make_work(const Problem& p, const StageList& list, const std::vector<const Stage*>& stages,
               const Temporaries& temporaries, std::string name);
// Of a reduction whose axes were merged. Params are flat; the caller gives outputs the axes of their index.
struct MergedForm {
  std::vector<std::pair<expr::TensorId, graph::ConstantPtr>> packed{};  // constants that are params of their own
  std::optional<expr::TensorId> tile{};                                 // memory of a task, which the caller adds
  std::vector<Scalar> reads{};                                          // what it is filled with
  Scalar stored{};                                                      // where results are stored, if not everywhere
  LoopRole role = LoopRole::Reduction;                                  // of the reduction's loops
};
// One reduction, without the terms that its guard leaves out, with what follows from each of its results behind it.
Work make_work(const Problem& p, const StageList& list, const Stage& reduction, const Epilogue& e,
               const Temporaries& temporaries, std::string name, const MergedForm* merged = nullptr);
// One check of the node, whose message has the location `loc`.
Work make_check_work(const Problem& p, const ops::DataCheck& check, const LocPtr& loc);
// The updates of a scatter, without its base.
Work make_updates_work(const Problem& p, const StageList& list, const Stage& s, const Temporaries& temporaries);
// The whole node: its checks, then all stages of `list`.
Work make_work(const Problem& p, const StageList& list, const std::vector<ops::DataCheck>& checks);

// The loop function after a line for each role: `// reduction: k`.
std::string print(const Work& w, expr::Context& ctx);

}  // namespace pliant::lower
