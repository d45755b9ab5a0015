#include "ops/bodies/loss.h"

#include "ops/bodies/indices.h"

namespace pliant::ops {

Result<Tensor> negative_log_likelihood(DefineContext& c, const std::function<Scalar(const Index&)>& log_probability) {
  const Tensor &x = c.in(0), &target = c.in(1);
  TRY(require_domain(c, 0, kFloats));
  TRY(require_domain(c, 1, kInts));
  if (x->rank() < 2 || target->rank() + 1 != x->rank())
    return c.fail("shape-mismatch", "the targets must have the input's axes without the classes");
  Dim classes = x->shape[1];
  for (size_t k = 0; k < target->rank(); ++k)
    TRY(c.require_equal(target->shape[k], x->shape[k == 0 ? 0 : k + 1], "axis " + std::to_string(k) + " of the targets"));
  if (c.has(2)) {
    TRY(c.require_same_dtype(0, 2));
    if (c.in(2)->rank() != 1) return c.fail("shape-mismatch", "the weights must have rank 1");
    TRY(c.require_equal(c.in(2)->shape[0], classes, "the weights and the classes"));
  }
  const std::string& reduction = c.attr().as_string("reduction");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return c.fail("bad-attribute", "there is no reduction '" + reduction + "'");
  bool ignores = c.attr().has("ignore_index");
  auto label = [&](const Index& t) { return expr::make_cast(DType::I64, (*target)(t)); };
  auto counts = [&](const Index& t) {
    return make_binary(BinaryOp::Ne, label(t), expr::make_const_int(c.ctx(), DType::I64, c.attr().as_int("ignore_index")));
  };
  std::vector<Dim> values;
  Tensor good = c.te().map("in_range", target->shape, [&](const Index& t) {
    Dim v = expr::value(label(t));
    values = {v, classes};
    Scalar inside = expr::logical_and(expr::less_equal(c.dim(0), v), expr::less(v, classes));
    return ignores ? expr::make_select(counts(t), inside, expr::make_const(c.ctx(), DType::Bool, 1)) : inside;
  });
  c.add_check({good, "target {0} is not one of {1} classes", values});
  DType work = wide(x->dtype);
  auto weight = [&](const Index& t) {
    Scalar one = expr::make_const(c.ctx(), work, 1), w = one;
    if (c.has(2)) w = expr::make_cast(work, (*c.in(2))({bounded_index(expr::value(label(t)), classes)}));
    return ignores ? expr::make_select(counts(t), w, constant_like(one, 0)) : w;
  };
  auto loss = [&](const Index& t) {
    Index at = t;
    at.insert(at.begin() + 1, bounded_index(expr::value(label(t)), classes));
    Scalar v = -(expr::make_cast(work, log_probability(at)) * weight(t));
    return ignores ? expr::make_select(counts(t), v, constant_like(v, 0)) : v;
  };
  if (reduction == "none")
    return c.te().map("loss", target->shape, [&](const Index& t) { return expr::make_cast(x->dtype, loss(t)); });
  auto total = [&](const char* name, const std::function<Scalar(const Index&)>& body) {
    return c.te().reduce(name, {}, target->shape, te::Combiner::Sum, [&](const Index&, const Index& r) { return body(r); });
  };
  Tensor sum = total("loss", loss);
  if (reduction == "sum")
    return c.te().map("total", {}, [&](const Index&) { return expr::make_cast(x->dtype, (*sum)({})); });
  Tensor weights = total("weights", weight);
  return c.te().map("mean", {}, [&](const Index&) { return expr::make_cast(x->dtype, (*sum)({}) / (*weights)({})); });
}

std::vector<AttrSpec> loss_attrs() {
  return {optional_attr("ignore_index", AttrKind::Int, "a target that does not count"),
          attr("reduction", "mean", "none, sum or mean (weighted)")};
}

}  // namespace pliant::ops
