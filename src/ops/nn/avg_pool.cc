// The mean of each window. Taps behind the declared pads (ceil_mode) never count; the pads do with `count_include_pad`.
#include "ops/bodies/window/pool.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  const Tensor& x = c.in(0);
  Pool p = TRY(read_pool(c));
  bool with_pads = c.attr().as_bool("count_include_pad");
  DType work = wide(x->dtype);
  Tensor sum = c.te().reduce("sum", p.shape, p.taps(), te::Combiner::Sum, [&](const Index& o, const Index& r) {
    Scalar v = expr::make_cast(work, (*x)(p.index(o, r))), inside = p.inside(o, r, c.ctx());
    return inside ? expr::make_select(inside, v, constant_like(v, 0)) : v;
  });
  return std::vector{c.te().map("y", p.shape, [&](const Index& o) {
    return expr::make_cast(x->dtype, (*sum)(o) / number(work, tap_count(p, o, with_pads, c.ctx())));
  })};
}

}  // namespace

OpDef op_nn_avg_pool() {
  return {.name = "nn.avg_pool",
          .doc = "The mean of each window.",
          .attrs = pool_attrs() + std::vector<AttrSpec>{attr("count_include_pad", false, "pads count as zeros")},
          .compute = compute,
          .samples = {
              "f32[B,2,H,W] B=2 H=5 W=6 kernel=[2,2] strides=[2,2]", "f32[B,1,H,W] B=1 H=5 W=5 kernel=[3,3] pads=[1,1,1,1]",
              "f32[B,1,H,W] B=1 H=4 W=4 kernel=[3,3] pads=[1,1,1,1] strides=[2,2] ceil_mode=true count_include_pad=true",
              "f32[B,H,W,2] B=1 H=4 W=5 kernel=[3,2] layout=NHWC pads=[1,0,1,1]",
              "f16[B,2,L] B=1 L=9 kernel=[3] dilations=[2] pads=[2,1]",
              "f32[B,1,H,W] B=1 H=5 W=4 kernel=[2,2] strides=[2,2] auto_pad=same_upper"}};
}

}  // namespace pliant::ops
