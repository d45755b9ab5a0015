// A loop that runs a small known number of times becomes straight-line code, which fuses and is planned as a whole. Only
// small bodies without regions of their own, so that the code stays small: constants are shared by the copies.
//
//   %3 = core.loop(_, %0) {index=i, trip=2, count=2} …     %3 = math.add(%0, %1) : f32[4]
//     region(%4: f32[4]) {                            →    %4 = math.add(%3, %1) : f32[4]
//       %5 = math.add(%4, %1) : f32[4]
//       yield %6, %5
//     }
#include <algorithm>

#include "ops/op.h"
#include "passes/pass.h"
#include "passes/rewrite/substitute.h"
#include "passes/rewrite/sweep.h"

namespace pliant::passes {
namespace {

using graph::Attrs;
using graph::Dim;
using graph::kNoValue;
using graph::Node;
using graph::ValueId;

constexpr int64_t kMostIterations = 8;
constexpr int64_t kMostNodes = 256;  // of all copies

class Unroller {
 public:
  Unroller(Sweep& sweep, const Node& loop) : sweep_(sweep), loop_(loop), parts_(graph::loop_parts(loop)) {}

  Result<Sweep::Action> run() {
    if (!may_unroll()) return Sweep::Action::Keep;
    std::vector<ValueId> carried(loop_.inputs.begin() + 1, loop_.inputs.end());
    std::vector<std::vector<ValueId>> scans(parts_.scans);
    for (int64_t i = 0; i < parts_.trip->const_value(); ++i) carried = TRY(iteration(i, carried, scans));
    for (size_t k = 0; k < scans.size(); ++k) carried.push_back(TRY(stack(scans[k], loop_.outputs[parts_.carried + k])));
    return finish(carried);
  }

 private:
  // Types of outputs must be found again by inference, so symbols that the body defines (sizes that data decide) do not
  // unroll, and sizes of carried values must be the same throughout.
  bool may_unroll() const {
    if (!parts_.trip || !parts_.trip->is_const() || !sweep_.is_counted(parts_)) return false;
    int64_t trip = parts_.trip->const_value(), nodes = static_cast<int64_t>(parts_.body->nodes.size());
    if (trip > kMostIterations || std::max<int64_t>(trip, 0) * nodes > kMostNodes) return false;
    for (size_t i = 0; i < parts_.carried; ++i)
      if (sweep_.type(parts_.body->params[i]).tensor() == nullptr ||
          !(sweep_.type(parts_.body->params[i]) == sweep_.type(parts_.init(loop_, i))))
        return false;
    return std::all_of(parts_.body->nodes.begin(), parts_.body->nodes.end(), [&](const Node& n) {
      const ops::OpDef* op = ops::find_op(n.op);
      bool plain = n.op == "core.const" || n.op == "core.require" || (op != nullptr && op->compute);
      return plain && n.regions.empty();
    });
  }

  Result<std::vector<ValueId>> iteration(int64_t i, const std::vector<ValueId>& carried,
                                         std::vector<std::vector<ValueId>>& scans) {
    graph::FunctionBuilder& b = sweep_.builder();
    expr::DimMap map{{*parts_.index.as_symbol(), sweep_.ctx().constant(i)}};
    std::unordered_map<ValueId, ValueId> values;
    for (size_t k = 0; k < carried.size(); ++k) values[parts_.body->params[k]] = carried[k];
    auto value = [&](ValueId v) {
      auto at = values.find(v);
      return at == values.end() ? v : at->second;
    };
    for (const Node& n : parts_.body->nodes) {
      Attrs attrs = substituted(n.attrs, map);
      if (n.op == "core.require") {
        b.add_obligation(graph::obligation_of(Node{n.op, std::move(attrs), {}, {}, {}, n.loc}));
        continue;
      }
      std::vector<ValueId> inputs;
      for (ValueId v : n.inputs) inputs.push_back(value(v));
      auto outputs =
          TRY(ops::append_node(b, sweep_.ctx(), n.op, std::move(attrs), std::move(inputs), n.outputs.size(), n.loc));
      for (size_t k = 0; k < outputs.size(); ++k) values[n.outputs[k]] = outputs[k];
    }
    for (size_t k = 0; k < scans.size(); ++k) scans[k].push_back(value(parts_.scan(k)));
    std::vector<ValueId> next;
    for (size_t k = 0; k < carried.size(); ++k) next.push_back(value(parts_.next(k)));
    return next;
  }

  // The scan values on a new axis 0.
  Result<ValueId> stack(const std::vector<ValueId>& values, ValueId output) {
    expr::Context& ctx = sweep_.ctx();
    graph::FunctionBuilder& b = sweep_.builder();
    const graph::TensorType t = *sweep_.type(output).tensor();
    if (values.empty()) {
      int64_t zero = 0;
      ValueId scalar =
          b.append_const(graph::make_constant(t.dtype, {}, &zero, static_cast<size_t>(byte_size(t.dtype))), loop_.loc);
      return make("array.full", {{"shape", t.shape}}, {scalar});
    }
    std::vector<ValueId> rows;
    for (ValueId v : values) {
      graph::Shape shape = sweep_.shape(v);
      shape.insert(shape.begin(), ctx.constant(1));
      rows.push_back(TRY(make("array.reshape", {{"shape", std::move(shape)}}, {v})));
    }
    return rows.size() == 1 ? rows[0] : TRY(make("array.concat", {{"axis", int64_t{0}}}, std::move(rows)));
  }

  Result<ValueId> make(const std::string& op, Attrs attrs, std::vector<ValueId> inputs) {
    return TRY(ops::append_node(sweep_.builder(), sweep_.ctx(), op, std::move(attrs), std::move(inputs), 1, loop_.loc))[0];
  }

  // A result of the function keeps memory of its own, and types stay as they were declared.
  Result<Sweep::Action> finish(const std::vector<ValueId>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      ValueId old = loop_.outputs[i], by = values[i];
      const graph::Type& type = sweep_.type(old);
      bool defined_before = i < parts_.carried;
      if (!(type == sweep_.type(by)))
        by = TRY(make("array.reshape", {{"shape", type.tensor()->shape}}, {by}));
      else if (defined_before)
        by = TRY(make("math.identity", {}, {by}));
      sweep_.rename(old, by);
      const std::string& name = sweep_.builder().peek().values[old].name;
      if (!name.empty() && sweep_.builder().peek().values[by].name.empty()) sweep_.builder().set_name(by, name);
    }
    return Sweep::Action::Drop;
  }

  Sweep& sweep_;
  const Node& loop_;
  graph::LoopParts parts_;
};

}  // namespace

PassDef pass_unroll_loops() {
  return {.name = "unroll-loops",
          .summary = "writes loops of a few known iterations out",
          .run = [](const graph::FunctionPtr& f, PassContext& c) -> Result<graph::FunctionPtr> {
            Sweep sweep(f, c.ctx, "core.loop");
            return sweep.run([&](Node& loop) { return Unroller(sweep, loop).run(); });
          }};
}

}  // namespace pliant::passes
