#include <algorithm>

#include "frontend/core/evaluate.h"
#include "frontend/onnx/fold.h"

namespace pliant::frontend::onnx {
namespace {

Folded one(Known k) { return std::vector<Known>{std::move(k)}; }

int64_t product(const std::vector<int64_t>& dims, size_t from, size_t to) {
  int64_t n = 1;
  for (size_t i = from; i < to; ++i) n *= dims[i];
  return n;
}

std::optional<int64_t> wrap_axis(int64_t a, size_t rank) {
  int64_t r = static_cast<int64_t>(rank);
  if (a < -r || a >= r) return std::nullopt;
  return a < 0 ? a + r : a;
}

std::optional<std::vector<int64_t>> known_ints(Conversion& c, size_t i) {
  const Known* k = c.known(i);
  return k == nullptr ? std::nullopt : k->ints();
}

Folded with_shape(const Known& k, std::vector<int64_t> shape) {
  if (small_count(shape) != static_cast<int64_t>(k.elements.size())) return std::nullopt;
  return one(Known{k.dtype, std::move(shape), k.elements});
}

// One entry for each sliced axis.
struct SliceBounds {
  std::vector<int64_t> starts, ends, axes, steps;
};

// Known constant bounds of Slice, from attributes before opset 10 and from inputs since.
std::optional<SliceBounds> slice_bounds(Conversion& c) {
  SliceBounds b;
  if (c.opset < 10) {
    b.starts = c.ints_attr("starts", {});
    b.ends = c.ints_attr("ends", {});
    b.axes = c.ints_attr("axes", {});
  } else {
    auto starts = known_ints(c, 1), ends = known_ints(c, 2);
    if (!starts || !ends) return std::nullopt;
    b.starts = *starts;
    b.ends = *ends;
    for (size_t i : {3, 4}) {
      if (!c.has(i)) continue;
      auto v = known_ints(c, i);
      if (!v) return std::nullopt;
      (i == 3 ? b.axes : b.steps) = *v;
    }
  }
  for (size_t i = b.axes.size(); i < b.starts.size(); ++i) b.axes.push_back(static_cast<int64_t>(i));
  b.steps.resize(b.starts.size(), 1);
  bool fits =
      b.ends.size() == b.starts.size() && b.axes.size() == b.starts.size() && !std::count(b.steps.begin(), b.steps.end(), 0);
  if (!fits) return std::nullopt;
  return b;
}

}  // namespace

AxesArgument axes_argument(Conversion& c) {
  if (c.has_attr("axes")) return {true, c.ints_attr("axes", {})};
  if (!c.has(1)) return {};
  auto v = known_ints(c, 1);
  if (!v) return {false, std::nullopt};
  return {true, *v};
}

Folded fold_identity(Conversion& c) {
  const Known* k = c.known(0);
  return k == nullptr ? std::nullopt : one(*k);
}

// Constants of a few numbers; tensors of any size are made by the converter.
Folded fold_constant(Conversion& c) {
  if (const AttributeProto* a = c.attr("value_int")) return one(make_known(DType::I64, {}, {c.num(a->i)}));
  if (const AttributeProto* a = c.attr("value_float"))
    return one(Known{DType::F32, {}, {Element::make_real(static_cast<double>(a->f))}});
  if (const AttributeProto* a = c.attr("value_ints")) {
    if (static_cast<int64_t>(a->ints.size()) > kMaxKnown) return std::nullopt;
    std::vector<Dim> dims;
    for (int64_t v : a->ints) dims.push_back(c.num(v));
    return one(make_known(DType::I64, {static_cast<int64_t>(dims.size())}, dims));
  }
  if (!c.has_attr("value")) return std::nullopt;
  auto t = c.tensor_attr("value");
  if (!t.ok()) return std::nullopt;
  auto k = known_of(*t.value(), c.ctx());
  if (!k) return std::nullopt;
  return one(std::move(*k));
}

Folded fold_constant_of_shape(Conversion& c) {
  auto shape = known_ints(c, 0);
  if (!shape) return std::nullopt;
  auto n = small_count(*shape);
  if (!n) return std::nullopt;
  Known out{DType::F32, *shape, {}};
  Element e = Element::make_real(0);
  if (c.has_attr("value")) {
    auto t = c.tensor_attr("value");
    auto k = t.ok() ? known_of(*t.value(), c.ctx()) : std::nullopt;
    if (!k || k->elements.size() != 1) return std::nullopt;
    out.dtype = k->dtype;
    e = k->elements[0];
  }
  out.elements.assign(static_cast<size_t>(*n), e);
  return one(std::move(out));
}

Folded fold_shape(Conversion& c) {
  const graph::Shape& s = c.shape(0);
  int64_t rank = static_cast<int64_t>(s.size());
  auto bound = [&](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank); };
  int64_t start = bound(c.int_attr("start", 0)), end = bound(c.int_attr("end", rank));
  std::vector<Dim> dims;
  for (int64_t i = start; i < end; ++i) dims.push_back(s[static_cast<size_t>(i)]);
  return one(make_known(DType::I64, {static_cast<int64_t>(dims.size())}, dims));
}

Folded fold_size(Conversion& c) { return one(make_known(DType::I64, {}, {c.count(c.shape(0))})); }

Folded fold_gather(Conversion& c) { return fold_as(c, "array.gather", Attrs{{"axis", c.int_attr("axis", 0)}}); }

Folded fold_slice(Conversion& c) {
  auto b = slice_bounds(c);
  if (!b) return std::nullopt;
  Attrs attrs{{"starts", b->starts}, {"ends", b->ends}, {"axes", b->axes}, {"steps", b->steps}};
  return fold_as(c, "array.slice", attrs, 1);
}

Folded fold_concat(Conversion& c) { return fold_as(c, "array.concat", Attrs{{"axis", c.int_attr("axis", 0)}}); }

Folded fold_squeeze(Conversion& c) {
  const Known* k = c.known(0);
  AxesArgument axes = axes_argument(c);
  if (k == nullptr || !axes.is_known) return std::nullopt;
  std::vector<bool> drop(k->shape.size(), false);
  for (size_t i = 0; i < k->shape.size(); ++i) drop[i] = (!axes.given || axes.given->empty()) && k->shape[i] == 1;
  for (int64_t v : axes.given.value_or(std::vector<int64_t>{})) {
    auto a = wrap_axis(v, k->shape.size());
    if (!a) return std::nullopt;
    drop[static_cast<size_t>(*a)] = true;
  }
  std::vector<int64_t> shape;
  for (size_t i = 0; i < k->shape.size(); ++i) {
    if (!drop[i]) shape.push_back(k->shape[i]);
  }
  return with_shape(*k, std::move(shape));
}

Folded fold_unsqueeze(Conversion& c) {
  const Known* k = c.known(0);
  AxesArgument axes = axes_argument(c);
  if (k == nullptr || !axes.is_known || !axes.given) return std::nullopt;
  size_t rank = k->shape.size() + axes.given->size();
  std::vector<bool> added(rank, false);
  for (int64_t v : *axes.given) {
    auto a = wrap_axis(v, rank);
    if (!a || added[static_cast<size_t>(*a)]) return std::nullopt;
    added[static_cast<size_t>(*a)] = true;
  }
  std::vector<int64_t> shape;
  auto next = k->shape.begin();
  for (size_t i = 0; i < rank; ++i) shape.push_back(added[i] ? 1 : *next++);
  return with_shape(*k, std::move(shape));
}

Folded fold_reshape(Conversion& c) {
  const Known* k = c.known(0);
  auto shape = known_ints(c, 1);
  if (k == nullptr || !shape) return std::nullopt;
  int64_t rest = 1, unknown = -1;
  for (size_t i = 0; i < shape->size(); ++i) {
    int64_t& d = (*shape)[i];
    if (d == 0 && c.int_attr("allowzero", 0) == 0 && i < k->shape.size()) d = k->shape[i];
    if (d == -1 && unknown < 0) {
      unknown = static_cast<int64_t>(i);
    } else if (d < 0 || __builtin_mul_overflow(rest, d, &rest)) {
      return std::nullopt;
    }
  }
  int64_t n = static_cast<int64_t>(k->elements.size());
  if (unknown >= 0) {
    if (rest == 0 || n % rest != 0) return std::nullopt;
    (*shape)[static_cast<size_t>(unknown)] = n / rest;
  }
  return with_shape(*k, std::move(*shape));
}

Folded fold_flatten(Conversion& c) {
  const Known* k = c.known(0);
  if (k == nullptr) return std::nullopt;
  int64_t rank = static_cast<int64_t>(k->shape.size()), axis = c.int_attr("axis", 1);
  if (axis < -rank || axis > rank) return std::nullopt;
  size_t a = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  return with_shape(*k, {product(k->shape, 0, a), product(k->shape, a, k->shape.size())});
}

Folded fold_transpose(Conversion& c) {
  std::vector<int64_t> perm;
  for (int64_t i = c.rank(0); i-- > 0;) perm.push_back(i);
  return fold_as(c, "array.transpose", Attrs{{"perm", c.ints_attr("perm", perm)}});
}

Folded fold_expand(Conversion& c) {
  auto shape = known_ints(c, 1);
  return shape ? fold_as(c, "array.expand", Attrs{{"shape", *shape}}, 1) : std::nullopt;
}

Folded fold_tile(Conversion& c) {
  auto repeats = known_ints(c, 1);
  return repeats ? fold_as(c, "array.tile", Attrs{{"repeats", *repeats}}, 1) : std::nullopt;
}

Folded fold_split(Conversion& c) {
  const Known* k = c.known(0);
  if (k == nullptr) return std::nullopt;
  auto axis = wrap_axis(c.int_attr("axis", 0), k->shape.size());
  if (!axis) return std::nullopt;
  size_t a = static_cast<size_t>(*axis), parts = c.output_count();
  std::vector<int64_t> sizes;
  if (c.has_attr("split")) {
    sizes = c.ints_attr("split", {});
  } else if (c.has(1)) {
    auto v = known_ints(c, 1);
    if (!v) return std::nullopt;
    sizes = *v;
  } else {
    int64_t n = k->shape[a], chunk = (n + static_cast<int64_t>(parts) - 1) / static_cast<int64_t>(parts);
    for (size_t i = 0; i < parts; ++i) {
      sizes.push_back(std::clamp<int64_t>(n, 0, chunk));
      n -= sizes.back();
    }
  }
  return evaluate(c, "array.split", Attrs{{"axis", *axis}, {"sizes", sizes}}, {k}, parts);
}

Folded fold_range(Conversion& c) {
  auto start = known_ints(c, 0), limit = known_ints(c, 1), step = known_ints(c, 2);
  if (!start || !limit || !step || start->size() != 1 || limit->size() != 1 || step->size() != 1) return std::nullopt;
  int64_t s = (*start)[0], l = (*limit)[0], d = (*step)[0], span = 0;
  if (d == 0 || __builtin_sub_overflow(l, s, &span)) return std::nullopt;
  if (d > 0 ? span / d > kMaxKnown : d != INT64_MIN && span / d > kMaxKnown) return std::nullopt;
  const int64_t n = span / d + ((span % d != 0 && (span > 0) == (d > 0)) ? 1 : 0);
  const Known from = make_known(c.dtype(0), {}, {c.num(s)}), by = make_known(c.dtype(2), {}, {c.num(d)});
  return evaluate(c, "array.range", Attrs{{"size", std::max<int64_t>(n, 0)}}, {&from, &by});
}

}  // namespace pliant::frontend::onnx
