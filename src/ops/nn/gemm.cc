// alpha * a b + beta * c.
#include "ops/op.h"

namespace pliant::ops {
namespace {

Result<ValueId> scaled(ExpandContext& e, ValueId v, double factor) {
  if (factor == 1) return v;
  return e.append("math.mul", {}, {v, e.scalar(e.type(v).dtype, factor)});
}

Result<std::vector<ValueId>> expand(ExpandContext& e) {
  const std::vector<ValueId>& in = e.node.inputs;
  if (e.type(in[0]).shape.size() != 2 || e.type(in[1]).shape.size() != 2)
    return e.fail("shape-mismatch", "the factors of nn.gemm must have rank 2");
  Attrs attrs{{"transpose_a", e.attr().as_bool("transpose_a")}, {"transpose_b", e.attr().as_bool("transpose_b")}};
  ValueId y = TRY(e.append("nn.matmul", attrs, {in[0], in[1]}));
  y = TRY(scaled(e, y, e.attr().as_float("alpha")));
  double beta = e.attr().as_float("beta");
  if (e.has(2) && beta != 0) {
    graph::Shape shape = e.type(y).shape;
    ValueId c = TRY(scaled(e, in[2], beta));
    y = TRY(e.append("math.add", {}, {y, c}));
    if (e.type(y).shape.size() != shape.size())
      return e.fail("shape-mismatch", "the third input of nn.gemm does not broadcast to the product");
  }
  return std::vector{y};
}

}  // namespace

OpDef op_nn_gemm() {
  return {.name = "nn.gemm",
          .doc = "alpha * a b + beta * c, with the factors transposed on request.",
          .attrs = {attr("alpha", 1.0), attr("beta", 1.0), attr("transpose_a", false), attr("transpose_b", false)},
          .min_inputs = 2,
          .max_inputs = 3,
          .expand = expand,
          .samples = {"f32[M,K] f32[K,N] f32[N] M=3 K=4 N=5",
                      "f32[K,M] f32[N,K] f32[M,1] M=2 K=3 N=2 transpose_a=true transpose_b=true alpha=0.5 beta=2.0",
                      "f32[M,K] f32[K,N] M=2 K=2 N=3", "i32[M,K] i32[K,N] i32[] M=2 K=2 N=3"}};
}

}  // namespace pliant::ops
