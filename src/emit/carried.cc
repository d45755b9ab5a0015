// What a body does with a carried value: whether its next value may be written over it, or behind it.
#include <algorithm>

#include "emit/emitter.h"
#include "lower/view.h"

namespace pliant::emit {

namespace {

bool reads(const Node& n, const std::set<ValueId>& values) {
  auto hit = [&](ValueId v) { return values.count(v) != 0; };
  if (std::any_of(n.inputs.begin(), n.inputs.end(), hit)) return true;
  for (const auto& r : n.regions) {
    if (std::any_of(r->results.begin(), r->results.end(), hit)) return true;
    for (const Node& inner : r->nodes)
      if (reads(inner, values)) return true;
  }
  return false;
}

// The position in core.loop `n` of the carried value whose output is `out`, when its initial value is in `old` and nothing
// else of the node reads what is.
std::optional<size_t> continues(const Node& n, ValueId out, const std::set<ValueId>& old) {
  if (n.op != "core.loop") return std::nullopt;
  const graph::LoopParts loop = graph::loop_parts(n);
  const auto at = static_cast<size_t>(std::find(n.outputs.begin(), n.outputs.end(), out) - n.outputs.begin());
  if (at >= loop.carried || !old.count(loop.init(n, at))) return std::nullopt;
  Node rest = n;
  rest.inputs[at + 1] = kNoValue;
  if (reads(rest, old)) return std::nullopt;
  return at;
}

}  // namespace

// Whether the body may write the yield of carried value `k` to where its param lies: nothing reads the param at or after the
// node that computes it. With `through_loop` that node is a loop which carries the value on, and it may read it for that.
bool Emitter::can_overwrite(const graph::LoopParts& loop, size_t k, bool through_loop) const {
  const graph::Region& body = *loop.body;
  std::set<ValueId> old{body.params[k]};
  for (const Node& n : body.nodes)
    if (n.outputs.size() == 1 && !n.inputs.empty() && old.count(n.inputs[0]) && lower::view_of(n, f_, ctx_))
      old.insert(n.outputs[0]);
  const ValueId root = root_of(body, loop.next(k));
  for (ValueId v : body.results)
    if (old.count(v)) return false;
  bool computed = false;
  for (const Node& n : body.nodes) {
    const bool computes_it = std::find(n.outputs.begin(), n.outputs.end(), root) != n.outputs.end();
    computed = computed || computes_it;
    if (computes_it && through_loop) {
      if (!continues(n, root, old)) return false;
    } else if (computed && reads(n, old)) {
      return false;
    }
  }
  return computed;
}

bool Emitter::appends_to(const Node& n, const graph::Region& r, ValueId param) const {
  if (n.op != "array.concat" || root_of(r, n.inputs[0]) != param) return false;
  const graph::Shape& shape = f_.tensor_type(n.outputs[0]).shape;
  int64_t axis = n.attrs.int_or("axis", 0);
  if (axis < 0) axis += static_cast<int64_t>(shape.size());
  return std::all_of(shape.begin(), shape.begin() + axis, [](Dim d) { return d.is_const(1); });
}

// The array.concat that appends to the param of `k` what its yield has more.
const Node* Emitter::append_of(const graph::LoopParts& loop, size_t k) const {
  const graph::Region& body = *loop.body;
  const ValueId root = root_of(body, loop.next(k));
  for (const Node& n : body.nodes)
    if (std::find(n.outputs.begin(), n.outputs.end(), root) != n.outputs.end())
      return appends_to(n, body, body.params[k]) ? &n : nullptr;
  return nullptr;
}

// Whether value `v` of region `r` is `param`, or `param` with more behind it in some arms of a core.if and as it is in the
// others. Collects the concats and the values that the core.ifs merge.
bool Emitter::appends_in_arms(const graph::Region& r, ValueId v, ValueId param, ArmAppends& found) const {
  v = root_of(r, v);
  if (v == param) return true;
  for (const Node& n : r.nodes) {
    const auto at = static_cast<size_t>(std::find(n.outputs.begin(), n.outputs.end(), v) - n.outputs.begin());
    if (at == n.outputs.size()) continue;
    if (appends_to(n, r, param)) {
      found.concats.push_back({&n, &r});
      return true;
    }
    if (n.op != "core.if") return false;
    found.merged.push_back(v);
    return std::all_of(n.regions.begin(), n.regions.end(), [&](const auto& arm) {
      return graph::diverges(*arm) || appends_in_arms(*arm, arm->results[at], param, found);
    });
  }
  return false;
}

// Whether the yield of `k` comes from a loop in the body that takes the param and does nothing but append to it.
bool Emitter::appends_inside(const graph::LoopParts& loop, size_t k) const {
  const ValueId root = root_of(*loop.body, loop.next(k));
  for (const Node& n : loop.body->nodes) {
    auto it = std::find(n.outputs.begin(), n.outputs.end(), root);
    if (it == n.outputs.end() || n.op != "core.loop") continue;
    const graph::LoopParts inner = graph::loop_parts(n);
    const auto at = static_cast<size_t>(it - n.outputs.begin());
    if (at >= inner.carried || graph::diverges(*inner.body)) return false;
    if (root_of(*loop.body, inner.init(n, at)) != loop.body->params[k]) return false;
    return append_of(inner, at) != nullptr || appends_inside(inner, at);
  }
  return false;
}

}  // namespace pliant::emit
