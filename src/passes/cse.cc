// Common subexpressions: of two nodes that compute the same from the same values, the second is dropped. Constants of equal
// content are one as well. A region sees what the enclosing function has computed before it.
//
//   %2 = math.exp(%0) : f32[n]          →     %2 = math.exp(%0) : f32[n]
//   %3 = math.exp(%0) : f32[n]                %3 = math.add(%2, %2) : f32[n]
//   %4 = math.add(%2, %3) : f32[n]            return %3 "out"
//   return %4 "out"
#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "graph/content_hash.h"
#include "passes/pass.h"
#include "passes/rewrite/region_facts.h"
#include "passes/rewrite/rewriter.h"

namespace pliant::passes {
namespace {

size_t mix(size_t seed, size_t v) { return (seed ^ v) * 0x9e3779b97f4a7c15ull + (seed >> 7); }

size_t hash_attr(const AttrValue& v) {
  if (const auto* c = std::get_if<ConstantPtr>(&v)) {
    // A sample is enough to spread them; equality looks at every byte.
    size_t seed = mix((*c)->bytes, static_cast<size_t>((*c)->dtype));
    return graph::content_hash((*c)->data, std::min<size_t>((*c)->bytes, 1024), seed).lo;
  }
  if (const auto* i = std::get_if<int64_t>(&v)) return static_cast<size_t>(*i);
  if (const auto* d = std::get_if<double>(&v)) return graph::content_hash(d, sizeof *d, 1).lo;
  if (const auto* d = std::get_if<expr::Dim>(&v)) return std::hash<expr::Dim>()(*d);
  if (const auto* s = std::get_if<std::string>(&v)) return std::hash<std::string>()(*s);
  size_t seed = v.index();
  if (const auto* l = std::get_if<std::vector<int64_t>>(&v)) {
    for (int64_t i : *l) seed = mix(seed, static_cast<size_t>(i));
  } else if (const auto* ld = std::get_if<std::vector<expr::Dim>>(&v)) {
    for (expr::Dim d : *ld) seed = mix(seed, std::hash<expr::Dim>()(d));
  }
  return seed;
}

size_t hash_node(const Node& n) {
  size_t seed = std::hash<std::string>()(n.op);
  for (ValueId v : n.inputs) seed = mix(seed, v);
  for (const auto& [name, value] : n.attrs.all()) seed = mix(mix(seed, std::hash<std::string>()(name)), hash_attr(value));
  return seed;
}

bool same_computation(const Node& a, const Node& b) {
  return a.op == b.op && a.inputs == b.inputs && a.outputs.size() == b.outputs.size() && a.attrs == b.attrs;
}

class Cse {
 public:
  Cse(const FunctionPtr& f, expr::Context& ctx) : rewriter_(f, ctx) {
    index_regions(f->nodes, std::make_shared<const Path>(1, nullptr));
  }

  Result<FunctionPtr> run() {
    return rewriter_.run([&](const Node& n) -> Result<Rewriter::Action> { return visit(n); });
  }

 private:
  // The regions that enclose a node, outermost first, and null for the function, by which `seen_` is asked one after the
  // other.
  using Path = std::vector<const Region*>;

  void index_regions(const std::vector<Node>& nodes, const std::shared_ptr<const Path>& path) {
    for (const Node& n : nodes) {
      for (ValueId v : n.outputs) path_of_[v] = path;
      for (const auto& region : n.regions) {
        Path inner = *path;
        inner.push_back(region.get());
        index_regions(region->nodes, std::make_shared<const Path>(std::move(inner)));
      }
    }
  }

  Rewriter::Action visit(const Node& n) {
    if (n.outputs.empty() || !n.regions.empty()) return Rewriter::Action::Keep;
    if (gives_other_each_time(n)) return Rewriter::Action::Keep;
    const size_t hash = hash_node(n);
    const Path& path = *path_of_.at(n.outputs[0]);
    for (const Region* scope : path)
      if (replace(n, mix(hash, std::hash<const Region*>()(scope)))) return Rewriter::Action::Drop;
    seen_.emplace(mix(hash, std::hash<const Region*>()(path.back())), std::pair(path.back(), n));
    return Rewriter::Action::Keep;
  }

  // Whether one that computes the same was found under the key, and took the place of `n`.
  bool replace(const Node& n, size_t key) {
    auto [begin, end] = seen_.equal_range(key);
    for (auto it = begin; it != end; ++it) {
      const auto& [scope, other] = it->second;
      const Path& path = *path_of_.at(n.outputs[0]);
      if (!same_computation(other, n) || std::find(path.begin(), path.end(), scope) == path.end()) continue;
      bool replaceable = true;
      for (size_t i = 0; i < n.outputs.size(); ++i) replaceable &= rewriter_.can_replace(n.outputs[i], other.outputs[i]);
      if (!replaceable) continue;
      for (size_t i = 0; i < n.outputs.size(); ++i) rewriter_.replace(n.outputs[i], other.outputs[i]);
      return true;
    }
    return false;
  }

  Rewriter rewriter_;
  std::unordered_multimap<size_t, std::pair<const Region*, Node>> seen_;
  std::unordered_map<ValueId, std::shared_ptr<const Path>> path_of_;
};

}  // namespace

PassDef pass_cse() {
  return {.name = "cse", .summary = "computes equal things once", .run = [](const FunctionPtr& f, PassContext& c) {
            return Cse(f, c.ctx).run();
          }};
}

}  // namespace pliant::passes
