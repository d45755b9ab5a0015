#include "ops/bodies/recurrent.h"

#include <algorithm>

#include "ops/control/control.h"

namespace pliant::ops {

using graph::kNoValue;

namespace {

struct Defaults {
  const char* name;
  bool takes_alpha, takes_beta;
  double alpha, beta;
};
constexpr Defaults kActivations[] = {
    {"relu", false, false, 0, 0},           {"tanh", false, false, 0, 0},
    {"sigmoid", false, false, 0, 0},        {"softsign", false, false, 0, 0},
    {"softplus", false, false, 0, 0},       {"leakyrelu", true, false, 0.01, 0},
    {"thresholdedrelu", true, false, 1, 0}, {"elu", true, false, 1, 0},
    {"affine", true, true, 1, 0},           {"scaledtanh", true, true, 1, 1},
    {"hardsigmoid", true, true, 0.2, 0.5},
};

std::string lower_case(std::string s) {
  for (char& ch : s) ch = ch >= 'A' && ch <= 'Z' ? static_cast<char>(ch - 'A' + 'a') : ch;
  return s;
}

}  // namespace

Status Recurrence::require_equal(Dim a, Dim b, const std::string& message) {
  switch (e_.ctx.equal(a, b)) {
    case expr::Tri::Yes: return ok();
    case expr::Tri::No: return e_.fail("shape-mismatch", message + ": " + a.str() + " and " + b.str());
    case expr::Tri::Unknown: break;
  }
  e_.builder.add_constraint({graph::ShapeConstraint::Kind::Equal, a, b, message + ": {a} and {b}", e_.node.loc});
  return ok();
}

Result<ValueId> Recurrence::part(ValueId v, int64_t axis, Dim begin, Dim end) {
  return e_.append(
      "array.slice",
      Attrs{{"starts", std::vector<Dim>{begin}}, {"ends", std::vector<Dim>{end}}, {"axes", std::vector<int64_t>{axis}}},
      {v});
}

Result<ValueId> Recurrence::reshape(ValueId v, graph::Shape shape) {
  return e_.append("array.reshape", Attrs{{"shape", std::move(shape)}}, {v});
}

Result<ValueId> Recurrence::transpose(ValueId v, std::vector<int64_t> perm) {
  return e_.append("array.transpose", Attrs{{"perm", std::move(perm)}}, {v});
}

Result<ValueId> Recurrence::drop_first_axis(ValueId v) {
  const graph::Shape& s = e_.type(v).shape;
  return reshape(v, graph::Shape(s.begin() + 1, s.end()));
}

Result<ValueId> Recurrence::reverse_sequence(ValueId v) {
  return e_.append("array.reverse_sequence", Attrs{{"batch_axis", int64_t{1}}, {"time_axis", int64_t{0}}}, {v, lengths_});
}

Result<ValueId> Recurrence::of_direction(size_t i, int64_t d) {
  return drop_first_axis(TRY(part(input(i), 0, e_.ctx.constant(d), e_.ctx.constant(d + 1))));
}

Result<ValueId> Recurrence::gate(ValueId gates, int64_t k, int64_t count) {
  return part(gates, -1, hidden_ * k, hidden_ * (k + count));
}
Result<ValueId> Recurrence::row_gate(ValueId weights, int64_t k, int64_t count) {
  return part(weights, 0, hidden_ * k, hidden_ * (k + count));
}

Result<ValueId> Recurrence::stack(std::vector<ValueId> values, int64_t axis) {
  for (ValueId& v : values) {
    graph::Shape shape = e_.type(v).shape;
    shape.insert(shape.begin() + axis, e_.ctx.constant(1));
    v = TRY(reshape(v, std::move(shape)));
  }
  if (values.size() == 1) return values[0];
  return e_.append("array.concat", Attrs{{"axis", axis}}, std::move(values));
}

Result<Recurrence::Weights> Recurrence::weights_of(size_t i, size_t scale, int64_t d) {
  Weights w{TRY(of_direction(i, d)), kNoValue, kNoValue};
  if (!has_bytes_) return w;
  w.scale = TRY(of_direction(scale, d));
  if (e_.has(scale + 1)) w.zero_point = TRY(of_direction(scale + 1, d));
  return w;
}

Result<Recurrence::Bytes> Recurrence::quantise(ValueId x) {
  const std::vector<ValueId> parts = TRY(e_.append_multi("quant.dynamic_quantize", {}, {x}, 3));
  return Bytes{parts[0], parts[1], parts[2]};
}

Result<ValueId> Recurrence::product(const Bytes& x, const Weights& w) {
  std::vector<ValueId> factors{x.values, w.matrix, x.zero_point};
  if (w.zero_point != kNoValue) factors.push_back(w.zero_point);
  const ValueId sum = TRY(e_.append("quant.matmul_integer", {}, std::move(factors)));
  const ValueId number = TRY(e_.append("math.cast", Attrs{{"to", dtype_}}, {sum}));
  return binary("mul", number, TRY(binary("mul", x.scale, w.scale)));
}

Result<ValueId> Recurrence::recur(ValueId h, const Weights& r) {
  if (has_bytes_) return product(TRY(quantise(h)), r);
  return e_.append("nn.matmul", Attrs{{"transpose_b", true}}, {h, r.matrix});
}

Result<ValueId> Recurrence::activate_clipped(const Activation& a, ValueId x) {
  if (clip_ > 0) x = TRY(e_.append("math.clip", {}, {x, e_.scalar(dtype_, -clip_), e_.scalar(dtype_, clip_)}));
  return activate(a, x);
}

Result<ValueId> Recurrence::activate(const Activation& a, ValueId x) {
  Attrs alpha{{"alpha", a.alpha}};
  if (a.name == "tanh" || a.name == "sigmoid") return e_.append("math." + a.name, {}, {x});
  if (a.name == "relu" || a.name == "softsign" || a.name == "softplus") return e_.append("nn." + a.name, {}, {x});
  if (a.name == "leakyrelu") return e_.append("nn.leaky_relu", alpha, {x});
  if (a.name == "thresholdedrelu") return e_.append("nn.thresholded_relu", alpha, {x});
  if (a.name == "elu") return e_.append("nn.elu", alpha, {x});
  if (a.name == "hardsigmoid") return e_.append("nn.hard_sigmoid", Attrs{{"alpha", a.alpha}, {"beta", a.beta}}, {x});
  ValueId scale = e_.scalar(dtype_, a.alpha), other = e_.scalar(dtype_, a.beta);
  if (a.name == "affine") return binary("add", TRY(binary("mul", x, scale)), other);
  ValueId inner = TRY(e_.append("math.tanh", {}, {TRY(binary("mul", x, other))}));
  return binary("mul", inner, scale);
}

Result<std::vector<Activation>> Recurrence::activations_of(int64_t d) const {
  const std::vector<std::string>& defaults = cell_.activations;
  std::vector<std::string> names = e_.attr().as_strings("activations");
  const std::vector<double>&alphas = e_.attr().as_floats("alpha"), &betas = e_.attr().as_floats("beta");
  if (names.empty())
    for (int64_t k = 0; k < directions_; ++k) names.insert(names.end(), defaults.begin(), defaults.end());
  if (names.size() != defaults.size() * static_cast<size_t>(directions_))
    return e_.fail("bad-attribute", "there are " + std::to_string(names.size()) + " activations but " +
                                        std::to_string(defaults.size() * static_cast<size_t>(directions_)) + " are needed");
  std::vector<Activation> all;
  size_t next_alpha = 0, next_beta = 0;
  for (const std::string& name : names) {
    std::string lower = lower_case(name);
    const Defaults* found =
        std::find_if(std::begin(kActivations), std::end(kActivations), [&](const Defaults& f) { return lower == f.name; });
    if (found == std::end(kActivations)) return e_.fail("bad-attribute", "there is no activation '" + name + "'");
    Activation a{lower, found->alpha, found->beta};
    if (found->takes_alpha && next_alpha < alphas.size()) a.alpha = alphas[next_alpha++];
    if (found->takes_beta && next_beta < betas.size()) a.beta = betas[next_beta++];
    all.push_back(std::move(a));
  }
  auto first = all.begin() + d * static_cast<int64_t>(defaults.size());
  return std::vector<Activation>(first, first + static_cast<int64_t>(defaults.size()));
}

Status Recurrence::read_attributes() {
  AttrReader a = e_.attr();
  hidden_ = a.as_dim("hidden");
  clip_ = a.as_float("clip");
  batch_major_ = a.as_bool("batch_major");
  const std::string& way = a.as_string("direction");
  if (way != "forward" && way != "reverse" && way != "bidirectional")
    return e_.fail("bad-attribute", "there is no direction '" + way + "'");
  directions_ = way == "bidirectional" ? 2 : 1;
  only_reverse_ = way == "reverse";
  return ok();
}

Status Recurrence::require_shape(size_t i, graph::Shape sizes, const std::string& name,
                                 const std::vector<std::string>& axes) {
  if (input(i) == kNoValue) return ok();
  const graph::Shape shape = e_.type(input(i)).shape;
  if (shape.size() != sizes.size())
    return e_.fail("shape-mismatch", "the " + name + " of a recurrent layer must have rank " + std::to_string(sizes.size()));
  for (size_t a = 0; a < sizes.size(); ++a)
    TRY(require_equal(shape[a], sizes[a], axes[a] + " in the " + name + " of a recurrent layer"));
  if (shape != sizes) inputs_[i] = TRY(reshape(input(i), std::move(sizes)));
  return ok();
}

Status Recurrence::require_weights(size_t i, Dim k, const std::string& name) {
  graph::Shape sizes{e_.ctx.constant(directions_), hidden_ * cell_.gates, k};
  std::vector<std::string> axes{"directions", "rows", "columns"};
  if (has_bytes_) std::swap(sizes[1], sizes[2]), std::swap(axes[1], axes[2]);
  return require_shape(i, std::move(sizes), name, axes);
}

// A scale and the zero point behind it: one for each direction, or one for each row of its weights.
Status Recurrence::require_quantisation(size_t scale, const std::string& name) {
  const std::string names[] = {"scale of the " + name, "zero point of the " + name};
  for (size_t k : {size_t{0}, size_t{1}}) {
    if (input(scale + k) == kNoValue) continue;
    const bool single = e_.type(input(scale + k)).shape.size() == 1;
    graph::Shape sizes{e_.ctx.constant(directions_)};
    if (!single) sizes.push_back(hidden_ * cell_.gates);
    TRY(require_shape(scale + k, sizes, names[k], {"directions", "rows"}));
    if (single) inputs_[scale + k] = TRY(reshape(input(scale + k), {e_.ctx.constant(directions_), e_.ctx.constant(1)}));
  }
  return ok();
}

// What is carried from step to step has one size only if that of each weight is known to fit it.
Status Recurrence::require_inputs() {
  const Dim directions = e_.ctx.constant(directions_), rows = hidden_ * cell_.gates;
  const std::vector<std::string> vector{"directions", "elements"};
  TRY(require_weights(1, features_, "weights"));
  TRY(require_weights(2, hidden_, "recurrent weights"));
  TRY(require_shape(3, {directions, rows * 2}, "biases", vector));
  graph::Shape state{directions, batch_, hidden_};
  std::vector<std::string> axes{"directions", "sequences", "elements"};
  if (batch_major_) std::swap(state[0], state[1]), std::swap(axes[0], axes[1]);
  TRY(require_shape(5, state, "initial state", axes));
  TRY(require_shape(6, state, "initial cell state", axes));
  if (has_bytes_) {
    TRY(require_quantisation(8, "weights"));
    TRY(require_quantisation(10, "recurrent weights"));
  }
  return require_shape(7, {directions, hidden_ * 3}, "peepholes", vector);
}

// The products with the input for all steps, [steps, batch, gates * hidden], with the biases that are added in every step.
Result<ValueId> Recurrence::input_products(bool reversed, int64_t d, Direction& direction) {
  const Weights w = TRY(weights_of(1, 8, d));
  ValueId products;
  if (has_bytes_) {
    Bytes x = x_bytes_;
    if (reversed) x.values = TRY(reverse_sequence(x.values));
    products = TRY(product(x, w));
  } else {
    const ValueId x = reversed ? TRY(reverse_sequence(x_)) : x_;
    products = TRY(e_.append("nn.matmul", Attrs{{"transpose_b", true}}, {x, w.matrix}));
  }
  if (!e_.has(3)) return products;
  int64_t gates = cell_.gates, folded = cell_.folded_gates;
  ValueId both = TRY(of_direction(3, d));
  ValueId bias = TRY(binary("add", TRY(row_gate(both, 0, folded)), TRY(row_gate(both, gates, folded))));
  if (folded < gates) {
    bias = TRY(e_.append("array.concat", Attrs{{"axis", int64_t{0}}}, {bias, TRY(row_gate(both, folded, gates - folded))}));
    direction.r_bias = TRY(row_gate(both, gates + folded, gates - folded));
  }
  return binary("add", products, bias);
}

Result<Recurrence::State> Recurrence::initial_state(int64_t d) {
  State s;
  std::vector<Dim> shape{batch_, hidden_};
  auto start = [&](size_t i) -> Result<ValueId> {
    if (!e_.has(i)) return e_.append("array.full", Attrs{{"shape", shape}}, {e_.scalar(dtype_, 0)});
    ValueId v = batch_major_ ? TRY(transpose(input(i), {1, 0, 2})) : input(i);
    v = TRY(reshape(TRY(part(v, 0, e_.ctx.constant(d), e_.ctx.constant(d + 1))), shape));
    if (lengths_ == kNoValue) return v;
    // As onnxruntime has it, the last state of an empty sequence is zero.
    ValueId any = TRY(reshape(TRY(binary("lt", e_.scalar(DType::I64, 0), lengths_)), {batch_, e_.ctx.constant(1)}));
    return e_.append("math.where", {}, {any, v, e_.scalar(dtype_, 0)});
  };
  s.h = TRY(start(5));
  if (cell_.has_state) s.c = TRY(start(6));
  return s;
}

// bool[batch, 1]: the sequences that have step t.
Result<ValueId> Recurrence::is_running(Dim t) {
  ValueId number = TRY(e_.append("array.from_dims", Attrs{{"values", std::vector<Dim>{t}}}, {}));
  return reshape(TRY(binary("lt", number, lengths_)), {batch_, e_.ctx.constant(1)});
}

// The input with zeros for the steps that no sequence has, so that they have no part in the range of the bytes: as
// onnxruntime has it.
Result<ValueId> Recurrence::reached_input() {
  if (lengths_ == kNoValue) return x_;
  const Dim one = e_.ctx.constant(1);
  const ValueId longest = TRY(e_.append("reduce.max", Attrs{{"axes", std::vector<int64_t>{0}}}, {lengths_}));
  Attrs counted{{"shape", std::vector<Dim>{steps_, one, one}}, {"axis", int64_t{0}}, {"to", DType::I64}};
  const ValueId number = TRY(e_.append("array.iota", std::move(counted), {}));
  return e_.append("math.where", {}, {TRY(binary("lt", number, longest)), x_, e_.scalar(dtype_, 0)});
}

// A reversed run without lengths counts the steps down; with lengths it goes over sequences that were reversed beforehand.
Result<Recurrence::Run> Recurrence::run_direction(int64_t d, const Step& step) {
  expr::Context& ctx = e_.ctx;
  bool reverse = only_reverse_ || d == 1, by_length = lengths_ != kNoValue, counts_down = reverse && !by_length;
  Direction direction;
  direction.activations = TRY(activations_of(d));
  direction.r = TRY(weights_of(2, 10, d));
  if (e_.has(7)) direction.peepholes = TRY(of_direction(7, d));
  ValueId products = TRY(input_products(reverse && by_length, d, direction));
  State start = TRY(initial_state(d));
  if (steps_.is_const(0)) {
    std::vector<Dim> shape{steps_, batch_, hidden_};
    return Run{TRY(e_.append("array.full", Attrs{{"shape", shape}}, {e_.scalar(dtype_, 0)})), start};
  }
  ValueId nothing =
      by_length ? TRY(e_.append("array.full", Attrs{{"shape", e_.type(start.h).shape}}, {e_.scalar(dtype_, 0)})) : kNoValue;
  LoopSpec spec{.trip = steps_, .init = {start.h}};
  if (cell_.has_state) spec.init.push_back(start.c);
  auto body = [&](Dim t, const std::vector<ValueId>& carried) -> Result<LoopBody> {
    State old{carried[0], cell_.has_state ? carried[1] : kNoValue};
    Dim at = counts_down ? steps_ - 1 - t : t;
    ValueId gates = TRY(part(products, 0, at, at + 1));
    gates = TRY(reshape(gates, {batch_, hidden_ * cell_.gates}));
    State seen = old;
    // As onnxruntime has it, the range of the bytes is that of what the step before gave: zeros for sequences that had
    // ended.
    if (by_length && has_bytes_) seen.h = TRY(e_.append("math.where", {}, {TRY(is_running(t - 1)), old.h, nothing}));
    State next = TRY(step(*this, direction, gates, seen));
    ValueId out = next.h;
    if (by_length) {
      const ValueId running = TRY(is_running(t));
      auto keep = [&](ValueId fresh, ValueId other) { return e_.append("math.where", {}, {running, fresh, other}); };
      out = TRY(keep(next.h, nothing));
      next.h = TRY(keep(next.h, old.h));
      if (cell_.has_state) next.c = TRY(keep(next.c, old.c));
    }
    LoopBody b{.carried = {next.h}, .scans = {out}};
    if (cell_.has_state) b.carried.push_back(next.c);
    return b;
  };
  LoopValues loop = TRY(append_loop(e_.builder, ctx, spec, body, e_.node.loc));
  Run run{loop.scans[0], {loop.carried[0], cell_.has_state ? loop.carried[1] : kNoValue}};
  // A loop that may count below zero has steps of another name.
  run.y = TRY(reshape(run.y, {steps_, batch_, hidden_}));
  if (reverse && by_length) run.y = TRY(reverse_sequence(run.y));
  if (counts_down)
    run.y = TRY(e_.append("array.slice",
                          Attrs{{"starts", std::vector<Dim>{ctx.constant(-1)}},
                                {"ends", std::vector<Dim>{ctx.constant(-INT64_MAX)}},
                                {"axes", std::vector<int64_t>{0}},
                                {"steps", std::vector<int64_t>{-1}}},
                          {run.y}));
  return run;
}

Result<std::vector<ValueId>> Recurrence::run(const Step& step) {
  TRY(read_attributes());
  x_ = input(0);
  dtype_ = e_.type(x_).dtype;
  if (e_.type(x_).shape.size() != 3) return e_.fail("shape-mismatch", "the input of a recurrent layer must have rank 3");
  if (batch_major_) x_ = TRY(transpose(x_, {1, 0, 2}));
  const graph::Shape& shape = e_.type(x_).shape;
  steps_ = shape[0];
  batch_ = shape[1];
  features_ = shape[2];
  has_bytes_ = e_.has(8);
  if (has_bytes_ != e_.has(10)) return e_.fail("input-count", "both weights of a recurrent layer have scales, or none");
  TRY(require_inputs());
  if (e_.has(4)) {
    lengths_ = TRY(e_.append("array.check_lengths", Attrs{{"limit", steps_}}, {input(4)}));
    if (e_.type(lengths_).shape.size() != 1) return e_.fail("shape-mismatch", "the lengths of sequences must have rank 1");
    TRY(require_equal(e_.type(lengths_).shape[0], batch_, "lengths and batch of a recurrent layer"));
    lengths_ = TRY(reshape(lengths_, {batch_}));
  }
  if (has_bytes_) x_bytes_ = TRY(quantise(TRY(reached_input())));
  std::vector<ValueId> ys, hs, cs;
  for (int64_t d = 0; d < directions_; ++d) {
    Run run = TRY(run_direction(d, step));
    ys.push_back(run.y);
    hs.push_back(run.last.h);
    cs.push_back(run.last.c);
  }
  // [steps, directions, batch, hidden], [directions, batch, hidden]
  std::vector<ValueId> out{TRY(stack(ys, 1)), TRY(stack(hs, 0))};
  if (cell_.has_state) out.push_back(TRY(stack(cs, 0)));
  if (batch_major_) {
    out[0] = TRY(transpose(out[0], {2, 0, 1, 3}));
    for (size_t i = 1; i < out.size(); ++i) out[i] = TRY(transpose(out[i], {1, 0, 2}));
  }
  return out;
}

std::vector<AttrSpec> recurrent_attrs() {
  return {attr("direction", "forward", "forward, reverse or bidirectional"),
          required_attr("hidden", AttrKind::Dim, "the size of the state"),
          attr("activations", std::vector<std::string>{}, "names for each direction; empty: the usual ones"),
          attr("alpha", std::vector<double>{}, "parameters of activations that have one"),
          attr("beta", std::vector<double>{}, "second parameters"),
          attr("clip", 0.0, "bound of what activations get; 0: none"),
          attr("batch_major", false, "the batch is the first axis")};
}

}  // namespace pliant::ops
