// x times the normal distribution function of x, exact or by tanh.
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const std::string& approximate = c.attr().as_string("approximate");
  if (approximate != "none" && approximate != "tanh")
    return c.fail("bad-attribute", "there is no approximation '" + approximate + "'");
  bool by_tanh = approximate == "tanh";
  return map_floats(c, [=](DefineContext&, Scalar x) {
    if (by_tanh) {
      Scalar inner = (x + x * x * x * 0.044715) * 0.7978845608028654;
      return x * 0.5 * (unary(UnaryOp::Tanh, inner) + 1);
    }
    return x * 0.5 * (unary(UnaryOp::Erf, x * 0.7071067811865476) + 1);
  });
}

}  // namespace

OpDef op_nn_gelu() {
  return {.name = "nn.gelu",
          .doc = "x times the normal distribution function of x, exact or by tanh.",
          .attrs = {attr("approximate", "none", "none or tanh")},
          .compute = compute,
          .samples = {"f32[M,N] M=3 N=5", "f32[M] M=4 approximate=tanh", "f16[M] M=7"}};
}

}  // namespace pliant::ops
