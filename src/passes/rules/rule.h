// Local algebra: a rule looks at one node and what defines its inputs, and gives a value that may stand for the node's
// output.
#pragma once
#include <optional>

#include "passes/rewrite/rewriter.h"

namespace pliant::passes {

// The value that stands for output 0, or nothing when the rule does not fit. Nodes it appends without use are dropped later.
using RuleResult = Result<std::optional<ValueId>>;
struct Rule {
  const char* name;
  const char* op;  // of the node that the rule looks at
  RuleResult (*apply)(Rewriter&, const Node&);
};
// One table a topic, src/passes/rules/<topic>.cc. Within a topic the first rule that fits wins.
std::vector<Rule> activation_rules();     // gelu, silu, … written out
std::vector<Rule> arithmetic_rules();     // neutral elements, inverses, chains of constants, powers
std::vector<Rule> contraction_rules();    // transposes and padding into contractions
std::vector<Rule> movement_rules();       // transpose, reshape, slice, concat, …
std::vector<Rule> normalisation_rules();  // layer norm and softmax written out

inline std::optional<ValueId> no_match() { return std::nullopt; }

}  // namespace pliant::passes
