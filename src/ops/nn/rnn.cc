// The plain recurrent layer.
#include "ops/bodies/recurrent.h"

namespace pliant::ops {
namespace {

using State = Recurrence::State;

Result<State> step(Recurrence& r, const Recurrence::Direction& d, ValueId x, State s) {
  State next;
  next.h = TRY(r.activate_clipped(d.activations[0], TRY(r.binary("add", x, TRY(r.recur(s.h, d.r))))));
  return next;
}

Result<std::vector<ValueId>> expand(ExpandContext& e) { return Recurrence(e, {.activations = {"tanh"}}).run(&step); }

}  // namespace

OpDef op_nn_rnn() {
  return {
      .name = "nn.rnn",
      .doc = "A recurrent layer with one gate, with lengths and both directions as ONNX RNN has them.",
      .attrs = recurrent_attrs(),
      .min_inputs = 3,
      .max_inputs = 6,
      .outputs = 2,
      .expand = expand,
      .samples = {"f16[T,B,I] f16[1,3,I] f16[1,3,3] f16[1,6] T=2 B=2 I=4 hidden=3 outputs=2",
                  "f32[2,B,I] f32[1,3,I] f32[1,3,3] f32[1,6] B=2 I=4 hidden=3 outputs=2",
                  "f32[2,B,I] f32[1,2,I] f32[1,2,2] B=3 I=2 hidden=2 activations=[Affine] alpha=[0.5] direction=reverse"}};
}

}  // namespace pliant::ops
