#include "ops/recurrent.h"

#include <algorithm>

namespace pliant::ops {

using graph::kNoValue;

namespace {

// So many steps at most become nodes of their own, which fuse and vectorise; more, or a number that is not known, become a
// scan.
constexpr int64_t kMaxUnrolled = 16;

struct Defaults {
  const char* name;
  bool takes_alpha, takes_beta;
  double alpha, beta;
};
// In the order of the numbers that the runtime's recurrent_scan knows.
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

int64_t activation_kind(const std::string& name) {
  for (size_t k = 0; k < std::size(kActivations); ++k)
    if (name == kActivations[k].name) return static_cast<int64_t>(k);
  return -1;
}

Result<ValueId> Recurrence::part(ValueId v, int64_t axis, int64_t begin, int64_t end) {
  expr::Context& ctx = e_.ctx;
  return e_.append("array.slice",
                   Attrs{{"starts", std::vector<Dim>{ctx.constant(begin)}},
                         {"ends", std::vector<Dim>{ctx.constant(end)}},
                         {"axes", std::vector<int64_t>{axis}}},
                   {v});
}

Result<ValueId> Recurrence::drop_first_axis(ValueId v) {
  const graph::Shape& s = e_.type(v).shape;
  return e_.append("array.reshape", Attrs{{"shape", std::vector<Dim>(s.begin() + 1, s.end())}}, {v});
}

Result<ValueId> Recurrence::of_direction(size_t i, int64_t d) { return drop_first_axis(TRY(part(input(i), 0, d, d + 1))); }

Result<ValueId> Recurrence::initial_state(size_t i, int64_t d) {
  ValueId v = input(i);
  if (e_.type(v).shape.size() != 3)
    return e_.fail("shape-mismatch", "input " + std::to_string(i) + " of a recurrent layer must have rank 3");
  if (e_.attr().as_bool("batch_major"))
    v = TRY(e_.append("array.transpose", Attrs{{"perm", std::vector<int64_t>{1, 0, 2}}}, {v}));
  return drop_first_axis(TRY(part(v, 0, d, d + 1)));
}

Result<ValueId> Recurrence::gate(ValueId gates, int64_t k) { return part(gates, -1, k * hidden_, (k + 1) * hidden_); }
Result<ValueId> Recurrence::row_gate(ValueId weights, int64_t k) { return part(weights, 0, k * hidden_, (k + 1) * hidden_); }

Result<ValueId> Recurrence::stack(std::vector<ValueId> values, int64_t axis) {
  for (ValueId& v : values) {
    graph::Shape shape = e_.type(v).shape;
    shape.insert(shape.begin() + axis, e_.ctx.constant(1));
    v = TRY(e_.append("array.reshape", Attrs{{"shape", shape}}, {v}));
  }
  if (values.size() == 1) return values[0];
  return e_.append("array.concat", Attrs{{"axis", axis}}, std::move(values));
}

Result<ValueId> Recurrence::activate(const Activation& a, ValueId x) {
  if (clip_ > 0) x = TRY(e_.append("math.clip", {}, {x, e_.scalar(dtype_, -clip_), e_.scalar(dtype_, clip_)}));
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

Result<std::vector<Activation>> Recurrence::activations_of(const std::vector<std::string>& defaults, int64_t d,
                                                           int64_t directions) {
  std::vector<std::string> names = e_.attr().as_strings("activations");
  const std::vector<double>&alphas = e_.attr().as_floats("alpha"), &betas = e_.attr().as_floats("beta");
  if (names.empty())
    for (int64_t k = 0; k < directions; ++k) names.insert(names.end(), defaults.begin(), defaults.end());
  if (names.size() != defaults.size() * static_cast<size_t>(directions))
    return e_.fail("bad-attribute", "there are " + std::to_string(names.size()) + " activations but " +
                                        std::to_string(defaults.size() * static_cast<size_t>(directions)) + " are needed");
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

// fresh where step t is within the sequence's length, else old.
Result<ValueId> Recurrence::keep_running(ValueId lengths, int64_t t, ValueId fresh, ValueId old) {
  ValueId step = e_.scalar(e_.type(lengths).dtype, static_cast<double>(t));
  ValueId running = TRY(binary("lt", step, lengths));
  running = TRY(e_.append("array.reshape", Attrs{{"shape", std::vector<Dim>{batch_, e_.ctx.constant(1)}}}, {running}));
  return e_.append("math.where", {}, {running, fresh, old});
}

Result<Recurrence::Run> Recurrence::run_direction(int64_t d, bool reverse, const Direction& direction, ValueId products,
                                                  const Step& step) {
  expr::Context& ctx = e_.ctx;
  std::vector<Dim> state_shape{batch_, ctx.constant(hidden_)};
  ValueId zero = TRY(e_.append("array.full", Attrs{{"shape", state_shape}}, {e_.scalar(dtype_, 0)}));
  State s;
  s.h = e_.has(5) ? TRY(initial_state(5, d)) : zero;
  if (has_cell_) s.c = e_.has(6) ? TRY(initial_state(6, d)) : zero;
  ValueId lengths = e_.has(4) ? input(4) : kNoValue;
  bool by_length = lengths != kNoValue;
  // With lengths, a reversed run goes over sequences that were reversed beforehand.
  std::vector<ValueId> outs(static_cast<size_t>(steps_));
  for (int64_t k = 0; k < steps_; ++k) {
    int64_t t = reverse && !by_length ? steps_ - 1 - k : k;
    ValueId gates = TRY(drop_first_axis(TRY(part(products, 0, t, t + 1))));
    State next = TRY(step(*this, direction, gates, s));
    ValueId out = next.h;
    if (by_length) {
      out = TRY(keep_running(lengths, t, next.h, zero));
      next.h = TRY(keep_running(lengths, t, next.h, s.h));
      if (has_cell_) next.c = TRY(keep_running(lengths, t, next.c, s.c));
    }
    outs[static_cast<size_t>(t)] = out;
    s = next;
  }
  Run run{kNoValue, s};
  if (steps_ == 0)
    run.y = TRY(e_.append("array.full", Attrs{{"shape", std::vector<Dim>{ctx.constant(0), batch_, ctx.constant(hidden_)}}},
                          {e_.scalar(dtype_, 0)}));
  else
    run.y = TRY(stack(std::move(outs), 0));
  if (reverse && by_length)
    run.y = TRY(
        e_.append("array.reverse_sequence", Attrs{{"batch_axis", int64_t{1}}, {"time_axis", int64_t{0}}}, {run.y, lengths}));
  return run;
}

Result<Recurrence::Run> Recurrence::scan_direction(int64_t d, bool reverse, const Direction& direction, ValueId products) {
  auto as = [&](DType t, ValueId v) -> Result<ValueId> {
    if (v == kNoValue || e_.type(v).dtype == t) return v;
    return e_.append("math.cast", Attrs{{"to", t}}, {v});
  };
  std::vector<std::string> names;
  std::vector<double> alpha, beta;
  for (const Activation& a : direction.activations) {
    names.push_back(a.name);
    alpha.push_back(a.alpha);
    beta.push_back(a.beta);
  }
  Attrs attrs{{"cell", cell_.name}, {"reverse", reverse},   {"variant", cell_.variant},
              {"clip", clip_},      {"activations", names}, {"alpha", alpha},
              {"beta", beta}};
  std::vector<ValueId> in{products, direction.r, direction.r_bias, kNoValue, kNoValue, kNoValue, direction.peepholes};
  if (e_.has(5)) in[4] = TRY(initial_state(5, d));
  if (e_.has(6)) in[5] = TRY(initial_state(6, d));
  for (ValueId& v : in) v = TRY(as(DType::F32, v));
  if (e_.has(4)) in[3] = input(4);
  std::vector<ValueId> out = TRY(e_.append_multi("nn.recurrent_scan", std::move(attrs), std::move(in), has_cell_ ? 3 : 2));
  for (ValueId& v : out) v = TRY(as(dtype_, v));
  return Run{out[0], {out[1], has_cell_ ? out[2] : kNoValue}};
}

Result<std::vector<ValueId>> Recurrence::run(const std::vector<std::string>& activations, bool fold_r_bias,
                                             const Step& step) {
  AttrReader a = e_.attr();
  hidden_ = a.as_int("hidden");
  clip_ = a.as_float("clip");
  bool batch_major = a.as_bool("batch_major");
  const std::string& way = a.as_string("direction");
  if (way != "forward" && way != "reverse" && way != "bidirectional")
    return e_.fail("bad-attribute", "there is no direction '" + way + "'");
  int64_t directions = way == "bidirectional" ? 2 : 1;
  for (size_t i : {size_t{0}, size_t{1}, size_t{2}})
    if (e_.type(input(i)).shape.size() != 3)
      return e_.fail("shape-mismatch", "input " + std::to_string(i) + " of a recurrent layer must have rank 3");
  x_ = input(0);
  dtype_ = e_.type(x_).dtype;
  std::vector<int64_t> swap{1, 0, 2};
  if (batch_major) {
    x_ = TRY(e_.append("array.transpose", Attrs{{"perm", swap}}, {x_}));
  }
  const graph::Shape& shape = e_.type(x_).shape;
  scans_ = !shape[0].is_const() || shape[0].const_value() > kMaxUnrolled;
  if (!scans_) steps_ = shape[0].const_value();
  batch_ = shape[1];
  std::vector<ValueId> ys, hs, cs;
  for (int64_t d = 0; d < directions; ++d) {
    bool reverse = way == "reverse" || d == 1;
    Direction direction;
    direction.activations = TRY(activations_of(activations, d, directions));
    direction.r = TRY(of_direction(2, d));
    ValueId x = x_;
    if (reverse && e_.has(4) && !scans_)
      x = TRY(
          e_.append("array.reverse_sequence", Attrs{{"batch_axis", int64_t{1}}, {"time_axis", int64_t{0}}}, {x, input(4)}));
    ValueId products = TRY(e_.append("nn.matmul", Attrs{{"transpose_b", true}}, {x, TRY(of_direction(1, d))}));
    if (e_.has(3)) {
      ValueId bias = TRY(of_direction(3, d)), w_bias = TRY(part(bias, 0, 0, gates_ * hidden_));
      direction.r_bias = TRY(part(bias, 0, gates_ * hidden_, 2 * gates_ * hidden_));
      if (fold_r_bias) {
        w_bias = TRY(binary("add", w_bias, direction.r_bias));
        direction.r_bias = kNoValue;
      }
      products = TRY(binary("add", products, w_bias));
    }
    if (e_.has(7)) direction.peepholes = TRY(of_direction(7, d));
    Run run = scans_ ? TRY(scan_direction(d, reverse, direction, products))
                     : TRY(run_direction(d, reverse, direction, products, step));
    ys.push_back(run.y);
    hs.push_back(run.last.h);
    cs.push_back(run.last.c);
  }
  std::vector<ValueId> out{TRY(stack(ys, 1)),
                           TRY(stack(hs, 0))};  // [steps, directions, batch, hidden], [directions, batch, hidden]
  if (has_cell_) out.push_back(TRY(stack(cs, 0)));
  if (batch_major) {
    out[0] = TRY(e_.append("array.transpose", Attrs{{"perm", std::vector<int64_t>{2, 0, 1, 3}}}, {out[0]}));
    for (size_t i = 1; i < out.size(); ++i) out[i] = TRY(e_.append("array.transpose", Attrs{{"perm", swap}}, {out[i]}));
  }
  return out;
}

std::vector<AttrSpec> recurrent_attrs() {
  return {attr("direction", "forward", "forward, reverse or bidirectional"),
          required_attr("hidden", AttrKind::Int, "the size of the state"),
          attr("activations", std::vector<std::string>{}, "names for each direction; empty: the usual ones"),
          attr("alpha", std::vector<double>{}, "parameters of activations that have one"),
          attr("beta", std::vector<double>{}, "second parameters"),
          attr("clip", 0.0, "bound of what activations get; 0: none"),
          attr("batch_major", false, "the batch is the first axis")};
}

}  // namespace pliant::ops
