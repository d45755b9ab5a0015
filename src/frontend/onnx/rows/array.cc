// Joining, splitting, padding and rearranging.
#include "frontend/onnx/fold.h"
#include "frontend/onnx/rows/direct.h"

namespace pliant::frontend::onnx {
namespace {

// More inputs than these are joined in groups first: where each lies in the result is a sum over those before it.
constexpr size_t kMostJoined = 64;

Result<Values> concat(Conversion& c) {
  std::vector<ValueId> parts = c.all_inputs();
  const Attrs attrs{{"axis", c.int_attr("axis", 1)}};
  while (parts.size() > 1) {
    std::vector<ValueId> joined;
    for (size_t i = 0; i < parts.size(); i += kMostJoined) {
      std::vector<ValueId> group(parts.begin() + static_cast<std::ptrdiff_t>(i),
                                 parts.begin() + static_cast<std::ptrdiff_t>(std::min(i + kMostJoined, parts.size())));
      joined.push_back(group.size() == 1 ? group[0] : TRY(c.append("array.concat", attrs, std::move(group))));
    }
    parts = std::move(joined);
  }
  return Values{parts[0]};
}

// The sizes of equal parts. Before opset 18 they had to be equal; since then the last ones may be smaller.
Result<std::vector<Dim>> equal_parts(Conversion& c, Dim n, int64_t parts) {
  std::vector<Dim> sizes;
  if (c.ctx().divisible(n, parts) || c.opset < 18) {
    auto exact = c.ctx().divide_exact(n, c.num(parts));
    Dim part = exact ? *exact : expr::floordiv(n, parts);
    if (n.is_const() && n.const_value() % parts != 0) {
      return c.fail("shape-mismatch",
                    "an axis of size " + n.str() + " cannot be split into " + std::to_string(parts) + " equal parts");
    }
    if (!exact)
      c.require_equal(part * parts, n, "an axis of size {b} cannot be split into " + std::to_string(parts) + " equal parts");
    return std::vector<Dim>(static_cast<size_t>(parts), part);
  }
  // Between ends, so that the sum of any parts in a row is the distance of two of those.
  Dim part = expr::ceildiv(n, parts), begin = c.num(0);
  for (int64_t i = 1; i <= parts; ++i) {
    const Dim end = i == parts ? n : tight_min(part * i, n, c.ctx());
    sizes.push_back(end - begin);
    begin = end;
  }
  return sizes;
}

Result<Values> split(Conversion& c) {
  int64_t axis = TRY(c.axis(c.int_attr("axis", 0), c.rank(0)));
  Dim n = c.shape(0)[static_cast<size_t>(axis)];
  int64_t parts = static_cast<int64_t>(c.output_count());
  std::vector<Dim> sizes;
  if (c.has_attr("split")) {
    for (int64_t v : c.ints_attr("split", {})) sizes.push_back(c.num(v));
  } else if (c.has(1)) {
    sizes = TRY(c.dims(1, "the sizes of the parts", {.expected = parts}));
  } else {
    const int64_t wanted = c.int_attr("num_outputs", parts);
    if (wanted != parts)
      return c.fail("wrong-count",
                    "num_outputs is " + std::to_string(wanted) + " but it has " + std::to_string(parts) + " outputs");
    sizes = TRY(equal_parts(c, n, parts));
  }
  if (static_cast<int64_t>(sizes.size()) != parts) {
    return c.fail("wrong-count",
                  "it has " + std::to_string(parts) + " outputs but " + std::to_string(sizes.size()) + " sizes");
  }
  if (parts == 1) {
    c.require_equal(sizes[0], n, "the part has size {a} but the axis {b}");
    return Values{c.in(0)};
  }
  return c.append_multi("array.split", Attrs{{"axis", axis}, {"sizes", sizes}}, {c.in(0)}, static_cast<size_t>(parts));
}

// Pads of some axes as pads of all: begins, then ends. Axes that only data tell count from the end when negative.
Result<std::vector<Dim>> all_pads(Conversion& c, const std::vector<Dim>& pads, const std::vector<Dim>& axes) {
  size_t rank = c.shape(0).size();
  if (pads.size() != axes.size() * 2) {
    return c.fail("wrong-count",
                  std::to_string(axes.size() * 2) + " pads are needed but " + std::to_string(pads.size()) + " given");
  }
  std::vector<Dim> out(rank * 2, c.num(0)), named(rank, c.num(0));
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim axis = axes[i];
    if (axis.is_const()) {
      axis = c.num(TRY(c.axis(axis.const_value(), c.rank(0))));
    } else {
      axis = axis + is_negative(axis, c.ctx()) * c.rank(0);
      c.require_less_equal(c.num(0), axis, "an axis to pad must be at least 0 once counted from the end, but is {b}");
      c.require_less_equal(axis, c.num(c.rank(0) - 1),
                           "an axis to pad must be below " + std::to_string(rank) + " but is {a}");
    }
    for (size_t a = 0; a < rank; ++a) {
      Dim here = is_zero(axis - static_cast<int64_t>(a), c.ctx());
      named[a] = named[a] + here;
      out[a] = out[a] + here * pads[i];
      out[rank + a] = out[rank + a] + here * pads[axes.size() + i];
    }
  }
  for (size_t a = 0; a < rank; ++a) {
    if (named[a].is_const() && named[a].const_value() > 1)
      return c.fail("axis-repeated", "axis " + std::to_string(a) + " is padded twice");
    if (axes.size() > 1)
      c.require_less_equal(named[a], c.num(1), "axis " + std::to_string(a) + " is named {a} times among the axes to pad");
  }
  return out;
}

std::vector<Dim> every_axis(Conversion& c) {
  std::vector<Dim> out;
  for (int64_t i = 0; i < c.rank(0); ++i) out.push_back(c.num(i));
  return out;
}

Result<Values> pad_by_attributes(Conversion& c) {
  std::vector<Dim> pads;
  for (int64_t v : c.ints_attr("pads", {})) pads.push_back(c.num(v));
  pads = TRY(all_pads(c, pads, every_axis(c)));
  Attrs attrs{{"pads", pads}, {"mode", c.string_attr("mode", "constant")}};
  return Values{TRY(c.append("array.pad", attrs, {c.in(0), c.scalar(c.dtype(0), c.float_attr("value", 0))}))};
}

Result<Values> pad(Conversion& c) {
  std::vector<Dim> axes = c.has(3) ? TRY(c.dims(3, "the axes to pad", {.most = c.rank(0)})) : every_axis(c);
  std::vector<Dim> given = TRY(c.dims(1, "the pads", {.expected = static_cast<int64_t>(2 * axes.size())}));
  std::vector<Dim> pads = TRY(all_pads(c, given, axes));
  ValueId value = c.has(2) ? TRY(c.reshape(c.in(2), {})) : kNoValue;
  Attrs attrs{{"pads", pads}, {"mode", c.string_attr("mode", "constant")}};
  return Values{TRY(c.append("array.pad", attrs, {c.in(0), value}))};
}

Result<Values> trilu(Conversion& c) {
  Dim k = c.has(1) ? TRY(c.dim(1, "the diagonal")) : c.num(0);
  return Values{TRY(c.append("array.trilu", Attrs{{"k", k}, {"upper", c.bool_attr("upper", true)}}, {c.in(0)}))};
}

// A running sum or product. An axis known only at run time is chosen among the results for every axis.
template <OpName op>
Result<Values> cumulative(Conversion& c) {
  Attrs attrs{{"exclusive", c.bool_attr("exclusive", false)}, {"reverse", c.bool_attr("reverse", false)}};
  ValueId x = c.in(0);
  if (const Known* k = c.known(1); k != nullptr && k->ints()) {
    int64_t fixed = TRY(c.const_int(1, "the axis"));
    attrs.set("axis", TRY(c.axis(fixed, c.rank(0))));
    return Values{TRY(c.append(op.text, attrs, {x}))};
  }
  Dim axis = TRY(c.dim(1, "the axis"));
  Dim wrapped = axis + is_negative(axis, c.ctx()) * c.rank(0);
  c.require_less_equal(c.num(0), wrapped, "the axis must be at least 0 once counted from the end, but is {b}");
  c.require_less_equal(wrapped, c.num(c.rank(0) - 1), "the axis must be below " + std::to_string(c.rank(0)) + " but is {a}");
  ValueId chosen = TRY(c.from_dims({wrapped}));
  chosen = TRY(c.reshape(chosen, {}));
  ValueId out = kNoValue;
  for (int64_t a = 0; a < c.rank(0); ++a) {
    attrs.set("axis", a);
    ValueId along = TRY(c.append(op.text, attrs, {x}));
    if (out == kNoValue) {
      out = along;
      continue;
    }
    ValueId is_axis = TRY(c.append("math.eq", {}, {chosen, c.scalar(DType::I64, static_cast<double>(a))}));
    out = TRY(c.append("math.where", {}, {is_axis, along, out}));
  }
  if (out == kNoValue) return c.fail("axis-out-of-range", "the input has no axis");
  return Values{out};
}

Result<Values> depth_to_space(Conversion& c) {
  std::string mode = c.string_attr("mode", "DCR") == "CRD" ? "crd" : "dcr";
  return Values{
      TRY(c.append("array.depth_to_space", Attrs{{"block", c.int_attr("blocksize", 1)}, {"mode", mode}}, {c.in(0)}))};
}

Result<Values> space_to_depth(Conversion& c) {
  std::string mode = c.string_attr("mode", "DCR") == "CRD" ? "crd" : "dcr";
  return Values{
      TRY(c.append("array.space_to_depth", Attrs{{"block", c.int_attr("blocksize", 1)}, {"mode", mode}}, {c.in(0)}))};
}

Result<Values> reverse_sequence(Conversion& c) {
  Attrs attrs{{"batch_axis", c.int_attr("batch_axis", 1)}, {"time_axis", c.int_attr("time_axis", 0)}};
  return Values{TRY(c.append("array.reverse_sequence", attrs, c.all_inputs()))};
}

Result<Values> col2im(Conversion& c) {
  std::vector<Dim> image = TRY(c.dims(1, "the image's shape")), block = TRY(c.dims(2, "the block's shape"));
  Attrs attrs{{"image", image}, {"block", block}};
  if (c.has_attr("strides")) attrs.set("strides", c.ints_attr("strides", {}));
  if (c.has_attr("dilations")) attrs.set("dilations", c.ints_attr("dilations", {}));
  if (c.has_attr("pads")) attrs.set("pads", c.ints_attr("pads", {}));
  return Values{TRY(c.append("array.col2im", attrs, {c.in(0)}))};
}

Result<Values> center_crop_pad(Conversion& c) {
  std::vector<int64_t> axes = c.ints_attr("axes", {});
  const int64_t count = c.has_attr("axes") ? static_cast<int64_t>(axes.size()) : c.rank(0);
  Attrs attrs{{"shape", TRY(c.dims(1, "the shape", {.expected = count}))}};
  if (c.has_attr("axes")) attrs.set("axes", std::move(axes));
  return Values{TRY(c.append("array.center_crop_pad", attrs, {c.in(0)}))};
}

bool is_known_zero(const Known* k) {
  if (k == nullptr || k->elements.size() != 1 || !k->is_const()) return false;
  const Element& e = k->elements[0];
  return e.kind == Element::Kind::Real ? e.real == 0 : e.num.is_const(0);
}

// Inference: the data pass unchanged and the mask is all true.
Result<Values> dropout(Conversion& c) {
  if (c.has(2)) {
    bool drops_nothing = c.has(1) && is_known_zero(c.known(1));
    if (!is_known_zero(c.known(2)) && !drops_nothing) {
      return c.fail("training-mode", "dropout in training mode is random and not supported; set training_mode to false");
    }
  }
  Values out{c.in(0)};
  if (c.wants(1)) {
    DType mask = c.opset >= 10 ? DType::Bool : c.dtype(0);
    out.push_back(TRY(c.append("array.full", Attrs{{"shape", c.shape(0)}}, {c.scalar(mask, 1)})));
  }
  return out;
}

}  // namespace

Rows array_rows() {
  return {
      {"Concat", 4, 1, &concat, 0, &fold_concat},
      {"Split", 2, 1, &split, kFrom1, &fold_split},
      {"Pad", 2, 1, &pad_by_attributes},
      {"Pad", 11, 2, &pad, shape_input(1) | shape_input(3)},
      {"Trilu", 14, 1, &trilu, kFrom1},
      {"CumSum", 11, 2, &cumulative<"array.cumsum">, kFrom1},
      {"CumProd", 26, 2, &cumulative<"array.cumprod">, kFrom1},
      {"DepthToSpace", 1, 1, &depth_to_space},
      {"SpaceToDepth", 1, 1, &space_to_depth},
      {"ReverseSequence", 10, 2, &reverse_sequence},
      {"Col2Im", 18, 3, &col2im, kFrom1},
      {"CenterCropPad", 18, 2, &center_crop_pad, kFrom1},
      {"Dropout", 7, 1, &dropout},
  };
}

}  // namespace pliant::frontend::onnx
