// A loop that runs a small known number of times becomes straight-line code, which fuses and is planned as a whole. Only
// small bodies without regions of their own, so that the code stays small: constants are shared by the copies. A product
// without a constant factor counts as many nodes: each copy of it packs its factor again, in code as long as its tiles.
//
//   %3 = core.loop(_, %0) {index=i, trip=2, count=2} …     %3 = math.add(%0, %1) : f32[4]
//     region(%4: f32[4]) {                            →    %4 = math.add(%3, %1) : f32[4]
//       %5 = math.add(%4, %1) : f32[4]
//       yield %6, %5
//     }
#include <algorithm>

#include "ops/op.h"
#include "passes/groups/node_facts.h"
#include "passes/pass.h"
#include "passes/rewrite/rewriter.h"
#include "passes/rewrite/substitute.h"

namespace pliant::passes {
namespace {

constexpr int64_t kMostIterations = 8;
constexpr int64_t kMostNodes = 256;      // of all copies
constexpr int64_t kNodesOfProduct = 64;  // without a constant factor; what its code is as large as, about

class Unroller {
 public:
  Unroller(Rewriter& rewriter, const Node& loop) : rewriter_(rewriter), loop_(loop), parts_(graph::loop_parts(loop)) {}

  Result<Rewriter::Action> run() {
    if (!may_unroll() || !TRY(copies_are_small())) return Rewriter::Action::Keep;
    std::vector<ValueId> carried(loop_.inputs.begin() + 1, loop_.inputs.end());
    std::vector<std::vector<ValueId>> scans(parts_.scans);
    for (int64_t i = 0; i < parts_.trip->const_value(); ++i) carried = TRY(iteration(i, carried, scans));
    for (size_t k = 0; k < scans.size(); ++k) carried.push_back(TRY(stack(scans[k], loop_.outputs[parts_.carried + k])));
    for (size_t i = 0; i < carried.size(); ++i) TRY(rewriter_.put(loop_.outputs[i], carried[i], loop_.loc));
    return Rewriter::Action::Drop;
  }

 private:
  // Types of outputs must be found again by inference, so symbols that the body defines (sizes that data decide) do not
  // unroll, and sizes of carried values must be the same throughout.
  bool may_unroll() const {
    if (!parts_.trip || !parts_.trip->is_const() || !rewriter_.is_counted(parts_)) return false;
    if (parts_.trip->const_value() > kMostIterations) return false;
    for (size_t i = 0; i < parts_.carried; ++i)
      if (rewriter_.type(parts_.body->params[i]).tensor() == nullptr ||
          !(rewriter_.type(parts_.body->params[i]) == rewriter_.type(parts_.init(loop_, i))))
        return false;
    return std::all_of(parts_.body->nodes.begin(), parts_.body->nodes.end(), [&](const Node& n) {
      const ops::OpDef* op = ops::find_op(n.op);
      bool plain = n.op == "core.const" || n.op == "core.require" || (op != nullptr && op->compute);
      return plain && n.regions.empty();
    });
  }

  Result<bool> copies_are_small() const {
    const int64_t trip = std::max<int64_t>(parts_.trip->const_value(), 0);
    auto fits = [&](int64_t nodes) { return trip * nodes <= kMostNodes; };
    int64_t nodes = static_cast<int64_t>(parts_.body->nodes.size());
    for (const Node& n : parts_.body->nodes) {
      if (!fits(nodes)) return false;
      const NodeFacts facts = TRY(facts_of(rewriter_.builder().peek(), n, rewriter_.ctx()));
      const bool reads_constant = std::any_of(n.inputs.begin(), n.inputs.end(),
                                              [&](ValueId v) { return v != kNoValue && rewriter_.constant(v) != nullptr; });
      if (facts.kind == GroupKind::Contraction && !reads_constant) nodes += kNodesOfProduct - 1;
    }
    return fits(nodes);
  }

  Result<std::vector<ValueId>> iteration(int64_t i, const std::vector<ValueId>& carried,
                                         std::vector<std::vector<ValueId>>& scans) {
    expr::DimMap map{{*parts_.index.as_symbol(), rewriter_.ctx().constant(i)}};
    std::unordered_map<ValueId, ValueId> values;
    for (size_t k = 0; k < carried.size(); ++k) values[parts_.body->params[k]] = carried[k];
    auto value = [&](ValueId v) {
      auto at = values.find(v);
      return at == values.end() ? v : at->second;
    };
    for (const Node& n : parts_.body->nodes) {
      Attrs attrs = substituted(n.attrs, map);
      if (n.op == "core.require") {
        rewriter_.builder().add_constraint(graph::constraint_of(Node{n.op, std::move(attrs), {}, {}, {}, n.loc}));
        continue;
      }
      std::vector<ValueId> inputs;
      for (ValueId v : n.inputs) inputs.push_back(value(v));
      auto outputs = TRY(rewriter_.make_multi(n.op, std::move(attrs), std::move(inputs), n.outputs.size(), n.loc));
      for (size_t k = 0; k < outputs.size(); ++k) values[n.outputs[k]] = outputs[k];
    }
    for (size_t k = 0; k < scans.size(); ++k) scans[k].push_back(value(parts_.scan(k)));
    std::vector<ValueId> next;
    for (size_t k = 0; k < carried.size(); ++k) next.push_back(value(parts_.next(k)));
    return next;
  }

  // The scan values on a new axis 0.
  Result<ValueId> stack(const std::vector<ValueId>& values, ValueId output) {
    const TensorType t = *rewriter_.tensor(output);
    if (values.empty()) return rewriter_.make_zeros(t.dtype, t.shape, loop_.loc);
    std::vector<ValueId> rows;
    for (ValueId v : values) {
      Shape shape = rewriter_.shape(v);
      shape.insert(shape.begin(), rewriter_.ctx().constant(1));
      rows.push_back(TRY(make("array.reshape", {{"shape", std::move(shape)}}, {v})));
    }
    return rows.size() == 1 ? rows[0] : TRY(make("array.concat", {{"axis", int64_t{0}}}, std::move(rows)));
  }

  Result<ValueId> make(const std::string& op, Attrs attrs, std::vector<ValueId> inputs) {
    return rewriter_.make(op, std::move(attrs), std::move(inputs), loop_.loc);
  }

  Rewriter& rewriter_;
  const Node& loop_;
  LoopParts parts_;
};

}  // namespace

PassDef pass_unroll_loops() {
  return {.name = "unroll-loops",
          .summary = "writes loops of a few known iterations out",
          .run = [](const FunctionPtr& f, PassContext& c) -> Result<FunctionPtr> {
            Rewriter rewriter(f, c.ctx, "core.loop");
            return rewriter.run([&](Node& loop) { return Unroller(rewriter, loop).run(); });
          }};
}

}  // namespace pliant::passes
