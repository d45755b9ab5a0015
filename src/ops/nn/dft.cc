// The discrete Fourier transform along an axis; the last axis holds real and imaginary parts.
#include "ops/fourier.h"

namespace pliant::ops {
namespace {

// One number an axis but the last: 1 for the axis that is transformed, which may be known at run time only, and 0 for the
// others.
Result<std::vector<Dim>> transformed_axis(DefineContext& c) {
  Dim axis = c.attr().as_dim("axis");
  int64_t rank = static_cast<int64_t>(c.in(0)->rank());
  if (axis.is_const()) {
    size_t a = TRY(c.axis(axis.const_value(), c.in(0)->rank()));
    if (static_cast<int64_t>(a) == rank - 1)
      return c.fail("bad-attribute", "the last axis holds the parts and cannot be transformed");
    axis = c.dim(static_cast<int64_t>(a));
  }
  std::vector<Dim> mask;
  Dim found = c.dim(0);
  for (int64_t k = 0; k < rank - 1; ++k) {
    mask.push_back(is_axis(axis, k, rank, c.ctx()));
    found = found + mask.back();
  }
  TRY(c.require_equal(found, c.dim(1), "axes that are transformed and one"));
  return mask;
}

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  const Tensor& x = c.in(0);
  if (x->rank() < 2) return c.fail("shape-mismatch", "a transform needs an axis and one of parts");
  std::vector<Dim> mask = TRY(transformed_axis(c));
  bool inverse = c.attr().as_bool("inverse"), onesided = c.attr().as_bool("onesided");
  Dim parts = x->shape.back(), size = c.dim(0);
  for (size_t k = 0; k < mask.size(); ++k) size = size + mask[k] * x->shape[k];
  if (!parts.is_const(1) && !parts.is_const(2))
    return c.fail("shape-mismatch", "the last axis has " + parts.str() + " parts but must have 1 or 2");
  Dim length = c.attr().has("length") ? c.attr().as_dim("length") : inverse && onesided ? (size - 1) * 2 : size;
  DType work = DType::F64;  // cancelling sums
  // Samples behind the input are zero. From half a spectrum the other half is its mirror, conjugate.
  auto sample = [&](const Index& i, Dim n, int64_t part) {
    Index at = i;
    Dim source = inverse && onesided ? expr::min(n, length - n) : n;
    for (size_t k = 0; k < mask.size(); ++k) at[k] = mask[k] * source + (1 - mask[k]) * i[k];
    at.back() = c.dim(part);
    Scalar v = expr::make_cast(work, (*x)(at)), zero = constant_like(v, 0);
    if (inverse && onesided && part == 1)
      v = expr::make_select(expr::less(n, length - n), v, expr::make_select(expr::equal(n * 2, length), v, -v));
    return c.ctx().proves_less_equal(length, size) ? v : expr::make_select(expr::less(source, size), v, zero);
  };
  std::vector<Dim> shape = x->shape;
  Dim bins = onesided && !inverse ? expr::floordiv(length, 2) + 1 : length;
  for (size_t k = 0; k < mask.size(); ++k) shape[k] = mask[k] * bins + (1 - mask[k]) * x->shape[k];
  shape.back() = c.dim(onesided && inverse ? 1 : 2);
  Tensor sum = c.te().reduce("dft", shape, {length}, te::Combiner::Sum, [&](const Index& o, const Index& r) {
    Dim bin = c.dim(0);
    for (size_t k = 0; k < mask.size(); ++k) bin = bin + mask[k] * o[k];
    Scalar re = sample(o, r[0], 0), im = parts.is_const(2) ? sample(o, r[0], 1) : constant_like(re, 0);
    return rotated_part(re, im, bin, r[0], length, inverse, expr::equal(o.back(), c.dim(0)), parts.is_const(2));
  });
  if (!inverse && work == x->dtype) return std::vector{sum};
  return std::vector{c.te().map("y", shape, [&](const Index& i) {
    Scalar v = (*sum)(i);
    return expr::make_cast(x->dtype, inverse ? v / number(work, length) : v);
  })};
}

}  // namespace

OpDef op_nn_dft() {
  return {.name = "nn.dft",
          .doc = "The discrete Fourier transform along `axis`, or its inverse; real and imaginary parts are the last axis.",
          .attrs = {required_attr("axis", AttrKind::Dim, "the transformed axis; may be known at run time only"),
                    optional_attr("length", AttrKind::Dim, "samples; the axis' size when absent"),
                    attr("inverse", false, "the inverse transform"),
                    attr("onesided", false, "half of the spectrum of a real signal")},
          .compute = compute,
          .samples = {"f32[B,N,1] B=2 N=5 axis=1", "f32[B,N,2] B=2 N=4 axis=-2 inverse=true",
                      "f32[B,N,1] B=1 N=6 axis=1 onesided=true", "f32[B,N,2] B=1 N=4 axis=1 inverse=true onesided=true",
                      "f32[N,M,1] N=4 M=2 A=1 axis=A onesided=true", "f64[N,M,2] N=4 M=2 axis=0 length=6"}};
}

}  // namespace pliant::ops
