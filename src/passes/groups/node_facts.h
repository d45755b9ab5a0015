// What grouping looks at in one node: its computation over its own inputs, read off its tensor expressions.
#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "ops/op.h"
#include "passes/names.h"
#include "te/analysis.h"

namespace pliant::passes {

enum class GroupKind : uint8_t { Opaque, View, Map, Rows, Contraction, Window };

struct NodeFacts {
  GroupKind kind = GroupKind::Opaque;
  ops::Defined defined;
  std::vector<te::Tensor> stages;
  size_t row_rank = 0;  // Rows: leading axes
  bool has_checks = false;
  bool checks_in_kernel = false;  // the kernel of a group of maps tests them as it goes

  // How the stages of `n`, which these facts are of, read its input value `v`.
  bool reads_in_place(const Node& n, ValueId v) const;
  bool reads_own_rows(const Node& n, ValueId v, size_t rank) const;
  std::optional<te::Permutation> permutation() const;
  // A node that permutes, slices or repeats: reading through it costs nothing.
  bool moves_only() const;
  // Scalar operations at one point of each stage.
  int64_t operations() const;
};
Result<NodeFacts> facts_of(const Function& f, const Node& n, expr::Context& ctx);

// The node that gives rise to each symbol that data decide. Symbols of regions' params are not among them.
using SymbolSources = std::unordered_map<expr::SymbolId, const Node*>;
SymbolSources symbol_sources(const Function& f, const expr::Context& ctx);
// The sources of the symbols that a node uses in attributes, types and regions, itself left out; one may occur several
// times.
void collect_sources(const Function& f, const Node& n, const SymbolSources& sources, std::vector<const Node*>& out);
// The values that a node reads, one entry for each time: its inputs, and what its regions use of the values around it.
void collect_reads(const Node& n, std::vector<ValueId>& out);

}  // namespace pliant::passes
