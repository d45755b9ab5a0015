#include "ops/bodies/running.h"

#include "ops/bodies/elementwise.h"

namespace pliant::ops {
namespace {

// An axis that is known only at run time is selected among the results for every axis.
Tensors compute(DefineContext& c, te::Combiner combiner) {
  const Tensor& x = c.in(0);
  TRY(require_domain(c, 0, kNumbers));
  Dim axis = c.attr().as_dim("axis");
  bool exclusive = c.attr().as_bool("exclusive"), reverse = c.attr().as_bool("reverse");
  auto scan = [&](size_t a) {
    return c.te().scan("y", x->shape, static_cast<int64_t>(a), combiner, exclusive, reverse,
                       [&](const Index& i) { return (*x)(i); });
  };
  if (axis.is_const()) return std::vector{scan(TRY(c.axis(axis.const_value(), x->rank())))};
  int64_t rank = static_cast<int64_t>(x->rank());
  if (rank == 0) return c.fail("shape-mismatch", "a running sum needs an axis");
  TRY(c.require_less_equal(c.dim(-rank), axis, "the axis of a running sum"));
  TRY(c.require_less_equal(axis, c.dim(rank - 1), "the axis of a running sum"));
  std::vector<Tensor> all;
  for (int64_t a = 0; a < rank; ++a) all.push_back(scan(static_cast<size_t>(a)));
  return std::vector{c.te().map("chosen", x->shape, [&](const Index& i) {
    Scalar out = (*all.back())(i);
    for (int64_t a = rank - 2; a >= 0; --a) {
      Scalar here = logical_or(expr::equal(axis, c.dim(a)), expr::equal(axis, c.dim(a - rank)));
      out = expr::make_select(here, (*all[static_cast<size_t>(a)])(i), out);
    }
    return out;
  })};
}

}  // namespace

OpDef make_running_op(std::string name, std::string doc, te::Combiner combiner) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .attrs = {required_attr("axis", AttrKind::Dim, "the axis; may be known at run time only"),
                    attr("exclusive", false, "without the element itself"), attr("reverse", false, "from the end")},
          .compute = [combiner](DefineContext& c) { return compute(c, combiner); },
          .samples = {"f32[M,N] M=3 N=4 axis=1", "i64[M,N] M=3 N=2 axis=0 exclusive=true", "f64[M] M=5 axis=-1 reverse=true",
                      "f32[M] M=4 axis=0 exclusive=true reverse=true", "i32[M,N] M=2 N=3 A=1 axis=A"}};
}

}  // namespace pliant::ops
