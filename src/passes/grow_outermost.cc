// A carried value that grows along an inner axis is carried with that axis outermost, where an append writes behind what is
// there instead of moving everything. Uses in the body and after the loop read it transposed.
//
//   %2 = core.loop(_, %0) …                                 %1 = array.transpose(%0) {perm=[1, 0]} : f32[0, 4]
//     region(%3: f32[4, i]) {                               %2 = core.loop(_, %1) …
//       %4 = array.concat(%3, %x) {axis=1} : f32[4, i+1] →    region(%3: f32[i, 4]) {
//       yield %5, %4                                           %4 = array.transpose(%x) {perm=[1, 0]} : f32[1, 4]
//     }                                                        %5 = array.concat(%3, %4) {axis=0} : f32[i + 1, 4]
#include <algorithm>
#include <map>

#include "ops/control/carried.h"
#include "ops/op.h"
#include "passes/pass.h"
#include "passes/rewrite/liveness.h"
#include "passes/rewrite/rewriter.h"

namespace pliant::passes {
namespace {

// One carried value to turn: which it is, the axis that grows, and the concat that lets it grow.
struct Growth {
  size_t carried = 0;
  size_t axis = 0;
  const Node* concat = nullptr;
};

std::vector<int64_t> to_front(size_t axis, size_t rank) {
  std::vector<int64_t> perm{static_cast<int64_t>(axis)};
  for (size_t k = 0; k < rank; ++k)
    if (k != axis) perm.push_back(static_cast<int64_t>(k));
  return perm;
}
std::vector<int64_t> inverse(const std::vector<int64_t>& perm) {
  std::vector<int64_t> out(perm.size());
  for (size_t k = 0; k < perm.size(); ++k) out[static_cast<size_t>(perm[k])] = static_cast<int64_t>(k);
  return out;
}

class Turner {
 public:
  Turner(Rewriter& rewriter, Node& loop)
      : rewriter_(rewriter), loop_(loop), body_(loop.regions[0]), parts_(graph::loop_parts(loop)) {}

  Result<Rewriter::Action> run() {
    if (!graph::diverges(*parts_.body)) find();
    if (growths_.empty()) return Rewriter::Action::Keep;
    FunctionBuilder& b = rewriter_.builder();
    for (const Growth& g : growths_) {
      ValueId init = parts_.init(loop_, g.carried);
      loop_.inputs[g.carried + 1] = TRY(turn(init, to_front(g.axis, rank_of(g))));
    }
    auto region = TRY(rebuild());
    loop_.regions[0] = region;
    std::vector<ValueId> outputs = loop_.outputs;
    for (const Growth& g : growths_) {
      Type t = turned(rewriter_.type(outputs[g.carried]), to_front(g.axis, rank_of(g)));
      loop_.outputs[g.carried] = b.add_value(std::move(t));
    }
    rewriter_.append(loop_);
    for (const Growth& g : growths_) {
      ValueId old = outputs[g.carried];
      std::vector<int64_t> perm = inverse(to_front(g.axis, rank_of(g)));
      b.append(Node{"array.transpose", {{"perm", perm}}, {loop_.outputs[g.carried]}, {old}, {}, loop_.loc});
    }
    return Rewriter::Action::Drop;
  }

 private:
  size_t rank_of(const Growth& g) const { return rewriter_.shape(parts_.body->params[g.carried]).size(); }

  void find() {
    for (size_t i = 0; i < parts_.carried; ++i) {
      ValueId param = parts_.body->params[i], next = parts_.next(i);
      const auto append = ops::append_to(rewriter_.builder().peek(), *parts_.body, param, next);
      if (!append || append->at_end) continue;
      const Node& n = *append->concat;
      const bool is_plain = n.outputs[0] == next && n.inputs[0] == param;
      if (is_plain && std::count(n.inputs.begin(), n.inputs.end(), param) == 1) growths_.push_back({i, append->axis, &n});
    }
  }

  static Type turned(const Type& t, const std::vector<int64_t>& perm) {
    const TensorType& tensor = *t.tensor();
    Shape shape;
    for (int64_t p : perm) shape.push_back(tensor.shape[static_cast<size_t>(p)]);
    return graph::make_tensor_type(tensor.dtype, std::move(shape));
  }

  Result<ValueId> turn(ValueId v, const std::vector<int64_t>& perm) {
    Type t = turned(rewriter_.type(v), perm);
    return rewriter_.builder().append("array.transpose", {{"perm", perm}}, {v}, {std::move(t)}, loop_.loc)[0];
  }

  // Params and concats are made anew; the old values are transposes of them, which die where nothing reads them.
  Result<std::shared_ptr<const Region>> rebuild() {
    FunctionBuilder& b = rewriter_.builder();
    std::vector<ValueId> params = parts_.body->params, results = parts_.body->results;
    std::map<const Node*, const Growth*> concats;
    for (const Growth& g : growths_) {
      params[g.carried] = b.add_value(turned(rewriter_.type(params[g.carried]), to_front(g.axis, rank_of(g))));
      concats[g.concat] = &g;
    }
    b.begin_region(params);
    for (const Growth& g : growths_) {
      std::vector<int64_t> back = inverse(to_front(g.axis, rank_of(g)));
      b.append(
          Node{"array.transpose", {{"perm", back}}, {params[g.carried]}, {parts_.body->params[g.carried]}, {}, loop_.loc});
    }
    for (const Node& n : parts_.body->nodes) {
      auto found = concats.find(&n);
      if (found == concats.end()) {
        b.append(n);
        continue;
      }
      const Growth& g = *found->second;
      std::vector<int64_t> perm = to_front(g.axis, rank_of(g));
      std::vector<ValueId> inputs{params[g.carried]};
      for (size_t k = 1; k < n.inputs.size(); ++k) inputs.push_back(TRY(turn(n.inputs[k], perm)));
      Type t = turned(rewriter_.type(n.outputs[0]), perm);
      ValueId whole = b.append("array.concat", {{"axis", int64_t{0}}}, std::move(inputs), {std::move(t)}, n.loc)[0];
      results[g.carried + 1] = whole;
      b.append(Node{"array.transpose", {{"perm", inverse(perm)}}, {whole}, n.outputs, {}, n.loc});
    }
    return b.end_region(std::move(results));
  }

  Rewriter& rewriter_;
  Node& loop_;
  std::shared_ptr<const Region> body_;  // as it was: `parts_` looks at it
  LoopParts parts_;
  std::vector<Growth> growths_;
};

}  // namespace

PassDef pass_grow_outermost() {
  return {.name = "grow-outermost",
          .summary = "carries what grows with its growing axis outermost",
          .run = [](const FunctionPtr& f, PassContext& c) -> Result<FunctionPtr> {
            Rewriter rewriter(f, c.ctx, "core.loop");
            auto turned = TRY(rewriter.run([&](Node& loop) { return Turner(rewriter, loop).run(); }));
            return turned == f ? f : without_dead_nodes(turned, c.ctx);
          }};
}

}  // namespace pliant::passes
