#include "ops/bodies/elementwise.h"

namespace pliant::ops {

bool in_domain(DType t, unsigned domain) {
  unsigned kind = t == DType::Bool ? kBools : is_float(t) ? kFloats : kInts;
  return (domain & kind) != 0;
}

Status require_domain(const DefineContext& c, size_t i, unsigned domain) {
  if (in_domain(c.in(i)->dtype, domain)) return ok();
  return c.fail("type-mismatch", "input " + std::to_string(i) + " may not be " + name_of(c.in(i)->dtype));
}

OpDef make_unary_op(std::string name, std::string doc, expr::UnaryOp op, UnaryOptions options) {
  OpDef d;
  d.name = std::move(name);
  d.doc = std::move(doc);
  bool floats_only = options.domain == kFloats;
  unsigned domain = options.ints_unchanged ? unsigned{kNumbers} : options.domain;
  d.compute = [=](DefineContext& c) -> Result<std::vector<te::Tensor>> {
    TRY(require_domain(c, 0, domain));
    const te::Tensor& x = c.in(0);
    bool unchanged = floats_only && !is_float(x->dtype);
    return std::vector{c.te().map("y", x->shape, [&](const te::Index& i) {
      Scalar v = (*x)(i);
      return unchanged ? v : expr::make_unary(op, v);
    })};
  };
  if (in_domain(DType::F32, domain)) d.samples = {"f32[M,N] M=3 N=5", "f16[M] M=7", "f64[M] M=4", "bf16[] "};
  if (in_domain(DType::I32, domain)) d.samples.push_back("i32[M,N] M=2 N=3");
  if (in_domain(DType::Bool, domain)) d.samples.push_back("bool[M,N] M=2 N=3");
  return d;
}

OpDef make_binary_op(std::string name, std::string doc, expr::BinaryOp op, unsigned domain) {
  OpDef d;
  d.name = std::move(name);
  d.doc = std::move(doc);
  d.min_inputs = d.max_inputs = 2;
  d.compute = [=](DefineContext& c) -> Result<std::vector<te::Tensor>> {
    TRY(c.require_same_dtype(0, 1));
    TRY(require_domain(c, 0, domain));
    std::vector<Dim> shape = TRY(c.broadcast(c.in(0)->shape, c.in(1)->shape));
    return std::vector{c.te().map("y", std::move(shape), [&](const te::Index& i) {
      return expr::make_binary(op, c.at_broadcast(c.in(0), i), c.at_broadcast(c.in(1), i));
    })};
  };
  if (in_domain(DType::F32, domain))
    d.samples = {"f32[M,N] f32[M,N] M=3 N=5", "f32[B,1,N] f32[M,1] B=2 M=3 N=4", "f16[M,N] f16[N] M=2 N=7"};
  if (in_domain(DType::F32, domain)) d.samples.push_back("f32[M] f32[N] M=4 N=1");
  if (in_domain(DType::I64, domain)) d.samples.insert(d.samples.end(), {"i64[M,N] i64[] M=2 N=3", "u8[M] u8[M] M=9"});
  if (in_domain(DType::Bool, domain)) d.samples.push_back("bool[M,N] bool[N] M=2 N=3");
  return d;
}

Result<std::vector<te::Tensor>> map_floats(DefineContext& c, const std::function<Scalar(DefineContext&, Scalar)>& f) {
  TRY(require_domain(c, 0, kFloats));
  const te::Tensor& x = c.in(0);
  return std::vector{c.te().map("y", x->shape, [&](const te::Index& i) {
    return expr::make_cast(x->dtype, f(c, expr::make_cast(wide(x->dtype), (*x)(i))));
  })};
}

}  // namespace pliant::ops
