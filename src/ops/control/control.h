// Appends structured control flow with the types of its outputs worked out: the branches' shapes joined, and the axes of
// carried values classified as invariant, affine in the number of the iteration, or fresh.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "ops/op.h"

namespace pliant::ops {

// One branch: appends nodes to `b` (its region is open) and gives the values that it yields. Nothing where it ended in a
// core.fail.
using BranchFn = std::function<Result<std::optional<std::vector<ValueId>>>()>;
// A bool tensor of one element, or a Dim that is 0 for the second branch.
struct Condition {
  ValueId value = graph::kNoValue;
  std::optional<Dim> dim;
};
// The values of the core.if. Axes on which the branches differ get a fresh symbol, bounded where both sizes are. Branches
// that give other ranks or element types are an error of id `branches-differ`.
Result<std::vector<ValueId>> append_if(graph::FunctionBuilder& b, expr::Context& ctx, const Condition& condition,
                                       const BranchFn& then, const BranchFn& otherwise, const LocPtr& loc);

struct LoopSpec {
  std::optional<Dim> trip;              // the most iterations; absent: no limit
  ValueId condition = graph::kNoValue;  // bool, one element, before the first iteration; absent: true
  std::vector<ValueId> init;            // the carried values before the first iteration
};
// What the body gives. An absent condition is true.
struct LoopBody {
  ValueId condition = graph::kNoValue;
  std::vector<ValueId> carried;  // as many as LoopSpec::init
  std::vector<ValueId> scans;    // each becomes a tensor with a new axis 0 of size `count`
  // The body took something for granted that its results refute: it is built again at least once.
  bool again = false;
};
// Appends the body's nodes to `b`, whose region is open, for the iteration number `index` (a symbol) and the carried values'
// params. It is called several times where the shapes of carried values are not invariant: each time for a new region, the
// earlier one is dropped with the values made in it. Constants and values of enclosing scopes may be used directly.
using BodyFn = std::function<Result<LoopBody>(Dim index, const std::vector<ValueId>& carried)>;
struct LoopValues {
  std::vector<ValueId> carried, scans;
  Dim count;  // the number of iterations that ran
};
// A carried value whose rank or element type changes is an error of id `carried-type` at `loc`.
//
//   auto loop = TRY(append_loop(e.builder, e.ctx, {.trip = steps, .init = {h0, c0}},
//                               [&](Dim t, const std::vector<ValueId>& s) -> Result<LoopBody> {
//                                 ValueId h = …, c = …;
//                                 return LoopBody{.carried = {h, c}, .scans = {h}};
//                               }, e.node.loc));
Result<LoopValues> append_loop(graph::FunctionBuilder& b, expr::Context& ctx, const LoopSpec& spec, const BodyFn& body,
                               const LocPtr& loc);

}  // namespace pliant::ops
