// Calls of functions that do not call themselves become the functions' nodes: they fuse with what is around them and are
// planned with it. The symbols of a callee's param types become the sizes of the arguments; those that it defines are made
// anew for each call.
//
//   %1 = core.call(%0) {callee="f"} : f32[n]            %1 = math.neg(%0) : f32[n]
//   func @f(%0: f32[m]) {                          →
//     %1 = math.neg(%0) : f32[m]
//     return %1
//   }
#include <algorithm>
#include <set>
#include <unordered_map>

#include "graph/visit.h"
#include "passes/pass.h"
#include "passes/rewrite/rewriter.h"
#include "passes/rewrite/substitute.h"

namespace pliant::passes {
namespace {

const Function* find_function(const PassContext& c, const std::string& name) {
  for (const FunctionPtr& f : *c.functions)
    if (f->name == name) return f.get();
  return nullptr;
}

std::set<const Function*> callees(const PassContext& c, const Function& f) {
  std::set<const Function*> out;
  graph::for_each_node(f, [&](const Node& n) {
    if (n.op == "core.call")
      if (const Function* g = find_function(c, n.attrs.string_or("callee", ""))) out.insert(g);
  });
  return out;
}

bool is_recursive(const PassContext& c, const Function* f) {
  std::set<const Function*> seen;
  std::vector<const Function*> todo{f};
  while (!todo.empty()) {
    const Function* at = todo.back();
    todo.pop_back();
    for (const Function* g : callees(c, *at)) {
      if (g == f) return true;
      if (seen.insert(g).second) todo.push_back(g);
    }
  }
  return false;
}

class Inliner {
 public:
  Inliner(const PassContext& c, Rewriter& rewriter, const Node& call, const Function& callee)
      : context_(c), rewriter_(rewriter), b_(rewriter.builder()), call_(call), f_(callee) {}

  Result<Rewriter::Action> run() {
    bind_params();
    if (!bind_results() || !constraints_are_bound()) return Rewriter::Action::Keep;
    make_symbols();
    for (size_t p = 0; p < f_.params.size(); ++p) require_shape(p);
    for (const ShapeConstraint& o : f_.constraints) require({o.kind, substituted(o.a), substituted(o.b), o.message, o.loc});
    for (const Node& n : f_.nodes) b_.append(cloned(n));
    for (size_t r = 0; r < f_.results.size(); ++r) TRY(rewriter_.put(call_.outputs[r], value(f_.results[r]), call_.loc));
    return Rewriter::Action::Drop;
  }

 private:
  void bind_params() {
    for (size_t p = 0; p < f_.params.size(); ++p) {
      values_[f_.params[p]] = call_.inputs[p];
      const TensorType* to = f_.value(f_.params[p]).type.tensor();
      const TensorType* from = rewriter_.tensor(call_.inputs[p]);
      for (size_t a = 0; to && from && a < to->shape.size(); ++a)
        if (auto s = to->shape[a].as_symbol()) symbols_.emplace(*s, from->shape[a]);
    }
  }

  // A size that the call defines is the symbol that the callee defines: only where it is no more than one symbol.
  bool bind_results() {
    for (size_t r = 0; r < f_.results.size(); ++r) {
      const TensorType* inner = f_.value(f_.results[r]).type.tensor();
      const TensorType* outer = rewriter_.tensor(call_.outputs[r]);
      if (!inner || !outer) continue;
      for (size_t a = 0; a < inner->shape.size(); ++a) {
        if (is_bound(inner->shape[a])) continue;
        auto s = inner->shape[a].as_symbol(), to = outer->shape[a].as_symbol();
        if (!s || !to) return false;
        symbols_.emplace(*s, outer->shape[a]);
        taken_over_.push_back({*s, *to});
      }
    }
    return true;
  }
  bool constraints_are_bound() const {
    return std::all_of(f_.constraints.begin(), f_.constraints.end(),
                       [&](const ShapeConstraint& o) { return is_bound(o.a) && is_bound(o.b); });
  }
  bool is_bound(Dim d) const {
    for (expr::SymbolId s : expr::symbols_of(d))
      if (!symbols_.count(s)) return false;
    return true;
  }
  void make_symbols() {
    for (expr::SymbolId s : graph::symbols_of(f_, context_.ctx)) {
      if (symbols_.count(s)) continue;
      expr::SymbolInfo info = context_.ctx.info(s);
      if (info.upper) info.upper = substituted(*info.upper);
      symbols_[s] = context_.ctx.symbol(std::move(info));
    }
    for (const auto& [inner, outer] : taken_over_) {
      const std::optional<Dim> upper = context_.ctx.info(inner).upper;
      if (upper && !context_.ctx.info(outer).upper) context_.ctx.mutable_info(outer).upper = substituted(*upper);
    }
  }

  void require(ShapeConstraint o) {
    if (o.kind == ShapeConstraint::Kind::Equal && o.a == o.b) return;
    if (!o.loc) o.loc = call_.loc;
    b_.append(graph::make_require(o));
  }
  // What the param's type says about the argument, beyond the symbols that it binds.
  void require_shape(size_t p) {
    const TensorType* to = f_.value(f_.params[p]).type.tensor();
    const TensorType* from = rewriter_.tensor(call_.inputs[p]);
    if (!to || !from) return;
    const Shape given = from->shape;
    for (size_t a = 0; a < to->shape.size(); ++a)
      require({ShapeConstraint::Kind::Equal, given[a], substituted(to->shape[a]),
               "argument " + std::to_string(p) + " of function " + f_.name + " has size {a} on axis " + std::to_string(a) +
                   " where {b} is expected",
               call_.loc});
  }

  Dim substituted(Dim d) const { return expr::substitute(d, symbols_); }

  ValueId value(ValueId v) const { return v == kNoValue ? v : values_.at(v); }
  ValueId made(ValueId v) { return values_[v] = b_.add_value(passes::substituted(f_.value(v).type, symbols_)); }

  Node cloned(const Node& n) {
    Node out{n.op, passes::substituted(n.attrs, symbols_), {}, {}, {}, n.loc};
    for (ValueId v : n.inputs) out.inputs.push_back(value(v));
    for (const auto& r : n.regions) out.regions.push_back(cloned(*r));
    for (ValueId v : n.outputs) out.outputs.push_back(made(v));
    return out;
  }
  std::shared_ptr<const Region> cloned(const Region& r) {
    auto out = std::make_shared<Region>();
    for (ValueId v : r.params) out->params.push_back(made(v));
    for (const Node& n : r.nodes) out->nodes.push_back(cloned(n));
    for (ValueId v : r.results) out->results.push_back(value(v));
    return out;
  }

  const PassContext& context_;
  Rewriter& rewriter_;
  FunctionBuilder& b_;
  const Node call_;
  const Function& f_;
  std::unordered_map<ValueId, ValueId> values_;
  expr::DimMap symbols_;
  std::vector<std::pair<expr::SymbolId, expr::SymbolId>> taken_over_;  // of the callee, of the call
};

Result<FunctionPtr> inline_once(const FunctionPtr& f, PassContext& c) {
  Rewriter rewriter(f, c.ctx);
  return rewriter.run([&](const Node& n) -> Result<Rewriter::Action> {
    if (n.op != "core.call") return Rewriter::Action::Keep;
    const Function* callee = find_function(c, n.attrs.string_or("callee", ""));
    if (!callee || is_recursive(c, callee)) return Rewriter::Action::Keep;
    auto is_tensor = [&](ValueId v) { return rewriter.tensor(v) != nullptr; };
    if (!std::all_of(n.inputs.begin(), n.inputs.end(), is_tensor) ||
        !std::all_of(n.outputs.begin(), n.outputs.end(), is_tensor))
      return Rewriter::Action::Keep;
    return Inliner(c, rewriter, n, *callee).run();
  });
}

}  // namespace

PassDef pass_inline_calls() {
  return {.name = "inline-calls",
          .summary = "puts the nodes of functions that do not call themselves in place of their calls",
          .run = [](const FunctionPtr& f, PassContext& c) -> Result<FunctionPtr> {
            // The nodes put in may hold calls themselves; each round goes one level deeper.
            FunctionPtr out = f;
            for (FunctionPtr before; c.functions && out != before;) {
              before = out;
              out = TRY(inline_once(out, c));
            }
            return out;
          }};
}

}  // namespace pliant::passes
