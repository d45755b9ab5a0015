// Window functions of signal processing.
#include "ops/bodies/scalars.h"

namespace pliant::ops {
namespace {

Tensors compute(DefineContext& c) {
  const std::string& kind = c.attr().as_string("kind");
  Dim size = c.attr().as_dim("size");
  DType to = c.attr().as_dtype("to");
  if (kind != "hann" && kind != "hamming" && kind != "blackman")
    return c.fail("bad-attribute", "there is no window '" + kind + "'");
  Dim period = c.attr().as_bool("periodic") ? size : size - 1;
  return std::vector{c.te().map("window", {size}, [&](const Index& i) {
    Scalar turn = number(DType::F64, i[0]) * 6.283185307179586 / number(DType::F64, period);
    Scalar cosine = unary(UnaryOp::Cos, turn), v;
    if (kind == "hann")
      v = 0.5 - cosine * 0.5;
    else if (kind == "hamming")
      v = 25.0 / 46.0 - cosine * (21.0 / 46.0);
    else
      v = 0.42 - cosine * 0.5 + unary(UnaryOp::Cos, turn * 2) * 0.08;
    return expr::make_cast(to, v);
  })};
}

}  // namespace

OpDef op_array_window() {
  return {.name = "array.window",
          .doc = "A Hann, Hamming or Blackman window of `size` samples.",
          .attrs = {required_attr("kind", AttrKind::String, "hann, hamming or blackman"),
                    required_attr("size", AttrKind::Dim, "samples"),
                    attr("periodic", true, "the sample after the last equals the first"),
                    attr("to", DType::F32, "the element type")},
          .min_inputs = 0,
          .max_inputs = 0,
          .compute = compute,
          .samples = {"N=8 kind=hann size=N", "N=5 kind=hamming size=N periodic=false", "kind=blackman size=6 to=f64"}};
}

}  // namespace pliant::ops
