// A quotient or remainder of integers that only a Where reads is asked for where the Where takes it: elsewhere its divisor,
// which may be 0, counts as 1.
//
//   %3 = math.div(%0, %1) : i64[n]            →     %3 = math.where(%2, %1, %one) : i64[n]
//   %4 = math.where(%2, %3, %0) : i64[n]            %4 = math.div(%0, %3) : i64[n]
//                                                   %5 = math.where(%2, %4, %0) : i64[n]
//
// At every level, and before what could merge or move either node: whether a run stops must not depend on that.
#include "passes/pass.h"
#include "passes/rewrite/constants.h"
#include "passes/rewrite/liveness.h"
#include "passes/rewrite/rewriter.h"

namespace pliant::passes {
namespace {

bool may_trap(const Rewriter& s, const Node& n) {
  if (n.op != "math.div" && n.op != "math.mod") return false;
  const TensorType* divisor = s.tensor(n.inputs[1]);
  return divisor != nullptr && is_int(divisor->dtype) && !ops::attrs_of(n).as_bool("nonzero");
}

// The divisors are 1 already where the quotient of this branch is left out.
bool is_guarded(const Rewriter& s, const Node& division, const Node& where, size_t branch) {
  const Node* divisor = s.def(division.inputs[1]);
  if (divisor == nullptr || divisor->op != "math.where" || divisor->inputs[0] != where.inputs[0]) return false;
  const ConstantPtr other = s.constant(divisor->inputs[3 - branch]);
  return other != nullptr && uniform_value(*other) == 1;
}

Result<Rewriter::Action> visit(Rewriter& s, Node& where) {
  bool changed = false;
  for (size_t branch : {size_t{1}, size_t{2}}) {
    const ValueId quotient = where.inputs[branch];
    const Node* def = s.def(quotient);
    if (def == nullptr || !may_trap(s, *def) || !s.is_local(quotient) || !s.used_once(quotient)) continue;
    if (is_guarded(s, *def, where, branch)) continue;
    const Node division = *def;
    const LocPtr loc = Loc::make_derived(division.loc, "guard-divisions");
    const int64_t one = 1;
    const DType t = s.tensor(division.inputs[1])->dtype;
    const ValueId whole = s.make_const(graph::make_constant(t, {}, &one, static_cast<size_t>(byte_size(t))), loc);
    std::vector<ValueId> choice{where.inputs[0], division.inputs[1], whole};
    if (branch == 2) std::swap(choice[1], choice[2]);
    const ValueId divisor = TRY(s.make("math.where", {}, std::move(choice), loc));
    where.inputs[branch] = TRY(s.make(division.op, division.attrs, {division.inputs[0], divisor}, loc));
    changed = true;
  }
  return changed ? Rewriter::Action::Change : Rewriter::Action::Keep;
}

}  // namespace

PassDef pass_guard_divisions() {
  return {.name = "guard-divisions",
          .summary = "asks for the divisors only of quotients that a Where takes",
          .run = [](const FunctionPtr& f, PassContext& c) -> Result<FunctionPtr> {
            Rewriter rewriter(f, c.ctx, "math.where");
            FunctionPtr guarded = TRY(rewriter.run([&](Node& n) { return visit(rewriter, n); }));
            return guarded == f ? f : without_dead_nodes(guarded, c.ctx);
          }};
}

}  // namespace pliant::passes
