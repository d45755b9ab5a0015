// Random stages: the row-wise evaluator gives the bits that constant folding gives element by element.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "te/te.h"

namespace pliant::te {
namespace {

using expr::BinaryOp;
using expr::UnaryOp;

constexpr DType kTypes[] = {DType::Bool, DType::I8,   DType::I32, DType::I64, DType::U8,
                            DType::F16,  DType::BF16, DType::F32, DType::F64};

class RandomStages {
 public:
  explicit RandomStages(uint32_t seed) : rng_(seed), n_(symbol("n", pick(5))), m_(symbol("m", 1 + pick(40))) {
    for (DType t : kTypes) feed(t);
  }

  int pick(int n) { return static_cast<int>(rng_() % static_cast<uint32_t>(n)); }
  DType pick_type() { return kTypes[pick(static_cast<int>(std::size(kTypes)))]; }

  // An index in [0, extent) made from `i`.
  Dim index_below(Dim extent, const Index& i) {
    const Dim any = i[static_cast<size_t>(pick(static_cast<int>(i.size())))];
    switch (pick(4)) {
      case 0: return expr::mod(any * (1 + pick(3)) + pick(4), extent);
      case 1: return expr::min(any, extent - 1);
      case 2: return expr::mod(expr::floordiv(any, 1 + pick(4)), extent);
      default: return extent - 1 - expr::mod(any, extent);
    }
  }

  Scalar leaf(DType t, const Index& i) {
    if (pick(4) == 0) return expr::make_const_int(ctx, t, pick(7) - 2);
    if (t == DType::I64 && pick(2) == 0) return expr::make_index(i[0] + i.back());
    const Tensor& x = inputs_by_type_[t];
    return (*x)({index_below(m_, i), index_below(ctx.constant(3), i)});
  }

  // Reads out of bounds on the side that is not taken.
  Scalar guarded(DType t, const Index& i) {
    const Tensor& x = inputs_by_type_[t];
    const Dim at = i.back() - pick(4);
    const Scalar inside = expr::logical_and(expr::less_equal(ctx.constant(0), at), expr::less(at, m_));
    return expr::make_select(inside, (*x)({at, ctx.constant(1)}), expr::make_const_int(ctx, t, 1));
  }

  Scalar tree(DType t, const Index& i, int depth) {
    if (depth == 0) return pick(3) == 0 ? guarded(t, i) : leaf(t, i);
    const auto sub = [&](DType of) { return tree(of, i, depth - 1); };
    switch (pick(6)) {
      case 0: return expr::make_cast(t, sub(pick_type()));
      case 1: return expr::make_select(sub(DType::Bool), sub(t), sub(t));
      case 2: {
        constexpr UnaryOp ops[] = {UnaryOp::Neg,  UnaryOp::Abs, UnaryOp::Sign, UnaryOp::Floor,
                                   UnaryOp::Sqrt, UnaryOp::Exp, UnaryOp::Tanh};
        if (t == DType::Bool)
          return pick(2) == 0 ? expr::make_unary(UnaryOp::Not, sub(t)) : expr::make_unary(UnaryOp::IsNan, sub(DType::F32));
        return expr::make_unary(ops[pick(static_cast<int>(std::size(ops)))], sub(t));
      }
      default: {
        if (t == DType::Bool) {
          const DType of = pick_type();
          constexpr BinaryOp ops[] = {BinaryOp::Eq, BinaryOp::Lt, BinaryOp::Ge};
          return expr::make_binary(ops[pick(3)], sub(of), sub(of));
        }
        constexpr BinaryOp ops[] = {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div,
                                    BinaryOp::Mod, BinaryOp::Rem, BinaryOp::Min, BinaryOp::Max};
        return expr::make_binary(ops[pick(static_cast<int>(std::size(ops)))], sub(t), sub(t));
      }
    }
  }

  // One element of a Map by substitution and constant folding.
  uint64_t folded(const TensorDef& t, const std::vector<int64_t>& at) {
    expr::DimMap map;
    for (size_t k = 0; k < at.size(); ++k) map.emplace(t.index[k], ctx.constant(at[k]));
    for (const auto& [id, v] : bindings) map.emplace(id, ctx.constant(v));
    const Scalar s = expr::substitute(t.body, map, [&](Scalar load) {
      const ArrayView& view = views_.at(load->tensor);
      const int64_t i = load->index[0].const_value(), j = load->index[1].const_value();
      uint64_t bits = 0;
      // On the side that is not taken any value will do.
      if (i >= 0 && i < view.shape[0]) {
        std::memcpy(&bits, view.data + (i * view.shape[1] + j) * byte_size(view.dtype),
                    static_cast<size_t>(byte_size(view.dtype)));
      }
      if (is_signed_int(view.dtype)) {
        const int unused = static_cast<int>(64 - 8 * byte_size(view.dtype));
        bits = static_cast<uint64_t>(static_cast<int64_t>(bits << unused) >> unused);
      }
      return expr::make_const_bits(ctx, view.dtype, bits);
    });
    EXPECT_EQ(s->kind, expr::ScalarKind::Const) << s;
    return s->bits;
  }

  expr::Context ctx;
  Builder b{ctx};
  Bindings bindings;

 private:
  Dim symbol(const std::string& name, int64_t v) {
    expr::SymbolInfo info;
    info.name = name;
    const Dim d = ctx.symbol(std::move(info));
    bindings.emplace_back(*d.as_symbol(), v);
    return d;
  }
  void feed(DType t) {
    Tensor x = b.input(std::string("x_") + pliant::name_of(t), t, {m_, ctx.constant(3)});
    ArrayView view{t, {bindings[1].second, 3}, nullptr};
    std::vector<std::byte>& memory = memories_.emplace_back();
    for (int64_t k = 0; k < view.shape[0] * 3; ++k) {
      const uint64_t bits = expr::make_const(ctx, t, (pick(2001) - 1000) / (t >= DType::F16 ? 64.0 : 8.0))->bits;
      const std::byte* raw = reinterpret_cast<const std::byte*>(&bits);
      memory.insert(memory.end(), raw, raw + byte_size(t));
    }
    inputs_by_type_[t] = x;
    views_[x->id] = view;
    fix_views_.emplace_back(x->id, memories_.size() - 1);
  }

 public:
  Dim n() const { return n_; }
  Dim m() const { return m_; }
  std::vector<std::pair<TensorId, ArrayView>> inputs() {
    std::vector<std::pair<TensorId, ArrayView>> out;
    for (const auto& [id, k] : fix_views_) {
      views_[id].data = memories_[k].data();
      out.emplace_back(id, views_[id]);
    }
    return out;
  }

 private:
  std::mt19937 rng_;
  Dim n_, m_;
  std::map<DType, Tensor> inputs_by_type_;
  std::map<TensorId, ArrayView> views_;
  std::vector<std::pair<TensorId, size_t>> fix_views_;
  std::vector<std::vector<std::byte>> memories_;
};

class Random : public ::testing::TestWithParam<uint32_t> {};

TEST_P(Random, RowsGiveTheBitsOfFolding) {
  RandomStages g(GetParam());
  const auto inputs = g.inputs();
  for (int round = 0; round < 8; ++round) {
    const DType t = g.pick_type();
    Tensor y = g.b.map("y", {g.n(), g.m()}, [&](const Index& i) { return g.tree(t, i, 4); });
    const auto r = evaluate({y}, inputs, g.bindings);
    ASSERT_TRUE(r.ok()) << r.error().text();
    const Array& out = r.value()[0];
    for (int64_t i = 0; i < out.shape[0]; ++i) {
      for (int64_t j = 0; j < out.shape[1]; ++j) {
        uint64_t got = 0;
        const uint64_t bytes = static_cast<uint64_t>(byte_size(t));
        std::memcpy(&got, out.data.data() + (i * out.shape[1] + j) * byte_size(t), bytes);
        const uint64_t mask = bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * bytes)) - 1;
        const uint64_t want = g.folded(*y, {i, j}) & mask;
        const bool both_nan = is_float(t) && expr::make_unary(UnaryOp::IsNan, expr::make_const_bits(g.ctx, t, got))->bits &&
                              expr::make_unary(UnaryOp::IsNan, expr::make_const_bits(g.ctx, t, want))->bits;
        if (both_nan) continue;
        ASSERT_EQ(got, want) << "at " << i << ", " << j << " of " << y->body;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Random, ::testing::Range(0u, 60u));

}  // namespace
}  // namespace pliant::te
