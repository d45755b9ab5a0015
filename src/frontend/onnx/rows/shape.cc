// Operators that change or read shapes, and constants.
#include <algorithm>

#include "frontend/onnx/data_axes.h"
#include "frontend/onnx/fold.h"
#include "frontend/onnx/rows/direct.h"

namespace pliant::frontend::onnx {
namespace {

Result<Values> identity(Conversion& c) { return Values{c.in(0)}; }

// Shape and Size follow from the type of their input and are always folded.
Result<Values> always_folded(Conversion& c) {
  return c.fail("too-large", "its result has more elements than a shape can have");
}

Result<Values> constant(Conversion& c) {
  if (c.has_attr("value")) return Values{c.constant(TRY(c.tensor_attr("value")))};
  if (const AttributeProto* a = c.attr("value_ints")) {
    return Values{c.constant(
        graph::make_constant(DType::I64, {static_cast<int64_t>(a->ints.size())}, a->ints.data(), a->ints.size() * 8))};
  }
  if (const AttributeProto* a = c.attr("value_floats")) {
    return Values{c.constant(
        graph::make_constant(DType::F32, {static_cast<int64_t>(a->floats.size())}, a->floats.data(), a->floats.size() * 4))};
  }
  return c.fail("unsupported-constant", "a constant of this kind (a string or a sparse tensor) is not supported");
}

// The sizes must not be negative; those that may be are checked at run time.
void require_sizes(Conversion& c, const std::vector<Dim>& dims, const std::string& what) {
  for (Dim d : dims) c.require_less_equal(c.num(0), d, what + " must not be negative, but one size is {b}");
}

Result<Values> constant_of_shape(Conversion& c) {
  std::vector<Dim> shape = TRY(c.dims(0, "the shape", {.expected = c.declared_rank(0)}));
  require_sizes(c, shape, "the shape");
  ValueId value = kNoValue;
  if (c.has_attr("value")) {
    graph::ConstantPtr given = TRY(c.tensor_attr("value"));
    value = TRY(c.reshape(c.constant(given), {}));
  } else {
    value = c.scalar(DType::F32, 0);
  }
  return Values{TRY(c.append("array.full", Attrs{{"shape", shape}}, {value}))};
}

// What is left of `total` elements after the others were given: exact where the polynomial divides, otherwise the quotient;
// array.reshape checks that nothing remains.
Dim inferred_size(Conversion& c, Dim total, Dim others) {
  if (!others.is_const(0)) {
    if (auto exact = c.ctx().divide_exact(total, others)) return *exact;
  }
  Dim divisor = tight_max(others, c.num(1), c.ctx());
  return expr::floordiv(total, divisor);
}

// The sizes that a Reshape asks for, 0 and -1 resolved. An entry whose sign is not known stands for all three meanings at
// once: max(v, 0) + [v == 0] * input size + [v < 0] * inferred size. Where there are more than two of those, they become
// symbols: products of such sums have a term for each choice of meanings.
Result<std::vector<Dim>> reshape_sizes(Conversion& c, const graph::Shape& from, const std::vector<Dim>& wanted,
                                       bool copies_zero) {
  std::vector<Dim> sizes, inferred_weight, given;
  Dim total = c.count(from), others = c.num(1);
  bool may_infer = false;
  size_t open = 0;  // entries of unknown sign
  for (size_t i = 0; i < wanted.size(); ++i) {
    Dim v = wanted[i], copied = copies_zero && i < from.size() ? from[i] : c.num(0);
    Dim size = v, weight = c.num(0);
    if (v.is_const()) {
      if (v.is_const(0)) size = copied;
      if (v.const_value() < 0) size = c.num(0), weight = c.num(1);
    } else if (!proves_non_negative(v, c.ctx())) {
      weight = is_negative(v, c.ctx());
      size = tight_max(v, c.num(0), c.ctx()) + is_zero(v, c.ctx()) * copied;
      ++open;
    }
    may_infer = may_infer || !weight.is_const(0);
    sizes.push_back(size);
    inferred_weight.push_back(weight);
    given.push_back(size + weight);
  }
  if (!may_infer) return sizes;
  auto as_symbols = [&](const std::vector<Dim>& dims) -> Result<std::vector<Dim>> {
    return open > 2 ? c.read_dims(TRY(c.from_dims(dims)), "the new shape", 0) : Result<std::vector<Dim>>(dims);
  };
  for (Dim d : TRY(as_symbols(given))) others = others * d;
  Dim rest = inferred_size(c, total, others);
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = sizes[i] + inferred_weight[i] * rest;
  return as_symbols(sizes);
}

Result<Values> reshape(Conversion& c) {
  std::vector<Dim> wanted = TRY(c.dims(1, "the new shape", {.expected = c.declared_rank(0)}));
  TRY(check_rank(wanted.size(), "the new shape", c.loc));
  int64_t unknown = std::count_if(wanted.begin(), wanted.end(), [](Dim d) { return d.is_const(-1); });
  if (unknown > 1) return c.fail("shape-mismatch", "the new shape has more than one size to infer");
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].is_const() && wanted[i].const_value() < -1) {
      return c.fail("shape-mismatch", "size " + std::to_string(wanted[i].const_value()) + " of the new shape is negative");
    }
  }
  Dim inferred = c.num(unknown);
  for (Dim d : wanted) {
    if (d.is_const() || proves_non_negative(d, c.ctx())) continue;
    c.require_less_equal(c.num(-1), d, "size {b} of the new shape is negative");
    inferred = inferred + is_negative(d, c.ctx());
  }
  c.require_less_equal(inferred, c.num(1), "the new shape has {a} sizes to infer, and at most {b} can be");
  const bool copies_zero = !c.bool_attr("allowzero", false);
  if (!copies_zero) {
    Dim zeros = c.num(0);
    for (Dim d : wanted)
      if (!c.ctx().proves_less_equal(c.num(1), d)) zeros = zeros + is_zero(d, c.ctx());
    c.require_less_equal(inferred * zeros, c.num(0),
                         "with allowzero, a new shape that has a size 0 cannot have one to infer");
  }
  graph::Shape from = c.shape(0);
  std::vector<Dim> sizes = TRY(reshape_sizes(c, from, wanted, copies_zero));
  return Values{TRY(c.reshape(c.in(0), sizes))};
}

Result<Values> flatten(Conversion& c) {
  int64_t rank = c.rank(0), axis = c.int_attr("axis", 1);
  if (axis != rank) axis = rank == 0 && axis <= 1 ? 0 : TRY(c.axis(axis, rank));
  const graph::Shape& s = c.shape(0);
  graph::Shape outer(s.begin(), s.begin() + axis), inner(s.begin() + axis, s.end());
  return Values{TRY(c.reshape(c.in(0), {c.count(outer), c.count(inner)}))};
}

// Which axes a Squeeze that names none, or an empty list, drops: those of size 1. An axis that may be one is what the
// declared rank of the result says, or decided in a branch of its own.
enum class Fate : uint8_t { Stays, Goes, Open };
struct Fates {
  std::vector<Fate> axes;
  std::vector<size_t> of(Fate f) const {
    std::vector<size_t> out;
    for (size_t i = 0; i < axes.size(); ++i)
      if (axes[i] == f) out.push_back(i);
    return out;
  }
};

Fates fates_of(Conversion& c, const graph::Shape& s) {
  Fates out;
  for (Dim d : s) {
    const std::optional<bool> is_one = c.decide(is_zero(d - 1, c.ctx()));
    out.axes.push_back(!is_one ? Fate::Open : *is_one ? Fate::Goes : Fate::Stays);
  }
  return out;
}

// `left` axes stay, so how many of the open ones go is known.
Result<Values> squeeze_to_rank(Conversion& c, const graph::Shape& s, const Fates& fates, size_t left) {
  const std::vector<size_t> open = fates.of(Fate::Open), staying = fates.of(Fate::Stays);
  Dim stay = c.num(static_cast<int64_t>(staying.size()));
  for (size_t i : open) stay = stay + 1 - is_zero(s[i] - 1, c.ctx());
  c.require_equal(stay, c.num(static_cast<int64_t>(left)),
                  "axes of size 1 are dropped, which leaves {a} here, but the model declares {b} axes for the result; name "
                  "the axes to drop");
  if (left != staying.size() && left != staying.size() + open.size()) {
    graph::Shape sizes = TRY(sizes_above_one(c, left));
    return Values{TRY(c.reshape(c.in(0), std::move(sizes)))};
  }
  graph::Shape out;
  for (size_t i = 0; i < s.size(); ++i)
    if (fates.axes[i] == Fate::Stays || (fates.axes[i] == Fate::Open && left != staying.size())) out.push_back(s[i]);
  return Values{TRY(c.reshape(c.in(0), out))};
}

Result<Values> squeeze_ones(Conversion& c) {
  constexpr size_t kMostOpen = 4;
  const graph::Shape s = c.shape(0);
  const Fates fates = fates_of(c, s);
  const std::vector<size_t> open = fates.of(Fate::Open);
  const size_t staying = fates.of(Fate::Stays).size();
  if (open.empty()) return squeeze_to_rank(c, s, fates, staying);
  // A declaration that no sizes can meet says nothing.
  if (auto rank = c.declared_rank(0); rank && *rank >= 0) {
    const auto left = static_cast<size_t>(*rank);
    if (left >= staying && left <= staying + open.size()) return squeeze_to_rank(c, s, fates, left);
  }
  const std::string what = "axes of size 1 are dropped, but whether axis " + std::to_string(open[0]) + " of size " +
                           s[open[0]].str() +
                           " is one is not known; name the axes, declare the shape of the result, or bound that size";
  if (open.size() > kMostOpen) return c.fail("unknown-rank", what);
  return c.undecided(is_zero(s[open[0]] - 1, c.ctx()), "unknown-rank", what);
}

Result<Values> squeeze(Conversion& c) {
  AxesArgument axes = axes_argument(c);
  const graph::Shape s = c.shape(0);
  if (!axes.is_known) {
    const int64_t count = TRY(axes_dropped(c, 1));
    if (count == 0) return squeeze_ones(c);
    graph::Shape left = TRY(squeezed_at_run_time(c, 1, count));
    c.require_equal(c.count(s), c.count(left),
                    "the axes to drop must have size 1, but of {a} elements the other axes hold {b}");
    return Values{TRY(c.reshape(c.in(0), left))};
  }
  if (!axes.given || axes.given->empty()) return squeeze_ones(c);
  std::vector<bool> drop(s.size(), false);
  for (int64_t a : TRY(c.axes(*axes.given, c.rank(0)))) {
    drop[static_cast<size_t>(a)] = true;
    if (c.ctx().equal(s[static_cast<size_t>(a)], c.num(1)) == expr::Tri::No) {
      return c.fail("shape-mismatch",
                    "axis " + std::to_string(a) + " has size " + s[static_cast<size_t>(a)].str() + " and cannot be dropped");
    }
    c.require_equal(s[static_cast<size_t>(a)], c.num(1),
                    "axis " + std::to_string(a) + " must have size 1 to be dropped, but has {a}");
  }
  graph::Shape out;
  for (size_t i = 0; i < s.size(); ++i) {
    if (!drop[i]) out.push_back(s[i]);
  }
  return Values{TRY(c.reshape(c.in(0), out))};
}

Result<Values> unsqueeze(Conversion& c) {
  AxesArgument axes = axes_argument(c);
  if (!axes.is_known) {
    graph::Shape grown = TRY(unsqueezed_at_run_time(c, 1));
    c.require_equal(c.count(c.shape(0)), c.count(grown), "the axes to add must be different ones");
    return Values{TRY(c.reshape(c.in(0), grown))};
  }
  if (!axes.given) return c.fail("missing-input", "the axes to add are missing");
  size_t rank = c.shape(0).size() + axes.given->size();
  std::vector<bool> added(rank, false);
  for (int64_t a : TRY(c.axes(*axes.given, static_cast<int64_t>(rank)))) {
    if (added[static_cast<size_t>(a)]) return c.fail("axis-repeated", "axis " + std::to_string(a) + " is added twice");
    added[static_cast<size_t>(a)] = true;
  }
  graph::Shape out;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) out.push_back(added[i] ? c.num(1) : c.shape(0)[next++]);
  return Values{TRY(c.reshape(c.in(0), out))};
}

Result<Values> expand(Conversion& c) {
  // A shape of fewer axes than the input has may have any number of them.
  std::optional<int64_t> rank = c.declared_rank(0);
  if (rank && *rank <= c.rank(0)) rank.reset();
  std::vector<Dim> shape = TRY(c.dims(1, "the shape", {.expected = rank}));
  require_sizes(c, shape, "the shape");
  return Values{TRY(c.append("array.expand", Attrs{{"shape", shape}}, {c.in(0)}))};
}

Result<Values> tile(Conversion& c) {
  std::vector<Dim> repeats = TRY(c.dims(1, "the repeats", {.expected = c.rank(0)}));
  require_sizes(c, repeats, "the repeats");
  return Values{TRY(c.append("array.tile", Attrs{{"repeats", repeats}}, {c.in(0)}))};
}

Result<Values> transpose(Conversion& c) {
  std::vector<int64_t> perm;
  for (int64_t i = c.rank(0); i-- > 0;) perm.push_back(i);
  perm = TRY(c.axes(c.ints_attr("perm", perm), c.rank(0)));
  return Values{TRY(c.append("array.transpose", Attrs{{"perm", perm}}, {c.in(0)}))};
}

// How many numbers lie between start and limit. Integers are sizes; floats are divided in f64 and the count read back.
Result<Dim> range_size(Conversion& c) {
  Dim zero = c.num(0), one = c.num(1);
  if (is_float(c.dtype(0))) {
    ValueId span = TRY(c.append("math.sub", {}, {c.in(1), c.in(0)}));
    span = TRY(c.cast(span, DType::F64));
    ValueId delta = TRY(c.cast(c.in(2), DType::F64));
    ValueId ratio = TRY(c.append("math.div", {}, {span, delta}));
    ValueId whole = TRY(c.append("math.ceil", {}, {ratio}));
    constexpr int64_t kEndless = int64_t{1} << 62;
    ValueId is_nan = TRY(c.append("math.is_nan", {}, {whole}));
    whole = TRY(c.cast(whole, DType::I64));
    whole = TRY(c.append("math.where", {}, {is_nan, c.scalar(DType::I64, static_cast<double>(kEndless)), whole}));
    std::vector<Dim> n = TRY(c.read_dims(whole, "the count"));
    c.require_less_equal(n[0], c.num(kEndless - 1), "the step must not be 0, and all three must be finite");
    return tight_max(n[0], zero, c.ctx());
  }
  Dim start = TRY(c.dim(0, "the start")), limit = TRY(c.dim(1, "the limit")), step = TRY(c.dim(2, "the step"));
  Dim span = limit - start;
  if (step.is_const()) {
    int64_t d = step.const_value();
    if (d == 0) return c.fail("zero-step", "the step must not be 0");
    return tight_max(d > 0 ? expr::ceildiv(span, d) : expr::ceildiv(-span, -step), zero, c.ctx());
  }
  Dim down = is_negative(step, c.ctx());
  Dim magnitude = tight_max(tight_max(step, -step, c.ctx()), one, c.ctx());
  c.require_less_equal(one, tight_max(step, -step, c.ctx()), "the step must not be 0");
  return tight_max(expr::ceildiv(span * (1 - down * 2), magnitude), zero, c.ctx());
}

Result<Values> range(Conversion& c) {
  for (size_t i = 0; i < 3; ++i) {
    const Dim n = c.count(c.shape(i));
    if (n.is_const() && !n.is_const(1)) return c.fail("wrong-count", "start, limit and step must be single numbers");
  }
  Dim size = TRY(range_size(c));
  ValueId start = TRY(c.reshape(c.in(0), {})), step = TRY(c.reshape(c.in(2), {}));
  return Values{TRY(c.append("array.range", Attrs{{"size", size}}, {start, step}))};
}

Result<Values> eye_like(Conversion& c) {
  if (c.rank(0) != 2) return c.fail("wrong-rank", "the input must have 2 axes but has " + std::to_string(c.rank(0)));
  DType to = TRY(c.dtype_attr("dtype", c.dtype(0)));
  Attrs attrs{{"rows", c.shape(0)[0]}, {"cols", c.shape(0)[1]}, {"k", c.int_attr("k", 0)}, {"to", to}};
  return Values{TRY(c.append("array.eye", std::move(attrs), {}))};
}

}  // namespace

Rows shape_rows() {
  return {
      {"Identity", 1, 1, &identity, 0, &fold_identity},
      {"Shape", 1, 1, &always_folded, 0, &fold_shape},
      {"Size", 1, 1, &always_folded, 0, &fold_size},
      {"Constant", 1, 0, &constant, 0, &fold_constant},
      {"ConstantOfShape", 9, 1, &constant_of_shape, shape_input(0), &fold_constant_of_shape},
      {"Reshape", 5, 2, &reshape, kFrom1, &fold_reshape},
      {"Flatten", 1, 1, &flatten, 0, &fold_flatten},
      {"Squeeze", 1, 1, &squeeze, kFrom1, &fold_squeeze},
      {"Unsqueeze", 1, 1, &unsqueeze, kFrom1, &fold_unsqueeze},
      {"Expand", 8, 2, &expand, kFrom1, &fold_expand},
      {"Tile", 6, 2, &tile, kFrom1, &fold_tile},
      {"Transpose", 1, 1, &transpose, 0, &fold_transpose},
      {"Range", 11, 3, &range, shape_input(0) | shape_input(1) | shape_input(2), &fold_range},
      {"EyeLike", 9, 1, &eye_like},
  };
}

}  // namespace pliant::frontend::onnx
