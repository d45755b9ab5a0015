// Gated recurrent unit.
#include "ops/bodies/recurrent.h"

namespace pliant::ops {
namespace {

using State = Recurrence::State;

// Gates in order: update, reset, hidden.
Result<State> step(Recurrence& r, const Recurrence::Direction& d, ValueId x, State s, bool linear_before_reset) {
  ValueId first, all = graph::kNoValue;  // of update and reset; of all three
  if (linear_before_reset) {
    all = TRY(r.recur(s.h, d.r));
    first = TRY(r.gate(all, 0, 2));
  } else {
    first = TRY(r.recur(s.h, {.matrix = TRY(r.row_gate(d.r.matrix, 0, 2))}));
  }
  ValueId both = TRY(r.activate_clipped(d.activations[0], TRY(r.binary("add", TRY(r.gate(x, 0, 2)), first))));
  ValueId update = TRY(r.gate(both, 0)), reset = TRY(r.gate(both, 1)), inner;
  if (linear_before_reset) {
    inner = TRY(r.gate(all, 2));
    if (d.r_bias != graph::kNoValue) inner = TRY(r.binary("add", inner, d.r_bias));
    inner = TRY(r.binary("mul", reset, inner));
  } else {
    inner = TRY(r.recur(TRY(r.binary("mul", reset, s.h)), {.matrix = TRY(r.row_gate(d.r.matrix, 2))}));
  }
  ValueId candidate = TRY(r.activate_clipped(d.activations[1], TRY(r.binary("add", TRY(r.gate(x, 2)), inner))));
  State next;
  next.h = TRY(r.binary("add", TRY(r.binary("mul", TRY(r.one_less(update)), candidate)), TRY(r.binary("mul", update, s.h))));
  return next;
}

Result<std::vector<ValueId>> expand(ExpandContext& e) {
  bool linear_before_reset = e.attr().as_bool("linear_before_reset");
  RecurrentCell cell{.gates = 3, .folded_gates = linear_before_reset ? 2 : 3, .activations = {"sigmoid", "tanh"}};
  return Recurrence(e, cell).run([&](Recurrence& r, const Recurrence::Direction& d, ValueId x, State s) {
    return step(r, d, x, s, linear_before_reset);
  });
}

}  // namespace

OpDef op_nn_gru() {
  return {.name = "nn.gru",
          .doc = "A gated recurrent unit over a sequence, with lengths and both directions as ONNX GRU has them.",
          .attrs = recurrent_attrs() +
                   std::vector<AttrSpec>{attr("linear_before_reset", false, "the reset gate acts after the product")},
          .min_inputs = 3,
          .max_inputs = 6,
          .outputs = 2,
          .expand = expand,
          .samples = {
              "f32[B,T,I] f32[1,6,I] f32[1,6,2] f32[1,12] T=3 B=2 I=3 hidden=2 batch_major=true direction=reverse outputs=2",
              "f32[2,B,I] f32[1,9,I] f32[1,9,3] f32[1,18] B=2 I=4 hidden=3 outputs=2",
              "f32[3,B,I] f32[2,6,I] f32[2,6,2] f32[2,12] i32[B]@1..4 f32[2,B,2] B=2 I=3 hidden=2 "
              "direction=bidirectional linear_before_reset=true outputs=2"}};
}

}  // namespace pliant::ops
