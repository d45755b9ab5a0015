// Where a thing came from: the model's nodes, kept through every pass.
#pragma once
#include <memory>
#include <string>
#include <vector>

namespace pliant {

struct Loc;
using LocPtr = std::shared_ptr<const Loc>;

// Named: one node of the source model. Fused: several. Derived: made by a pass from `children[0]`.
struct Loc {
  enum class Kind { Named, Fused, Derived };
  Kind kind = Kind::Named;
  std::string name;                // Named: the node's name in the model; Derived: the pass
  std::string op;                  // Named: the source operator, for example "onnx.MatMul"
  std::vector<LocPtr> children{};  // Fused, Derived

  static LocPtr make_named(std::string name, std::string op);
  // Drops nulls and repeats; a single location is returned as it is.
  static LocPtr make_fused(const std::vector<LocPtr>& locs);
  static LocPtr make_derived(LocPtr from, std::string pass);
};

// `node "/layer1/MatMul" (onnx.MatMul)`; several joined by " + ", at most four then "…".
std::string describe(const LocPtr& loc);
// The names of the model's nodes below `loc`, each once, in order.
std::vector<std::string> model_nodes(const LocPtr& loc);

}  // namespace pliant
