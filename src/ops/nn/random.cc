// Pseudo-random numbers that depend only on the key and the place: element i is a hash of (key, i).
#include <cstring>

#include "ops/bodies/scalars.h"

namespace pliant::ops {
namespace {

Scalar constant(expr::Context& ctx, uint64_t v) { return expr::make_const_bits(ctx, DType::U64, v); }

// A bijection of 64-bit words whose output bits all depend on all input bits.
Scalar mix(Scalar z) {
  expr::Context& ctx = *z->ctx;
  auto fold = [&](Scalar v, uint64_t shift) {
    return make_binary(BinaryOp::BitXor, v, make_binary(BinaryOp::Shr, v, constant(ctx, shift)));
  };
  z = fold(z, 30) * constant(ctx, 0xbf58476d1ce4e5b9u);
  z = fold(z, 27) * constant(ctx, 0x94d049bb133111ebu);
  return fold(z, 31);
}

// In [0, 1), a multiple of 2^-24.
Scalar uniform(Scalar counter, Scalar key) {
  expr::Context& ctx = *counter->ctx;
  Scalar z = mix((counter + key) * constant(ctx, 0x9e3779b97f4a7c15u) + constant(ctx, 0x632be59bd9b4e019u));
  return expr::make_cast(DType::F32, make_binary(BinaryOp::Shr, z, constant(ctx, 40))) * 0x1p-24;
}

Tensors compute(DefineContext& c) {
  AttrReader a = c.attr();
  const std::string& kind = a.as_string("kind");
  if (kind != "uniform" && kind != "normal") return c.fail("bad-attribute", "there is no distribution '" + kind + "'");
  double first = a.as_float("a"), second = a.as_float("b"), seed_value = a.as_float("seed");
  uint64_t seed = 0;
  std::memcpy(&seed, &seed_value, sizeof seed);
  if (c.has(0) && (c.in(0)->dtype != DType::U64 || c.in(0)->rank() != 0))
    return c.fail("wrong-type", "the key of a stream is one u64");
  Scalar key = c.has(0) ? (*c.in(0))({}) : constant(c.ctx(), seed);
  const std::vector<Dim>& shape = a.as_dims("shape");
  return std::vector{c.te().map("random", shape, [&](const Index& i) {
    Dim flat = c.dim(0);
    for (size_t k = 0; k < i.size(); ++k) flat = flat * shape[k] + i[k];
    Scalar counter = number(DType::U64, flat * 2), u = uniform(counter, key), v;
    if (kind == "uniform") {
      v = u * (second - first) + first;
    } else {
      // Box and Muller: the radius from one number, the angle from another.
      Scalar other = uniform(counter + constant(c.ctx(), 1), key);
      Scalar radius = unary(UnaryOp::Sqrt, unary(UnaryOp::Log, 1.0 - u) * -2.0);
      v = radius * unary(UnaryOp::Cos, other * 6.283185307179586) * second + first;
    }
    return expr::make_cast(a.as_dtype("to"), v);
  })};
}

}  // namespace

OpDef op_nn_random() {
  return {.name = "nn.random",
          .doc = "Random numbers that a key or else a seed fixes: uniform in [a, b), or normal with mean a and deviation b.",
          .attrs = {required_attr("shape", AttrKind::Dims, "the sizes"),
                    required_attr("kind", AttrKind::String, "uniform or normal"),
                    required_attr("a", AttrKind::Float, "low, or mean"),
                    required_attr("b", AttrKind::Float, "high, or deviation"), attr("seed", 0.0, "without a key"),
                    attr("to", DType::F32, "the element type")},
          .min_inputs = 0,
          .max_inputs = 1,
          .compute = compute,
          .samples = {"M=3 N=4 shape=[M,N] kind=uniform a=-1 b=1 seed=3", "M=9 shape=[M] kind=normal a=0 b=2 to=f64",
                      "u64[] M=5 shape=[M] kind=uniform a=0 b=1"}};
}

}  // namespace pliant::ops
