// What rules ask about values.
#pragma once
#include <optional>
#include <vector>

#include "passes/rewrite/rewriter.h"

namespace pliant::passes {

// The node of operator `op` that defines `v`, or null.
const Node* def_of(const Rewriter& s, ValueId v, const char* op);
// The same when nothing else uses `v`.
const Node* only_def_of(const Rewriter& s, ValueId v, const char* op);
// The number that every element of the constant `v` is, or nothing.
std::optional<double> number_of(const Rewriter& s, ValueId v);
// True when `v` is this constant to single precision.
bool is_number(const Rewriter& s, ValueId v, double number);
bool is_near(double a, double b);
bool is_float_tensor(const Rewriter& s, ValueId v);
LocPtr fused_loc(std::initializer_list<const Node*> nodes);

// A product seen through multiplications and divisions by constants that nothing else uses.
struct Product {
  double number = 1;
  std::vector<ValueId> factors;  // sorted
  std::vector<LocPtr> locs;
};
Product product_of(const Rewriter& s, ValueId v);
// For a node that is not in the function yet.
Product product_of(const Rewriter& s, const Node& n);
// The other operand when one operand of the commutative node is this number.
std::optional<ValueId> other_than(const Rewriter& s, const Node& n, double number);

}  // namespace pliant::passes
