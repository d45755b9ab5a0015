// If. A condition that is decided imports one branch in place. Otherwise both become regions of a core.if; where the
// branches give values of different ranks or element types, what follows the If is imported into both, as far as needed.
#include <algorithm>
#include <deque>
#include <iterator>

#include "frontend/onnx/importer.h"
#include "graph/control.h"
#include "graph/list_type.h"

namespace pliant::frontend::onnx {
namespace {

// At most so many nodes are imported a second time because branches differ.
constexpr int64_t kMostRepeated = 4096;

// Whether the If around the frame's region can be imported again together with what follows it.
bool is_in_extensible_branch(const Frame& frame) {
  const Frame* last = &frame;
  while (last->outer != nullptr) last = last->outer;
  return last->is_extensible;
}

bool is_at_its_end(const Frame& frame) { return frame.next == frame.order.size(); }

// The graphs that the import goes on in when the frame's node has been imported, as many as `depth`.
std::vector<Frame*> rest_of(Frame& frame, size_t depth) {
  std::vector<Frame*> out;
  for (Frame* f = &frame; f != nullptr && out.size() < depth; f = f->outer) out.push_back(f);
  return out;
}

bool is_known_before(Dim d, expr::SymbolId first) {
  for (expr::SymbolId s : expr::symbols_of(d))
    if (s >= first) return false;
  return true;
}

// What is known of the elements after the If, without the symbols of its branches (from `first` on).
std::shared_ptr<const Known> join_known(const Known* a, const Known* b, std::optional<Dim> condition, expr::SymbolId first) {
  if (a == nullptr || b == nullptr || a->dtype != b->dtype || a->shape != b->shape) return nullptr;
  Known out = *a;
  for (size_t k = 0; k < out.elements.size(); ++k) {
    const Element &x = a->elements[k], &y = b->elements[k];
    if (x.kind != Element::Kind::Int || y.kind != Element::Kind::Int) return nullptr;
    if (!is_known_before(x.num, first) || !is_known_before(y.num, first)) return nullptr;
    if (x.num == y.num) continue;
    if (!condition) return nullptr;
    out.elements[k] = Element::make_int(y.num + *condition * (x.num - y.num));
  }
  return std::make_shared<const Known>(std::move(out));
}

bool is_malformed(const Diagnostic& d) { return d.id.is_malformed(); }

// The outputs that are tensors of one element type in both branches, but of different ranks, or in optionals already.
std::vector<size_t> outputs_of_other_ranks(const std::vector<ValueRef>& a, const std::vector<ValueRef>& b) {
  std::vector<size_t> out;
  for (size_t k = 0; k < std::min(a.size(), b.size()); ++k) {
    auto tensor = [](const graph::Type& t) {
      return graph::optional_element(t) ? graph::optional_element(t)->tensor() : t.tensor();
    };
    const TensorType *x = tensor(a[k]->type), *y = tensor(b[k]->type);
    if (x == nullptr || y == nullptr || x->dtype != y->dtype) continue;
    const bool lists = graph::is_list(a[k]->type) || graph::is_list(b[k]->type);
    if (lists || x->shape.size() != y->shape.size()) out.push_back(k);
  }
  return out;
}

}  // namespace

struct Importer::Branch {
  const GraphProto* graph;
  bool is_then;
  std::optional<Dim> condition;
  std::vector<ValueRef> outputs;   // when it is good
  std::vector<Diagnostic> faults;  // why it can not run
  bool failed = false;
};

const GraphProto* Importer::branch_graph(Conversion& c, const char* name) {
  const AttributeProto* a = c.attr(name);
  if (a == nullptr || a->graphs.size() != 1) {
    report(c.fail("malformed-model", "it has no graph '" + std::string(name) + "'"));
    return nullptr;
  }
  size_t count = a->graphs[0]->outputs.size();
  if (count == c.output_count()) return a->graphs[0].get();
  report(c.fail("malformed-model", "its '" + std::string(name) + "' gives " + std::to_string(count) +
                                       " outputs but the node has " + std::to_string(c.output_count())));
  return nullptr;
}

void Importer::import_if(Conversion& c, Frame& frame) {
  const GraphProto *then = branch_graph(c, "then_branch"), *otherwise = branch_graph(c, "else_branch");
  if (then == nullptr || otherwise == nullptr) return bind_broken(c.node, *frame.scope);
  if (!c.has(0) || c.value(0).type.tensor() == nullptr || c.dtype(0) != DType::Bool) {
    report(c.fail("wrong-type", "its condition is not a bool tensor"));
    return bind_broken(c.node, *frame.scope);
  }
  ops::Condition condition;
  const Known* known = c.known(0);
  if (known != nullptr && known->elements.size() == 1 && known->elements[0].kind == Element::Kind::Int) {
    condition.dim = known->elements[0].num;
    if (auto taken = c.decide(*condition.dim)) return import_taken_branch(c, *taken ? *then : *otherwise, frame);
  } else {
    Result<ValueId> one = c.one_element(c.in(0), "the condition has {a} elements, not one");
    if (!one.ok()) {
      report(std::move(one.error()));
      return bind_broken(c.node, *frame.scope);
    }
    condition.value = one.value();
  }
  std::optional<Error> differ = import_either(c, condition, {then, otherwise}, frame);
  if (!differ) return;
  report(std::move(*differ));
  bind_broken(c.node, *frame.scope);
}

// Ifs are imported again inside others that go on further: each begins where it is known not to end before, so that Ifs in
// Ifs are not imported a number of times that is exponential in their depth.
std::optional<Error> Importer::import_either(Conversion& c, const ops::Condition& condition, Branches branches,
                                             Frame& frame) {
  size_t& active = active_[c.loc->name];
  Extent& known = extents_[{c.loc->name, active}];
  ++active;
  std::optional<Error> differ = import_to_extent(c, condition, branches, frame, known);
  --active;
  return differ;
}

std::optional<Error> Importer::import_to_extent(Conversion& c, const ops::Condition& condition, Branches branches,
                                                Frame& frame, Extent& known) {
  for (size_t depth = 0;; ++depth) {
    const std::vector<Frame*> rest = rest_of(frame, depth + 1);
    const bool goes_on = rest.size() > depth, extensible = is_in_extensible_branch(frame);
    // With nothing behind the If there, the branches' ends would differ as they do without.
    const bool ends_there = goes_on && depth > 0 && is_at_its_end(*rest[depth - 1]);
    if (goes_on && (depth < known.depth || ends_there)) continue;
    if (!goes_on && extensible && depth < known.depth) {
      extends_ = true;
      return std::nullopt;
    }
    // The branches end with the model's outputs: those of different ranks become optionals, whose tensors have any rank.
    const bool gives_results = !goes_on && !extensible && depth > 0 && rest.back()->gives_results;
    std::optional<Error> differ;
    if (!gives_results || known.of_any_rank.empty()) {
      any_rank_.node = nullptr;
      differ = import_branches(c, condition, branches, frame, depth);
      if (!differ || extends_) return std::nullopt;
      known.depth = std::max(known.depth, depth + 1);
      if (goes_on) continue;
      if (extensible) {
        extends_ = true;
        return std::nullopt;
      }
      if (!gives_results || any_rank_.outputs.empty()) return differ;
      known.of_any_rank = any_rank_.outputs;
    }
    any_rank_ = {&c.node, known.of_any_rank};
    return import_branches(c, condition, branches, frame, depth);
  }
}

void Importer::import_for_both(Conversion& c, std::string name, Dim condition, Error why, Frame& frame) {
  state_.undecided.reset();
  // The node again, of the same name, in a graph of its own.
  GraphProto g;
  g.nodes.push_back(c.node);
  g.nodes[0].name = name;
  NodeProto node = c.node;
  std::erase(node.outputs, std::string_view());
  for (std::string_view output : node.outputs) g.outputs.push_back({output, {}});
  Conversion either(state_, node, c.opset, c.loc, {}, nullptr, &frame);
  ops::Condition holds;
  holds.dim = condition;
  if (!import_either(either, holds, {&g, &g}, frame)) return;
  report(std::move(why));
  bind_broken(c.node, *frame.scope);
}

void Importer::import_taken_branch(Conversion& c, const GraphProto& g, Frame& frame) {
  Scope& scope = *frame.scope;
  Scope inner{&scope, {}, scope.opsets, scope.attributes, scope.prefix, scope.depth + 1};
  add_initializers(g, inner);
  size_t errors_before = state_.errors.size();
  Frame taken{&g.nodes, &g, output_names(g), &inner, &frame, &c.node};
  import_graph(taken);
  if (taken.passed_over || extends_) return;
  if (state_.errors.size() != errors_before) return bind_broken(c.node, scope);
  auto outputs = outputs_of(taken, c, "its branch");
  if (!outputs) return bind_broken(c.node, scope);
  for (size_t k = 0; k < outputs->size(); ++k) bind(c.node, k, (*outputs)[k], scope);
}

// The error of the branches' types when those differ; nothing when the outputs are bound or everything is reported.
std::optional<Error> Importer::import_branches(Conversion& c, const ops::Condition& condition, Branches branches,
                                               Frame& frame, size_t depth) {
  for (const Frame* f : rest_of(frame, depth)) repeated_ += static_cast<int64_t>(f->order.size() - f->next);
  if (repeated_ > kMostRepeated)
    return c.fail("branches-differ", "its branches give values of different types, and what follows is too large to repeat");
  Branch then{branches.then, true, condition.dim, {}, {}}, otherwise{branches.otherwise, false, condition.dim, {}, {}};
  expr::SymbolId first = ctx_->symbol_count();
  auto ids = ops::append_if(
      state_.builder, *ctx_, condition, [&] { return import_branch(c, frame, depth, then); },
      [&] { return import_branch(c, frame, depth, otherwise); }, c.loc);
  if (extends_) {
    // A branch inside asks for it.
    extends_ = false;
    return c.fail("branches-differ", "its branches give values of different types");
  }
  if (!ids.ok() && ids.error().diagnostics[0].id == "branches-differ") {
    any_rank_.outputs = outputs_of_other_ranks(then.outputs, otherwise.outputs);
    return std::move(ids.error());
  }
  if (!ids.ok() || (then.failed && otherwise.failed)) {
    if (!ids.ok()) report(std::move(ids.error()));
    report({std::move(then.faults)});
    report({std::move(otherwise.faults)});
    bind_broken(c.node, *frame.scope);
    return std::nullopt;
  }
  bind_branches(c, frame, depth, ids.value(), then, otherwise, first);
  return std::nullopt;
}

Result<std::optional<Values>> Importer::import_branch(Conversion& c, Frame& frame, size_t depth, Branch& branch) {
  size_t errors_before = state_.errors.size(), facts_before = state_.facts.size();
  state_.enter_region();
  if (branch.condition) state_.facts.emplace_back(*branch.condition, branch.is_then);
  Result<std::vector<ValueRef>> outputs = run_branch(c, frame, depth, *branch.graph);
  state_.facts.resize(facts_before, {Dim(), false});
  std::optional<Values> ids;
  if (extends_) {
    state_.errors.erase(state_.errors.begin() + static_cast<int64_t>(errors_before), state_.errors.end());
    state_.leave_region();
    return c.fail("branches-differ", "a branch inside its branches gives values of different types");
  }
  branch.failed = !outputs.ok() || state_.errors.size() != errors_before;
  if (!branch.failed) {
    branch.outputs = outputs.take();
    ids.emplace();
    for (const ValueRef& v : branch.outputs) ids->push_back(materialise(state_, *v));
    for (size_t k : any_rank_.node == &c.node ? any_rank_.outputs : std::vector<size_t>{})
      if (branch.outputs[k]->type.tensor() != nullptr)
        (*ids)[k] = TRY(append_nodes(state_, "opt.some", {}, {(*ids)[k]}, 1, c.loc))[0];
  } else {
    branch.faults.assign(state_.errors.begin() + static_cast<int64_t>(errors_before), state_.errors.end());
    state_.errors.erase(state_.errors.begin() + static_cast<int64_t>(errors_before), state_.errors.end());
    std::copy_if(branch.faults.begin(), branch.faults.end(), std::back_inserter(state_.errors), is_malformed);
    state_.builder.drop_region();
    state_.builder.begin_region({});
    std::string why =
        branch.faults.empty() ? "it is not supported" : branch.faults[0].where + ": " + branch.faults[0].message;
    std::string message = std::string("this branch can not run: ") + why;
    state_.builder.append(graph::Node{"core.fail", {{"message", message}}, {}, {}, {}, c.loc});
  }
  state_.leave_region();
  return ids;
}

// Imports the branch and as many of the graphs that follow as `depth` says, which are copied: each branch has its own.
Result<std::vector<ValueRef>> Importer::run_branch(Conversion& c, Frame& frame, size_t depth, const GraphProto& g) {
  std::vector<Frame*> rest = rest_of(frame, depth);
  std::deque<Scope> scopes;
  std::vector<Frame> chain(1);
  for (const Frame* f : rest) {
    scopes.push_back(*f->scope);
    chain.push_back(*f);
    chain.back().scope = &scopes.back();
  }
  for (Scope& s : scopes)
    for (size_t k = 0; k < rest.size(); ++k)
      if (s.parent == rest[k]->scope) s.parent = &scopes[k];
  Scope& around = depth == 0 ? *frame.scope : scopes[0];
  Scope inner{&around, {}, around.opsets, around.attributes, around.prefix, around.depth + 1};
  add_initializers(g, inner);
  chain[0] = Frame{&g.nodes, &g, output_names(g), &inner, nullptr, &c.node};
  for (size_t k = 0; k + 1 < chain.size(); ++k) chain[k].outer = &chain[k + 1];
  chain.back().outer = nullptr;
  chain.back().is_extensible = rest_of(frame, depth + 1).size() > depth || is_in_extensible_branch(frame);
  import_graph(chain[0]);
  for (size_t k = 0; k + 1 < chain.size() && !extends_; ++k) {
    if (chain[k].passed_over) continue;
    auto outputs = outputs_of(chain[k], c, "its branch");
    if (!outputs) return Error{};
    for (size_t i = 0; i < outputs->size(); ++i) bind(*chain[k].call, i, (*outputs)[i], *chain[k + 1].scope);
    import_rest(chain[k + 1]);
  }
  if (extends_) return Error{};
  auto outputs = outputs_of(chain.back(), c, "its branch");
  if (!outputs) return Error{};
  return std::move(*outputs);
}

// The If's values become the outputs of its node, or of the last of the graphs that its branches went on in.
void Importer::bind_branches(Conversion& c, Frame& frame, size_t depth, const Values& ids, const Branch& then,
                             const Branch& otherwise, expr::SymbolId first) {
  std::vector<Frame*> rest = rest_of(frame, depth);
  for (size_t k = 0; k < rest.size(); ++k) {
    rest[k]->next = rest[k]->order.size();
    rest[k]->passed_over = k + 1 < rest.size();
  }
  for (size_t k = 0; k < ids.size(); ++k) {
    std::string_view name = depth == 0 ? c.node.outputs[k] : rest.back()->outputs[k];
    if (name.empty()) continue;
    ValueRef v = value_of(c, ids[k], name);
    const Value &x = *(then.failed ? otherwise : then).outputs[k], &y = *(otherwise.failed ? then : otherwise).outputs[k];
    v->known = join_known(x.known.get(), y.known.get(), then.condition, first);
    (depth == 0 ? frame.scope : rest.back()->scope)->values[name] = std::move(v);
  }
}

}  // namespace pliant::frontend::onnx
