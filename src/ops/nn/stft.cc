// Fourier transforms of windows that move along a signal.
#include "expr/scalar/fourier.h"
#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  const Tensor& x = c.in(0);
  if (x->rank() != 2 && x->rank() != 3)
    return c.fail("shape-mismatch", "a signal has rank 2 or 3 but not " + std::to_string(x->rank()));
  bool complex = x->rank() == 3 && x->shape[2].is_const(2), onesided = c.attr().as_bool("onesided");
  if (x->rank() == 3 && !complex && !x->shape[2].is_const(1))
    return c.fail("shape-mismatch", "the last axis has " + x->shape[2].str() + " parts but must have 1 or 2");
  if (complex && onesided) return c.fail("bad-attribute", "the spectrum of a complex signal has two sides");
  Dim step = c.attr().as_dim("frame_step"), length = c.attr().as_dim("frame_length");
  TRY(c.require_less_equal(c.dim(1), step, "the least frame step and the frame step"));
  TRY(c.require_less_equal(c.dim(0), length, "no samples and the samples of a frame"));
  TRY(c.require_less_equal(length, x->shape[1], "the frame and the signal"));
  if (c.has(1)) {
    TRY(c.require_same_dtype(0, 1));
    if (c.in(1)->rank() != 1) return c.fail("shape-mismatch", "a window must have rank 1");
    TRY(c.require_equal(c.in(1)->shape[0], length, "the window and the frame"));
  }
  Dim frames = expr::floordiv(x->shape[1] - length, step) + 1, bins = onesided ? expr::floordiv(length, 2) + 1 : length;
  std::vector<Dim> shape{x->shape[0], frames, bins, c.dim(2)};
  Tensor sum = c.te().reduce("stft", shape, {length}, te::Combiner::Sum, [&](const Index& o, const Index& r) {
    auto sample = [&](int64_t part) {
      Index at{o[0], o[1] * step + r[0]};
      if (x->rank() == 3) at.push_back(c.dim(part));
      Scalar v = expr::make_cast(wide(x->dtype), (*x)(at));
      if (c.has(1)) v = v * expr::make_cast(v.dtype(), (*c.in(1))({r[0]}));
      return expr::make_cast(DType::F64, v);
    };
    expr::FourierTerm t;
    t.re = sample(0);
    if (complex) t.im = sample(1);
    t.bin = o[2];
    t.sample = r[0];
    t.length = length;
    t.is_real = expr::equal(o[3], c.dim(0));
    return expr::fourier_term(t);
  });
  if (x->dtype == DType::F64) return std::vector{sum};
  return std::vector{c.te().map("y", shape, [&](const Index& i) { return expr::make_cast(x->dtype, (*sum)(i)); })};
}

}  // namespace

OpDef op_nn_stft() {
  return {.name = "nn.stft",
          .doc = "The Fourier transforms [batch, frames, bins, 2] of frames of a signal, weighted by a window.",
          .attrs = {required_attr("frame_step", AttrKind::Dim, "samples between frames"),
                    required_attr("frame_length", AttrKind::Dim, "samples of a frame"),
                    attr("onesided", true, "half of the spectrum of a real signal")},
          .min_inputs = 1,
          .max_inputs = 2,
          .compute = compute,
          .samples = {"f32[B,N,1] f32[4] B=2 N=10 frame_step=2 frame_length=4",
                      "f32[B,N] _ B=1 N=9 frame_step=3 frame_length=5 onesided=false",
                      "f64[B,N,2] f64[4] B=1 N=8 frame_step=4 frame_length=4 onesided=false"}};
}

}  // namespace pliant::ops
