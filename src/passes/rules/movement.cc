#include <algorithm>

#include "passes/rewrite/constants.h"
#include "passes/rewrite/known.h"
#include "passes/rules/match.h"
#include "passes/rules/rule.h"

namespace pliant::passes {
namespace {

bool all_are(const std::vector<Dim>& dims, int64_t value) {
  return std::all_of(dims.begin(), dims.end(), [&](Dim d) { return d.is_const(value); });
}

RuleResult same_type(Rewriter& s, const Node& n) {
  return s.type(n.inputs[0]) == s.type(n.outputs[0]) ? std::optional(n.inputs[0]) : std::nullopt;
}

RuleResult input(Rewriter&, const Node& n) { return std::optional(n.inputs[0]); }

RuleResult only_input(Rewriter&, const Node& n) { return n.inputs.size() == 1 ? std::optional(n.inputs[0]) : std::nullopt; }

RuleResult only_output(Rewriter&, const Node& n) {
  return n.outputs.size() == 1 ? std::optional(n.inputs[0]) : std::nullopt;
}

bool is_identity(const std::vector<int64_t>& perm) {
  for (size_t k = 0; k < perm.size(); ++k) {
    if (perm[k] != static_cast<int64_t>(k)) return false;
  }
  return true;
}

RuleResult identity_transpose(Rewriter&, const Node& n) {
  return is_identity(ops::attrs_of(n).as_ints("perm")) ? std::optional(n.inputs[0]) : std::nullopt;
}

RuleResult transpose_of_transpose(Rewriter& s, const Node& n) {
  const Node* inner = def_of(s, n.inputs[0], "array.transpose");
  if (inner == nullptr) return no_match();
  std::vector<int64_t> perm = ops::attrs_of(n).as_ints("perm"), inner_perm = ops::attrs_of(*inner).as_ints("perm");
  for (int64_t& axis : perm) axis = inner_perm[static_cast<size_t>(axis)];
  if (is_identity(perm)) return std::optional(inner->inputs[0]);
  return std::optional(TRY(s.make("array.transpose", {{"perm", perm}}, {inner->inputs[0]}, fused_loc({inner, &n}))));
}

// When only axes of size 1 change places no element moves.
RuleResult transpose_of_ones(Rewriter& s, const Node& n) {
  const Shape& x = s.tensor(n.inputs[0])->shape;
  int64_t before = -1;
  for (int64_t axis : ops::attrs_of(n).as_ints("perm")) {
    if (x[static_cast<size_t>(axis)].is_const(1)) continue;
    if (axis < before) return no_match();
    before = axis;
  }
  return std::optional(TRY(s.make("array.reshape", {{"shape", s.tensor(n.outputs[0])->shape}}, {n.inputs[0]}, n.loc)));
}

RuleResult reshape_of_reshape(Rewriter& s, const Node& n) {
  const Node* inner = def_of(s, n.inputs[0], "array.reshape");
  if (inner == nullptr) return no_match();
  return std::optional(TRY(s.make("array.reshape", n.attrs, {inner->inputs[0]}, fused_loc({inner, &n}))));
}

// With steps of one a slice as large as its input is its input.
RuleResult whole_slice(Rewriter& s, const Node& n) {
  std::vector<int64_t> steps = ops::attrs_of(n).as_ints("steps");
  if (std::any_of(steps.begin(), steps.end(), [](int64_t step) { return step != 1; })) return no_match();
  return same_type(s, n);
}

RuleResult pad_of_nothing(Rewriter& s, const Node& n) {
  return all_are(dims_of(n.attrs, "pads", s.ctx()), 0) ? same_type(s, n) : no_match();
}

RuleResult tile_once(Rewriter& s, const Node& n) {
  return all_are(dims_of(n.attrs, "repeats", s.ctx()), 1) ? same_type(s, n) : no_match();
}

// A concat of more inputs takes in only what at least doubles: a chain of concats is then joined piece by piece, and each
// input moves from one node to a longer one a number of times that grows with the logarithm of their count.
constexpr size_t kFewJoined = 64;

RuleResult concat_of_concat(Rewriter& s, const Node& n) {
  auto rank = static_cast<int64_t>(s.tensor(n.outputs[0])->shape.size());
  auto axis_of = [&](const Node& c) {
    int64_t axis = ops::attrs_of(c).as_int("axis");
    return axis < 0 ? axis + rank : axis;
  };
  std::vector<ValueId> inputs;
  std::vector<LocPtr> locs{n.loc};
  size_t longest = 0;
  for (ValueId v : n.inputs) {
    const Node* inner = only_def_of(s, v, "array.concat");
    if (inner != nullptr && axis_of(*inner) == axis_of(n)) {
      longest = std::max(longest, inner->inputs.size());
      inputs.insert(inputs.end(), inner->inputs.begin(), inner->inputs.end());
      locs.push_back(inner->loc);
    } else {
      inputs.push_back(v);
    }
  }
  if (inputs.size() == n.inputs.size()) return no_match();
  if (inputs.size() > kFewJoined && inputs.size() < 2 * longest) return no_match();
  return std::optional(TRY(s.make("array.concat", n.attrs, std::move(inputs), Loc::make_fused(locs))));
}

// The one position that a gather reads where it is a number or a dim, not wrapped.
std::optional<Dim> position_of(Rewriter& s, ValueId indices) {
  if (ConstantPtr c = s.constant(indices)) {
    if (element_count(*c) != 1) return std::nullopt;
    return s.ctx().constant(static_cast<int64_t>(*uniform_value(*c)));
  }
  const Node* n = s.def(indices);
  while (n != nullptr && n->op == "array.reshape") n = s.def(n->inputs[0]);
  if (n == nullptr || n->op != "array.from_dims") return std::nullopt;
  std::vector<Dim> values = dims_of(n->attrs, "values", s.ctx());
  return values.size() == 1 ? std::optional(values[0]) : std::nullopt;
}

// One known position is a slice, which moves nothing along the first axis. Positions that may be out of range are left to
// the gather, which reports them.
RuleResult gather_of_one(Rewriter& s, const Node& n) {
  std::optional<Dim> index = position_of(s, n.inputs[1]);
  const TensorType* x = s.tensor(n.inputs[0]);
  if (!index || x->shape.empty()) return no_match();
  int64_t axis = ops::attrs_of(n).as_int("axis");
  if (axis < 0) axis += static_cast<int64_t>(x->shape.size());
  Dim size = x->shape[static_cast<size_t>(axis)];
  Dim first = s.ctx().proves_less(*index, s.ctx().constant(0)) ? size + *index : *index;
  if (!s.ctx().proves_less_equal(s.ctx().constant(0), first) || !s.ctx().proves_less(first, size)) return no_match();
  Attrs attrs{
      {"starts", std::vector<Dim>{first}}, {"ends", std::vector<Dim>{first + 1}}, {"axes", std::vector<int64_t>{axis}}};
  ValueId slice = TRY(s.make("array.slice", std::move(attrs), {n.inputs[0]}, n.loc));
  Shape shape = s.tensor(n.outputs[0])->shape;
  return std::optional(TRY(s.make("array.reshape", {{"shape", std::move(shape)}}, {slice}, n.loc)));
}

int mantissa_bits(DType t) {
  switch (t) {
    case DType::F16: return 11;
    case DType::BF16: return 8;
    case DType::F32: return 24;
    case DType::F64: return 53;
    default: return static_cast<int>(byte_size(t)) * 8 - (is_signed_int(t) ? 1 : 0);
  }
}

// True when every value of `from` has the same value in `to`.
bool is_exact(DType from, DType to) {
  if (from == to || from == DType::Bool) return true;
  if (to == DType::Bool) return false;
  if (is_float(from))
    return is_float(to) && mantissa_bits(from) <= mantissa_bits(to) && !(from == DType::BF16 && to == DType::F16);
  if (is_float(to)) return mantissa_bits(from) <= mantissa_bits(to) && !(to == DType::F16 && mantissa_bits(from) > 11);
  if (is_signed_int(from) && is_unsigned_int(to)) return false;
  return mantissa_bits(from) <= mantissa_bits(to);
}

// A cast that loses nothing may be skipped by the next one. Integers that went through a float would saturate in a narrow
// integer instead of wrapping.
RuleResult cast_of_cast(Rewriter& s, const Node& n) {
  const Node* inner = def_of(s, n.inputs[0], "math.cast");
  if (inner == nullptr) return no_match();
  DType from = s.tensor(inner->inputs[0])->dtype, between = s.tensor(n.inputs[0])->dtype, to = s.tensor(n.outputs[0])->dtype;
  if (!is_exact(from, between)) return no_match();
  if (is_int(from) && is_float(between) && is_int(to) && !is_exact(from, to)) return no_match();
  if (from == to) return std::optional(inner->inputs[0]);
  return std::optional(TRY(s.make("math.cast", n.attrs, {inner->inputs[0]}, fused_loc({inner, &n}))));
}

}  // namespace

std::vector<Rule> movement_rules() {
  return {{"identity", "math.identity", input},
          {"same-cast", "math.cast", same_type},
          {"cast-of-cast", "math.cast", cast_of_cast},
          {"identity-transpose", "array.transpose", identity_transpose},
          {"transpose-of-transpose", "array.transpose", transpose_of_transpose},
          {"transpose-of-ones", "array.transpose", transpose_of_ones},
          {"same-reshape", "array.reshape", same_type},
          {"reshape-of-reshape", "array.reshape", reshape_of_reshape},
          {"same-expand", "array.expand", same_type},
          {"whole-slice", "array.slice", whole_slice},
          {"pad-of-nothing", "array.pad", pad_of_nothing},
          {"tile-once", "array.tile", tile_once},
          {"concat-of-one", "array.concat", only_input},
          {"concat-of-concat", "array.concat", concat_of_concat},
          {"gather-of-one", "array.gather", gather_of_one},
          {"split-into-one", "array.split", only_output}};
}

}  // namespace pliant::passes
