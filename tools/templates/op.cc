// FAMILY.STEM: one line on what it gives, element by element.
#include "ops/op.h"

namespace pliant::ops {
namespace {

Result<std::vector<te::Tensor>> compute(DefineContext& c) {
  te::Tensor x = c.in(0);
  return std::vector{c.te().map("STEM", x->shape, [&](const te::Index& i) { return (*x)(i); })};
}

}  // namespace

OpDef op_FAMILY_STEM() {
  OpDef op;
  op.name = "FAMILY.STEM";
  op.doc = "One sentence for the reference page.";
  op.compute = &compute;
  op.samples = {"f32[M,N] M=3 N=5", "f32[M,N] M=0 N=4"};
  return op;
}

}  // namespace pliant::ops
