// Gated recurrent unit.
#include "ops/recurrent.h"

namespace pliant::ops {
namespace {

using State = Recurrence::State;

// Gates in order: update, reset, hidden.
Result<State> step(Recurrence& r, const Recurrence::Direction& d, ValueId x, State s, bool linear_before_reset) {
  bool biased = d.r_bias != graph::kNoValue;
  auto recurrent = [&](int64_t k, ValueId h) -> Result<ValueId> {
    ValueId v = TRY(r.recur(h, TRY(r.row_gate(d.r, k))));
    return biased ? r.binary("add", v, TRY(r.row_gate(d.r_bias, k))) : v;
  };
  auto gate = [&](int64_t k) -> Result<ValueId> {
    return r.activate(d.activations[0], TRY(r.binary("add", TRY(r.gate(x, k)), TRY(recurrent(k, s.h)))));
  };
  ValueId update = TRY(gate(0)), reset = TRY(gate(1)), inner;
  if (linear_before_reset)
    inner = TRY(r.binary("mul", reset, TRY(recurrent(2, s.h))));
  else
    inner = TRY(recurrent(2, TRY(r.binary("mul", reset, s.h))));
  ValueId candidate = TRY(r.activate(d.activations[1], TRY(r.binary("add", TRY(r.gate(x, 2)), inner))));
  ValueId rest = TRY(r.binary("sub", r.context().scalar(r.context().type(update).dtype, 1), update));
  State next;
  next.h = TRY(r.binary("add", TRY(r.binary("mul", rest, candidate)), TRY(r.binary("mul", update, s.h))));
  return next;
}

Result<std::vector<ValueId>> expand(ExpandContext& e) {
  bool linear_before_reset = e.attr().as_bool("linear_before_reset");
  return Recurrence(e, {"gru", 3, false, linear_before_reset})
      .run({"sigmoid", "tanh"}, false, [&](Recurrence& r, const Recurrence::Direction& d, ValueId x, State s) {
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
