// The values of a model while it is imported, and what is known of them.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/core/facts.h"
#include "frontend/core/known.h"
#include "graph/graph.h"

namespace pliant::frontend {

using graph::Attrs;
using graph::kNoValue;
using graph::TensorType;
using graph::ValueId;

struct Value;
using ValueRef = std::shared_ptr<Value>;
using Values = std::vector<ValueId>;

// A sequence or optional known by what it holds: the elements of a sequence, what an optional holds if it holds something.
struct Parts {
  bool is_present = true;
  std::vector<ValueRef> elements;
};

// One value of the model. It is known as a graph value, as a constant, by its elements, or several of these; the graph
// value is made when a node first needs it.
struct Value {
  std::string name;
  graph::Type type;
  ValueId id = kNoValue;
  std::vector<std::pair<uint32_t, ValueId>> made;  // graph values made in a branch or body, by its number
  graph::ConstantPtr constant;
  std::shared_ptr<const Known> known;
  std::shared_ptr<const Parts> parts;
  std::function<Result<graph::ConstantPtr>()> load;  // of a constant that nothing has used yet
  bool broken = false;  // the node that makes it was reported; what uses it is passed over in silence
  LocPtr loc;
};

// A branch or body that is being imported. What is made of values of enclosing graphs in it, and what is learned of their
// elements, holds there only.
struct OpenRegion {
  uint32_t number;
  std::unordered_map<Dim, Dim> named_outside;
  std::vector<std::pair<ValueRef, std::shared_ptr<const Known>>> learned;  // with what was known before
};

// State shared by the conversions of one import.
struct ImportState {
  expr::Context& ctx;
  graph::FunctionBuilder builder;
  std::vector<Diagnostic> errors{};
  std::vector<OpenRegion> regions{};
  Facts facts{};
  // What the node being converted has to know: it is imported once where this holds and once where it does not.
  std::optional<Dim> undecided{};
  std::map<std::string, LocPtr> failing{};  // nodes that fail whenever they run, by how messages name them
  // Sizes that were too large to be written out wherever they are used, and the symbols that stand for them.
  std::unordered_map<Dim, Dim> named_sizes{};
  uint32_t region_count = 0;
  bool is_open(uint32_t region) const;
  void enter_region() { regions.push_back({++region_count, named_sizes, {}}); }
  void leave_region();
  void learn(const ValueRef& v, Known k);
};

// The graph value of `v`, made where the builder stands if there is none yet.
ValueId materialise(ImportState& state, Value& v);
// The known elements of `v`, or null.
const Known* known_elements(Value& v, expr::Context& ctx);
// Refuses more axes than a tensor may have; `what` has them.
Status check_rank(size_t axes, const std::string& what, const LocPtr& loc);
// Appends a node and its constraints; errors carry the location.
Result<Values> append_nodes(ImportState& state, const std::string& op, Attrs attrs, Values inputs, size_t outputs,
                            const LocPtr& loc);

}  // namespace pliant::frontend
