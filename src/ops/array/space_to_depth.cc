// Blocks of space moved into channels.
#include "ops/bodies/scalars.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const Tensor& x = c.in(0);
  int64_t b = c.attr().as_int("block");
  const std::string& mode = c.attr().as_string("mode");
  if (x->rank() != 4) return c.fail("shape-mismatch", "the input must have rank 4 but has " + std::to_string(x->rank()));
  if (b < 1 || b > INT32_MAX) return c.fail("bad-attribute", "the block must be from 1 to 2^31 - 1");
  if (mode != "dcr" && mode != "crd") return c.fail("bad-attribute", "there is no mode '" + mode + "'");
  for (size_t k : {size_t{2}, size_t{3}})
    TRY(c.require_equal(expr::mod(x->shape[k], b), c.dim(0), "a spatial size divided by the block leaves a rest and 0"));
  Dim depth = x->shape[1];
  return std::vector{
      c.te().map("y", {x->shape[0], depth * (b * b), expr::floordiv(x->shape[2], b), expr::floordiv(x->shape[3], b)},
                 [&](const Index& i) {
                   Dim place = mode == "dcr" ? expr::floordiv(i[1], depth) : expr::mod(i[1], b * b);
                   Dim channel = mode == "dcr" ? expr::mod(i[1], depth) : expr::floordiv(i[1], b * b);
                   return (*x)({i[0], channel, i[2] * b + expr::floordiv(place, b), i[3] * b + expr::mod(place, b)});
                 })};
}

}  // namespace

OpDef op_array_space_to_depth() {
  return {.name = "array.space_to_depth",
          .doc = "Blocks of space laid out as block * block groups of channels.",
          .attrs = {required_attr("block", AttrKind::Int, "the side of a block"),
                    attr("mode", "dcr", "dcr: the block's place varies slowest among channels; crd: fastest")},
          .compute = compute,
          .samples = {"f32[B,2,H,W] B=2 H=4 W=6 block=2", "f32[B,2,H,W] B=2 H=4 W=6 block=2 mode=crd",
                      "i64[B,C,6,3] B=1 C=1 block=3"}};
}

}  // namespace pliant::ops
