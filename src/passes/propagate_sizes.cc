// Input sizes that the model's requirements fix at a constant are that constant everywhere, in the input's type as well:
// what is computed with them is known when the model is compiled, and a wrong size is refused where it enters.
//
//   func @main(%0 "x": f32[n, k]) {                            func @main(%0 "x": f32[n, 256]) {
//     require dim(k) == dim(256) "inner dimensions …"
//     %1 = core.const() … : f32[256, 8]                     →    %1 = core.const() … : f32[256, 8]
//     %2 = nn.matmul(%0, %1) : f32[n, 8]                         %2 = nn.matmul(%0, %1) : f32[n, 8]
//
// First of all passes: packing of weights takes the sizes that it meets for constants. Of requirements that contradict each
// other the first one counts, the others fail when the model runs.
#include <algorithm>

#include "passes/pass.h"
#include "passes/rewrite/substitute.h"

namespace pliant::passes {
namespace {

std::optional<expr::SymbolId> input_size(Dim d, const expr::Context& ctx) {
  auto s = d.as_symbol();
  return s && ctx.info(*s).origin.kind == expr::Origin::Kind::InputAxis ? s : std::nullopt;
}

expr::DimMap required_sizes(const Function& f, expr::Context& ctx) {
  expr::DimMap sizes;
  for (const ShapeConstraint& o : f.constraints) {
    if (o.kind != ShapeConstraint::Kind::Equal) continue;
    for (auto [symbol, value] : {std::pair(o.a, o.b), std::pair(o.b, o.a)}) {
      auto s = input_size(symbol, ctx);
      // A size that the symbol cannot have is left to the check.
      if (!s || !value.is_const() || sizes.count(*s) != 0) continue;
      const expr::Interval range = ctx.range(symbol);
      if (value.const_value() < range.lo || value.const_value() > range.hi) continue;
      if (ctx.info(*s).multiple_of > 1 && value.const_value() % ctx.info(*s).multiple_of != 0) continue;
      sizes.emplace(*s, value);
    }
  }
  return sizes;
}

Result<FunctionPtr> run(const FunctionPtr& f, PassContext& c) {
  // The sizes of a called function's params are its callers' business.
  if (c.functions != nullptr && !c.functions->empty() && c.functions->front()->name != f->name) return f;
  const expr::DimMap sizes = required_sizes(*f, c.ctx);
  if (sizes.empty()) return f;
  Function out = *with_sizes(*f, sizes, c.ctx);
  auto holds = [&](const ShapeConstraint& o) {
    return o.kind == ShapeConstraint::Kind::Equal && c.ctx.proves_equal(o.a, o.b);
  };
  out.constraints.erase(std::remove_if(out.constraints.begin(), out.constraints.end(), holds), out.constraints.end());
  return std::make_shared<const Function>(std::move(out));
}

}  // namespace

PassDef pass_propagate_sizes() {
  return {.name = "propagate-sizes", .summary = "gives input sizes the values that the model requires of them", .run = run};
}

}  // namespace pliant::passes
