#include "lower/movement/non_temporal.h"

#include <algorithm>
#include <map>

#include "expr/parts.h"
#include "loop/walk.h"

namespace pliant::lower {

using expr::Dim;
using expr::Scalar;
using graph::Node;
using graph::ValueId;
using loop::Stmt;
using loop::StmtKind;
using loop::StmtPtr;

namespace {

bool is_read(const std::vector<Node>& nodes, ValueId v) {
  auto among = [&](const std::vector<ValueId>& values) {
    return std::find(values.begin(), values.end(), v) != values.end();
  };
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& n) {
    return among(n.inputs) || std::any_of(n.regions.begin(), n.regions.end(),
                                          [&](const auto& r) { return among(r->results) || is_read(r->nodes, v); });
  });
}

std::set<loop::BufferId> buffers_read(const StmtPtr& body) {
  std::set<loop::BufferId> read;
  loop::for_each(body, [&](const Stmt& s) {
    loop::for_each_load(s, [&](Scalar l) { read.insert(l->tensor); });
    if (s.kind == StmtKind::Store && s.store_kind != loop::StoreKind::Assign) read.insert(s.buffer);
  });
  return read;
}

// The buffers of `large` that a nest over elements fills with whole vectors; none where it does other things than assign.
bool add_targets(const StmtPtr& s, const std::map<loop::BufferId, Scalar>& large, bool in_vectors,
                 std::set<loop::BufferId>& targets) {
  switch (s->kind) {
    case StmtKind::Store:
      if (in_vectors && large.count(s->buffer) != 0) targets.insert(s->buffer);
      return true;
    case StmtKind::For: in_vectors = s->for_kind == loop::ForKind::Vector; break;
    case StmtKind::If: in_vectors = false; break;  // some of the lanes
    case StmtKind::Block: break;
    default: return false;
  }
  return std::all_of(s->body.begin(), s->body.end(),
                     [&](const StmtPtr& child) { return add_targets(child, large, in_vectors, targets); });
}

StmtPtr streaming(const StmtPtr& nest, const std::set<loop::BufferId>& targets, expr::Context& ctx) {
  return loop::rewrite(loop::fresh_copy(nest, ctx), [&](const StmtPtr& s) -> StmtPtr {
    if (s->kind != StmtKind::Store || targets.count(s->buffer) == 0) return s;
    return loop::changed(s, [](Stmt& c) { c.non_temporal = true; });
  });
}

StmtPtr with_streams(const StmtPtr& s, const std::map<loop::BufferId, Scalar>& large, bool repeats, expr::Context& ctx) {
  if (s->kind == StmtKind::For && s->for_kind != loop::ForKind::Parallel && repeats) {
    std::set<loop::BufferId> targets;
    if (add_targets(s, large, false, targets) && !targets.empty()) {
      std::vector<Scalar> all;
      for (loop::BufferId b : targets) all.push_back(large.at(b));
      return loop::make_if(expr::conjunction(all), streaming(s, targets, ctx), s);
    }
  }
  repeats = repeats || s->kind == StmtKind::While;
  std::vector<StmtPtr> body;
  for (const StmtPtr& child : s->body) body.push_back(with_streams(child, large, repeats, ctx));
  return loop::with_body(s, std::move(body));
}

}  // namespace

bool escapes(const graph::Function& f, ValueId v) {
  return std::find(f.results.begin(), f.results.end(), v) != f.results.end() && !is_read(f.nodes, v);
}

StmtPtr make_non_temporal(const StmtPtr& body, const std::vector<loop::Buffer>& buffers, int64_t least_bytes,
                          expr::Context& ctx) {
  const std::set<loop::BufferId> read = buffers_read(body);
  std::map<loop::BufferId, Scalar> large;
  for (const loop::Buffer& b : buffers) {
    if (read.count(b.id) != 0) continue;
    const Dim bytes = expr::product(ctx, b.shape) * byte_size(b.dtype);
    if (ctx.range(bytes).hi >= least_bytes) large.emplace(b.id, expr::less_equal(ctx.constant(least_bytes), bytes));
  }
  return large.empty() ? body : with_streams(body, large, false, ctx);
}

}  // namespace pliant::lower
