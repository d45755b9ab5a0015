#include "frontend/onnx/data_axes.h"

namespace pliant::frontend::onnx {
namespace {

Result<ValueId> full(Conversion& c, Dim size, int64_t value) {
  Attrs attrs{{"shape", std::vector<Dim>{size}}};
  return c.append("array.full", std::move(attrs), {c.scalar(DType::I64, static_cast<double>(value))});
}

// Which of `rank` axes stay, and how many of those stand before each: i64 [rank].
struct Kept {
  ValueId dropped, kept, before;  // `dropped` and `kept` hold 0 and 1
};
Result<Kept> kept_beside(Conversion& c, ValueId dropped, int64_t rank) {
  ValueId ones = TRY(full(c, c.num(rank), 1));
  Kept k;
  k.dropped = dropped;
  k.kept = TRY(c.append("math.sub", {}, {ones, k.dropped}));
  k.before = TRY(c.append("array.cumsum", Attrs{{"axis", int64_t{0}}, {"exclusive", true}}, {k.kept}));
  return k;
}
// 1 for each of `rank` axes that is among the `count` of input i, otherwise 0.
Result<ValueId> named_axes(Conversion& c, size_t i, Dim count, int64_t rank) {
  ValueId axes = TRY(c.reshape(c.in(i), {count}));
  axes = TRY(c.cast(axes, DType::I64));
  ValueId zeros = TRY(full(c, c.num(rank), 0)), named = TRY(full(c, count, 1));
  return c.append("array.scatter_elements", Attrs{{"axis", int64_t{0}}}, {zeros, axes, named});
}
Result<Kept> kept_axes(Conversion& c, size_t i, int64_t count, int64_t rank) {
  return kept_beside(c, TRY(named_axes(c, i, c.num(count), rank)), rank);
}

// The `left` sizes of the shape of input 0 that stay.
Result<graph::Shape> kept_sizes(Conversion& c, const Kept& k, int64_t left) {
  // A dropped size goes behind the others and is cut off.
  ValueId behind = TRY(c.append("math.mul", {}, {k.dropped, c.scalar(DType::I64, static_cast<double>(left))}));
  ValueId place = TRY(c.append("math.mul", {}, {k.kept, k.before}));
  place = TRY(c.append("math.add", {}, {place, behind}));
  ValueId zeros = TRY(full(c, c.num(left + 1), 0)), sizes = TRY(c.from_dims(c.shape(0)));
  ValueId all = TRY(c.append("array.scatter_elements", Attrs{{"axis", int64_t{0}}}, {zeros, place, sizes}));
  Attrs first{{"starts", std::vector<int64_t>{0}}, {"ends", std::vector<int64_t>{left}}, {"axes", std::vector<int64_t>{0}}};
  ValueId out = TRY(c.append("array.slice", std::move(first), {all}));
  return c.read_dims(out, "the squeezed shape", 0);
}

// What a declared rank says about how many axes there are: none that it cannot be.
SizeCount axis_count(std::optional<int64_t> count, int64_t most) {
  if (count && (*count < 0 || *count > most)) count.reset();
  return {count, most};
}

}  // namespace

Result<graph::Shape> unsqueezed_at_run_time(Conversion& c, size_t i) {
  std::optional<int64_t> declared = c.declared_rank(0);
  if (declared) *declared -= c.rank(0);
  int64_t count = TRY(c.size_count(i, "the axes to add", axis_count(declared, INT64_MAX))), rank = c.rank(0) + count;
  if (c.rank(0) == 0) return graph::Shape(static_cast<size_t>(rank), c.num(1));
  Kept k = TRY(kept_axes(c, i, count, rank));
  ValueId sizes = TRY(c.from_dims(c.shape(0)));
  // An added axis behind the last size looks at the last one, which its 0 in `kept` drops.
  ValueId last = c.scalar(DType::I64, static_cast<double>(c.rank(0) - 1));
  ValueId place = TRY(c.append("math.min", {}, {k.before, last}));
  ValueId taken = TRY(c.append("array.gather", Attrs{{"axis", int64_t{0}}}, {sizes, place}));
  taken = TRY(c.append("math.mul", {}, {taken, k.kept}));
  ValueId out = TRY(c.append("math.add", {}, {taken, k.dropped}));
  return c.read_dims(out, "the unsqueezed shape", 0);
}

Result<int64_t> axes_dropped(Conversion& c, size_t i) {
  std::optional<int64_t> declared = c.declared_rank(0);
  if (declared) *declared = c.rank(0) - *declared;
  return c.size_count(i, "the axes to drop", axis_count(declared, c.rank(0)));
}

Result<graph::Shape> squeezed_at_run_time(Conversion& c, size_t i, int64_t count) {
  int64_t left = c.rank(0) - count;
  if (left < 0) return c.fail("wrong-count", "more axes are dropped than there are");
  if (left == 0) return graph::Shape{};
  Kept k = TRY(kept_axes(c, i, count, c.rank(0)));
  return kept_sizes(c, k, left);
}

Result<graph::Shape> sizes_above_one(Conversion& c, size_t left) {
  graph::Shape ones;
  for (Dim d : c.shape(0)) ones.push_back(is_zero(d - 1, c.ctx()));
  ValueId dropped = TRY(c.from_dims(std::move(ones)));
  Kept k = TRY(kept_beside(c, dropped, c.rank(0)));
  return kept_sizes(c, k, static_cast<int64_t>(left));
}

// Each axis becomes two, one that stays and one that is reduced; one of them has the size, the other 1. These are symbols,
// so that the reduction is one of known axes.
Result<ValueId> reduced_at_run_time(Conversion& c, const std::string& op, size_t i, Dim count, bool none_is_none) {
  const int64_t rank = c.rank(0);
  ValueId reduced = TRY(named_axes(c, i, count, rank));
  Attrs total{{"axes", std::vector<int64_t>{0}}, {"keepdims", true}};
  const Dim named = TRY(c.read_dims(TRY(c.append("reduce.sum", std::move(total), {reduced})), "the axes to reduce", 0))[0];
  c.require_equal(named, count, "{a} of {b} axes to reduce differ");
  const Dim all = none_is_none ? c.num(0) : is_zero(count, c.ctx());
  if (!all.is_const(0)) reduced = TRY(c.append("math.max", {}, {reduced, TRY(c.from_dims({all}))}));
  ValueId ones = TRY(full(c, c.num(rank), 1)), sizes = TRY(c.from_dims(c.shape(0)));
  ValueId taken = TRY(c.append("math.mul", {}, {reduced, TRY(c.append("math.sub", {}, {sizes, ones}))}));
  ValueId along = TRY(c.append("math.add", {}, {taken, ones})), kept = TRY(c.append("math.sub", {}, {sizes, taken}));
  ValueId both = TRY(c.append("array.concat", Attrs{{"axis", int64_t{0}}}, {kept, along}));
  const std::vector<Dim> read = TRY(c.read_dims(both, "the sizes that are reduced", 0));
  std::vector<Dim> split;
  std::vector<int64_t> axes;
  for (size_t k = 0; k < c.shape(0).size(); ++k) {
    const bool is_one = c.shape(0)[k].is_const(1);
    split.push_back(is_one ? c.num(1) : read[k]);
    axes.push_back(static_cast<int64_t>(split.size()));
    split.push_back(is_one ? c.num(1) : read[c.shape(0).size() + k]);
  }
  return c.append(op, Attrs{{"axes", axes}, {"keepdims", false}}, {TRY(c.reshape(c.in(0), std::move(split)))});
}

}  // namespace pliant::frontend::onnx
