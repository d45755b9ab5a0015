// A minimum cut of a small directed graph, by maximum flow (Dinic's algorithm).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pliant::passes {

class MinCut {
 public:
  static constexpr int64_t kInfinite = INT64_MAX / 4;
  // Vertices 0 and 1 are the source and the sink.
  static constexpr size_t kSource = 0, kSink = 1;
  MinCut() : out_(2) {}
  size_t add_vertex();
  // Cutting `from` (on the source's side) from `to` (on the sink's) costs `capacity`.
  void add_edge(size_t from, size_t to, int64_t capacity);
  // For each vertex, whether it is on the source's side of the minimum cut that has the most vertices there.
  std::vector<bool> source_side();

 private:
  struct Edge {
    size_t to;
    int64_t left;
  };
  bool find_levels();
  int64_t push(size_t v, int64_t most);
  std::vector<Edge> edges_;  // edge e and its reverse e ^ 1
  std::vector<std::vector<size_t>> out_;
  std::vector<int> level_;
  std::vector<size_t> next_;
};

}  // namespace pliant::passes
