// Elements of small tensors known at import, as sizes: the domain in which shape arithmetic is folded. A chain such as
// Shape -> Gather -> Mul -> Concat -> Reshape never becomes tensor code; its elements are Dims over the symbols of the
// inputs.
#pragma once
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace pliant::frontend {

using expr::Dim;

// Tensors with more elements than this are not tracked.
constexpr int64_t kMaxKnown = 64;

// One element. Int: `num`, of an integer or bool tensor (bool is 0 or 1). Real: the float `real`. Ratio: the float num / den
// with den >= 1; it stands for the float result only where that is exact or where its floor, ceiling and truncation are:
// operations that would have to round otherwise give nothing.
struct Element {
  enum class Kind : uint8_t { Int, Ratio, Real };
  Kind kind = Kind::Int;
  Dim num, den;
  double real = 0;
  static Element make_int(Dim d) { return {Kind::Int, d, {}, 0}; }
  static Element make_ratio(Dim num, Dim den) { return {Kind::Ratio, num, den, 0}; }
  static Element make_real(double v) { return {Kind::Real, {}, {}, v}; }
  bool is_const() const { return kind == Kind::Real || (kind == Kind::Int && num.is_const()); }
};

// Row-major elements.
struct Known {
  DType dtype = DType::I64;
  std::vector<int64_t> shape;
  std::vector<Element> elements;
  bool is_const() const;
  // The elements as sizes; nothing unless all are Int.
  std::optional<std::vector<Dim>> dims() const;
  // The elements as numbers; nothing unless all are constant integers.
  std::optional<std::vector<int64_t>> ints() const;
};
Known make_known(DType t, std::vector<int64_t> shape, const std::vector<Dim>& dims);
// Nothing when the constant is too large or of a type that is not tracked.
std::optional<Known> known_of(const graph::ConstantData& c, expr::Context& ctx);
// The constant, when every element is.
graph::ConstantPtr constant_of(const Known& k);

enum class ElementOp : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Mod,
  Min,
  Max,
  Pow,
  And,
  Or,
  Xor,
  Equal,
  Less,
  LessOrEqual,
  Greater,
  GreaterOrEqual,  // binary
  Neg,
  Abs,
  Not,
  Floor,
  Ceil,
  Round,
  Sign,
  Sqrt,  // unary
};
// One operation in the element type `t` of the operands; nothing when the result is not exactly known.
std::optional<Element> apply(ElementOp op, const Element& a, const Element& b, DType t, expr::Context& ctx);
std::optional<Element> apply(ElementOp op, const Element& a, DType t, expr::Context& ctx);
std::optional<Element> cast(const Element& a, DType from, DType to, expr::Context& ctx);

// Element count, or nothing when it is above kMaxKnown or a dim is negative.
std::optional<int64_t> small_count(const std::vector<int64_t>& shape);

// max and min of sizes that drop what is proved to be redundant.
Dim tight_max(Dim a, Dim b, expr::Context& ctx);
Dim tight_min(Dim a, Dim b, expr::Context& ctx);
// 1 where d < 0, and where d == 0; otherwise 0.
Dim is_negative(Dim d, expr::Context& ctx);
Dim is_zero(Dim d, expr::Context& ctx);
bool proves_non_negative(Dim d, expr::Context& ctx);

}  // namespace pliant::frontend
