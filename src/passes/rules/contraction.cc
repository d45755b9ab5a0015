#include <algorithm>

#include "passes/rewrite/known.h"
#include "passes/rules/match.h"
#include "passes/rules/rule.h"

namespace pliant::passes {
namespace {

// A transpose that brings another axis to the end from the place before it is left to the product, which reads either way.
// One outside of the product's region may be there to be done once; of a constant it is done when that is packed.
RuleResult transposed_operand(Rewriter& s, const Node& n) {
  for (size_t k : {size_t{0}, size_t{1}}) {
    const char* flag = k == 0 ? "transpose_a" : "transpose_b";
    const Node* transpose = def_of(s, n.inputs[k], "array.transpose");
    if (transpose == nullptr) continue;
    if (!s.is_local(n.inputs[k]) && !s.constant(transpose->inputs[0])) continue;
    std::vector<int64_t> perm = ops::attrs_of(*transpose).as_ints("perm");
    size_t rank = perm.size();
    if (rank < 2 || perm[rank - 2] != static_cast<int64_t>(rank) - 1) continue;
    std::swap(perm[rank - 2], perm[rank - 1]);
    Attrs attrs = n.attrs;
    attrs.set(flag, !ops::attrs_of(n).as_bool(flag));
    std::vector<ValueId> inputs = n.inputs;
    LocPtr loc = fused_loc({transpose, &n});
    // An identity that is left over goes by a rule of its own.
    inputs[k] = TRY(s.make("array.transpose", {{"perm", perm}}, {transpose->inputs[0]}, transpose->loc));
    return std::optional(TRY(s.make(n.op, std::move(attrs), std::move(inputs), loc)));
  }
  return no_match();
}

// Zeros around the spatial axes are padding of the convolution.
RuleResult padded_input(Rewriter& s, const Node& n) {
  const Node* pad = only_def_of(s, n.inputs[0], "array.pad");
  if (pad == nullptr || ops::attrs_of(*pad).as_string("mode") != "constant" ||
      ops::attrs_of(n).as_string("auto_pad") != "notset")
    return no_match();
  if (pad->inputs.size() > 1 && pad->inputs[1] != kNoValue && number_of(s, pad->inputs[1]) != 0) return no_match();
  size_t rank = s.tensor(n.inputs[0])->shape.size(), spatial = rank - 2;
  size_t first = ops::attrs_of(n).as_string("layout") == "NCHW" ? 2 : 1;
  std::vector<Dim> pads = dims_of(pad->attrs, "pads", s.ctx());
  std::vector<Dim> own = dims_of(n.attrs, "pads", s.ctx());
  if (own.empty()) own.assign(2 * spatial, s.ctx().constant(0));
  if (pads.size() != 2 * rank || own.size() != 2 * spatial) return no_match();
  for (size_t i = 0; i < pads.size(); ++i) {
    size_t axis = i % rank;
    bool is_spatial = axis >= first && axis < first + spatial;
    if (is_spatial ? !s.ctx().proves_less_equal(s.ctx().constant(0), pads[i]) : !pads[i].is_const(0)) return no_match();
  }
  for (size_t k = 0; k < spatial; ++k) {
    own[k] = own[k] + pads[first + k];
    own[spatial + k] = own[spatial + k] + pads[rank + first + k];
  }
  Attrs attrs = n.attrs;
  attrs.set("pads", own);
  std::vector<ValueId> inputs = n.inputs;
  inputs[0] = pad->inputs[0];
  return std::optional(TRY(s.make(n.op, std::move(attrs), std::move(inputs), fused_loc({pad, &n}))));
}

}  // namespace

std::vector<Rule> contraction_rules() {
  return {{"transposed-operand", "nn.matmul", transposed_operand}, {"padded-input", "nn.conv", padded_input}};
}

}  // namespace pliant::passes
