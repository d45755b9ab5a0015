// Branches whose condition is known become the nodes of the branch that runs, loops that run once the nodes of their body,
// loops that never run their initial values: conditions and numbers of iterations that became known only after the import.
// Sizes that the node defined are what the nodes give, and sizes read from numbers that are known are those numbers.
//
//   %2 = core.const() {value=bool[] dense<true>} : bool[]          %2 = array.concat(%0, %0) {axis=0} : f32[n*2]
//   %3 = core.if(%2) : f32[d]                                      return %2 "out"
//     region() {
//       %4 = array.concat(%0, %0) {axis=0} : f32[n*2]        →
//       yield %4
//     }
//     region() {
//       yield %0
//     }
//   return %3 "out"
#include <algorithm>
#include <cstring>

#include "expr/dim/weight.h"
#include "graph/visit.h"
#include "passes/pass.h"
#include "passes/rewrite/liveness.h"
#include "passes/rewrite/rewriter.h"
#include "passes/rewrite/substitute.h"

namespace pliant::passes {
namespace {

using Renames = std::unordered_map<ValueId, ValueId>;

ValueId renamed(ValueId v, const Renames& by) {
  auto at = by.find(v);
  return at == by.end() ? v : at->second;
}
std::vector<ValueId> renamed(std::vector<ValueId> values, const Renames& by) {
  for (ValueId& v : values) v = renamed(v, by);
  return values;
}
Node renamed(Node n, const Renames& by) {
  n.inputs = renamed(std::move(n.inputs), by);
  for (auto& r : n.regions) {
    auto inner = std::make_shared<Region>(*r);
    for (Node& m : inner->nodes) m = renamed(std::move(m), by);
    inner->results = renamed(std::move(inner->results), by);
    r = std::move(inner);
  }
  return n;
}

std::vector<int64_t> integers(const ConstantData& c) {
  std::vector<int64_t> out(static_cast<size_t>(element_count(c)));
  for (size_t k = 0; k < out.size(); ++k) {
    int32_t narrow = 0;
    if (c.dtype == DType::I64)
      std::memcpy(&out[k], c.data + k * sizeof(int64_t), sizeof(int64_t));
    else
      std::memcpy(&narrow, c.data + k * sizeof narrow, sizeof narrow), out[k] = narrow;
  }
  return out;
}

class Folder {
 public:
  Folder(const FunctionPtr& f, const PassContext& c)
      : ctx_(c.ctx), rewriter_(f, c.ctx), results_(f->results.begin(), f->results.end()) {
    // Callers know the result types of other functions.
    if (c.functions == nullptr || c.functions->empty() || c.functions->front()->name == f->name) return;
    for (ValueId v : f->results)
      graph::for_each_dim(f->values[v].type, [&](Dim d) {
        for (expr::SymbolId s : expr::symbols_of(d)) kept_.insert(s);
      });
  }

  Result<FunctionPtr> run() {
    FunctionPtr out = TRY(rewriter_.run([&](Node& n) -> Result<Rewriter::Action> {
      if (n.op == "core.if") return fold_if(n);
      if (n.op == "core.loop") return fold_loop(n);
      if (n.op == "core.read_dims") return fold_sizes(n);
      return Rewriter::Action::Keep;
    }));
    return sizes_.empty() ? out : with_sizes(*out, sizes_, ctx_);
  }

 private:
  const Type& type(ValueId v) const { return rewriter_.type(v); }

  std::optional<bool> truth(ValueId v) const {
    const ConstantPtr c = rewriter_.constant(v);
    if (c == nullptr || c->dtype != DType::Bool || element_count(*c) != 1) return std::nullopt;
    return *c->data != std::byte{0};
  }
  std::optional<bool> truth(Dim d) const {
    const expr::Interval range = ctx_.range(d);
    if (range.lo > 0 || range.hi < 0) return true;
    return range.lo == 0 && range.hi == 0 ? std::optional(false) : std::nullopt;
  }

  Result<Rewriter::Action> fold_if(const Node& n) {
    const IfParts parts = graph::if_parts(n);
    const std::optional<bool> holds = parts.cond ? truth(*parts.cond) : truth(parts.condition);
    if (!holds) return Rewriter::Action::Keep;
    const Region& branch = *holds ? *parts.then : *parts.otherwise;
    if (graph::diverges(branch) || !may_give(n.outputs, branch.results)) return Rewriter::Action::Keep;
    for (const Node& inner : branch.nodes) rewriter_.append(inner);
    TRY(give(n, n.outputs, branch.results));
    return Rewriter::Action::Drop;
  }

  Result<Rewriter::Action> fold_loop(const Node& n) {
    const LoopParts loop = graph::loop_parts(n);
    const std::optional<bool> starts = loop.condition == kNoValue ? true : truth(loop.condition);
    const bool never = starts == false || (loop.trip && ctx_.range(*loop.trip).hi <= 0);
    if (never) return drop_loop(n, loop);
    if (starts != true || graph::diverges(*loop.body)) return Rewriter::Action::Keep;
    const bool once = loop.trip && loop.trip->is_const(1);
    const bool stops = truth(loop.next_condition()) == false && (!loop.trip || ctx_.range(*loop.trip).lo >= 1);
    return once || stops ? run_once(n, loop) : Rewriter::Action::Keep;
  }

  // The numbers that a node reads as sizes, where they are known: constants, or sizes that weigh little by now.
  std::vector<Dim> known_numbers(ValueId v) const {
    const ConstantPtr c = rewriter_.constant(v);
    if (c != nullptr && (c->dtype == DType::I64 || c->dtype == DType::I32)) {
      std::vector<Dim> out;
      for (int64_t value : integers(*c)) out.push_back(ctx_.constant(value));
      return out;
    }
    const Node* made = rewriter_.def(v);
    if (made == nullptr || made->op != "array.from_dims") return {};
    std::vector<Dim> out = made->attrs.dims_or("values", {});
    for (Dim& d : out) {
      d = expr::substitute(d, sizes_);
      if (expr::weight_of(d) > expr::kMostWeight) return {};
    }
    return out;
  }

  // A number that the symbol cannot be is left to the run, which reports it.
  Result<Rewriter::Action> fold_sizes(const Node& n) {
    const std::vector<Dim> symbols = n.attrs.dims_or("symbols", {}), values = known_numbers(n.inputs[0]);
    if (values.size() != symbols.size()) return Rewriter::Action::Keep;
    for (size_t k = 0; k < symbols.size(); ++k) {
      const expr::Interval range = ctx_.range(symbols[k]), of_value = ctx_.range(values[k]);
      if (is_kept(symbols[k]) || of_value.lo < range.lo || of_value.hi > range.hi) return Rewriter::Action::Keep;
    }
    for (size_t k = 0; k < symbols.size(); ++k) add_size(sizes_, *symbols[k].as_symbol(), values[k]);
    return Rewriter::Action::Drop;
  }

  static std::vector<ValueId> init(const Node& n) { return {n.inputs.begin() + 1, n.inputs.end()}; }
  static std::vector<ValueId> outputs(const Node& n, const LoopParts& loop) {
    return {n.outputs.begin(), n.outputs.begin() + static_cast<ptrdiff_t>(loop.carried)};
  }

  Result<Rewriter::Action> drop_loop(const Node& n, const LoopParts& loop) {
    if (!may_give(outputs(n, loop), init(n)) || is_kept(loop.count)) return Rewriter::Action::Keep;
    for (size_t j = 0; j < loop.scans; ++j)
      if (is_kept(n.outputs[loop.carried + j])) return Rewriter::Action::Keep;
    define(loop.count, ctx_.constant(0));
    TRY(give(n, outputs(n, loop), init(n)));
    for (size_t j = 0; j < loop.scans; ++j) {
      const ValueId scan = n.outputs[loop.carried + j];
      const TensorType t = *type(scan).tensor();
      for (Dim d : t.shape) define(d, ctx_.constant(0));
      const TensorType empty = *substituted(type(scan), sizes_).tensor();
      rewriter_.rename(scan, TRY(rewriter_.make_zeros(empty.dtype, empty.shape, n.loc)));
    }
    return Rewriter::Action::Drop;
  }

  Result<Rewriter::Action> run_once(const Node& n, const LoopParts& loop) {
    if (!may_give(loop.body->params, init(n)) || is_kept(loop.count)) return Rewriter::Action::Keep;
    std::vector<ValueId> next, scans;
    for (size_t i = 0; i < loop.carried; ++i) next.push_back(loop.next(i));
    for (size_t j = 0; j < loop.scans; ++j) scans.push_back(loop.scan(j));
    if (!may_give(outputs(n, loop), next)) return Rewriter::Action::Keep;
    for (size_t j = 0; j < loop.scans; ++j)
      if (is_kept(n.outputs[loop.carried + j])) return Rewriter::Action::Keep;
    define(loop.count, ctx_.constant(1));
    add_size(sizes_, *loop.index.as_symbol(), ctx_.constant(0));
    Renames params;
    for (size_t i = 0; i < loop.carried; ++i) {
      bind_sizes(type(loop.body->params[i]), type(loop.init(n, i)));
      params[loop.body->params[i]] = loop.init(n, i);
    }
    for (const Node& inner : loop.body->nodes) rewriter_.append(renamed(inner, params));
    TRY(give(n, outputs(n, loop), renamed(std::move(next), params)));
    scans = renamed(std::move(scans), params);
    for (size_t j = 0; j < loop.scans; ++j) {
      const ValueId scan = n.outputs[loop.carried + j];
      Shape shape = type(scans[j]).tensor()->shape;
      shape.insert(shape.begin(), ctx_.constant(1));
      bind_sizes(type(scan), graph::make_tensor_type(type(scan).tensor()->dtype, std::move(shape)));
      const Shape wanted = substituted(type(scan), sizes_).tensor()->shape;
      rewriter_.rename(scan, TRY(rewriter_.make("array.reshape", {{"shape", wanted}}, {scans[j]}, n.loc)));
    }
    return Rewriter::Action::Drop;
  }

  // A size of an output that is defined by its node.
  bool is_defined_here(Dim d) const {
    const auto s = d.as_symbol();
    return s && !rewriter_.is_known(*s) && !sizes_.count(*s) && ctx_.info(*s).origin.kind == expr::Origin::Kind::Data;
  }
  void define(Dim d, Dim size) {
    if (is_defined_here(d)) add_size(sizes_, *d.as_symbol(), size);
  }
  void bind_sizes(const Type& to, const Type& from) {
    if (to.tensor() == nullptr) return;
    const Shape into = to.tensor()->shape, given = from.tensor()->shape;
    for (size_t a = 0; a < into.size(); ++a) define(into[a], given[a]);
  }

  bool is_kept(Dim d) const {
    const auto s = d.as_symbol();
    return s && kept_.count(*s) != 0;
  }
  bool is_kept(ValueId v) const {
    bool kept = false;
    graph::for_each_dim(type(v), [&](Dim d) { kept = kept || is_kept(d); });
    return kept;
  }
  // Whether `from` may stand for `to`: tensors do, lists where their types are the same.
  bool may_give(const std::vector<ValueId>& to, const std::vector<ValueId>& from) const {
    for (size_t k = 0; k < to.size(); ++k) {
      if (type(to[k]).tensor() == nullptr && !(type(to[k]) == type(from[k]))) return false;
      if (is_kept(to[k])) return false;
    }
    return true;
  }

  Status give(const Node& n, const std::vector<ValueId>& to, const std::vector<ValueId>& from) {
    for (size_t k = 0; k < to.size(); ++k) {
      bind_sizes(type(to[k]), type(from[k]));
      ValueId by = from[k];
      if (type(by).tensor() != nullptr) {
        const Type wanted = substituted(type(to[k]), sizes_), have = substituted(type(by), sizes_);
        if (!(wanted == have))
          by = TRY(rewriter_.make("array.reshape", {{"shape", wanted.tensor()->shape}}, {by}, n.loc));
        else if (results_.count(to[k]))
          by = TRY(rewriter_.make("math.identity", {}, {by}, n.loc));  // a result of the function has memory of its own
      }
      rewriter_.rename(to[k], by);
    }
    return ok();
  }

  expr::Context& ctx_;
  Rewriter rewriter_;
  std::unordered_set<ValueId> results_;
  std::unordered_set<expr::SymbolId> kept_;
  expr::DimMap sizes_;
};

}  // namespace

PassDef pass_fold_control() {
  return {.name = "fold-control",
          .summary = "puts branches that run and bodies that run once in the place of their nodes",
          .run = [](const FunctionPtr& f, PassContext& c) -> Result<FunctionPtr> {
            // What one round makes known may decide another node.
            FunctionPtr out = f;
            for (FunctionPtr before; out != before;) {
              before = out;
              out = TRY(Folder(before, c).run());
            }
            return out == f ? f : without_dead_nodes(out, c.ctx);
          }};
}

}  // namespace pliant::passes
