// The discrete Fourier transform along an axis; the last axis holds real and imaginary parts.
#include "expr/scalar/fourier.h"
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  const Tensor& x = c.in(0);
  if (x->rank() < 2) return c.fail("shape-mismatch", "a transform needs an axis and one of parts");
  const size_t axis = TRY(c.axis(c.attr().as_int("axis"), x->rank()));
  if (axis + 1 == x->rank()) return c.fail("bad-attribute", "the last axis holds the parts and cannot be transformed");
  bool inverse = c.attr().as_bool("inverse"), onesided = c.attr().as_bool("onesided");
  Dim parts = x->shape.back(), size = x->shape[axis];
  if (!parts.is_const(1) && !parts.is_const(2))
    return c.fail("shape-mismatch", "the last axis has " + parts.str() + " parts but must have 1 or 2");
  Dim length = c.attr().has("length") ? c.attr().as_dim("length") : inverse && onesided ? (size - 1) * 2 : size;
  TRY(c.require_less_equal(c.dim(0), length, "no samples and the samples of the transform"));
  // Samples behind the input are zero. From half a spectrum the other half is its mirror, conjugate.
  auto sample = [&](const Index& i, Dim n, int64_t part) {
    Index at = i;
    Dim source = inverse && onesided ? expr::min(n, length - n) : n;
    at[axis] = source;
    at.back() = c.dim(part);
    Scalar v = expr::make_cast(wide(x->dtype), (*x)(at)), zero = constant_like(v, 0);
    if (inverse && onesided && part == 1)
      v = expr::make_select(expr::less(n, length - n), v, expr::make_select(expr::equal(n * 2, length), v, -v));
    if (!c.ctx().proves_less_equal(length, size)) v = expr::make_select(expr::less(source, size), v, zero);
    return expr::make_cast(DType::F64, v);
  };
  std::vector<Dim> shape = x->shape;
  shape[axis] = onesided && !inverse ? expr::floordiv(length, 2) + 1 : length;
  shape.back() = c.dim(onesided && inverse ? 1 : 2);
  Tensor sum = c.te().reduce("dft", shape, {length}, te::Combiner::Sum, [&](const Index& o, const Index& r) {
    expr::FourierTerm t;
    t.re = sample(o, r[0], 0);
    if (parts.is_const(2)) t.im = sample(o, r[0], 1);
    t.bin = o[axis];
    t.sample = r[0];
    t.length = length;
    t.inverse = inverse;
    if (shape.back().is_const(2)) t.is_real = expr::equal(o.back(), c.dim(0));
    return expr::fourier_term(t);
  });
  if (!inverse && x->dtype == DType::F64) return std::vector{sum};
  return std::vector{c.te().map("y", shape, [&](const Index& i) {
    Scalar v = (*sum)(i);
    return expr::make_cast(x->dtype, inverse ? v / number(DType::F64, length) : v);
  })};
}

}  // namespace

OpDef op_nn_dft() {
  return {.name = "nn.dft",
          .doc = "The discrete Fourier transform along `axis`, or its inverse; real and imaginary parts are the last axis.",
          .attrs = {required_attr("axis", AttrKind::Int, "the transformed axis"),
                    optional_attr("length", AttrKind::Dim, "samples; the axis' size when absent"),
                    attr("inverse", false, "the inverse transform"),
                    attr("onesided", false, "half of the spectrum of a real signal")},
          .compute = compute,
          .samples = {"f32[B,N,1] B=2 N=5 axis=1", "f32[B,N,2] B=2 N=4 axis=-2 inverse=true",
                      "f32[B,N,1] B=1 N=6 axis=1 onesided=true", "f32[B,N,2] B=1 N=4 axis=1 inverse=true onesided=true",
                      "f32[N,M,1] N=4 M=2 axis=1 onesided=true", "f64[N,M,2] N=4 M=2 axis=0 length=6"}};
}

}  // namespace pliant::ops
