// Recurrent layers as graphs: the products with the input for all steps at once, then one step after the other.
#pragma once
#include "ops/op.h"

namespace pliant::ops {

// One activation of a cell with its parameters.
struct Activation {
  std::string name;  // lower case
  double alpha = 0, beta = 0;
};
// The number of an activation among those that the runtime knows, or -1.
int64_t activation_kind(const std::string& lower_case_name);

// A cell as the scan over steps knows it.
struct RecurrentCell {
  std::string name;  // rnn, lstm or gru
  int64_t gates = 1;
  bool has_state = false;  // c beside h
  bool variant = false;    // lstm: input_forget; gru: linear_before_reset
};

// Appends nodes for a recurrent layer: a few known steps as a graph, others as a nn.recurrent_scan. Inputs: x 0, w 1, r 2,
// b? 3, lengths? 4, h0? 5, c0? 6 (lstm), p? 7 (lstm).
class Recurrence {
 public:
  Recurrence(ExpandContext& e, RecurrentCell cell)
      : e_(e), cell_(std::move(cell)), gates_(cell_.gates), has_cell_(cell_.has_state) {}

  struct State {
    ValueId h = graph::kNoValue, c = graph::kNoValue;
  };
  // What a step works with: the products of the input, [batch, gates * hidden], and the direction's weights.
  struct Direction {
    ValueId r = graph::kNoValue;  // [gates * hidden, hidden]
    ValueId r_bias = graph::kNoValue, peepholes = graph::kNoValue;
    std::vector<Activation> activations;
  };
  using Step = std::function<Result<State>(Recurrence&, const Direction&, ValueId gates, State)>;
  // The outputs y, y_h and, with a cell, y_c. `activations` names the defaults of one direction; `fold_r_bias`: the
  // recurrent bias is added with the input's products and Direction::r_bias stays unset.
  Result<std::vector<ValueId>> run(const std::vector<std::string>& activations, bool fold_r_bias, const Step& step);

  // Arithmetic of a cell.
  Result<ValueId> binary(const std::string& op, ValueId a, ValueId b) { return e_.append("math." + op, {}, {a, b}); }
  Result<ValueId> activate(const Activation& a, ValueId x);  // after clipping
  Result<ValueId> gate(ValueId gates, int64_t k);            // columns k * hidden … of [batch, n * hidden]
  Result<ValueId> row_gate(ValueId weights, int64_t k);      // rows k * hidden … of [n * hidden, …]
  Result<ValueId> recur(ValueId h, ValueId r) { return e_.append("nn.matmul", Attrs{{"transpose_b", true}}, {h, r}); }
  ExpandContext& context() { return e_; }

 private:
  Result<ValueId> part(ValueId v, int64_t axis, int64_t begin, int64_t end);
  Result<ValueId> drop_first_axis(ValueId v);
  Result<ValueId> of_direction(size_t input, int64_t d);
  Result<ValueId> initial_state(size_t input, int64_t d);
  Result<std::vector<Activation>> activations_of(const std::vector<std::string>& defaults, int64_t d, int64_t directions);
  struct Run {
    ValueId y;
    State last;
  };
  Result<Run> run_direction(int64_t d, bool reverse, const Direction& direction, ValueId products, const Step& step);
  Result<Run> scan_direction(int64_t d, bool reverse, const Direction& direction, ValueId products);
  Result<ValueId> keep_running(ValueId lengths, int64_t t, ValueId fresh, ValueId old);
  Result<ValueId> stack(std::vector<ValueId> values, int64_t axis);
  ValueId input(size_t i) const { return i < e_.node.inputs.size() ? e_.node.inputs[i] : graph::kNoValue; }

  ExpandContext& e_;
  RecurrentCell cell_;
  int64_t gates_;
  bool has_cell_;
  ValueId x_ = graph::kNoValue;  // [steps, batch, features]
  int64_t hidden_ = 0, steps_ = 0;
  bool scans_ = false;
  double clip_ = 0;
  Dim batch_;
  DType dtype_ = DType::F32;
};

std::vector<AttrSpec> recurrent_attrs();

}  // namespace pliant::ops
