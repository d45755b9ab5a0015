#include "graph/control.h"

#include <algorithm>

namespace pliant::graph {
namespace {

constexpr const char* kKinds[] = {"equal", "less_equal", "broadcast"};

std::optional<ShapeConstraint::Kind> kind_named(const std::string& name) {
  for (size_t k = 0; k < 3; ++k)
    if (name == kKinds[k]) return static_cast<ShapeConstraint::Kind>(k);
  return std::nullopt;
}

const Dim* dim_attr(const Node& n, const char* name) {
  const AttrValue* v = n.attrs.find(name);
  return v == nullptr ? nullptr : std::get_if<Dim>(v);
}
const std::string* string_attr(const Node& n, const char* name) {
  const AttrValue* v = n.attrs.find(name);
  return v == nullptr ? nullptr : std::get_if<std::string>(v);
}

Error bad_form(const std::string& message) { return make_error("bad-form", "", message); }

// The kind of each attribute that must or may be there.
Status check_dim(const Node& n, const char* name, bool required) {
  if (!n.attrs.has(name)) return required ? Status(bad_form(n.op + " lacks its attribute " + name)) : ok();
  if (dim_attr(n, name) == nullptr || !*dim_attr(n, name))
    return bad_form(n.op + " has an attribute " + name + " that is no dim");
  return ok();
}
Status check_string(const Node& n, const char* name) {
  if (string_attr(n, name) == nullptr) return bad_form(n.op + " lacks its text " + name);
  return ok();
}
Status check_regions(const Node& n, size_t count) {
  if (n.regions.size() != count)
    return bad_form(n.op + " has " + std::to_string(n.regions.size()) + " regions instead of " + std::to_string(count));
  for (const auto& r : n.regions)
    if (r == nullptr) return bad_form("a region of " + n.op + " is missing");
  return ok();
}
Status check_yields(const Node& n, const Region& r, size_t count) {
  size_t want = diverges(r) ? 0 : count;
  if (r.results.size() == want) return ok();
  return bad_form("a region of " + n.op + " yields " + std::to_string(r.results.size()) + " of " + std::to_string(want) +
                  " values");
}

Status check_if(const Node& n) {
  TRY(check_regions(n, 2));
  if (n.inputs.size() > 1) return bad_form("core.if has one input, its condition");
  bool has_value = !n.inputs.empty() && n.inputs[0] != kNoValue;
  TRY(check_dim(n, "cond", !has_value));
  if (has_value && n.attrs.has("cond")) return bad_form("core.if has two conditions");
  for (const auto& r : n.regions) {
    if (!r->params.empty()) return bad_form("a region of core.if has params");
    TRY(check_yields(n, *r, n.outputs.size()));
  }
  return ok();
}

Status check_loop(const Node& n) {
  TRY(check_regions(n, 1));
  if (n.inputs.empty()) return bad_form("core.loop lacks the place of its condition");
  for (size_t i = 1; i < n.inputs.size(); ++i)
    if (n.inputs[i] == kNoValue) return bad_form("a carried value of core.loop is absent");
  TRY(check_dim(n, "index", true));
  TRY(check_dim(n, "count", true));
  TRY(check_dim(n, "trip", false));
  if (!dim_attr(n, "index")->as_symbol()) return bad_form("the index of core.loop is no symbol");
  const Region& body = *n.regions[0];
  if (body.params.size() + 1 != n.inputs.size())
    return bad_form("core.loop carries " + std::to_string(n.inputs.size() - 1) + " values but its region has " +
                    std::to_string(body.params.size()) + " params");
  if (n.outputs.size() < body.params.size()) return bad_form("core.loop has fewer outputs than carried values");
  return check_yields(n, body, n.outputs.size() + 1);
}

Status check_require(const Node& n) {
  TRY(check_regions(n, 0));
  if (!n.inputs.empty() || !n.outputs.empty()) return bad_form("core.require has neither inputs nor outputs");
  TRY(check_dim(n, "a", true));
  TRY(check_dim(n, "b", true));
  TRY(check_string(n, "message"));
  TRY(check_string(n, "kind"));
  if (!kind_named(*string_attr(n, "kind"))) return bad_form("'" + *string_attr(n, "kind") + "' is no kind of requirement");
  return ok();
}

Status check_kernel(const Node& n) {
  TRY(check_regions(n, 1));
  TRY(check_string(n, "backend"));
  const Region& r = *n.regions[0];
  if (std::count(n.inputs.begin(), n.inputs.end(), kNoValue) != 0) return bad_form("an input of core.kernel is absent");
  if (r.params.size() != n.inputs.size())
    return bad_form("core.kernel has " + std::to_string(n.inputs.size()) + " inputs but its region has " +
                    std::to_string(r.params.size()) + " params");
  if (r.results.size() != n.outputs.size())
    return bad_form("core.kernel has " + std::to_string(n.outputs.size()) + " outputs but its region yields " +
                    std::to_string(r.results.size()) + " values");
  const AttrValue* symbols = n.attrs.find("symbols");
  if (symbols == nullptr) return ok();
  const auto* list = std::get_if<std::vector<Dim>>(symbols);
  if (list == nullptr || std::any_of(list->begin(), list->end(), [](Dim d) { return !d || !d.as_symbol(); }))
    return bad_form("core.kernel has an attribute symbols that is no list of symbols");
  return ok();
}

Status check_fail(const Node& n) {
  TRY(check_regions(n, 0));
  if (!n.inputs.empty() || !n.outputs.empty()) return bad_form("core.fail has neither inputs nor outputs");
  return check_string(n, "message");
}

const Node* find_constant(const std::vector<Node>& nodes, ValueId v) {
  for (const Node& n : nodes) {
    if (n.op == "core.const" && n.outputs.size() == 1 && n.outputs[0] == v) return &n;
    for (const auto& r : n.regions)
      if (const Node* inner = find_constant(r->nodes, v)) return inner;
  }
  return nullptr;
}

}  // namespace

bool diverges(const Region& r) {
  if (r.nodes.empty()) return false;
  const Node& last = r.nodes.back();
  if (last.op == "core.fail") return true;
  return last.op == "core.if" && last.regions.size() == 2 && diverges(*last.regions[0]) && diverges(*last.regions[1]);
}

IfParts if_parts(const Node& n) {
  IfParts p;
  if (!n.inputs.empty()) p.condition = n.inputs[0];
  if (const Dim* d = dim_attr(n, "cond")) p.cond = *d;
  p.then = n.regions[0].get();
  p.otherwise = n.regions[1].get();
  return p;
}

LoopParts loop_parts(const Node& n) {
  LoopParts p;
  p.condition = n.inputs[0];
  if (const Dim* d = dim_attr(n, "trip")) p.trip = *d;
  p.index = *dim_attr(n, "index");
  p.count = *dim_attr(n, "count");
  p.carried = n.inputs.size() - 1;
  p.scans = n.outputs.size() - p.carried;
  p.body = n.regions[0].get();
  return p;
}

Node make_require(const ShapeConstraint& o) {
  Attrs attrs{{"kind", std::string(kKinds[static_cast<size_t>(o.kind)])}, {"a", o.a}, {"b", o.b}, {"message", o.message}};
  return Node{"core.require", std::move(attrs), {}, {}, {}, o.loc};
}

ShapeConstraint constraint_of(const Node& n) {
  return {*kind_named(*string_attr(n, "kind")), *dim_attr(n, "a"), *dim_attr(n, "b"), *string_attr(n, "message"), n.loc};
}

std::optional<bool> constant_condition(const Function& f, ValueId v) {
  if (v == kNoValue) return std::nullopt;
  const Node* n = find_constant(f.nodes, v);
  if (n == nullptr) return std::nullopt;
  ConstantPtr c = n->attrs.constant("value");
  if (c->dtype != DType::Bool || element_count(*c) != 1) return std::nullopt;
  return *c->data != std::byte{0};
}

bool is_unconditional(const Function& f, const LoopParts& loop) {
  if (loop.condition != kNoValue) return false;
  return diverges(*loop.body) || constant_condition(f, loop.next_condition()) == true;
}

Status check_form(const Node& n) {
  if (n.op == "core.if") return check_if(n);
  if (n.op == "core.loop") return check_loop(n);
  if (n.op == "core.kernel") return check_kernel(n);
  if (n.op == "core.require") return check_require(n);
  if (n.op == "core.fail") return check_fail(n);
  if (n.op == "core.call") {
    TRY(check_regions(n, 0));
    return check_string(n, "callee");
  }
  return ok();
}

}  // namespace pliant::graph
