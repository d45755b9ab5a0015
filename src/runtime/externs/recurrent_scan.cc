// The steps of a recurrent layer whose number is known only now. The products with the input were made for all steps at
// once; what is left for a step is the product of the state with R, a row-major [gates * hidden, hidden] matrix.
#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstring>

#include "runtime/externs.h"

namespace pliant::runtime {
namespace {

struct Activation {
  int64_t kind = 0;
  float alpha = 0, beta = 0;
};
enum Kind : int64_t {
  kRelu,
  kTanh,
  kSigmoid,
  kSoftsign,
  kSoftplus,
  kLeakyRelu,
  kThresholdedRelu,
  kElu,
  kAffine,
  kScaledTanh,
  kHardSigmoid,
  kKinds
};

float apply(const Activation& a, float x) {
  switch (a.kind) {
    case kRelu: return x > 0 ? x : x != x ? x : 0;
    case kTanh: return std::tanh(x);
    case kSigmoid: return 1 / (1 + std::exp(-x));
    case kSoftsign: return x / (1 + std::fabs(x));
    case kSoftplus: return std::max(x, 0.0f) + std::log1p(std::exp(-std::fabs(x)));
    case kLeakyRelu: return x >= 0 ? x : a.alpha * x;
    case kThresholdedRelu: return x > a.alpha ? x : 0;
    case kElu: return x >= 0 ? x : a.alpha * std::expm1(x);
    case kAffine: return a.alpha * x + a.beta;
    case kScaledTanh: return a.alpha * std::tanh(a.beta * x);
    default: return std::max(0.0f, std::min(1.0f, a.alpha * x + a.beta));
  }
}

// Eight sums side by side, which the compiler keeps in vector registers.
float dot(const float* a, const float* b, int64_t n) {
  float sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int64_t k = 0; k < 8; ++k) sums[k] += a[i + k] * b[i + k];
  for (; i < n; ++i) sums[i % 8] += a[i] * b[i];
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

enum Cell : int64_t { kRnn, kLstm, kGru, kCells };
constexpr int64_t kGates[] = {1, 4, 3};
constexpr int64_t kActivations[] = {1, 3, 2};

struct Layer {
  Cell cell = kRnn;
  bool variant = false;
  float clip = 0;
  int64_t hidden = 0;
  const float* r = nullptr;
  const float* r_bias = nullptr;
  const float* peepholes = nullptr;
  Activation activations[3];

  float activate(int k, float x) const { return apply(activations[k], clip > 0 ? std::max(-clip, std::min(clip, x)) : x); }
  // out[i] = R[first + i] . h (+ bias) for i below count
  void recur(const float* h, int64_t first, int64_t count, float* out) const {
    for (int64_t i = 0; i < count; ++i)
      out[i] = dot(r + (first + i) * hidden, h, hidden) + (r_bias != nullptr ? r_bias[first + i] : 0);
  }

  void step(const float* x, float* h, float* c, float* work) const {
    if (cell == kRnn) {
      recur(h, 0, hidden, work);
      for (int64_t i = 0; i < hidden; ++i) h[i] = activate(0, x[i] + work[i]);
    } else if (cell == kLstm) {
      step_lstm(x, h, c, work);
    } else {
      step_gru(x, h, work);
    }
  }

  // Gates: input, output, forget, cell.
  void step_lstm(const float* x, float* h, float* c, float* work) const {
    recur(h, 0, 4 * hidden, work);
    for (int64_t i = 0; i < hidden; ++i) {
      auto gate = [&](int64_t g) { return x[g * hidden + i] + work[g * hidden + i]; };
      auto peep = [&](int64_t g, float cell_value) {
        return peepholes != nullptr ? peepholes[g * hidden + i] * cell_value : 0;
      };
      float input = activate(0, gate(0) + peep(0, c[i]));
      float forget = variant ? 1 - input : activate(0, gate(2) + peep(2, c[i]));
      float next = forget * c[i] + input * activate(1, gate(3));
      float output = activate(0, gate(1) + peep(1, next));
      c[i] = next;
      h[i] = output * activate(2, next);
    }
  }

  // Gates: update, reset, hidden. work holds the products of update, reset and hidden.
  void step_gru(const float* x, float* h, float* work) const {
    recur(h, 0, 2 * hidden, work);
    float* inner = work + 2 * hidden;
    for (int64_t i = 0; i < 2 * hidden; ++i) work[i] = activate(0, x[i] + work[i]);
    const float *update = work, *reset = work + hidden;
    if (variant) {
      recur(h, 2 * hidden, hidden, inner);
      for (int64_t i = 0; i < hidden; ++i) inner[i] *= reset[i];
    } else {
      float* scaled = work + 3 * hidden;
      for (int64_t i = 0; i < hidden; ++i) scaled[i] = reset[i] * h[i];
      recur(scaled, 2 * hidden, hidden, inner);
    }
    for (int64_t i = 0; i < hidden; ++i)
      h[i] = (1 - update[i]) * activate(1, x[2 * hidden + i] + inner[i]) + update[i] * h[i];
  }
};

const float* floats(const ExternInput& in) { return in.elements == 0 ? nullptr : reinterpret_cast<const float*>(in.data); }

float float_of(int64_t bits) { return static_cast<float>(std::bit_cast<double>(bits)); }

pliant_status read_layer(const ExternCall& call, Layer& l) {
  const int64_t cell = call.ints[0];
  if (cell < 0 || cell >= kCells) return call.fault("there is no cell %" PRId64, cell);
  l.cell = static_cast<Cell>(cell);
  l.variant = call.ints[2] != 0;
  l.clip = float_of(call.ints[3]);
  if (static_cast<int64_t>(call.ints.size()) != 4 + 3 * kActivations[cell]) return call.fault("wrong number of activations");
  for (int64_t k = 0; k < kActivations[cell]; ++k) {
    const int64_t* a = call.ints.data() + 4 + 3 * k;
    if (a[0] < 0 || a[0] >= kKinds) return call.fault("there is no activation %" PRId64, a[0]);
    l.activations[k] = {a[0], float_of(a[1]), float_of(a[2])};
  }
  for (size_t i : {size_t{0}, size_t{1}, size_t{2}, size_t{4}, size_t{5}, size_t{6}})
    if (call.inputs[i].dtype != DType::F32)
      return call.fault("input %zu is %s but must be f32", i, name_of(call.inputs[i].dtype));
  const ExternInput &x = call.inputs[0], &r = call.inputs[1];
  if (x.shape.size() != 3 || r.shape.size() != 2) return call.fault("the products must have rank 3 and the weight rank 2");
  l.hidden = r.shape[1];
  const int64_t rows = kGates[cell] * l.hidden;
  if (r.shape[0] != rows || x.shape[2] != rows) return call.fault("products, weight and hidden size do not fit");
  auto fits = [&](size_t i, int64_t count) { return call.inputs[i].elements == 0 || call.inputs[i].elements == count; };
  if (!fits(2, rows) || !fits(3, x.shape[1]) || !fits(4, x.shape[1] * l.hidden) || !fits(5, x.shape[1] * l.hidden) ||
      !fits(6, 3 * l.hidden))
    return call.fault("bias, lengths, states and peepholes do not fit the products");
  l.r = floats(r);
  l.r_bias = floats(call.inputs[2]);
  l.peepholes = floats(call.inputs[6]);
  return PLIANT_OK;
}

int64_t length_of(const ExternInput& lengths, int64_t batch, int64_t steps) {
  if (lengths.elements == 0) return steps;
  if (lengths.dtype == DType::I64) {
    int64_t v;
    std::memcpy(&v, lengths.data + 8 * batch, sizeof v);
    return v;
  }
  int32_t v;
  std::memcpy(&v, lengths.data + 4 * batch, sizeof v);
  return v;
}

}  // namespace

pliant_status extern_recurrent_scan(ExternCall& call) {
  Layer l;
  PLIANT_TRY(read_layer(call, l));
  const ExternInput &x = call.inputs[0], &lengths = call.inputs[3];
  const int64_t steps = x.shape[0], batch = x.shape[1], width = x.shape[2], hidden = l.hidden;
  if (lengths.elements != 0 && lengths.dtype != DType::I32 && lengths.dtype != DType::I64)
    return call.fault("the lengths are %s but must be i32 or i64", name_of(lengths.dtype));
  PLIANT_TRY(call.require_output(0, DType::F32, static_cast<uint64_t>(steps * batch * hidden)));
  for (size_t i = 1; i < call.outputs.size(); ++i)
    PLIANT_TRY(call.require_output(i, DType::F32, static_cast<uint64_t>(batch * hidden)));
  // The last room keeps a cell state that is no output.
  float* work = call.room<float>(static_cast<uint64_t>(5 * hidden));
  if (work == nullptr) return PLIANT_RUN_FAULT;
  auto* y = reinterpret_cast<float*>(call.outputs[0].data);
  auto* last_h = reinterpret_cast<float*>(call.outputs[1].data);
  float* last_c = call.outputs.size() > 2 ? reinterpret_cast<float*>(call.outputs[2].data) : nullptr;
  auto start = [&](float* state, const ExternInput& from, int64_t b) {
    if (const float* p = floats(from))
      std::copy_n(p + b * hidden, hidden, state);
    else
      std::fill_n(state, hidden, 0.0f);
  };
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t length = length_of(lengths, b, steps);
    if (length < 0 || length > steps) return call.fault("length %" PRId64 " is not between 0 and %" PRId64, length, steps);
    float* h = last_h + b * hidden;
    float* c = last_c != nullptr ? last_c + b * hidden : work + 4 * hidden;
    start(h, call.inputs[4], b);
    start(c, call.inputs[5], b);
    for (int64_t k = 0; k < length; ++k) {
      const int64_t t = call.ints[1] != 0 ? length - 1 - k : k;
      l.step(floats(x) + (t * batch + b) * width, h, c, work);
      std::copy_n(h, hidden, y + (t * batch + b) * hidden);
    }
    for (int64_t t = length; t < steps; ++t) std::fill_n(y + (t * batch + b) * hidden, hidden, 0.0f);
  }
  return PLIANT_OK;
}

}  // namespace pliant::runtime
