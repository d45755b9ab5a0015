// Recurrent layers as graphs: the products with the input for all steps at once, then a core.loop over the steps.
#pragma once
#include "ops/op.h"

namespace pliant::ops {

// One activation of a cell with its parameters.
struct Activation {
  std::string name;  // lower case
  double alpha = 0, beta = 0;
};

// A cell as the layer around it knows it.
struct RecurrentCell {
  int64_t gates = 1;
  bool has_state = false;  // c beside h
  // So many gates, from the first on, get their recurrent bias with the input's products.
  int64_t folded_gates = 1;
  std::vector<std::string> activations;  // the defaults of one direction
};

// Appends nodes for a recurrent layer. Inputs: x 0, w 1, r 2, b? 3, lengths? 4, h0? 5, c0? 6 (lstm), p? 7 (lstm), and where
// the weights are bytes, [directions, k, rows] then, scale and zero point? of w 8 and 9, of r 10 and 11 (lstm).
class Recurrence {
 public:
  Recurrence(ExpandContext& e, RecurrentCell cell) : e_(e), cell_(std::move(cell)) {}

  struct State {
    ValueId h = graph::kNoValue, c = graph::kNoValue;  // [batch, hidden]
  };
  // Weights of one direction; of bytes, with what makes numbers of them.
  struct Weights {
    ValueId matrix = graph::kNoValue;                               // [gates * hidden, k], bytes [k, gates * hidden]
    ValueId scale = graph::kNoValue, zero_point = graph::kNoValue;  // one or gates * hidden; scale: only of bytes
  };
  // A direction's weights as a step uses them.
  struct Direction {
    Weights r;
    ValueId r_bias = graph::kNoValue;     // [(gates - folded_gates) * hidden], or absent
    ValueId peepholes = graph::kNoValue;  // [3 * hidden], or absent
    std::vector<Activation> activations;
  };
  // The state after a step: `gates` are the products of the input, [batch, gates * hidden].
  using Step = std::function<Result<State>(Recurrence&, const Direction&, ValueId gates, State)>;
  // The outputs y, y_h and, with a cell state, y_c.
  Result<std::vector<ValueId>> run(const Step& step);

  // Arithmetic of a cell.
  Result<ValueId> binary(const std::string& op, ValueId a, ValueId b) { return e_.append("math." + op, {}, {a, b}); }
  Result<ValueId> one_less(ValueId x) { return binary("sub", e_.scalar(dtype_, 1), x); }
  Result<ValueId> activate(const Activation& a, ValueId x);
  Result<ValueId> activate_clipped(const Activation& a, ValueId x);
  // `count` gates from gate k on: columns of [batch, n * hidden].
  Result<ValueId> gate(ValueId gates, int64_t k, int64_t count = 1);
  // The same of rows of [n * hidden, …].
  Result<ValueId> row_gate(ValueId weights, int64_t k, int64_t count = 1);
  // The products of the state. With weights of bytes it goes through 8 bits, by its range in this step.
  Result<ValueId> recur(ValueId h, const Weights& r);

 private:
  struct Run {
    ValueId y;
    State last;
  };
  // A tensor in 8 bits.
  struct Bytes {
    ValueId values, scale, zero_point;
  };
  Status read_attributes();
  Status require_inputs();
  Status require_weights(size_t i, Dim k, const std::string& name);
  Status require_quantisation(size_t scale, const std::string& name);
  // Input i, if there is one, has the shape `sizes` from here on; `axes` are words for messages.
  Status require_shape(size_t i, graph::Shape sizes, const std::string& name, const std::vector<std::string>& axes);
  Result<std::vector<Activation>> activations_of(int64_t d) const;
  Result<Run> run_direction(int64_t d, const Step& step);
  Result<ValueId> input_products(bool reversed, int64_t d, Direction& direction);
  Result<State> initial_state(int64_t d);
  Result<ValueId> is_running(Dim t);
  Result<ValueId> reached_input();

  Status require_equal(Dim a, Dim b, const std::string& message);
  Result<ValueId> part(ValueId v, int64_t axis, Dim begin, Dim end);
  Result<ValueId> reshape(ValueId v, graph::Shape shape);
  Result<ValueId> transpose(ValueId v, std::vector<int64_t> perm);
  Result<ValueId> drop_first_axis(ValueId v);
  Result<ValueId> reverse_sequence(ValueId v);
  Result<ValueId> of_direction(size_t input, int64_t d);
  Result<Weights> weights_of(size_t input, size_t scale, int64_t d);
  Result<Bytes> quantise(ValueId x);
  Result<ValueId> product(const Bytes& x, const Weights& w);
  Result<ValueId> stack(std::vector<ValueId> values, int64_t axis);
  ValueId input(size_t i) const { return i < inputs_.size() ? inputs_[i] : graph::kNoValue; }

  ExpandContext& e_;
  RecurrentCell cell_;
  std::vector<ValueId> inputs_ = e_.node.inputs;
  Dim hidden_;
  int64_t directions_ = 1;
  bool batch_major_ = false, only_reverse_ = false, has_bytes_ = false;
  double clip_ = 0;
  DType dtype_ = DType::F32;
  ValueId x_ = graph::kNoValue;        // [steps, batch, features]
  Bytes x_bytes_{};                    // x_ in 8 bits, where the weights are bytes
  ValueId lengths_ = graph::kNoValue;  // i64[batch], each at most the number of steps; or absent
  Dim steps_, batch_, features_;
};

std::vector<AttrSpec> recurrent_attrs();

}  // namespace pliant::ops
