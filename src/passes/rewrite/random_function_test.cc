#include "passes/rewrite/random_function_test.h"

#include <algorithm>
#include <cstring>

#include "ops/op.h"

namespace pliant::passes {
namespace {

class Generator {
 public:
  Generator(expr::Context& ctx, uint64_t seed) : ctx_(ctx), random_(seed), b_("main", ctx) {}

  FunctionPtr run() {
    auto axis = [&](const char* name, const char* input, int64_t k) {
      return ctx_.symbol({.name = name, .lo = 0, .origin = {expr::Origin::Kind::InputAxis, input, k}});
    };
    Dim n = axis("n", "x", 0), h = axis("h", "x", 2), w = axis("w", "x", 3);
    values_ = {b_.add_param(graph::make_tensor_type(DType::F32, {n, dim(4), h, w}), "x"),
               b_.add_param(graph::make_tensor_type(DType::F32, {n, dim(6)}), "v")};
    for (int step = 0; step < 14; ++step) add_step();
    std::vector<ValueId> results{values_.back()};
    if (pick(2) == 0 && values_.size() > 4) results.push_back(values_[values_.size() - 3]);
    std::vector<std::string> names;
    for (ValueId v : results) names.push_back("y" + std::to_string(v));
    b_.set_results(results, names);
    return b_.finish();
  }

 private:
  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[static_cast<size_t>(pick(static_cast<int64_t>(list.size())))];
  }
  Dim dim(int64_t v) { return ctx_.constant(v); }
  const Shape& shape(ValueId v) const { return b_.peek().tensor_type(v).shape; }
  int64_t rank(ValueId v) const { return static_cast<int64_t>(shape(v).size()); }
  bool has_channels(ValueId v) const { return rank(v) == 4 && shape(v)[1].is_const() && !shape(v)[1].is_const(1); }

  // Nothing where the operator does not fit these operands: a refused step is not taken.
  std::optional<ValueId> try_append(const std::string& op, Attrs attrs, std::vector<ValueId> inputs) {
    std::string name = op + "_" + std::to_string(counter_++);
    auto v = ops::append_node(b_, ctx_, op, std::move(attrs), std::move(inputs), 1, Loc::make_named(name, op));
    if (!v.ok()) return std::nullopt;
    return v.value()[0];
  }
  ValueId append(const std::string& op, Attrs attrs, std::vector<ValueId> inputs) {
    auto v = try_append(op, std::move(attrs), std::move(inputs));
    PLIANT_CHECK(v.has_value()) << op << " does not fit";
    return *v;
  }
  ValueId constant(std::vector<int64_t> sizes, double low = -1, double high = 1) {
    auto [c, memory] = graph::make_blank_constant(DType::F32, std::move(sizes));
    auto* floats = reinterpret_cast<float*>(memory);
    for (int64_t i = 0; i < element_count(*c); ++i)
      floats[i] = static_cast<float>(low + (high - low) * static_cast<double>(pick(257)) / 256);
    return b_.append_const(c, Loc::make_named("c" + std::to_string(counter_++), "const"));
  }
  ValueId number(double v) { return constant({}, v, v); }
  // A recent value more often than an old one.
  ValueId any() {
    return pick(3) == 0 ? pick(values_)
                        : values_[values_.size() - 1 -
                                  static_cast<size_t>(pick(std::min<int64_t>(3, static_cast<int64_t>(values_.size()))))];
  }

  void add_step() {
    ValueId x = any();
    std::optional<ValueId> v;
    switch (pick(18)) {
      case 0: v = unary(x); break;
      case 1: v = try_append(pick(binary_), {}, {x, any()}); break;
      case 2: v = with_constant(x); break;
      case 3:
      case 4:
      case 5: v = has_channels(x) ? convolution(x) : unary(x); break;
      case 6: v = has_channels(x) ? batch_norm(x) : with_constant(x); break;
      case 7: v = has_channels(x) ? pool(x) : softmax(x); break;
      case 8: v = transpose(x); break;
      case 9: v = reshape(x); break;
      case 10: v = concat(x); break;
      case 11: v = pad_or_slice(x); break;
      case 12: v = reduce(x); break;
      case 13: v = product(x); break;
      case 14: v = layer_norm(x); break;
      case 15: v = gelu_or_silu(x); break;
    }
    if (v) values_.push_back(*v);
  }

  std::optional<ValueId> unary(ValueId x) {
    return try_append(pick(std::vector<std::string>{"math.tanh", "nn.relu", "math.neg", "math.abs", "math.sigmoid",
                                                    "math.identity", "math.erf"}),
                      {}, {x});
  }

  // A constant that broadcasts: a number, along the last axis, along axis 1.
  std::optional<ValueId> with_constant(ValueId x) {
    std::vector<int64_t> sizes;
    int64_t axis = pick(3) == 0 ? rank(x) - 1 : 1;
    if (rank(x) > 1 && pick(4) != 0 && shape(x)[static_cast<size_t>(axis)].is_const()) {
      sizes.assign(static_cast<size_t>(rank(x) - axis), 1);
      sizes[0] = shape(x)[static_cast<size_t>(axis)].const_value();
      if (pick(2) == 0) sizes.insert(sizes.begin(), 1);
      if (static_cast<int64_t>(sizes.size()) > rank(x)) sizes.erase(sizes.begin());
    }
    double neutral = static_cast<double>(pick(2));
    ValueId c = pick(4) == 0 ? constant(sizes, neutral, neutral) : constant(sizes, 0.5, 2);
    return try_append(pick(std::vector<std::string>{"math.add", "math.mul", "math.sub", "math.div", "math.max"}), {},
                      {x, c});
  }

  std::optional<ValueId> convolution(ValueId x) {
    int64_t in = shape(x)[1].const_value(), kernel = 1 + 2 * pick(2), group = in % 2 == 0 && pick(3) == 0 ? 2 : 1,
            out = 2 + 2 * pick(2);
    if (pick(6) == 0) return try_append("nn.conv_transpose", {{"group", group}}, {x, constant({in, out / group, 2, 1})});
    std::vector<ValueId> inputs{x, constant({out, in / group, kernel, kernel})};
    if (pick(2) == 0) inputs.push_back(constant({out}));
    int64_t pad = kernel / 2;
    if (pick(4) == 0) {
      auto padded = try_append("array.pad", {{"pads", std::vector<int64_t>{0, 0, 1, 0, 0, 0, 1, 1}}}, {x});
      if (padded) inputs[0] = *padded;
    }
    return try_append("nn.conv", {{"pads", std::vector<int64_t>{pad, pad, pad, pad}}, {"group", group}}, inputs);
  }

  std::optional<ValueId> batch_norm(ValueId x) {
    int64_t c = shape(x)[1].const_value();
    return try_append("nn.batch_norm", {}, {x, constant({c}), constant({c}), constant({c}), constant({c}, 0.5, 2)});
  }

  std::optional<ValueId> pool(ValueId x) {
    Attrs attrs{{"kernel", std::vector<int64_t>{3, 3}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}};
    switch (pick(3)) {
      case 0: return try_append("nn.max_pool", attrs, {x});
      case 1: return try_append("nn.avg_pool", attrs, {x});
      default: return try_append("nn.global_avg_pool", {}, {x});
    }
  }

  std::optional<ValueId> softmax(ValueId x) {
    if (rank(x) == 0) return std::nullopt;
    if (pick(2) == 0) return try_append("nn.softmax", {{"axis", pick(rank(x))}}, {x});
    Attrs axes{{"axes", std::vector<int64_t>{pick(rank(x))}}};
    ValueId e = append("math.exp", {}, {append("math.sub", {}, {x, append("reduce.max", axes, {x})})});
    return append("math.div", {}, {e, append("reduce.sum", axes, {e})});
  }

  std::optional<ValueId> transpose(ValueId x) {
    std::vector<int64_t> perm(static_cast<size_t>(rank(x)));
    for (size_t k = 0; k < perm.size(); ++k) perm[k] = static_cast<int64_t>(k);
    if (rank(x) >= 3 && pick(2) == 0) {
      if (pick(2) == 0)
        std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
      else
        std::rotate(perm.begin() + 1, perm.end() - 1, perm.end());
    } else {
      std::shuffle(perm.begin(), perm.end(), random_);
    }
    return try_append("array.transpose", {{"perm", perm}}, {x});
  }

  // Merges two neighbouring axes or adds one of size 1.
  std::optional<ValueId> reshape(ValueId x) {
    Shape to = shape(x);
    if (rank(x) >= 2 && (rank(x) > 4 || pick(2) == 0)) {
      auto k = static_cast<size_t>(pick(rank(x) - 1));
      to[k] = to[k] * to[k + 1];
      to.erase(to.begin() + static_cast<std::ptrdiff_t>(k) + 1);
    } else if (rank(x) < 5) {
      to.insert(to.begin() + pick(rank(x) + 1), dim(1));
    }
    return try_append("array.reshape", {{"shape", to}}, {x});
  }

  std::optional<ValueId> concat(ValueId x) {
    if (rank(x) == 0) return std::nullopt;
    int64_t axis = pick(rank(x));
    auto other = unary(x);
    if (!other) return std::nullopt;
    return try_append("array.concat", {{"axis", axis}}, {x, *other});
  }

  std::optional<ValueId> pad_or_slice(ValueId x) {
    if (rank(x) == 0) return std::nullopt;
    auto r = static_cast<size_t>(rank(x));
    if (pick(2) == 0) {
      std::vector<int64_t> pads(2 * r, 0);
      pads[static_cast<size_t>(pick(static_cast<int64_t>(2 * r)))] = pick(2);
      return try_append("array.pad", {{"pads", pads}}, {x});
    }
    std::vector<int64_t> starts{pick(2)}, ends{pick(3) == 0 ? -1 : INT64_MAX}, axes{pick(rank(x))}, steps{1};
    return try_append("array.slice", {{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}}, {x});
  }

  std::optional<ValueId> resample(ValueId x) {
    if (!has_channels(x))
      return try_append("array.tile", {{"repeats", std::vector<int64_t>(static_cast<size_t>(rank(x)), 1 + pick(2))}}, {x});
    switch (pick(3)) {
      case 0:
        return try_append(
            "array.resize",
            {{"axes", std::vector<int64_t>{2, 3}}, {"sizes", std::vector<int64_t>{3, 6}}, {"mode", std::string("linear")}},
            {x});
      case 1: return try_append("nn.lrn", {{"size", int64_t{3}}}, {x});
      default: return try_append("array.resize", {{"scales", std::vector<double>{1, 1, 2, 1}}}, {x});
    }
  }

  // Parts of x, or x where it is positive.
  std::optional<ValueId> select(ValueId x) {
    if (rank(x) == 0) return std::nullopt;
    if (pick(2) == 0) {
      ValueId positive = append("math.gt", {}, {x, number(0)});
      return try_append(
          "math.where", {},
          {positive, x, pick(2) == 0 ? number(-0.5) : append("math.clip", {}, {x, number(-0.25), number(0.25)})});
    }
    const int64_t index = pick(2) - 1;
    ValueId at = b_.append_const(graph::make_constant(DType::I64, {}, &index, sizeof index),
                                 Loc::make_named("index" + std::to_string(counter_++), "const"));
    return try_append("array.gather", {{"axis", pick(rank(x))}}, {x, at});
  }

  std::optional<ValueId> reduce(ValueId x) {
    if (rank(x) < 2) return std::nullopt;
    std::vector<int64_t> axes{pick(rank(x))};
    if (rank(x) == 4 && pick(2) == 0) axes = {2, 3};
    return try_append(pick(std::vector<std::string>{"reduce.mean", "reduce.max", "reduce.sum"}),
                      {{"axes", axes}, {"keepdims", pick(2) == 0}}, {x});
  }

  std::optional<ValueId> product(ValueId x) {
    if (rank(x) < 2) return std::nullopt;
    if (pick(2) == 0 && shape(x).back().is_const()) {
      auto k = shape(x).back().const_value();
      ValueId w = constant({3, k});
      return try_append("nn.matmul", {}, {x, append("array.transpose", {{"perm", std::vector<int64_t>{1, 0}}}, {w})});
    }
    std::vector<int64_t> perm(static_cast<size_t>(rank(x)));
    for (size_t k = 0; k < perm.size(); ++k) perm[k] = static_cast<int64_t>(k);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    auto transposed = append("array.transpose", {{"perm", perm}}, {x});
    auto scores = try_append("nn.matmul", {}, {x, transposed});
    // Large sums would leave nothing to compare.
    return scores ? try_append("math.tanh", {}, {*scores}) : std::nullopt;
  }

  std::optional<ValueId> layer_norm(ValueId x) {
    if (rank(x) == 0) return std::nullopt;
    Attrs axes{{"axes", std::vector<int64_t>{-1}}};
    ValueId d = append("math.sub", {}, {x, append("reduce.mean", axes, {x})});
    ValueId square = pick(2) == 0 ? append("math.pow", {}, {d, number(2)}) : append("math.mul", {}, {d, d});
    ValueId root = append("math.sqrt", {}, {append("math.add", {}, {append("reduce.mean", axes, {square}), number(1e-3)})});
    return pick(2) == 0 ? append("math.div", {}, {d, root}) : append("math.mul", {}, {d, append("math.recip", {}, {root})});
  }

  std::optional<ValueId> gelu_or_silu(ValueId x) {
    if (pick(2) == 0) return append("math.mul", {}, {x, append("math.sigmoid", {}, {x})});
    ValueId erf = append("math.erf", {}, {append("math.div", {}, {x, number(1.4142135623730951)})});
    ValueId sum = append("math.add", {}, {erf, number(1)});
    return append("math.mul", {}, {append("math.mul", {}, {x, sum}), number(0.5)});
  }

  const std::vector<std::string> binary_{"math.add", "math.sub", "math.mul", "math.min", "math.max"};
  expr::Context& ctx_;
  std::mt19937_64 random_;
  FunctionBuilder b_;
  std::vector<ValueId> values_;
  int counter_ = 0;
};

}  // namespace

FunctionPtr make_random_function(expr::Context& ctx, uint64_t seed) { return Generator(ctx, seed).run(); }

te::Array random_array(std::vector<int64_t> shape, uint64_t seed) {
  te::Array a{DType::F32, std::move(shape), {}};
  int64_t n = 1;
  for (int64_t d : a.shape) n *= d;
  std::mt19937_64 random(seed);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& v : values) v = static_cast<float>(static_cast<double>(random() % 2001) / 1000 - 1);
  a.data.resize(values.size() * sizeof(float));
  if (n > 0) std::memcpy(a.data.data(), values.data(), a.data.size());
  return a;
}

}  // namespace pliant::passes
