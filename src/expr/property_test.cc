// Random expressions against plain integer arithmetic: canonical forms keep values, every proof and range holds for every
// sampled value of the symbols, texts parse back to the same node.
#include <gtest/gtest.h>

#include <random>

#include "expr/expr.h"

namespace pliant::expr {
namespace {

constexpr int kSamples = 24;

// A Dim beside its values under each sample; nothing where a contract (positive divisor, compatible broadcast) is broken.
struct Tracked {
  Dim dim;
  std::vector<std::optional<int64_t>> values;
};

std::optional<int64_t> add(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional<int64_t>(out);
}
std::optional<int64_t> subtract(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional<int64_t>(out);
}
std::optional<int64_t> multiply(int64_t a, int64_t b) {
  int64_t out;
  return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional<int64_t>(out);
}
int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

class RandomDims {
 public:
  explicit RandomDims(uint32_t seed) : rng_(seed) {
    for (int i = 0; i < 3; ++i) add_size();
    for (int i = 0; i < 3; ++i) add_index();
  }

  int pick(int n) { return static_cast<int>(rng_() % static_cast<uint32_t>(n)); }

  Tracked leaf() {
    if (pick(3) == 0) return constant(pick(20) - 6);
    return symbols_[static_cast<size_t>(pick(static_cast<int>(symbols_.size())))];
  }

  Tracked tree(int depth) {
    if (depth == 0 || pick(8) == 0) return leaf();
    const Tracked a = tree(depth - 1);
    switch (pick(11)) {
      case 0:
      case 1: return combine(a, tree(depth - 1), [](Dim x, Dim y) { return x + y; }, add);
      case 2: return combine(a, tree(depth - 1), [](Dim x, Dim y) { return x - y; }, subtract);
      case 3:
      case 4: return combine(a, tree(depth - 1), [](Dim x, Dim y) { return x * y; }, multiply);
      case 5:
      case 6: return quotient(a, divisor());
      case 7: return remainder(a, divisor());
      case 8:
        return combine(
            a, tree(depth - 1), [](Dim x, Dim y) { return min(x, y); }, [](int64_t x, int64_t y) { return std::min(x, y); });
      case 9:
        return combine(
            a, tree(depth - 1), [](Dim x, Dim y) { return max(x, y); }, [](int64_t x, int64_t y) { return std::max(x, y); });
      default:
        return combine(
            a, leaf(), [](Dim x, Dim y) { return broadcast(x, y); },
            [](int64_t x, int64_t y) -> std::optional<int64_t> {
              if (x != y && x != 1 && y != 1) return std::nullopt;
              return x == 1 ? y : x;
            });
    }
  }

  std::optional<int64_t> symbol_value(SymbolId id, int sample) const {
    for (const Tracked& s : symbols_) {
      if (s.dim.as_symbol() == id) return s.values[static_cast<size_t>(sample)];
    }
    return std::nullopt;
  }

  Context ctx;

 private:
  Tracked constant(int64_t v) { return {ctx.constant(v), std::vector<std::optional<int64_t>>(kSamples, v)}; }

  void add_size() {
    SymbolInfo info;
    info.name = "n";
    info.lo = pick(3);
    if (pick(2) == 0) info.hi = info.lo + pick(30);
    if (pick(4) == 0) info.multiple_of = 1 + pick(4);
    Tracked s;
    for (int k = 0; k < kSamples; ++k) {
      const int64_t span = info.hi == kNoLimit ? (k % 2 == 0 ? 6 : 200) : info.hi - info.lo + 1;
      int64_t v = info.lo + pick(static_cast<int>(span));
      v -= v % info.multiple_of;
      if (v < info.lo) v += info.multiple_of;
      s.values.push_back(v <= info.hi ? std::optional<int64_t>(v) : std::nullopt);
    }
    s.dim = ctx.symbol(std::move(info));
    symbols_.push_back(std::move(s));
  }

  void add_index() {
    const Tracked a = symbols_[static_cast<size_t>(pick(3))];
    const Tracked b = pick(2) == 0 ? symbols_[static_cast<size_t>(pick(3))] : constant(1 + pick(5));
    const Tracked extent = combine(a, b, [](Dim x, Dim y) { return x * y; }, multiply);
    Tracked s;
    s.dim = ctx.index_symbol("i", extent.dim);
    for (const std::optional<int64_t>& n : extent.values) {
      s.values.push_back(n && *n > 0 ? std::optional<int64_t>(pick(3) == 0 ? *n - 1 : pick(static_cast<int>(*n)))
                                     : std::nullopt);
    }
    symbols_.push_back(std::move(s));
  }

  Tracked divisor() {
    switch (pick(4)) {
      case 0: return constant(1 + pick(9));
      case 1: return combine(leaf(), leaf(), [](Dim x, Dim y) { return x * y; }, multiply);
      case 2: return combine(leaf(), constant(pick(4)), [](Dim x, Dim y) { return x + y; }, add);
      default: return symbols_[static_cast<size_t>(pick(3))];
    }
  }

  Tracked quotient(const Tracked& a, const Tracked& b) {
    return combine(
        a, b, [](Dim x, Dim y) { return floordiv(x, y); },
        [](int64_t x, int64_t y) { return y > 0 ? std::optional<int64_t>(floor_div(x, y)) : std::nullopt; });
  }
  Tracked remainder(const Tracked& a, const Tracked& b) {
    return combine(
        a, b, [](Dim x, Dim y) { return mod(x, y); },
        [](int64_t x, int64_t y) { return y > 0 ? std::optional<int64_t>(x - y * floor_div(x, y)) : std::nullopt; });
  }

  template <class D, class V>
  Tracked combine(const Tracked& a, const Tracked& b, D&& dims, V&& values) {
    Tracked out;
    // A constant divisor must be positive wherever it is written.
    out.dim = dims(a.dim, b.dim);
    for (size_t k = 0; k < kSamples; ++k) {
      out.values.push_back(a.values[k] && b.values[k] ? std::optional<int64_t>(values(*a.values[k], *b.values[k]))
                                                      : std::nullopt);
    }
    return out;
  }

  std::mt19937 rng_;
  std::vector<Tracked> symbols_;
};

std::string bindings_text(const RandomDims& g, Dim d, int k) {
  std::string out;
  for (SymbolId s : symbols_of(d)) {
    const SymbolInfo& info = d->ctx->info(s);
    out += info.name + "=" + std::to_string(g.symbol_value(s, k).value_or(-999)) + " (>= " + std::to_string(info.lo);
    if (info.upper) out += ", <= " + info.upper->str();
    out += ") ";
  }
  return out;
}

class Property : public ::testing::TestWithParam<uint32_t> {};

TEST_P(Property, CanonicalFormsKeepValues) {
  RandomDims g(GetParam());
  for (int round = 0; round < 60; ++round) {
    const Tracked t = g.tree(4);
    for (int k = 0; k < kSamples; ++k) {
      if (!t.values[static_cast<size_t>(k)]) continue;
      const auto got = evaluate(t.dim, [&](SymbolId s) { return g.symbol_value(s, k); });
      if (!got) continue;  // the form may mention symbols that have no value in this sample
      ASSERT_EQ(*got, *t.values[static_cast<size_t>(k)]) << t.dim << " with " << bindings_text(g, t.dim, k);
    }
  }
}

TEST_P(Property, RangesHold) {
  RandomDims g(GetParam() + 1000);
  for (int round = 0; round < 60; ++round) {
    const Tracked t = g.tree(4);
    const Interval r = g.ctx.range(t.dim);
    for (int k = 0; k < kSamples; ++k) {
      const std::optional<int64_t> v = t.values[static_cast<size_t>(k)];
      if (!v) continue;
      ASSERT_GE(*v, r.lo) << t.dim << " with " << bindings_text(g, t.dim, k);
      ASSERT_LE(*v, r.hi) << t.dim << " with " << bindings_text(g, t.dim, k);
      for (int64_t d : {2, 3, 4, 8}) {
        if (!g.ctx.divisible(t.dim, d)) continue;
        ASSERT_EQ(*v % d, 0) << t.dim << " by " << d;
      }
    }
  }
}

TEST_P(Property, ProofsHold) {
  RandomDims g(GetParam() + 2000);
  int decided = 0;
  for (int round = 0; round < 60; ++round) {
    const Tracked a = g.tree(3);
    const Tracked b = g.tree(3);
    const Tri le = g.ctx.less_equal(a.dim, b.dim);
    const Tri eq = g.ctx.equal(a.dim, b.dim);
    decided += le != Tri::Unknown;
    for (size_t k = 0; k < kSamples; ++k) {
      if (!a.values[k] || !b.values[k]) continue;
      const std::string with = bindings_text(g, a.dim - b.dim, static_cast<int>(k));
      const int64_t x = *a.values[k], y = *b.values[k];
      ASSERT_TRUE(le != Tri::Yes || x <= y) << a.dim << " <= " << b.dim << " with " << with;
      ASSERT_TRUE(le != Tri::No || x > y) << a.dim << " > " << b.dim << " with " << with;
      ASSERT_TRUE(eq != Tri::Yes || x == y) << a.dim << " == " << b.dim << " with " << with;
      ASSERT_TRUE(eq != Tri::No || x != y) << a.dim << " != " << b.dim << " with " << with;
    }
  }
  EXPECT_GT(decided, 0);
}

TEST_P(Property, TextsParseBack) {
  RandomDims g(GetParam() + 3000);
  for (int round = 0; round < 60; ++round) {
    const Tracked t = g.tree(4);
    const Result<Dim> back = g.ctx.parse_dim(t.dim.str());
    ASSERT_TRUE(back.ok()) << back.error().text();
    ASSERT_EQ(back.value(), t.dim);
    const Scalar s = make_cast(DType::F32, make_index(t.dim));
    const Result<Scalar> scalar = g.ctx.parse_scalar(s.str());
    ASSERT_TRUE(scalar.ok()) << scalar.error().text();
    ASSERT_EQ(scalar.value(), s);
  }
}

TEST_P(Property, SubstitutionKeepsValues) {
  RandomDims g(GetParam() + 4000);
  for (int round = 0; round < 40; ++round) {
    const Tracked t = g.tree(4);
    for (int k = 0; k < kSamples; ++k) {
      if (!t.values[static_cast<size_t>(k)]) continue;
      DimMap all;
      bool bound = true;
      for (SymbolId s : symbols_of(t.dim)) {
        const std::optional<int64_t> v = g.symbol_value(s, k);
        bound &= v.has_value();
        if (v) all.emplace(s, g.ctx.constant(*v));
      }
      if (!bound) continue;
      const Dim constant = substitute(t.dim, all);
      if (!evaluate(constant, [](SymbolId) { return std::nullopt; })) continue;  // overflowed on the way
      ASSERT_TRUE(constant.is_const()) << t.dim << " gives " << constant;
      ASSERT_EQ(constant.const_value(), *t.values[static_cast<size_t>(k)])
          << t.dim << " with " << bindings_text(g, t.dim, k);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Property, ::testing::Range(0u, 40u));

}  // namespace
}  // namespace pliant::expr
