#include <algorithm>

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

// The elements at `positions` of one axis, in that order.
Known take(const Known& k, size_t axis, const std::vector<int64_t>& positions) {
  Known out{k.dtype, k.shape, {}};
  out.shape[axis] = static_cast<int64_t>(positions.size());
  int64_t outer = product(k.shape, 0, axis), inner = product(k.shape, axis + 1, k.shape.size());
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t p : positions) {
      for (int64_t i = 0; i < inner; ++i) {
        out.elements.push_back(k.elements[static_cast<size_t>((o * k.shape[axis] + p) * inner + i)]);
      }
    }
  }
  return out;
}

Folded with_shape(const Known& k, std::vector<int64_t> shape) {
  if (small_count(shape) != static_cast<int64_t>(k.elements.size())) return std::nullopt;
  return one(Known{k.dtype, std::move(shape), k.elements});
}

std::vector<int64_t> slice_positions(int64_t start, int64_t end, int64_t step, int64_t n) {
  auto clamp = [&](int64_t v, int64_t lo, int64_t hi) {
    if (v < 0) v = v < -n ? -1 - n : v;
    if (v < 0) v += n;
    return std::clamp(v, lo, hi);
  };
  std::vector<int64_t> out;
  if (step > 0) {
    for (int64_t i = clamp(start, 0, n), e = clamp(end, 0, n); i < e;) {
      out.push_back(i);
      if (step >= e - i) break;
      i += step;
    }
  } else {
    for (int64_t i = clamp(start, -1, n - 1), e = clamp(end, -1, n - 1); i > e;) {
      out.push_back(i);
      if (step <= e - i) break;
      i += step;
    }
  }
  return out;
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

Folded fold_gather(Conversion& c) {
  const Known *k = c.known(0), *indices = c.known(1);
  auto at = known_ints(c, 1);
  if (k == nullptr || !at) return std::nullopt;
  auto axis = wrap_axis(c.int_attr("axis", 0), k->shape.size());
  if (!axis) return std::nullopt;
  size_t a = static_cast<size_t>(*axis);
  for (int64_t& i : *at) {
    if (i < -k->shape[a] || i >= k->shape[a]) return std::nullopt;
    if (i < 0) i += k->shape[a];
  }
  Known out = take(*k, a, *at);
  out.shape.erase(out.shape.begin() + *axis);
  out.shape.insert(out.shape.begin() + *axis, indices->shape.begin(), indices->shape.end());
  if (!small_count(out.shape)) return std::nullopt;
  return one(std::move(out));
}

Folded fold_slice(Conversion& c) {
  const Known* k = c.known(0);
  auto b = slice_bounds(c);
  if (k == nullptr || !b) return std::nullopt;
  Known out = *k;
  std::vector<bool> named(k->shape.size(), false);
  for (size_t i = 0; i < b->starts.size(); ++i) {
    auto axis = wrap_axis(b->axes[i], out.shape.size());
    if (!axis || named[static_cast<size_t>(*axis)]) return std::nullopt;
    size_t a = static_cast<size_t>(*axis);
    named[a] = true;
    out = take(out, a, slice_positions(b->starts[i], b->ends[i], b->steps[i], out.shape[a]));
  }
  return one(std::move(out));
}

Folded fold_concat(Conversion& c) {
  const Known* first = c.known(0);
  if (first == nullptr) return std::nullopt;
  auto axis = wrap_axis(c.int_attr("axis", 0), first->shape.size());
  if (!axis) return std::nullopt;
  size_t a = static_cast<size_t>(*axis);
  Known out{first->dtype, first->shape, {}};
  out.shape[a] = 0;
  int64_t outer = product(first->shape, 0, a);
  for (size_t i = 0; i < c.input_count(); ++i) {
    const Known* k = c.known(i);
    if (k == nullptr || k->dtype != first->dtype || k->shape.size() != first->shape.size()) return std::nullopt;
    for (size_t d = 0; d < k->shape.size(); ++d) {
      if (d != a && k->shape[d] != first->shape[d]) return std::nullopt;
    }
    out.shape[a] += k->shape[a];
  }
  if (!small_count(out.shape)) return std::nullopt;
  for (int64_t o = 0; o < outer; ++o) {
    for (size_t i = 0; i < c.input_count(); ++i) {
      const Known* k = c.known(i);
      int64_t block = product(k->shape, a, k->shape.size());
      out.elements.insert(out.elements.end(), k->elements.begin() + o * block, k->elements.begin() + (o + 1) * block);
    }
  }
  return one(std::move(out));
}

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
  const Known* k = c.known(0);
  if (k == nullptr) return std::nullopt;
  size_t rank = k->shape.size();
  std::vector<int64_t> perm;
  for (size_t i = rank; i-- > 0;) perm.push_back(static_cast<int64_t>(i));
  perm = c.ints_attr("perm", perm);
  std::vector<int64_t> strides(rank, 1), sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  if (perm.size() != rank) return std::nullopt;
  for (size_t i = 0; i < rank; ++i) {
    if (sorted[i] != static_cast<int64_t>(i)) return std::nullopt;
    strides[i] = product(k->shape, i + 1, rank);
  }
  Known out{k->dtype, {}, {}};
  for (int64_t p : perm) out.shape.push_back(k->shape[static_cast<size_t>(p)]);
  for (size_t flat = 0; flat < k->elements.size(); ++flat) {
    int64_t rest = static_cast<int64_t>(flat), source = 0;
    for (size_t i = rank; i-- > 0;) {
      source += rest % out.shape[i] * strides[static_cast<size_t>(perm[i])];
      rest /= out.shape[i];
    }
    out.elements.push_back(k->elements[static_cast<size_t>(source)]);
  }
  return one(std::move(out));
}

Folded fold_expand(Conversion& c) {
  const Known* k = c.known(0);
  auto shape = known_ints(c, 1);
  if (k == nullptr || !shape) return std::nullopt;
  auto out = broadcast_shapes(k->shape, *shape);
  if (!out) return std::nullopt;
  return one(expand_to(*k, *out));
}

Folded fold_tile(Conversion& c) {
  const Known* k = c.known(0);
  auto repeats = known_ints(c, 1);
  if (k == nullptr || !repeats || repeats->size() != k->shape.size()) return std::nullopt;
  std::vector<int64_t> shape = k->shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t r = (*repeats)[i];
    if (r < 0 || r > kMaxKnown) return std::nullopt;
    shape[i] *= r;
  }
  if (!small_count(shape)) return std::nullopt;
  Known out = *k;
  for (size_t i = 0; i < shape.size(); ++i) {
    std::vector<int64_t> positions;
    for (int64_t p = 0; p < shape[i]; ++p) positions.push_back(p % k->shape[i]);
    out = take(out, i, positions);
  }
  return one(std::move(out));
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
  std::vector<Known> out;
  int64_t at = 0;
  for (int64_t size : sizes) {
    if (size < 0 || size > k->shape[a] - at) return std::nullopt;
    std::vector<int64_t> positions;
    for (int64_t i = 0; i < size; ++i) positions.push_back(at++);
    out.push_back(take(*k, a, positions));
  }
  if (out.size() != parts || at != k->shape[a]) return std::nullopt;
  return out;
}

Folded fold_range(Conversion& c) {
  auto start = known_ints(c, 0), limit = known_ints(c, 1), step = known_ints(c, 2);
  if (!start || !limit || !step || start->size() != 1 || limit->size() != 1 || step->size() != 1) return std::nullopt;
  int64_t s = (*start)[0], l = (*limit)[0], d = (*step)[0], span = 0;
  if (d == 0 || __builtin_sub_overflow(l, s, &span)) return std::nullopt;
  if (d > 0 ? span / d > kMaxKnown : d != INT64_MIN && span / d > kMaxKnown) return std::nullopt;
  std::vector<Dim> dims;
  for (int64_t v = s; (d > 0 ? v < l : v > l) && dims.size() <= static_cast<size_t>(kMaxKnown); v += d)
    dims.push_back(c.num(v));
  if (dims.size() > static_cast<size_t>(kMaxKnown)) return std::nullopt;
  return one(make_known(c.dtype(0), {static_cast<int64_t>(dims.size())}, dims));
}

}  // namespace pliant::frontend::onnx
