#include "passes/layouts/min_cut.h"

#include <algorithm>

namespace pliant::passes {

size_t MinCut::add_vertex() {
  out_.emplace_back();
  return out_.size() - 1;
}

void MinCut::add_edge(size_t from, size_t to, int64_t capacity) {
  if (from == to || capacity <= 0) return;
  out_[from].push_back(edges_.size());
  edges_.push_back({to, capacity});
  out_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

bool MinCut::find_levels() {
  level_.assign(out_.size(), -1);
  level_[kSource] = 0;
  std::vector<size_t> queue{kSource};
  for (size_t i = 0; i < queue.size(); ++i) {
    for (size_t e : out_[queue[i]]) {
      if (edges_[e].left <= 0 || level_[edges_[e].to] >= 0) continue;
      level_[edges_[e].to] = level_[queue[i]] + 1;
      queue.push_back(edges_[e].to);
    }
  }
  return level_[kSink] >= 0;
}

int64_t MinCut::push(size_t v, int64_t most) {
  if (v == kSink) return most;
  for (; next_[v] < out_[v].size(); ++next_[v]) {
    size_t e = out_[v][next_[v]];
    if (edges_[e].left <= 0 || level_[edges_[e].to] != level_[v] + 1) continue;
    int64_t pushed = push(edges_[e].to, std::min(most, edges_[e].left));
    if (pushed == 0) continue;
    edges_[e].left -= pushed;
    edges_[e ^ 1].left += pushed;
    return pushed;
  }
  return 0;
}

std::vector<bool> MinCut::source_side() {
  while (find_levels()) {
    next_.assign(out_.size(), 0);
    while (push(kSource, kInfinite) > 0) {
    }
  }
  // Everything that cannot reach the sink through edges that have something left.
  std::vector<bool> on_source_side(out_.size(), true);
  on_source_side[kSink] = false;
  std::vector<size_t> queue{kSink};
  for (size_t i = 0; i < queue.size(); ++i) {
    for (size_t e : out_[queue[i]]) {
      size_t from = edges_[e].to;
      if (edges_[e ^ 1].left <= 0 || !on_source_side[from]) continue;
      on_source_side[from] = false;
      queue.push_back(from);
    }
  }
  return on_source_side;
}

}  // namespace pliant::passes
