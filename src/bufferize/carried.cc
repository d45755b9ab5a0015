// What a body does with a carried value: whether its next value may be written over it, or behind it.
#include "ops/control/carried.h"

#include <algorithm>

#include "bufferize/bufferizer.h"
#include "lower/view.h"

namespace pliant::bufferize {

namespace {

// The position in core.loop `n` of the carried value whose output is `out`, when its initial value is in `old` and nothing
// else of the node reads what is.
std::optional<size_t> continues(const Node& n, ValueId out, const ops::ValueSet& old) {
  if (n.op != "core.loop") return std::nullopt;
  const graph::LoopParts loop = graph::loop_parts(n);
  const auto at = static_cast<size_t>(std::find(n.outputs.begin(), n.outputs.end(), out) - n.outputs.begin());
  if (at >= loop.carried || !old.count(loop.init(n, at))) return std::nullopt;
  Node rest = n;
  rest.inputs[at + 1] = kNoValue;
  if (ops::uses_any(rest, old)) return std::nullopt;
  return at;
}

}  // namespace

// Whether the body may write the yield of carried value `k` to where its param lies: nothing reads the param at or after the
// node that computes it. With `through_loop` that node is a loop which carries the value on, and it may read it for that.
bool Bufferizer::can_overwrite(const graph::LoopParts& loop, size_t k, bool through_loop) const {
  const graph::Region& body = *loop.body;
  ops::ValueSet old{body.params[k]};
  const ValueId root = ops::source_of(body, loop.next(k));
  const Node* computing = ops::last_user_computing(
      body, root, old, [&](const Node& n) { return n.outputs.size() == 1 && lower::view_of(n, f_, ctx_).has_value(); });
  if (computing == nullptr) return false;
  return through_loop ? continues(*computing, root, old).has_value() : !ops::uses_any(*computing, old);
}

// The array.concat that appends to the param of `k` what its yield has more.
const Node* Bufferizer::append_of(const graph::LoopParts& loop, size_t k) const {
  auto append = ops::append_to(f_, *loop.body, loop.body->params[k], loop.next(k));
  return append && append->at_end ? append->concat : nullptr;
}

// Whether the yield of `k` comes from a loop in the body that takes the param and does nothing but append to it.
bool Bufferizer::appends_inside(const graph::LoopParts& loop, size_t k) const {
  const ValueId root = ops::source_of(*loop.body, loop.next(k));
  for (const Node& n : loop.body->nodes) {
    auto it = std::find(n.outputs.begin(), n.outputs.end(), root);
    if (it == n.outputs.end() || n.op != "core.loop") continue;
    const graph::LoopParts inner = graph::loop_parts(n);
    const auto at = static_cast<size_t>(it - n.outputs.begin());
    if (at >= inner.carried || graph::diverges(*inner.body)) return false;
    if (ops::source_of(*loop.body, inner.init(n, at)) != loop.body->params[k]) return false;
    return append_of(inner, at) != nullptr || appends_inside(inner, at);
  }
  return false;
}

}  // namespace pliant::bufferize
