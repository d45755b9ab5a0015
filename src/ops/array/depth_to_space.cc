// Channels moved into blocks of space.
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
  TRY(c.require_equal(expr::mod(x->shape[1], b * b), c.dim(0),
                      "the channels divided by the block's area leave a rest and 0"));
  Dim depth = expr::floordiv(x->shape[1], b * b);
  return std::vector{c.te().map("y", {x->shape[0], depth, x->shape[2] * b, x->shape[3] * b}, [&](const Index& i) {
    Dim row = expr::mod(i[2], b), col = expr::mod(i[3], b), place = row * b + col;
    Dim channel = mode == "dcr" ? place * depth + i[1] : i[1] * (b * b) + place;
    return (*x)({i[0], channel, expr::floordiv(i[2], b), expr::floordiv(i[3], b)});
  })};
}

}  // namespace

OpDef op_array_depth_to_space() {
  return {.name = "array.depth_to_space",
          .doc = "Groups of block * block channels laid out as blocks of space.",
          .attrs = {required_attr("block", AttrKind::Int, "the side of a block"),
                    attr("mode", "dcr", "dcr: the block's place varies slowest among channels; crd: fastest")},
          .compute = compute,
          .samples = {"f32[B,8,H,W] B=2 H=2 W=3 block=2", "f32[B,8,H,W] B=1 H=2 W=3 block=2 mode=crd",
                      "i64[B,C,H,W] B=1 C=9 H=1 W=2 block=3"}};
}

}  // namespace pliant::ops
