// Nodes whose inputs are all constants are computed now. Results that would be much larger than what they are computed from
// stay as they are: a node that only repeats its input is cheaper in its consumer than as bytes of the artifact.
//
//   %1 = core.const() {value=f32[2] dense<1, 2>} : f32[2]     →     %1 = core.const() {value=f32[2] dense<-1, -2>} : f32[2]
//   %2 = math.neg(%1) : f32[2]                                      %2 = math.add(%0, %1) : f32[2]
//   %3 = math.add(%0, %2) : f32[2]                                  return %2 "out"
//   return %3 "out"
#include <algorithm>

#include "ops/op.h"
#include "passes/pass.h"
#include "passes/rewrite/constants.h"
#include "passes/rewrite/known.h"
#include "passes/rewrite/liveness.h"
#include "passes/rewrite/region_facts.h"
#include "passes/rewrite/rewriter.h"

namespace pliant::passes {
namespace {

// Of nodes that repeat elements, a result may have so many bytes; of all others so many, or four times those of the inputs
// (integer weights become floats).
constexpr int64_t kMostRepeatedBytes = 4096;
constexpr int64_t kMostBytes = 1 << 20;
constexpr int64_t kMostGrowth = 4;
// The reference evaluator takes about a hundred nanoseconds an element.
constexpr int64_t kMostEvaluatedBytes = 16 << 20;

// A sequence of random numbers is not a constant to its reader, and what a fused group or a control node holds is not looked
// at.
bool may_fold(const Node& n) {
  if (gives_other_each_time(n)) return false;
  return n.op != "core.const" && n.op != "core.read_dims" && n.op != "nn.random" && n.regions.empty() && !n.outputs.empty();
}

// The bytes of all outputs; nothing where a size is not known.
std::optional<int64_t> output_bytes(const Rewriter& rewriter, const Node& n) {
  int64_t bytes = 0;
  for (ValueId v : n.outputs) {
    const TensorType* t = rewriter.tensor(v);
    if (t == nullptr) return std::nullopt;
    int64_t size = byte_size(t->dtype);
    for (Dim d : t->shape) {
      if (!d.is_const() || __builtin_mul_overflow(size, d.const_value(), &size)) return std::nullopt;
    }
    bytes += size;
  }
  return bytes;
}

bool has_symbolic_attr(const Node& n) {
  bool symbolic = false;
  for (const auto& [name, value] : n.attrs.all()) {
    if (const auto* d = std::get_if<Dim>(&value)) symbolic |= !d->is_const();
    if (const auto* l = std::get_if<std::vector<Dim>>(&value)) {
      symbolic |= std::any_of(l->begin(), l->end(), [](Dim d) { return !d.is_const(); });
    }
  }
  return symbolic;
}

std::vector<int64_t> sizes_of(const TensorType& t) {
  std::vector<int64_t> sizes;
  for (Dim d : t.shape) sizes.push_back(d.const_value());
  return sizes;
}

class Folder {
 public:
  Folder(const FunctionPtr& f, expr::Context& ctx) : rewriter_(f, ctx) {}

  Result<FunctionPtr> run() {
    return rewriter_.run([&](const Node& n) { return visit(n); });
  }

 private:
  Result<Rewriter::Action> visit(const Node& n) {
    if (!may_fold(n) || has_symbolic_attr(n)) return Rewriter::Action::Keep;
    for (ValueId v : n.outputs) {
      if (rewriter_.is_result(v)) return Rewriter::Action::Keep;
    }
    std::vector<ConstantPtr> inputs;
    int64_t input_bytes = 0;
    for (ValueId v : n.inputs) {
      inputs.push_back(rewriter_.constant(v));
      if (v != kNoValue && !inputs.back()) return Rewriter::Action::Keep;
      if (inputs.back()) input_bytes += static_cast<int64_t>(inputs.back()->bytes);
    }
    auto bytes = output_bytes(rewriter_, n);
    if (!bytes || *bytes > TRY(limit(n, input_bytes))) return Rewriter::Action::Keep;
    std::vector<ConstantPtr> outputs = moved(n, inputs);
    if (outputs.empty()) {
      if (std::max(*bytes, input_bytes) > kMostEvaluatedBytes) return Rewriter::Action::Keep;
      outputs = evaluated(n, inputs);
      if (outputs.empty()) return Rewriter::Action::Keep;
    }
    for (size_t i = 0; i < outputs.size(); ++i) rewriter_.replace(n.outputs[i], rewriter_.make_const(outputs[i], n.loc));
    return Rewriter::Action::Drop;
  }

  Result<int64_t> limit(const Node& n, int64_t input_bytes) {
    if (TRY(repeats_elements(rewriter_.builder().peek(), n, rewriter_.ctx())))
      return std::max(kMostRepeatedBytes, input_bytes);
    return std::max(kMostBytes, kMostGrowth * input_bytes);
  }

  // What only moves bytes needs no evaluator, whatever its size.
  std::vector<ConstantPtr> moved(const Node& n, const std::vector<ConstantPtr>& inputs) {
    if (n.op == "array.reshape") return {with_shape(inputs[0], sizes_of(*rewriter_.tensor(n.outputs[0])))};
    if (n.op == "array.transpose") return {permute(*inputs[0], ops::attrs_of(n).as_ints("perm"))};
    if (n.op == "math.identity") return {inputs[0]};
    if (n.op == "array.slice") return rows_of(n, *inputs[0]);
    return {};
  }

  // Consecutive rows: one direction of the weights of a recurrent layer, for one.
  std::vector<ConstantPtr> rows_of(const Node& n, const ConstantData& c) {
    auto starts = known_ints(n.attrs, "starts"), axes = known_ints(n.attrs, "axes");
    std::vector<int64_t> steps = ops::attrs_of(n).as_ints("steps");
    if (!starts || !axes || axes->size() != 1 || (*axes)[0] != 0 || (!steps.empty() && steps[0] != 1)) return {};
    int64_t start = (*starts)[0], rows = c.shape[0];
    std::vector<int64_t> sizes = sizes_of(*rewriter_.tensor(n.outputs[0]));
    if (start < 0) start += rows;
    if (start < 0 || rows == 0 || start + sizes[0] > rows) return {};
    size_t row = c.bytes / static_cast<size_t>(rows);
    return {graph::make_constant(c.dtype, sizes, c.data + static_cast<size_t>(start) * row,
                                 static_cast<size_t>(sizes[0]) * row)};
  }

  // The reference result of a function of this one node. Where the reference reports a fault the model has it at run time
  // too, and only if the node runs, so the node stays: nothing is given back.
  std::vector<ConstantPtr> evaluated(const Node& n, const std::vector<ConstantPtr>& inputs) {
    FunctionBuilder b("fold", rewriter_.ctx());
    std::vector<ValueId> params;
    std::vector<te::ArrayView> views;
    for (size_t i = 0; i < inputs.size(); ++i) {
      params.push_back(kNoValue);
      if (!inputs[i]) continue;
      params.back() = b.add_param(rewriter_.type(n.inputs[i]), "in" + std::to_string(i));
      views.push_back({inputs[i]->dtype, inputs[i]->shape, inputs[i]->data});
    }
    std::vector<Type> types;
    std::vector<std::string> names;
    for (ValueId v : n.outputs) {
      types.push_back(rewriter_.type(v));
      names.push_back("out" + std::to_string(names.size()));
    }
    b.set_results(b.append(n.op, n.attrs, params, types, n.loc), names);
    auto arrays = ops::evaluate(*b.finish(), rewriter_.ctx(), views);
    std::vector<ConstantPtr> out;
    if (!arrays.ok()) return out;
    for (const te::Array& a : arrays.value())
      out.push_back(graph::make_constant(a.dtype, a.shape, a.data.data(), a.data.size()));
    return out;
  }

  Rewriter rewriter_;
};

}  // namespace

PassDef pass_fold_constants() {
  return {.name = "fold-constants",
          .summary = "computes what depends on constants only",
          .run = [](const FunctionPtr& f, PassContext& c) -> Result<FunctionPtr> {
            FunctionPtr folded = TRY(Folder(f, c.ctx).run());
            return folded == f ? f : without_dead_nodes(folded, c.ctx);
          }};
}

}  // namespace pliant::passes
