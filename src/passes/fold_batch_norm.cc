// Affine maps of channels with constant coefficients go into the weights of the contraction before or after them. A batch
// normalisation is such a map at inference: y = x * s + t with s = scale / sqrt(var + epsilon), t = bias - mean * s; what no
// contraction takes stays as one multiplication and one addition.
//
//   %7 = nn.conv(%0, %1) : f32[n, 8, h, w]                            %2 = nn.conv(%0, W, T) : f32[n, 8, h, w]
//   %8 = nn.batch_norm(%7, %2, %3, %4, %5) : f32[n, 8, h, w]     →     return %2 "out"
//   return %8 "out"
//
// Weights are scaled in double precision and rounded once. Halves are left alone: their weights would lose bits that the
// separate map keeps.
#include <cmath>
#include <cstring>

#include "passes/pass.h"
#include "passes/rewrite/constants.h"
#include "passes/rewrite/known.h"
#include "passes/rewrite/liveness.h"
#include "passes/rules/match.h"

namespace pliant::passes {
namespace {

using Channels = std::vector<double>;

// A weight that something else uses too would be stored twice.
constexpr size_t kMostCopiedBytes = 1 << 20;

bool is_foldable(DType t) { return t == DType::F32 || t == DType::F64; }

// The constant with element i multiplied by factor[channel_of(i)].
template <class F>
ConstantPtr scaled(const ConstantData& c, const Channels& factor, F channel_of) {
  auto [out, memory] = graph::make_blank_constant(c.dtype, c.shape);
  auto scale = [&]<class T>(T) {
    for (int64_t i = 0, n = element_count(c); i < n; ++i) {
      T v;
      std::memcpy(&v, c.data + i * static_cast<int64_t>(sizeof v), sizeof v);
      v = static_cast<T>(static_cast<double>(v) * factor[channel_of(i)]);
      std::memcpy(memory + i * static_cast<int64_t>(sizeof v), &v, sizeof v);
    }
  };
  if (c.dtype == DType::F32)
    scale(float{});
  else
    scale(double{});
  return out;
}

// A convolution or a product by a constant weight, as far as its channels go.
struct Contraction {
  const Node* node;
  ConstantPtr weight;
  int64_t channels = 0;        // of the output
  int64_t input_channels = 0;  // of the input; 0 for products
  int64_t group = 1;
  int64_t taps = 1;  // product of the kernel's sizes
  size_t axis = 0;   // of the output's channels
  size_t rank = 0;
  bool has_bias_input = false;
  // The output channel, and the input channel, that weight element i belongs to.
  size_t output_channel(int64_t i) const {
    if (node->op == "nn.conv") return static_cast<size_t>(i / (input_channels / group * taps));
    if (node->op == "nn.conv_transpose") {
      int64_t per_group = channels / group, o = i / taps % per_group, in = i / taps / per_group;
      return static_cast<size_t>(in / (input_channels / group) * per_group + o);
    }
    return static_cast<size_t>(ops::attrs_of(*node).as_bool("transpose_b") ? i / weight->shape[1] : i % weight->shape[1]);
  }
  size_t input_channel(int64_t i) const {
    int64_t per_group = input_channels / group, out_per_group = channels / group;
    if (node->op == "nn.conv_transpose") return static_cast<size_t>(i / taps / out_per_group);
    return static_cast<size_t>(i / (per_group * taps) / out_per_group * per_group + i / taps % per_group);
  }
};

std::optional<Contraction> as_contraction(const Rewriter& s, const Node& n) {
  bool conv = n.op == "nn.conv", transposed = n.op == "nn.conv_transpose", matmul = n.op == "nn.matmul";
  if ((!conv && !transposed && !matmul) || n.attrs.has("to")) return std::nullopt;
  Contraction c;
  c.node = &n;
  c.weight = s.constant(n.inputs[1]);
  const TensorType* out = s.tensor(n.outputs[0]);
  if (!c.weight || !is_foldable(c.weight->dtype) || out == nullptr || element_count(*c.weight) == 0) return std::nullopt;
  if (!s.used_once(n.inputs[1]) && c.weight->bytes > kMostCopiedBytes) return std::nullopt;
  const std::vector<int64_t>& w = c.weight->shape;
  c.rank = out->shape.size();
  if (matmul) {
    if (w.size() != 2 || c.rank < 1) return std::nullopt;
    c.channels = ops::attrs_of(n).as_bool("transpose_b") ? w[0] : w[1];
    c.axis = c.rank - 1;
    return c;
  }
  c.has_bias_input = true;
  c.group = ops::attrs_of(n).as_int("group");
  c.axis = ops::attrs_of(n).as_string("layout") == "NCHW" ? 1 : c.rank - 1;
  c.channels = conv ? w[0] : w[1] * c.group;
  c.input_channels = conv ? w[1] * c.group : w[0];
  for (size_t k = 2; k < w.size(); ++k) c.taps *= w[k];
  return c;
}

// One finite number a channel, from a constant that broadcasts along the channel axis only.
std::optional<Channels> per_channel(const Rewriter& s, ValueId v, size_t rank, size_t axis, int64_t channels) {
  ConstantPtr constant = s.constant(v);
  if (!constant || !is_foldable(constant->dtype) || constant->shape.size() > rank) return std::nullopt;
  size_t missing = rank - constant->shape.size();
  for (size_t k = 0; k < constant->shape.size(); ++k) {
    bool fits = constant->shape[k] == 1 || (k + missing == axis && constant->shape[k] == channels);
    if (!fits) return std::nullopt;
  }
  Channels values = to_doubles(*constant);
  if (values.size() == 1) values.assign(static_cast<size_t>(channels), values[0]);
  if (static_cast<int64_t>(values.size()) != channels) return std::nullopt;
  for (double x : values) {
    if (!std::isfinite(x)) return std::nullopt;
  }
  return values;
}

class Folder {
 public:
  Folder(const FunctionPtr& f, expr::Context& ctx) : s_(f, ctx) {}

  Result<FunctionPtr> run() {
    return s_.run([&](const Node& n) -> Result<Rewriter::Action> {
      std::optional<ValueId> v;
      if (n.op == "nn.batch_norm")
        v = TRY(batch_norm(n));
      else if (n.op == "math.mul" || n.op == "math.div")
        v = TRY(scale_after(n));
      else if (n.op == "math.add" || n.op == "math.sub")
        v = TRY(shift_after(n));
      else if (n.op == "nn.conv")
        v = TRY(map_before(n));
      if (!v || !s_.can_replace(n.outputs[0], *v)) return Rewriter::Action::Keep;
      s_.replace(n.outputs[0], *v);
      return Rewriter::Action::Drop;
    });
  }

 private:
  using Maybe = Result<std::optional<ValueId>>;

  Maybe batch_norm(const Node& n) {
    if (n.outputs.size() != 1 || ops::attrs_of(n).as_bool("training")) return no_value();
    const TensorType x = *s_.tensor(n.inputs[0]);
    std::vector<Channels> p;
    for (size_t i = 1; i < 5; ++i) {
      ConstantPtr c = s_.constant(n.inputs[i]);
      if (!c || !is_foldable(c->dtype) || c->dtype != x.dtype) return no_value();
      p.push_back(to_doubles(*c));
    }
    double epsilon = ops::attrs_of(n).as_float("epsilon");
    Channels scale = p[0], shift = p[1];
    for (size_t k = 0; k < scale.size(); ++k) {
      scale[k] = p[0][k] / std::sqrt(p[3][k] + epsilon);
      shift[k] = p[1][k] - p[2][k] * scale[k];
      if (!std::isfinite(scale[k]) || !std::isfinite(shift[k])) return no_value();
    }
    // Extended to the right rank, so that it broadcasts along the channels.
    std::vector<int64_t> shape{static_cast<int64_t>(scale.size())};
    if (ops::attrs_of(n).as_string("layout") == "NCHW" && x.shape.size() > 2) shape.resize(x.shape.size() - 1, 1);
    ValueId s = s_.make_const(from_doubles(x.dtype, shape, scale), n.loc),
            t = s_.make_const(from_doubles(x.dtype, shape, shift), n.loc);
    ValueId product = TRY(s_.make("math.mul", {}, {n.inputs[0], s}, n.loc));
    return std::optional(TRY(s_.make("math.add", {}, {product, t}, n.loc)));
  }

  static std::optional<ValueId> no_value() { return std::nullopt; }

  // The contraction that defines `v` and is used by nothing else.
  std::optional<Contraction> contraction_of(ValueId v) const {
    const Node* n = s_.used_once(v) ? s_.def(v) : nullptr;
    return n != nullptr ? as_contraction(s_, *n) : std::nullopt;
  }

  Maybe remake(const Contraction& c, ConstantPtr weight, std::optional<ValueId> bias, const LocPtr& loc) {
    std::vector<ValueId> inputs = c.node->inputs;
    if (weight) inputs[1] = s_.make_const(weight, loc);
    if (bias) {
      inputs.resize(3, kNoValue);
      inputs[2] = *bias;
    }
    return std::optional(TRY(s_.make(c.node->op, c.node->attrs, std::move(inputs), loc)));
  }

  // The bias as numbers: zeros where there is none, nothing where it is not a constant.
  std::optional<Channels> bias_of(const Contraction& c) const {
    if (c.node->inputs.size() < 3 || c.node->inputs[2] == kNoValue) return Channels(static_cast<size_t>(c.channels), 0);
    ConstantPtr b = s_.constant(c.node->inputs[2]);
    return b ? std::optional(to_doubles(*b)) : std::nullopt;
  }
  bool has_bias(const Contraction& c) const { return c.node->inputs.size() > 2 && c.node->inputs[2] != kNoValue; }

  Maybe scale_after(const Node& n) {
    for (size_t k : {size_t{0}, size_t{1}}) {
      if (n.op == "math.div" && k == 1) break;
      auto c = contraction_of(n.inputs[k]);
      auto factor = c ? per_channel(s_, n.inputs[1 - k], c->rank, c->axis, c->channels) : std::nullopt;
      auto bias = factor ? bias_of(*c) : std::nullopt;
      if (!bias) continue;
      for (size_t i = 0; i < factor->size(); ++i) {
        if (n.op == "math.div") (*factor)[i] = 1 / (*factor)[i];
        if (!std::isfinite((*factor)[i])) return no_value();
        (*bias)[i] *= (*factor)[i];
      }
      LocPtr loc = fused_loc({c->node, &n});
      ConstantPtr weight = scaled(*c->weight, *factor, [&](int64_t i) { return c->output_channel(i); });
      std::optional<ValueId> new_bias;
      if (has_bias(*c)) new_bias = s_.make_const(from_doubles(c->weight->dtype, {c->channels}, *bias), loc);
      return remake(*c, weight, new_bias, loc);
    }
    return no_value();
  }

  Maybe shift_after(const Node& n) {
    for (size_t k : {size_t{0}, size_t{1}}) {
      if (n.op == "math.sub" && k == 1) break;
      auto c = contraction_of(n.inputs[k]);
      if (!c || !c->has_bias_input) continue;
      auto shift = per_channel(s_, n.inputs[1 - k], c->rank, c->axis, c->channels);
      auto bias = shift ? bias_of(*c) : std::nullopt;
      if (!bias) continue;
      for (size_t i = 0; i < shift->size(); ++i) (*bias)[i] += n.op == "math.sub" ? -(*shift)[i] : (*shift)[i];
      LocPtr loc = fused_loc({c->node, &n});
      return remake(*c, nullptr, s_.make_const(from_doubles(c->weight->dtype, {c->channels}, *bias), loc), loc);
    }
    return no_value();
  }

  bool is_unpadded(const Node& n) const {
    std::string auto_pad = ops::attrs_of(n).as_string("auto_pad");
    if (auto_pad == "valid") return true;
    for (Dim d : dims_of(n.attrs, "pads", s_.ctx())) {
      if (!d.is_const(0)) return false;
    }
    return auto_pad == "notset";
  }

  // conv(x * s) and, where no padding stands beside the shifted values, conv(x + t).
  Maybe map_before(const Node& n) {
    auto c = as_contraction(s_, n);
    const Node* map = c && s_.used_once(n.inputs[0]) ? s_.def(n.inputs[0]) : nullptr;
    if (map == nullptr || (map->op != "math.mul" && map->op != "math.add")) return no_value();
    for (size_t k : {size_t{0}, size_t{1}}) {
      ValueId x = map->inputs[k];
      if (!(s_.type(x) == s_.type(n.inputs[0])) || s_.constant(x)) continue;
      auto values = per_channel(s_, map->inputs[1 - k], c->rank, c->axis, c->input_channels);
      auto bias = values ? bias_of(*c) : std::nullopt;
      if (!bias) continue;
      Contraction moved = *c;
      Node with_x = n;
      with_x.inputs[0] = x;
      moved.node = &with_x;
      LocPtr loc = fused_loc({map, &n});
      if (map->op == "math.mul") {
        return remake(moved, scaled(*c->weight, *values, [&](int64_t i) { return c->input_channel(i); }), std::nullopt, loc);
      }
      if (!is_unpadded(n)) return no_value();
      Channels weight = to_doubles(*c->weight);
      for (size_t i = 0; i < weight.size(); ++i) {
        auto at = static_cast<int64_t>(i);
        (*bias)[c->output_channel(at)] += weight[i] * (*values)[c->input_channel(at)];
      }
      return remake(moved, nullptr, s_.make_const(from_doubles(c->weight->dtype, {c->channels}, *bias), loc), loc);
    }
    return no_value();
  }

  Rewriter s_;
};

// A fold may make way for the next one: a normalisation becomes a scale and a shift, the scale meets another.
constexpr int kMostRounds = 32;

}  // namespace

PassDef pass_fold_batch_norm() {
  return {.name = "fold-batch-norm",
          .summary = "folds constant scales and shifts of channels into weights",
          .run = [](const FunctionPtr& f, PassContext& c) -> Result<FunctionPtr> {
            FunctionPtr current = f;
            for (int round = 0; round < kMostRounds; ++round) {
              FunctionPtr next = TRY(Folder(current, c.ctx).run());
              if (next == current) return current;
              current = without_dead_nodes(next, c.ctx);
            }
            return current;
          }};
}

}  // namespace pliant::passes
