// The type half of the graph verifier: every node's types are those that its operator infers, and what structured nodes give
// is what their regions yield.
#include <unordered_set>

#include "graph/control.h"
#include "graph/kernel.h"
#include "graph/list_type.h"
#include "graph/visit.h"
#include "ops/op.h"

namespace pliant::ops {

using expr::SymbolId;
using graph::Function;
using graph::kNoValue;
using graph::LoopParts;
using graph::Node;
using graph::Region;
using graph::Type;

namespace {

// Whether `have` is `want` up to the fresh sizes in `want` (symbols from `first_fresh` on), which are bound in `map`.
bool matches(const Type& want, const Type& have, uint32_t first_fresh, expr::DimMap& map, expr::Context& ctx) {
  const TensorType *w = want.tensor(), *h = have.tensor();
  if (w == nullptr || h == nullptr) return want == have;
  if (w->dtype != h->dtype || w->shape.size() != h->shape.size()) return false;
  for (size_t k = 0; k < w->shape.size(); ++k) {
    std::optional<expr::SymbolId> s = w->shape[k].as_symbol();
    if (s && *s >= first_fresh) {
      map.emplace(*s, h->shape[k]);
    }
    Dim expected = expr::substitute(w->shape[k], map);
    if (expected != h->shape[k] && !ctx.proves_equal(expected, h->shape[k])) return false;
  }
  return true;
}

Error type_error(const Node& node, const std::string& message) {
  return make_error("type-mismatch", describe(node.loc), message);
}

class TypeVerifier {
 public:
  TypeVerifier(const Function& f, expr::Context& ctx, const graph::Module* module) : f_(f), ctx_(ctx), module_(module) {
    for (ValueId v : f.params) learn(type(v));
  }
  Status run() { return verify_nodes(f_.nodes); }

 private:
  const Type& type(ValueId v) const { return f_.value(v).type; }
  void learn(const Type& t) {
    graph::for_each_dim(t, [&](Dim d) {
      for (SymbolId s : expr::symbols_of(d)) learn(s);
    });
  }
  void learn(SymbolId s) {
    if (known_.insert(s).second) learned_.push_back(s);
  }
  // A symbol that the value defines: a whole axis, from data, and not known before.
  bool is_fresh(Dim d) const {
    std::optional<SymbolId> s = d.as_symbol();
    return s && !known_.count(*s) && ctx_.info(*s).origin.kind == expr::Origin::Kind::Data;
  }
  bool holds_list(const Type& from, const Type& to) {
    return from == to || (graph::is_list(from) && graph::is_list(to) && graph::fits_list(from, to, ctx_));
  }
  bool same(Dim a, Dim b) { return a == b || ctx_.proves_equal(a, b); }

  Status verify_nodes(const std::vector<Node>& nodes) {
    for (const Node& n : nodes) {
      TRY(verify_node(n));
      for (ValueId v : n.outputs) learn(type(v));
    }
    return ok();
  }

  Status verify_region(const Region& r) {
    const size_t outside = learned_.size();
    for (ValueId v : r.params) learn(type(v));
    TRY(verify_nodes(r.nodes));
    for (; learned_.size() > outside; learned_.pop_back()) known_.erase(learned_.back());
    return ok();
  }

  Status verify_node(const Node& n) {
    if (n.op == "core.const") return verify_const(n);
    if (n.op == "core.if") return verify_if(n);
    if (n.op == "core.loop") return verify_loop(n);
    if (n.op == "core.call") return verify_call(n);
    if (graph::is_kernel(n)) return verify_kernel(n);
    if (n.op.starts_with("core.")) {
      for (const auto& region : n.regions) TRY(verify_region(*region));
      if (n.op == "core.read_dims")
        for (Dim d : n.attrs.dims_or("symbols", {})) learn(*d.as_symbol());
      return ok();
    }
    return verify_operator(n);
  }

  Status verify_const(const Node& n) {
    graph::ConstantPtr c = n.attrs.constant("value");
    if (c == nullptr || n.outputs.size() != 1) return type_error(n, "core.const needs a value and one output");
    graph::Shape shape;
    for (int64_t d : c->shape) shape.push_back(ctx_.constant(d));
    Type want = graph::make_tensor_type(c->dtype, std::move(shape)), have = type(n.outputs[0]);
    if (want != have) return type_error(n, "core.const is " + print(want) + " but its output is " + print(have));
    return ok();
  }

  Status verify_operator(const Node& n) {
    const OpDef* op = find_op(n.op);
    if (op == nullptr) return make_error("unknown-operator", describe(n.loc), "there is no operator " + n.op);
    uint32_t first_fresh = ctx_.symbol_count();
    std::vector<Type> inputs;
    for (ValueId v : n.inputs) inputs.push_back(v == kNoValue ? Type{graph::TupleType{}} : type(v));
    Inferred in = TRY(infer(*op, n.attrs, inputs, n.outputs.size(), ctx_, n.loc));
    if (in.types.size() != n.outputs.size())
      return type_error(
          n, n.op + " gives " + std::to_string(in.types.size()) + " outputs but has " + std::to_string(n.outputs.size()));
    expr::DimMap fresh;
    for (size_t i = 0; i < in.types.size(); ++i) {
      if (n.outputs[i] == kNoValue) continue;
      if (!matches(in.types[i], type(n.outputs[i]), first_fresh, fresh, ctx_))
        return type_error(n, "output " + std::to_string(i) + " of " + n.op + " is " + print(in.types[i]) +
                                 " but is declared " + print(type(n.outputs[i])));
    }
    return ok();
  }

  Status verify_condition(const Node& n, ValueId v) {
    if (v == kNoValue) return ok();
    const TensorType* t = type(v).tensor();
    if (t == nullptr || t->dtype != DType::Bool || !expr::product(ctx_, t->shape).is_const(1))
      return type_error(n, "the condition is " + print(type(v)) + ", not a bool tensor of one element");
    return ok();
  }

  // Whether a value of type `from`, its sizes seen through `map`, may stand where `to` is declared.
  bool flows(const Type& from, const Type& to, const expr::DimMap& map = {}) {
    const TensorType *a = from.tensor(), *b = to.tensor();
    if (a == nullptr || b == nullptr) return holds_list(from, to);
    if (a->dtype != b->dtype || a->shape.size() != b->shape.size()) return false;
    for (size_t k = 0; k < a->shape.size(); ++k)
      if (!is_fresh(b->shape[k]) && !same(expr::substitute(a->shape[k], map), b->shape[k])) return false;
    return true;
  }
  Error does_not_flow(const Node& n, const std::string& what, const Type& from, const Type& to) const {
    return type_error(n, what + " is " + print(from) + " but " + print(to) + " is declared");
  }

  Status verify_if(const Node& n) {
    TRY(graph::check_form(n));
    TRY(verify_condition(n, n.inputs.empty() ? kNoValue : n.inputs[0]));
    for (const auto& r : n.regions) {
      TRY(verify_region(*r));
      for (size_t i = 0; i < r->results.size(); ++i)
        if (!flows(type(r->results[i]), type(n.outputs[i])))
          return does_not_flow(n, "what a branch yields for output " + std::to_string(i), type(r->results[i]),
                               type(n.outputs[i]));
    }
    return ok();
  }

  Status verify_kernel(const Node& n) {
    TRY(graph::check_form(n));
    const Region& r = *n.regions[0];
    for (size_t i = 0; i < n.inputs.size(); ++i)
      if (type(n.inputs[i]) != type(r.params[i]))
        return does_not_flow(n, "input " + std::to_string(i) + " of a kernel", type(n.inputs[i]), type(r.params[i]));
    TRY(verify_region(r));
    for (Dim d : n.attrs.dims_or("symbols", {})) learn(*d.as_symbol());
    for (size_t i = 0; i < n.outputs.size(); ++i)
      if (!flows(type(r.results[i]), type(n.outputs[i])))
        return does_not_flow(n, "output " + std::to_string(i) + " of a kernel", type(r.results[i]), type(n.outputs[i]));
    return ok();
  }

  Status verify_loop(const Node& n) {
    TRY(graph::check_form(n));
    LoopParts loop = graph::loop_parts(n);
    TRY(verify_condition(n, loop.condition));
    SymbolId index = *loop.index.as_symbol();
    bool yields = !loop.body->results.empty();
    for (size_t i = 0; i < loop.carried; ++i) {
      const Type &param = type(loop.body->params[i]), &out = type(n.outputs[i]);
      std::string what = "carried value " + std::to_string(i);
      if (!is_step(param, type(loop.init(n, i)), index, ctx_.constant(0)))
        return does_not_flow(n, what + " before the first iteration", type(loop.init(n, i)), param);
      if (yields && !is_step(param, type(loop.next(i)), index, loop.index + 1))
        return does_not_flow(n, what + " after an iteration", type(loop.next(i)), param);
      if (!is_step(param, out, index, loop.count, Flow::OutOf))
        return does_not_flow(n, what + " after the loop", param, out);
    }
    if (yields) TRY(verify_condition(n, loop.next_condition()));
    known_.insert(index);
    TRY(verify_region(*loop.body));
    known_.erase(index);
    return verify_count_and_scans(n, loop);
  }

  Status verify_count_and_scans(const Node& n, const LoopParts& loop) {
    bool counted = graph::is_unconditional(f_, loop) && loop.trip;
    if (!is_fresh(loop.count) && !(counted && same(loop.count, expr::max(ctx_.constant(0), *loop.trip))))
      return type_error(n, "the count of core.loop is " + loop.count.str());
    for (SymbolId s : expr::symbols_of(loop.count)) learn(s);
    for (size_t j = 0; j < loop.scans; ++j) {
      const TensorType* out = type(n.outputs[loop.carried + j]).tensor();
      if (out == nullptr || out->shape.empty() || !same(out->shape[0], loop.count))
        return type_error(n, "scan value " + std::to_string(j) + " is not stacked on an axis of size " + loop.count.str());
      if (loop.body->results.empty()) continue;
      Type element = graph::make_tensor_type(out->dtype, {out->shape.begin() + 1, out->shape.end()});
      if (!flows(type(loop.scan(j)), element))
        return does_not_flow(n, "scan value " + std::to_string(j), type(loop.scan(j)), element);
    }
    return ok();
  }

  // Whether a value of type `t` is one that the param may hold in iteration `at`, or gives after the last one. A fresh axis
  // of whichever receives the value is any size.
  enum class Flow : uint8_t { Into, OutOf };
  bool is_step(const Type& param, const Type& t, SymbolId index, Dim at, Flow flow = Flow::Into) {
    const TensorType *p = param.tensor(), *x = t.tensor();
    if (p == nullptr || x == nullptr) return flow == Flow::Into ? holds_list(t, param) : holds_list(param, t);
    if (p->dtype != x->dtype || p->shape.size() != x->shape.size()) return false;
    for (size_t k = 0; k < p->shape.size(); ++k) {
      bool any_size = is_fresh(flow == Flow::Into ? p->shape[k] : x->shape[k]);
      if (!any_size && !same(expr::substitute(p->shape[k], {{index, at}}), x->shape[k])) return false;
    }
    return true;
  }

  Status verify_call(const Node& n) {
    TRY(graph::check_form(n));
    if (module_ == nullptr) return ok();
    const std::string name = n.attrs.string_or("callee", "");
    const Function* callee = module_->find(name);
    if (callee == nullptr) return make_error("unknown-function", describe(n.loc), "there is no function \"" + name + "\"");
    if (callee->params.size() != n.inputs.size() || callee->results.size() != n.outputs.size())
      return type_error(n, "function \"" + name + "\" takes " + std::to_string(callee->params.size()) +
                               " arguments and gives " + std::to_string(callee->results.size()) +
                               " results, but the call has " + std::to_string(n.inputs.size()) + " and " +
                               std::to_string(n.outputs.size()));
    expr::DimMap map;
    for (size_t i = 0; i < n.inputs.size(); ++i) bind(callee->value(callee->params[i]).type, type(n.inputs[i]), map);
    for (size_t i = 0; i < n.inputs.size(); ++i)
      if (!may_be(callee->value(callee->params[i]).type, type(n.inputs[i]), map))
        return does_not_flow(n, "argument " + std::to_string(i), type(n.inputs[i]), callee->value(callee->params[i]).type);
    for (size_t i = 0; i < n.outputs.size(); ++i)
      if (!flows(callee->value(callee->results[i]).type, type(n.outputs[i]), map))
        return does_not_flow(n, "result " + std::to_string(i), callee->value(callee->results[i]).type, type(n.outputs[i]));
    return ok();
  }

  static void bind(const Type& param, const Type& argument, expr::DimMap& map) {
    const TensorType *p = param.tensor(), *a = argument.tensor();
    if (p == nullptr || a == nullptr || p->shape.size() != a->shape.size()) return;
    for (size_t k = 0; k < p->shape.size(); ++k)
      if (std::optional<SymbolId> s = p->shape[k].as_symbol()) map.emplace(*s, a->shape[k]);
  }
  // Sizes that are not known to be equal are compared when the call runs.
  bool may_be(const Type& param, const Type& argument, const expr::DimMap& map) {
    const TensorType *p = param.tensor(), *a = argument.tensor();
    if (p == nullptr || a == nullptr) return holds_list(argument, param);
    if (p->dtype != a->dtype || p->shape.size() != a->shape.size()) return false;
    for (size_t k = 0; k < p->shape.size(); ++k)
      if (ctx_.equal(expr::substitute(p->shape[k], map), a->shape[k]) == expr::Tri::No) return false;
    return true;
  }

  const Function& f_;
  expr::Context& ctx_;
  const graph::Module* module_;
  std::unordered_set<SymbolId> known_;
  std::vector<SymbolId> learned_;  // those of `known_`, in order
};

}  // namespace

Status verify_types(const Function& f, expr::Context& ctx, const graph::Module* module) {
  return TypeVerifier(f, ctx, module).run();
}

}  // namespace pliant::ops
