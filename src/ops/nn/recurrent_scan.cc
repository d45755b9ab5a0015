// The steps of a recurrent layer, one after the other, from the products with the input. What nn.lstm, nn.gru and nn.rnn
// become when the number of steps is known only at run time.
#include <algorithm>
#include <bit>
#include <cmath>

#include "ops/recurrent.h"
#include "ops/reference.h"

namespace pliant::ops {
namespace {

// Inputs: products [steps, batch, gates * hidden], r [gates * hidden, hidden], r_bias?, lengths? [batch], h0?, c0? [batch,
// hidden], peepholes? [3 * hidden].
constexpr const char* kCells[] = {"rnn", "lstm", "gru"};
constexpr int64_t kGates[] = {1, 4, 3};

Result<int64_t> cell_of(DefineContext& c) {
  const std::string& name = c.attr().as_string("cell");
  for (int64_t k = 0; k < 3; ++k)
    if (name == kCells[k]) return k;
  return c.fail("bad-attribute", "there is no cell '" + name + "'");
}

Result<std::vector<TensorType>> infer_types(DefineContext& c) {
  int64_t cell = TRY(cell_of(c));
  for (size_t i = 0; i < c.input_count(); ++i)
    if (i != 3 && c.has(i) && c.in(i)->dtype != DType::F32)
      return c.fail("type-mismatch", "input " + std::to_string(i) + " must be f32 but is " + name_of(c.in(i)->dtype));
  const te::Tensor &x = c.in(0), &r = c.in(1);
  if (x->rank() != 3 || r->rank() != 2)
    return c.fail("shape-mismatch", "the products must have rank 3 and the weight rank 2");
  Dim steps = x->shape[0], batch = x->shape[1], hidden = r->shape[1], rows = hidden * kGates[cell];
  TRY(c.require_equal(r->shape[0], rows, "the rows of the weight and the gates"));
  TRY(c.require_equal(x->shape[2], rows, "the products and the gates"));
  auto require = [&](size_t i, const std::vector<Dim>& shape) -> Status {
    if (!c.has(i)) return ok();
    if (c.in(i)->rank() != shape.size())
      return c.fail("shape-mismatch", "input " + std::to_string(i) + " has rank " + std::to_string(c.in(i)->rank()));
    for (size_t k = 0; k < shape.size(); ++k)
      TRY(c.require_equal(c.in(i)->shape[k], shape[k], "axis " + std::to_string(k) + " of input " + std::to_string(i)));
    return ok();
  };
  TRY(require(2, {rows}));
  TRY(require(3, {batch}));
  TRY(require(4, {batch, hidden}));
  TRY(require(5, {batch, hidden}));
  TRY(require(6, {hidden * 3}));
  size_t activations = cell == 0 ? 1 : cell == 1 ? 3 : 2;
  AttrReader a = c.attr();
  if (a.as_strings("activations").size() != activations || a.as_floats("alpha").size() != activations ||
      a.as_floats("beta").size() != activations)
    return c.fail("bad-attribute", "a cell " + a.as_string("cell") + " has " + std::to_string(activations) + " activations");
  for (const std::string& name : a.as_strings("activations"))
    if (activation_kind(name) < 0) return c.fail("bad-attribute", "there is no activation '" + name + "'");
  std::vector<Dim> state{batch, hidden};
  return std::vector{TensorType{DType::F32, {steps, batch, hidden}}, TensorType{DType::F32, state},
                     TensorType{DType::F32, state}};
}

std::vector<Dim> ints(DefineContext& c) {
  AttrReader a = c.attr();
  auto bits = [&](double v) { return c.dim(std::bit_cast<int64_t>(v)); };
  std::vector<Dim> out{c.dim(cell_of(c).value()), flag(c.ctx(), a.as_bool("reverse")), flag(c.ctx(), a.as_bool("variant")),
                       bits(a.as_float("clip"))};
  for (size_t k = 0; k < a.as_strings("activations").size(); ++k) {
    out.push_back(c.dim(activation_kind(a.as_strings("activations")[k])));
    out.push_back(bits(a.as_floats("alpha")[k]));
    out.push_back(bits(a.as_floats("beta")[k]));
  }
  return out;
}

using Vector = std::vector<double>;

double apply(const Activation& a, double x) {
  switch (activation_kind(a.name)) {
    case 0: return x > 0 || std::isnan(x) ? x : 0;
    case 1: return std::tanh(x);
    case 2: return 1 / (1 + std::exp(-x));
    case 3: return x / (1 + std::abs(x));
    case 4: return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    case 5: return x >= 0 ? x : a.alpha * x;
    case 6: return x > a.alpha ? x : 0;
    case 7: return x >= 0 ? x : a.alpha * std::expm1(x);
    case 8: return a.alpha * x + a.beta;
    case 9: return a.alpha * std::tanh(a.beta * x);
    default: return std::max(0.0, std::min(1.0, a.alpha * x + a.beta));
  }
}

class Scan {
 public:
  Scan(const Attrs& attrs, const std::vector<te::ArrayView>& in) : attr_{attrs}, in_(in), hidden_(in[1].shape[1]) {
    for (size_t k = 0; k < attr_.as_strings("activations").size(); ++k)
      activations_.push_back({attr_.as_strings("activations")[k], attr_.as_floats("alpha")[k], attr_.as_floats("beta")[k]});
  }

  Arrays run() {
    int64_t steps = in_[0].shape[0], batch = in_[0].shape[1];
    te::Array y = make_array(DType::F32, {steps, batch, hidden_}), h_out = make_array(DType::F32, {batch, hidden_}),
              c_out = h_out;
    for (int64_t b = 0; b < batch; ++b) {
      int64_t length = has(3) ? static_cast<int64_t>(number_at(in_[3], b)) : steps;
      if (length < 0 || length > steps)
        return make_error("run-time-check", "",
                          "length " + std::to_string(length) + " is not between 0 and " + std::to_string(steps));
      Vector h = state(4, b), c = state(5, b);
      for (int64_t k = 0; k < length; ++k) {
        int64_t t = attr_.as_bool("reverse") ? length - 1 - k : k;
        step((t * batch + b) * in_[0].shape[2], h, c);
        for (int64_t i = 0; i < hidden_; ++i) set_number(y, (t * batch + b) * hidden_ + i, h[static_cast<size_t>(i)]);
      }
      for (int64_t i = 0; i < hidden_; ++i) {
        set_number(h_out, b * hidden_ + i, h[static_cast<size_t>(i)]);
        set_number(c_out, b * hidden_ + i, c[static_cast<size_t>(i)]);
      }
    }
    return std::vector{std::move(y), std::move(h_out), std::move(c_out)};
  }

 private:
  bool has(size_t i) const { return i < in_.size() && in_[i].data != nullptr; }
  double at(size_t i, int64_t k) const { return static_cast<double>(number_at(in_[i], k)); }
  Vector state(size_t i, int64_t b) const {
    Vector v(static_cast<size_t>(hidden_));
    for (int64_t k = 0; k < hidden_ && has(i); ++k) v[static_cast<size_t>(k)] = at(i, b * hidden_ + k);
    return v;
  }
  double recur(int64_t row, const Vector& h) const {
    double sum = has(2) ? at(2, row) : 0;
    for (int64_t k = 0; k < hidden_; ++k) sum += at(1, row * hidden_ + k) * h[static_cast<size_t>(k)];
    return sum;
  }
  double activate(size_t k, double x) const {
    double clip = attr_.as_float("clip");
    return apply(activations_[k], clip > 0 ? std::max(-clip, std::min(clip, x)) : x);
  }

  void step(int64_t x, Vector& h, Vector& c) const {
    const std::string& cell = attr_.as_string("cell");
    bool variant = attr_.as_bool("variant");
    Vector old = h;
    auto product = [&](int64_t g, int64_t i) { return at(0, x + g * hidden_ + i); };
    auto gate = [&](int64_t g, int64_t i) { return product(g, i) + recur(g * hidden_ + i, old); };
    auto peep = [&](int64_t g, int64_t i, double cell_value) { return has(6) ? at(6, g * hidden_ + i) * cell_value : 0; };
    Vector reset_h = old;
    if (cell == "gru")
      for (int64_t i = 0; i < hidden_; ++i) reset_h[static_cast<size_t>(i)] *= activate(0, gate(1, i));
    for (int64_t i = 0; i < hidden_; ++i) {
      size_t s = static_cast<size_t>(i);
      if (cell == "rnn") {
        h[s] = activate(0, gate(0, i));
      } else if (cell == "lstm") {
        double input = activate(0, gate(0, i) + peep(0, i, c[s]));
        double forget = variant ? 1 - input : activate(0, gate(2, i) + peep(2, i, c[s]));
        c[s] = forget * c[s] + input * activate(1, gate(3, i));
        h[s] = activate(0, gate(1, i) + peep(1, i, c[s])) * activate(2, c[s]);
      } else {
        double update = activate(0, gate(0, i));
        double inner = variant ? activate(0, gate(1, i)) * recur(2 * hidden_ + i, old) : recur(2 * hidden_ + i, reset_h);
        h[s] = (1 - update) * activate(1, product(2, i) + inner) + update * old[s];
      }
    }
  }

  AttrReader attr_;
  const std::vector<te::ArrayView>& in_;
  int64_t hidden_;
  std::vector<Activation> activations_;
};

Arrays reference(const Attrs& attrs, const std::vector<te::ArrayView>& in) { return Scan(attrs, in).run(); }

}  // namespace

OpDef op_nn_recurrent_scan() {
  return {
      .name = "nn.recurrent_scan",
      .doc = "The steps of a recurrent layer from the products with its input; outputs all states, and the last of h and c.",
      .attrs = {required_attr("cell", AttrKind::String, "rnn, lstm or gru"),
                attr("reverse", false, "from the last step to the first"),
                attr("variant", false, "lstm: the forget gate is 1 - input; gru: the reset gate acts after the product"),
                attr("clip", 0.0, "bound of what activations get; 0: none"),
                required_attr("activations", AttrKind::Strings, "lower case"),
                required_attr("alpha", AttrKind::Floats, "one an activation"),
                required_attr("beta", AttrKind::Floats, "one an activation")},
      .min_inputs = 2,
      .max_inputs = 7,
      .outputs = 3,
      .kernel = {infer_types, reference, "recurrent_scan", ints},
      .samples = {"f32[T,B,8] f32[8,2] _ i32[B]@0..3 f32[B,2] f32[B,2] f32[6] T=3 B=2 cell=lstm "
                  "activations=[sigmoid,tanh,tanh] alpha=[0,0,0] beta=[0,0,0] outputs=3",
                  "f32[T,B,6] f32[6,2] f32[6] _ f32[B,2] T=2 B=3 cell=gru activations=[sigmoid,tanh] alpha=[0,0] beta=[0,0] "
                  "reverse=true variant=true outputs=2",
                  "f32[T,B,3] f32[3,3] T=4 B=1 cell=rnn activations=[affine] alpha=[0.5] beta=[0.1] clip=0.5 outputs=2"}};
}

}  // namespace pliant::ops
