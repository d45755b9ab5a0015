// A core.if whose branches compute a few elements and cannot fault computes both, and chooses: the elementwise work around
// it becomes one kernel.
//
//   %3 = core.if(%0) : f32[4]                 %3 = math.neg(%1) : f32[4]
//     region() {                              %4 = math.where(%0, %3, %2) : f32[4]
//       %4 = math.neg(%1) : f32[4]      →
//       yield %4
//     }
//     region() {
//       yield %2
//     }
#include <algorithm>

#include "passes/groups/node_facts.h"
#include "passes/pass.h"
#include "passes/rewrite/region_facts.h"
#include "passes/rewrite/rewriter.h"

namespace pliant::passes {
namespace {

// Above these a jump costs less than computing what is not used.
constexpr int64_t kMostElements = 64;
constexpr size_t kMostNodes = 8;

class Converter {
 public:
  Converter(Rewriter& rewriter, const Node& node) : rewriter_(rewriter), node_(node), parts_(graph::if_parts(node)) {}

  Result<Rewriter::Action> run() {
    if (parts_.condition == kNoValue || rewriter_.type(parts_.condition).tensor() == nullptr) return Rewriter::Action::Keep;
    if (!TRY(fits(*parts_.then)) || !TRY(fits(*parts_.otherwise))) return Rewriter::Action::Keep;
    for (const Region* r : {parts_.then, parts_.otherwise})
      for (const Node& n : r->nodes) rewriter_.append(n);
    FunctionBuilder& b = rewriter_.builder();
    ValueId condition = parts_.condition;
    if (!rewriter_.shape(condition).empty())
      condition = b.append("array.reshape", {{"shape", Shape{}}}, {condition}, {graph::make_tensor_type(DType::Bool, {})},
                           node_.loc)[0];
    for (size_t i = 0; i < node_.outputs.size(); ++i)
      rewriter_.append(Node{"math.where",
                            {},
                            {condition, parts_.then->results[i], parts_.otherwise->results[i]},
                            {node_.outputs[i]},
                            {},
                            node_.loc});
    return Rewriter::Action::Drop;
  }

 private:
  Result<bool> fits(const Region& r) const {
    if (graph::diverges(r) || r.nodes.size() > kMostNodes) return false;
    for (const Node& n : r.nodes) {
      bool small =
          n.regions.empty() && std::all_of(n.outputs.begin(), n.outputs.end(), [&](ValueId v) { return is_small(v); });
      if (!small || !TRY(is_cheap(n)) || TRY(trap_of(rewriter_.builder().peek(), n, rewriter_.ctx())) != Trap::Never)
        return false;
    }
    for (size_t i = 0; i < r.results.size(); ++i)
      if (!is_small(r.results[i]) || !(rewriter_.type(r.results[i]) == rewriter_.type(node_.outputs[i]))) return false;
    return true;
  }

  // A constant, or one loop over the elements that becomes part of the kernel around it.
  Result<bool> is_cheap(const Node& n) const {
    if (n.op == "core.const") return true;
    const NodeFacts facts = TRY(facts_of(rewriter_.builder().peek(), n, rewriter_.ctx()));
    if (facts.kind == GroupKind::View) return true;
    return facts.kind == GroupKind::Map && std::all_of(facts.stages.begin(), facts.stages.end(), [](const te::Tensor& t) {
             return te::is_elementwise(*t) || t->reads.empty();
           });
  }

  bool is_small(ValueId v) const {
    const TensorType* t = v == kNoValue ? nullptr : rewriter_.type(v).tensor();
    if (t == nullptr) return false;
    int64_t elements = 1;
    for (Dim d : t->shape) {
      if (!d.is_const() || d.const_value() > kMostElements) return false;
      elements *= d.const_value();
      if (elements > kMostElements) return false;
    }
    return true;
  }

  Rewriter& rewriter_;
  const Node& node_;
  IfParts parts_;
};

}  // namespace

PassDef pass_convert_ifs() {
  return {.name = "convert-ifs",
          .summary = "computes both branches of small branches and chooses",
          .run = [](const FunctionPtr& f, PassContext& c) -> Result<FunctionPtr> {
            Rewriter rewriter(f, c.ctx, "core.if");
            return rewriter.run([&](Node& n) { return Converter(rewriter, n).run(); });
          }};
}

}  // namespace pliant::passes
