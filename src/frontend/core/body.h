// The graph that a loop of a model runs, as far as any frontend has to say of it.
#pragma once
#include "frontend/core/conversion.h"
#include "ops/control/control.h"

namespace pliant::frontend {

// What the model declares of a body's input or output.
struct Declared {
  std::string name;
  std::optional<DType> dtype;                 // of a tensor
  std::optional<std::vector<int64_t>> shape;  // 0 for sizes that are not declared
};

struct Body {
  std::vector<Declared> inputs, outputs;
  // Imports the body once more where the builder stands and gives its outputs, one for each input. The faults of the body
  // are one error, without diagnostics where they are reported elsewhere.
  std::function<Result<std::vector<ValueRef>>(std::vector<ValueRef>)> run;
};

// A value of a loop that becomes a value of the model: named as the model does, where a loop that runs no iteration has not
// given one that has a name.
ValueRef loop_value(Conversion& c, ValueId id, std::string_view name);
// The values of a loop that provably runs no iteration, whose body may make no sense for that reason: `init`, and empty
// tensors of the types that the body declares for its last outputs. Nothing where it declares none.
std::optional<Values> values_of_no_iteration(Conversion& c, const Body& body, Dim trip, const Values& init,
                                             size_t scan_count);

// A loop that carries values. Inputs of the node: how often it runs at most, whether it begins, the carried values; any may
// be absent but those. The body gets the number of the iteration and a condition before them, and gives whether the loop
// goes on, the carried values and what is collected. The number of the iteration is a size, the condition is known to hold
// in the body, and small integer tensors that are carried stay known as long as they are the same or change by the same
// amount in every iteration. With `outputs`, the names of the outputs asked for.
Result<std::vector<ValueRef>> import_loop(Conversion& c, const Body& body, const std::vector<std::string_view>& outputs);

// A loop over an axis of its inputs: the node's inputs are states and then as many scanned ones as `axes` has, behind the
// lengths of the sequences where there is a batch of them. A reversed direction is index arithmetic inside for an input and
// a reversal outside for an output; another output axis is a transpose outside. A batch is a second loop around it.
struct ScanSpec {
  bool is_batched = false;
  std::vector<int64_t> axes;          // of the scanned inputs
  std::vector<bool> reversed;         // likewise
  std::vector<int64_t> output_axes;   // of the collected outputs; 0 where there are fewer
  std::vector<int64_t> output_flips;  // likewise: 1 for one that is reversed
};
// The outputs whose name is not empty; null for the others.
Result<std::vector<ValueRef>> import_scan(Conversion& c, const ScanSpec& spec, const Body& body,
                                          const std::vector<std::string_view>& outputs);

}  // namespace pliant::frontend
