// The passes on loops keep what random loops compute, at every trip count and with other passes around them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "ops/control/control.h"
#include "ops/op.h"
#include "passes/pass.h"
#include "passes/rewrite/random_function_test.h"

namespace pliant::passes {
namespace {

constexpr int64_t kWidth = 3;

// A function of x [t, 3], w [3, 3] and v [3] with one loop over rows of x, or over a constant number of them.
class RandomLoop {
 public:
  RandomLoop(expr::Context& ctx, uint64_t seed) : ctx_(ctx), random_(seed), b_("main", ctx) {
    steps_ = ctx.symbol({.name = "t", .origin = {expr::Origin::Kind::InputAxis, "x", 0}});
    Dim width = ctx.constant(kWidth);
    x_ = b_.add_param(graph::make_tensor_type(DType::F32, {steps_, width}), "x");
    w_ = b_.add_param(graph::make_tensor_type(DType::F32, {width, width}), "w");
    v_ = b_.add_param(graph::make_tensor_type(DType::F32, {width}), "v");
  }

  FunctionPtr make() {
    backwards_ = pick(2) == 0;
    bool few = pick(3) == 0;
    Dim trip = few ? ctx_.constant(static_cast<int64_t>(1 + pick(3))) : steps_;
    rows_ =
        few ? node("array.full", {{"shape", std::vector<Dim>{ctx_.constant(8), ctx_.constant(kWidth)}}}, {number(0.5)}) : x_;
    ValueId start = node("array.reshape", {{"shape", std::vector<Dim>{ctx_.constant(1), ctx_.constant(kWidth)}}}, {v_});
    ValueId empty = node("array.full", {{"shape", std::vector<Dim>{ctx_.constant(kWidth), ctx_.constant(0)}}}, {number(0)});
    bool stops = pick(4) == 0;
    auto body = [&, this](Dim i, const std::vector<ValueId>& carried) -> Result<ops::LoopBody> {
      std::mt19937_64 again = body_random_;
      std::swap(again, random_);
      ops::LoopBody out = this->body(i, trip, carried);
      std::swap(again, random_);
      if (stops)
        out.condition = node("math.lt", {}, {node("array.from_dims", {{"values", std::vector<Dim>{i}}}, {}), whole(2)});
      return out;
    };
    body_random_.seed(random_());
    auto loop = ops::append_loop(b_, ctx_, {.trip = trip, .init = {start, empty}}, body, loc());
    EXPECT_TRUE(loop.ok()) << loop.error().text();
    std::vector<ValueId> results = loop.value().carried;
    results.insert(results.end(), loop.value().scans.begin(), loop.value().scans.end());
    ValueId stacked = results[2];
    if (pick(4) == 0) results.pop_back();  // only its reductions are used
    for (size_t k = 0; k < 2; ++k) {
      const char* ops[] = {"reduce.sum", "reduce.mean", "reduce.max"};
      const std::vector<int64_t> axes[] = {{0}, {0, 1}, {-3, 2}, {1}, {0, 1, 2}};
      ValueId from = pick(3) == 0 ? results[1] : stacked;
      std::vector<Dim> over;
      for (int64_t a : axes[pick(from == stacked ? 5 : 2)]) over.push_back(ctx_.constant(a));
      results.push_back(node(ops[pick(3)], {{"axes", over}, {"keepdims", pick(2) == 0}}, {from}));
    }
    std::vector<std::string> names;
    for (size_t k = 0; k < results.size(); ++k) names.push_back("y" + std::to_string(k));
    b_.set_results(results, names);
    return b_.finish();
  }

 private:
  uint64_t pick(uint64_t n) { return random_() % n; }
  static LocPtr loc() { return Loc::make_named("loop", "onnx.Loop"); }
  ValueId node(const std::string& op, Attrs attrs, std::vector<ValueId> inputs) {
    auto r = ops::append_node(b_, ctx_, op, std::move(attrs), std::move(inputs), 1, loc());
    EXPECT_TRUE(r.ok()) << r.error().text();
    return r.value()[0];
  }
  ValueId number(float v) { return b_.append_const(graph::make_constant(DType::F32, {}, &v, sizeof v), loc()); }
  ValueId whole(int64_t v) { return b_.append_const(graph::make_constant(DType::I64, {1}, &v, sizeof v), loc()); }

  ValueId row(Dim i, Dim trip) {
    std::vector<Dim> flat{ctx_.constant(1), ctx_.constant(kWidth)};
    if (!backwards_ && pick(4) == 0) {
      ValueId at = node("array.from_dims", {{"values", std::vector<Dim>{i}}}, {});
      if (pick(2) == 0) return node("array.gather", {}, {rows_, at});
      at = node("array.reshape", {{"shape", std::vector<Dim>{}}}, {at});
      return node("array.reshape", {{"shape", flat}}, {node("array.gather", {}, {rows_, at})});
    }
    Dim at = backwards_ ? trip - 1 - i : i;
    ValueId r = node(
        "array.slice",
        {{"starts", std::vector<Dim>{at}}, {"ends", std::vector<Dim>{at + 1}}, {"axes", std::vector<int64_t>{0}}}, {rows_});
    if (pick(2) == 0) return r;
    // As a vector, and back.
    r = node("array.reshape", {{"shape", std::vector<Dim>{ctx_.constant(kWidth)}}}, {r});
    if (pick(2) == 0) r = node("nn.matmul", {}, {r, w_});
    return node("array.reshape", {{"shape", flat}}, {r});
  }

  // One of two branches by the number of the iteration, or always the same.
  ValueId either(Dim i, ValueId a, ValueId b) {
    const uint8_t always = pick(2) == 0;
    ValueId early = pick(3) == 0
                        ? b_.append_const(graph::make_constant(DType::Bool, {}, &always, 1), loc())
                        : node("math.lt", {}, {node("array.from_dims", {{"values", std::vector<Dim>{i}}}, {}), whole(1)});
    auto branch = [this](const char* op, ValueId x) {
      return [this, op, x]() -> Result<std::optional<std::vector<ValueId>>> {
        return std::optional(std::vector<ValueId>{node(op, {}, {x})});
      };
    };
    auto r = ops::append_if(b_, ctx_, {.value = early}, branch("math.neg", a), branch("math.sigmoid", b), loc());
    EXPECT_TRUE(r.ok()) << r.error().text();
    return r.value()[0];
  }

  ops::LoopBody body(Dim i, Dim trip, const std::vector<ValueId>& carried) {
    std::vector<ValueId> pool{carried[0], row(i, trip), row(i, trip)};
    auto any = [&] { return pool[pick(pool.size())]; };
    for (int k = 0; k < 6; ++k) {
      switch (pick(7)) {
        case 0: pool.push_back(node("nn.matmul", {}, {any(), w_})); break;
        case 1: pool.push_back(node("nn.matmul", {{"transpose_b", true}}, {pool[1], w_})); break;
        case 2: pool.push_back(node("math.add", {}, {pool.back(), v_})); break;
        case 3: pool.push_back(node("math.tanh", {}, {any()})); break;
        case 4: pool.push_back(node("math.mul", {}, {any(), node("math.sigmoid", {}, {v_})})); break;
        case 5: pool.push_back(either(i, any(), any())); break;
        default: pool.push_back(node("math.add", {}, {any(), any()})); break;
      }
    }
    ValueId next = node("math.tanh", {}, {pool.back()});
    ValueId column = node("array.transpose", {{"perm", std::vector<int64_t>{1, 0}}}, {any()});
    ValueId grown = node("array.concat", {{"axis", int64_t{1}}}, {carried[1], column});
    return {.carried = {next, grown}, .scans = {any()}};
  }

  expr::Context& ctx_;
  std::mt19937_64 random_, body_random_;
  FunctionBuilder b_;
  Dim steps_;
  ValueId x_, w_, v_, rows_ = kNoValue;
  bool backwards_ = false;
};

Result<std::vector<te::Array>> evaluate_at(const Function& f, expr::Context& ctx, int64_t steps) {
  std::vector<te::Array> in{random_array({steps, kWidth}, 1), random_array({kWidth, kWidth}, 2), random_array({kWidth}, 3)};
  std::vector<te::ArrayView> views;
  for (const te::Array& a : in) views.push_back({a.dtype, a.shape, a.data.data()});
  return ops::evaluate(f, ctx, views);
}

void expect_close(const te::Array& a, const te::Array& b, const std::string& what) {
  ASSERT_EQ(a.shape, b.shape) << what;
  std::vector<float> x(a.data.size() / sizeof(float)), y(x.size());
  if (x.empty()) return;
  std::memcpy(x.data(), a.data.data(), a.data.size());
  std::memcpy(y.data(), b.data.data(), b.data.size());
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;  // reductions of nothing
    ASSERT_LE(std::abs(x[i] - y[i]), 1e-4f) << what << ", element " << i;
  }
}

class LoopPasses : public testing::TestWithParam<uint64_t> {
 protected:
  void check(const FunctionPtr& before, const FunctionPtr& after, const std::string& pass) {
    std::string text = print(*after, ctx_), what = pass + "\n" + print(*before, ctx_) + "\nto\n" + text;
    Status structure = graph::verify(*after, ctx_), types = ops::verify_types(*after, ctx_);
    ASSERT_TRUE(structure.ok()) << structure.error().text() << what;
    ASSERT_TRUE(types.ok()) << types.error().text() << what;
    auto parsed = graph::parse_function(text, ctx_, constants_of(*after));
    ASSERT_TRUE(parsed.ok()) << parsed.error().text() << what;
    ASSERT_EQ(print(*parsed.value(), ctx_), text);
    for (int64_t steps : {0, 1, 5}) {
      auto want = evaluate_at(*before, ctx_, steps), got = evaluate_at(*after, ctx_, steps);
      ASSERT_TRUE(want.ok()) << want.error().text() << what;
      ASSERT_TRUE(got.ok()) << got.error().text() << what;
      for (size_t i = 0; i < want.value().size(); ++i) expect_close(want.value()[i], got.value()[i], what);
    }
  }
  expr::Context ctx_;
};

TEST_P(LoopPasses, KeepWhatTheLoopComputes) {
  FunctionPtr f = RandomLoop(ctx_, GetParam()).make();
  PassContext c{ctx_};
  const char* all[] = {"expand-composites",
                       "simplify",
                       "fold-constants",
                       "fold-control",
                       "unroll-loops",
                       "hoist-invariant",
                       "cse",
                       "batch-products",
                       "grow-outermost",
                       "accumulate-reductions",
                       "simplify",
                       "cse",
                       "dce"};
  for (const char* name : all) {
    auto alone = find_pass(name)->run(f, c);
    ASSERT_TRUE(alone.ok()) << name << "\n" << alone.error().text() << print(*f, ctx_);
    if (alone.value() != f) check(f, alone.value(), name);
    auto twice = find_pass(name)->run(alone.value(), c);
    ASSERT_TRUE(twice.ok()) << name << "\n" << twice.error().text();
    EXPECT_EQ(twice.value(), alone.value()) << name << " changes its own result\n"
                                            << print(*alone.value(), ctx_) << print(*twice.value(), ctx_);
    if (HasFailure()) return;
  }
  FunctionPtr current = f;
  for (const char* name : all) {
    auto next = find_pass(name)->run(current, c);
    ASSERT_TRUE(next.ok()) << name << "\n" << next.error().text();
    current = next.value();
  }
  check(f, current, "all passes");
}

INSTANTIATE_TEST_SUITE_P(Random, LoopPasses, testing::Range<uint64_t>(0, 80));

}  // namespace
}  // namespace pliant::passes
