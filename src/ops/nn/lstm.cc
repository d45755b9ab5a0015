// Long short-term memory.
#include "ops/bodies/recurrent.h"

namespace pliant::ops {
namespace {

using State = Recurrence::State;

// Gates in order: input, output, forget, cell; peepholes: input, output, forget. As onnxruntime has it, clipping is for the
// gates, not for the state on its way to the output.
Result<State> step(Recurrence& r, const Recurrence::Direction& d, ValueId x, State s, bool input_forget) {
  bool peeps = d.peepholes != graph::kNoValue;
  ValueId all = TRY(r.binary("add", x, TRY(r.recur(s.h, d.r))));
  auto with_peephole = [&](ValueId v, int64_t k, ValueId cell) -> Result<ValueId> {
    if (!peeps) return v;
    return r.binary("add", v, TRY(r.binary("mul", TRY(r.row_gate(d.peepholes, k)), cell)));
  };
  ValueId input = TRY(r.activate_clipped(d.activations[0], TRY(with_peephole(TRY(r.gate(all, 0)), 0, s.c))));
  ValueId forget;
  if (input_forget)
    forget = TRY(r.one_less(input));
  else
    forget = TRY(r.activate_clipped(d.activations[0], TRY(with_peephole(TRY(r.gate(all, 2)), 2, s.c))));
  ValueId candidate = TRY(r.activate_clipped(d.activations[1], TRY(r.gate(all, 3))));
  State next;
  next.c = TRY(r.binary("add", TRY(r.binary("mul", forget, s.c)), TRY(r.binary("mul", input, candidate))));
  ValueId output = TRY(r.activate_clipped(d.activations[0], TRY(with_peephole(TRY(r.gate(all, 1)), 1, next.c))));
  next.h = TRY(r.binary("mul", output, TRY(r.activate(d.activations[2], next.c))));
  return next;
}

Result<std::vector<ValueId>> expand(ExpandContext& e) {
  bool input_forget = e.attr().as_bool("input_forget");
  RecurrentCell cell{.gates = 4, .has_state = true, .folded_gates = 4, .activations = {"sigmoid", "tanh", "tanh"}};
  return Recurrence(e, cell).run(
      [&](Recurrence& r, const Recurrence::Direction& d, ValueId x, State s) { return step(r, d, x, s, input_forget); });
}

}  // namespace

OpDef op_nn_lstm() {
  return {.name = "nn.lstm",
          .doc =
              "A long short-term memory over a sequence, with peepholes, lengths and both directions as ONNX LSTM has them. "
              "Weights may be bytes, with inputs for their scales and zero points; then what is multiplied by them goes "
              "through 8 bits, by the range of the input up to the end of the longest sequence and by that of the state in "
              "each step, where sequences that had ended a step before count as zeros.",
          .attrs = recurrent_attrs() +
                   std::vector<AttrSpec>{attr("input_forget", false, "the forget gate is one less the input gate")},
          .min_inputs = 3,
          .max_inputs = 12,
          .outputs = 3,
          .expand = expand,
          .samples = {
              "f32[T,B,I] f32[2,8,I] f32[2,8,2] f32[2,16] i32[B]@1..4 f32[2,B,2] f32[2,B,2] f32[2,6] T=3 B=2 I=3 "
              "hidden=2 direction=bidirectional outputs=3",
              "f32[2,B,I] f32[1,12,I] f32[1,12,3] f32[1,24] B=2 I=4 hidden=3 outputs=3",
              "f32[3,B,I] f32[2,8,I] f32[2,8,2] f32[2,16] i32[B]@1..4 f32[2,B,2] f32[2,B,2] f32[2,6] B=2 I=3 hidden=2 "
              "direction=bidirectional outputs=3",
              "f32[B,2,I] f32[1,8,I] f32[1,8,2] _ _ f32[B,1,2] B=2 I=3 hidden=2 batch_major=true direction=reverse "
              "clip=0.5 input_forget=true outputs=2",
              "f32[T,B,I] i8[2,I,8] i8[2,2,8] f32[2,16] _ _ _ _ f32[2]@0.01..0.02 i8[2] f32[2,8]@0.01..0.02 i8[2,8] "
              "T=2 B=2 I=4 hidden=2 direction=bidirectional outputs=3",
              "f32[T,B,I] i8[2,I,8] i8[2,2,8] f32[2,16] i32[B]@1..3 _ _ _ f32[2]@0.01..0.02 i8[2] f32[2]@0.01..0.02 i8[2] "
              "T=4 B=2 I=3 hidden=2 direction=bidirectional outputs=3"}};
}

}  // namespace pliant::ops
