// Naive functions and lowered kernels against the reference evaluator: every sample of every operator, and random fused
// groups at three shapes each, sizes of zero among them, with the templates' knobs at their defaults and at random.
// PLIANT_RANDOM_GROUPS says how many groups.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "lower/interpreted_nodes_test.h"
#include "lower/memo.h"
#include "lower/version.h"
#include "ops/op.h"
#include "ops/samples.h"

namespace pliant::lower {
namespace {

using expr::Dim;
using graph::ValueId;
using Sizes = std::map<std::string, int64_t>;

constexpr const char* kTargets[] = {"naive", "x86-64-v3", "x86-64-v4"};

// Knobs at random values of their domains.
Options random_knobs(std::mt19937_64& random) {
  return {.derivations = true, .choose = [&random](const std::string&, const std::vector<int64_t>& domain) {
            return domain[random() % domain.size()];
          }};
}

// What the function gives when its nodes are lowered for the target, or `naive`, and interpreted; the reference's results
// are `expected`. `derivations` gets those of the nodes. With `memo` each node is what is made of it when an equal one is
// known.
void check(const graph::Function& f, expr::Context& ctx, const Sizes& sizes, const std::vector<te::Array>& params,
           const std::vector<te::Array>& expected, const char* target, const Options& options,
           std::string* derivations = nullptr, ScheduleMemo* memo = nullptr) {
  InterpretedNodes nodes(f, ctx, sizes);
  for (size_t i = 0; i < params.size(); ++i) nodes.memory(f.params[i]) = params[i];
  const target::Target* t = target::find_target(target);
  const auto lower = [&](const graph::Node& n, const ConstantValues& constants) {
    if (memo) (void)lower_node({f, constants, ctx, *t, options, memo}, n);
    return t ? lower_node({f, constants, ctx, *t, options, memo}, n)
             : naive_node({f, constants, ctx, codegen::native_target(), options}, n);
  };
  Status done = ok();
  try {
    done = nodes.run(lower, [&](const LoweredNode& low) {
      for (const LoweredKernel& k : low.kernels) {
        const Status replayed = memo ? ok() : replay(k, ctx);
        ASSERT_TRUE(replayed.ok()) << replayed.error().text();
      }
      if (!derivations) return;
      *derivations += low.derivation;
      for (const LoweredKernel& k : low.kernels) *derivations += describe(k);
    });
  } catch (const std::exception& e) {
    done = make_error("internal", "", e.what());
  }
  ASSERT_TRUE(done.ok()) << target << ": " << done.error().text() << "\n" << graph::print(f, ctx);
  for (size_t i = 0; i < expected.size(); ++i) {
    const te::Array& got = nodes.memory(f.results[i]);
    ASSERT_EQ(got.shape, expected[i].shape);
    const auto at = first_difference(got, expected[i]);
    std::string values;
    if (at && is_float(got.dtype))
      values = std::to_string(element_of(got, *at)) + " for " + std::to_string(element_of(expected[i], *at));
    ASSERT_FALSE(at) << target << ": element " << *at << " of result " << i << " " << values << "\n" << graph::print(f, ctx);
  }
}

std::vector<te::ArrayView> views_of(const std::vector<te::Array>& arrays) {
  std::vector<te::ArrayView> out;
  for (const te::Array& a : arrays) out.push_back({a.dtype, a.shape, a.data.data()});
  return out;
}

TEST(Samples, KernelsGiveWhatTheReferenceGives) {
  for (const ops::OpDef& op : ops::all_ops()) {
    if (!op.compute) continue;
    for (const std::string& text : op.samples) {
      SCOPED_TRACE(op.name + " " + text);
      expr::Context ctx;
      const auto sample = ops::parse_sample(op, text);
      ASSERT_TRUE(sample.ok());
      const auto f = ops::build_sample(op, sample.value(), ctx, false);
      ASSERT_TRUE(f.ok()) << f.error().text();
      const std::vector<te::Array> params = ops::sample_data(sample.value(), 5);
      const auto expected = ops::evaluate(*f.value(), ctx, views_of(params));
      ASSERT_TRUE(expected.ok()) << expected.error().text();
      for (const char* target : {"naive", "x86-64-v3"})
        check(*f.value(), ctx, sample.value().symbols, params, expected.value(), target, {.derivations = true});
      std::mt19937_64 random(1);
      check(*f.value(), ctx, sample.value().symbols, params, expected.value(), "x86-64-v3", random_knobs(random));
    }
  }
}

// One fused group over params of symbolic sizes.
class Group {
 public:
  Group(expr::Context& ctx, uint64_t seed) : ctx_(ctx), random_(seed), b_("main", ctx) {}

  graph::FunctionPtr make() {
    const Dim n = axis("n", 0), m = axis("m", 1);
    const std::vector<graph::Shape> shapes{
        {n, m}, {m}, {n, dim(1)}, {n, dim(4), m}, {n, dim(3), m, dim(6)}, {n, dim(4), m, dim(6)}};
    std::vector<ValueId> inputs;
    for (const graph::Shape& s : shapes) inputs.push_back(b_.add_param(graph::make_tensor_type(DType::F32, s), name("x")));
    inputs.push_back(b_.add_param(graph::make_tensor_type(DType::I64, {n}), name("k")));
    inputs.push_back(constant({4, 3, 3, 3}));
    inputs.push_back(constant({6, 8}));
    std::vector<ValueId> inner;
    for (ValueId v : inputs) inner.push_back(b_.add_value(b_.peek().value(v).type));
    b_.begin_region(inner);
    positions_ = inner[6];
    filter_ = inner[7];
    matrix_ = inner[8];
    inner.resize(6);
    values_ = params_ = inner;
    for (int64_t left = 1 + pick(5), tries = 0; left > 0 && tries < 40; ++tries)
      if (step()) --left;
    std::vector<ValueId> yields{values_.back()};
    if (pick(3) == 0 && values_.size() > params_.size() + 1) yields.push_back(values_[values_.size() - 2]);
    std::vector<graph::Type> types;
    for (ValueId v : yields) types.push_back(b_.peek().value(v).type);
    graph::Node fused{"core.kernel",           {{"backend", std::string("cpu")}}, inputs, {},
                      {b_.end_region(yields)}, Loc::make_named("group", "group")};
    std::vector<std::string> names;
    for (const graph::Type& t : types) {
      fused.outputs.push_back(b_.add_value(t, "y" + std::to_string(names.size())));
      names.push_back("y" + std::to_string(names.size()));
    }
    const std::vector<ValueId> results = fused.outputs;
    b_.append(std::move(fused));
    b_.set_results(results, names);
    return b_.finish();
  }

 private:
  int64_t pick(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[static_cast<size_t>(pick(static_cast<int64_t>(list.size())))];
  }
  Dim dim(int64_t v) { return ctx_.constant(v); }
  Dim axis(const char* name, int64_t k) {
    return ctx_.symbol({.name = name, .lo = 0, .origin = {expr::Origin::Kind::InputAxis, "x0", k}});
  }
  std::string name(const char* stem) { return stem + std::to_string(counter_++); }
  const graph::Shape& shape(ValueId v) const { return b_.peek().tensor_type(v).shape; }
  int64_t rank(ValueId v) const { return static_cast<int64_t>(shape(v).size()); }

  ValueId constant(std::vector<int64_t> sizes) {
    auto [c, memory] = graph::make_blank_constant(DType::F32, std::move(sizes));
    auto* floats = reinterpret_cast<float*>(memory);
    for (int64_t i = 0; i < element_count(*c); ++i) floats[i] = static_cast<float>(pick(9) - 4) / 8;
    return b_.append_const(c, Loc::make_named(name("c"), "const"));
  }

  // Nothing where the operator does not fit these operands, or only at some sizes.
  std::optional<ValueId> append(const std::string& op, const graph::Attrs& attrs, const std::vector<ValueId>& inputs) {
    const LocPtr loc = Loc::make_named(name("op"), op);
    std::vector<graph::Type> types;
    for (ValueId v : inputs) types.push_back(b_.peek().value(v).type);
    const auto inferred = ops::infer(*ops::find_op(op), attrs, types, 1, ctx_, loc);
    if (!ops::find_op(op)->compute || !inferred.ok() || !inferred.value().constraints.empty()) return std::nullopt;
    return ops::append_node(b_, ctx_, op, attrs, inputs, 1, loc).value()[0];
  }

  // Small multiples of 1/8 again, so that what follows has no large values and sums stay exact.
  std::optional<ValueId> moderate(std::optional<ValueId> v) {
    if (!v) return v;
    return append("math.clip", {}, {*v, number(-2), number(2)});
  }
  ValueId number(float x) {
    return b_.append_const(graph::make_constant(DType::F32, {}, &x, sizeof x), Loc::make_named(name("c"), "const"));
  }

  ValueId any() { return pick(3) == 0 ? one_of(params_) : values_[values_.size() - 1 - static_cast<size_t>(pick(2))]; }

  bool step() {
    const ValueId x = any();
    std::optional<ValueId> v;
    switch (pick(14)) {
      case 0: v = append(one_of<std::string>({"nn.relu", "math.neg", "math.abs", "math.sign"}), {}, {x}); break;
      case 1: v = append(one_of<std::string>({"math.add", "math.sub", "math.min", "math.max"}), {}, {x, any()}); break;
      case 2: v = moderate(append("math.mul", {}, {x, any()})); break;
      case 3: v = reduce(x); break;
      case 4: v = transpose(x); break;
      case 5: v = reshape(x); break;
      case 6: v = concat(x); break;
      case 7: v = pad_or_slice(x); break;
      case 8: v = scan_or_position(x); break;
      case 9: v = moderate(product(x)); break;
      case 10: v = moderate(window(x)); break;
      case 11: v = gather_or_scatter(x); break;
      case 12: v = append("nn.softmax", {{"axis", int64_t{-1}}}, {one_of(params_)}); break;
      default: v = half(x); break;
    }
    if (v && b_.peek().tensor_type(*v).dtype == DType::F32 && rank(*v) <= 5) values_.push_back(*v);
    return v.has_value();
  }

  std::optional<ValueId> reduce(ValueId x) {
    if (rank(x) == 0) return std::nullopt;
    std::vector<int64_t> axes{pick(rank(x))};
    if (rank(x) > 2 && pick(2) == 0) axes = {rank(x) - 2, rank(x) - 1};
    // The mean of no element is no number.
    return moderate(append(one_of<std::string>({"reduce.sum", "reduce.min", "reduce.max"}),
                           {{"axes", axes}, {"keepdims", pick(2) == 0}}, {x}));
  }

  std::optional<ValueId> transpose(ValueId x) {
    std::vector<int64_t> perm(static_cast<size_t>(rank(x)));
    for (size_t k = 0; k < perm.size(); ++k) perm[k] = static_cast<int64_t>(k);
    std::shuffle(perm.begin(), perm.end(), random_);
    return append("array.transpose", {{"perm", perm}}, {x});
  }

  std::optional<ValueId> reshape(ValueId x) {
    graph::Shape to = shape(x);
    if (rank(x) >= 2 && pick(2) == 0) {
      const auto k = static_cast<size_t>(pick(rank(x) - 1));
      to[k] = to[k] * to[k + 1];
      to.erase(to.begin() + static_cast<std::ptrdiff_t>(k) + 1);
    } else {
      to.insert(to.begin() + pick(rank(x) + 1), dim(1));
    }
    return append("array.reshape", {{"shape", to}}, {x});
  }

  std::optional<ValueId> concat(ValueId x) {
    if (rank(x) == 0) return std::nullopt;
    auto other = append("math.neg", {}, {x});
    return other ? append("array.concat", {{"axis", pick(rank(x))}}, {x, *other}) : other;
  }

  std::optional<ValueId> pad_or_slice(ValueId x) {
    if (rank(x) == 0) return std::nullopt;
    const auto r = static_cast<size_t>(rank(x));
    if (pick(2) == 0) {
      std::vector<int64_t> pads(2 * r, 0);
      pads[static_cast<size_t>(pick(static_cast<int64_t>(2 * r)))] = 1;
      return append("array.pad", {{"pads", pads}}, {x});
    }
    std::vector<int64_t> starts{pick(2)}, ends{pick(3) == 0 ? -1 : INT64_MAX}, axes{pick(rank(x))}, steps{1 + pick(3)};
    return append("array.slice", {{"starts", starts}, {"ends", ends}, {"axes", axes}, {"steps", steps}}, {x});
  }

  // Positions of best values are those of exact ones.
  std::optional<ValueId> scan_or_position(ValueId x) {
    if (rank(x) == 0) return std::nullopt;
    if (pick(2) == 0)
      return moderate(
          append("array.cumsum", {{"axis", pick(rank(x))}, {"exclusive", pick(2) == 0}, {"reverse", pick(2) == 0}}, {x}));
    const ValueId from = params_[3];
    auto at = append(one_of<std::string>({"reduce.arg_max", "reduce.arg_min"}),
                     {{"axis", int64_t{1}}, {"keepdims", pick(2) == 0}, {"select_last_index", pick(2) == 0}}, {from});
    return at ? append("math.cast", {{"to", DType::F32}}, {*at}) : at;
  }

  std::optional<ValueId> product(ValueId x) {
    if (rank(x) < 2) return std::nullopt;
    if (shape(x).back().is_const(6)) return append("nn.matmul", {}, {x, matrix_});
    std::vector<int64_t> perm(static_cast<size_t>(rank(x)));
    for (size_t k = 0; k < perm.size(); ++k) perm[k] = static_cast<int64_t>(k);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    auto turned = append("array.transpose", {{"perm", perm}}, {x});
    return turned ? append("nn.matmul", {}, {x, *turned}) : turned;
  }

  std::optional<ValueId> window(ValueId x) {
    if (rank(x) != 4) return std::nullopt;
    std::vector<int64_t> pads{1, 1, 1, 1};
    const std::vector<int64_t> strides{1 + pick(2), 1 + pick(2)};
    if (shape(x)[1].is_const(3) && pick(2) == 0)
      return append("nn.conv", {{"pads", pads}, {"strides", strides}}, {x, filter_});
    if (shape(x)[1].is_const(4) && pick(2) == 0) return append("nn.conv_transpose", {{"strides", strides}}, {x, filter_});
    const int64_t reach = pick(2) == 0 ? 1 : 4;
    pads.assign(4, reach);
    return append("nn.max_pool", {{"kernel", std::vector<int64_t>(2, 2 * reach + 1)}, {"pads", pads}}, {x});
  }

  // Positions are 0 and 1: of an axis of 4 elements.
  std::optional<ValueId> gather_or_scatter(ValueId x) {
    const ValueId from = params_[3];
    if (pick(2) == 0) return append("array.gather", {{"axis", int64_t{1}}}, {from, positions_});
    auto at = append("array.reshape", {{"shape", graph::Shape{shape(x0())[0], dim(1), dim(1)}}}, {positions_});
    if (!at) return at;
    auto updates = append("array.reshape", {{"shape", graph::Shape{shape(x0())[0], dim(1), dim(1)}}}, {params_[2]});
    if (!updates) return updates;
    return append("array.scatter_elements",
                  {{"axis", int64_t{1}}, {"reduction", one_of<std::string>({"none", "add", "max"})}},
                  {params_[4], *at, *updates});
  }
  ValueId x0() const { return params_[0]; }

  std::optional<ValueId> half(ValueId x) {
    auto h = append("math.cast", {{"to", pick(2) == 0 ? DType::F16 : DType::BF16}}, {x});
    if (!h) return h;
    if (rank(x) > 0 && pick(2) == 0) h = append("reduce.max", {{"axes", std::vector<int64_t>{pick(rank(x))}}}, {*h});
    return h ? append("math.cast", {{"to", DType::F32}}, {*h}) : h;
  }

  expr::Context& ctx_;
  std::mt19937_64 random_;
  graph::FunctionBuilder b_;
  std::vector<ValueId> params_, values_;
  ValueId positions_ = 0, filter_ = 0, matrix_ = 0;
  int counter_ = 0;
};

te::Array random_param(te::Array a, std::mt19937_64& random) {
  for (size_t i = 0; i < a.data.size() / static_cast<size_t>(byte_size(a.dtype)); ++i) {
    if (a.dtype == DType::I64) {
      const auto v = static_cast<int64_t>(random() % 2);
      std::memcpy(a.data.data() + 8 * i, &v, 8);
      continue;
    }
    const auto v = static_cast<float>(static_cast<int64_t>(random() % 17) - 8) / 8;
    std::memcpy(a.data.data() + 4 * i, &v, 4);
  }
  return a;
}

// Whether no tensor has an axis below 0 at these sizes.
bool is_possible(const graph::Function& f, expr::Context& ctx, const Sizes& sizes) {
  auto value = [&](Dim d) {
    return expr::evaluate(d, [&](expr::SymbolId s) -> std::optional<int64_t> { return sizes.at(ctx.info(s).name); });
  };
  return std::all_of(f.values.begin(), f.values.end(), [&](const graph::Value& v) {
    const graph::Shape& shape = v.type.tensor()->shape;
    return std::all_of(shape.begin(), shape.end(), [&](Dim d) { return value(d).value_or(-1) >= 0; });
  });
}

TEST(RandomGroups, KernelsGiveWhatTheReferenceGives) {
  const char* asked = std::getenv("PLIANT_RANDOM_GROUPS");
  const uint64_t count = asked ? std::strtoull(asked, nullptr, 10) : 250;
  int tried = 0;
  std::string derivations;
  for (uint64_t seed = 0; seed < count && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expr::Context ctx;
    const graph::FunctionPtr f = Group(ctx, seed).make();
    std::mt19937_64 random(seed);
    const int64_t n = static_cast<int64_t>(random() % 6), m = static_cast<int64_t>(random() % 40);
    for (const Sizes& sizes : {Sizes{{"n", n}, {"m", m}}, Sizes{{"n", 1}, {"m", 1}}, Sizes{{"n", n}, {"m", 0}}}) {
      if (!is_possible(*f, ctx, sizes)) continue;
      InterpretedNodes blank(*f, ctx, sizes);
      std::vector<te::Array> params;
      for (ValueId v : f->params)
        params.push_back(random_param(blank.blank_array(f->tensor_type(v).dtype, f->tensor_type(v).shape), random));
      const auto expected = ops::evaluate(*f, ctx, views_of(params));
      ASSERT_TRUE(expected.ok()) << expected.error().text();
      ++tried;
      for (const char* target : kTargets)
        check(*f, ctx, sizes, params, expected.value(), target, {.derivations = true}, &derivations);
      check(*f, ctx, sizes, params, expected.value(), kTargets[1 + random() % 2], random_knobs(random), &derivations);
      ScheduleMemo memo;
      check(*f, ctx, sizes, params, expected.value(), "x86-64-v3", {}, nullptr, &memo);
    }
  }
  EXPECT_GT(tried, static_cast<int>(count));
  for (const char* s : {"polyphase", "contraction", "separable", "rows", "reduction", "stages"})
    EXPECT_NE(derivations.find("// strategy: " + std::string(s) + "\n"), std::string::npos) << s;
  EXPECT_NE(derivations.find(": template serial\n"), std::string::npos);
}

}  // namespace
}  // namespace pliant::lower
