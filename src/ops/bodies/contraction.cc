#include "ops/bodies/contraction.h"

namespace pliant::ops {
namespace {

// One operand as a stack of matrices: which of its axes is the row or column, and which is summed.
struct Operand {
  Tensor t;
  bool is_vector = false;
  size_t outer = 0, inner = 0;
  std::vector<Dim> batch;
};

Operand make_operand(const Tensor& t, bool inner_is_last) {
  Operand o{t, t->rank() == 1, 0, 0, {}};
  if (o.is_vector) return o;
  size_t last = t->rank() - 1;
  o.inner = inner_is_last ? last : last - 1;
  o.outer = inner_is_last ? last - 1 : last;
  o.batch.assign(t->shape.begin(), t->shape.end() - 2);
  return o;
}

Index element(DefineContext& c, const Operand& o, const Index& batch, Dim outer, Dim inner) {
  if (o.is_vector) return {inner};
  Index at(o.t->rank());
  for (size_t k = 0; k < o.batch.size(); ++k) {
    Dim i = batch[k + batch.size() - o.batch.size()], size = o.batch[k];
    at[k] = size.is_const(1) ? c.dim(0) : c.ctx().proves_less(i, size) ? i : expr::min(i, size - 1);
  }
  at[o.outer] = outer;
  at[o.inner] = inner;
  return at;
}

}  // namespace

Result<Tensor> matmul_sum(DefineContext& c, const Tensor& a, const Tensor& b, MatmulOptions options,
                          const std::function<Scalar(const Index&)>& load_a,
                          const std::function<Scalar(const Index&)>& load_b) {
  if (a->rank() == 0 || b->rank() == 0) return c.fail("shape-mismatch", "a matrix product needs operands of rank 1 or more");
  Operand l = make_operand(a, !options.transpose_a), r = make_operand(b, options.transpose_b);
  Dim depth = a->shape[l.inner];
  TRY(c.require_equal(depth, b->shape[r.inner], "inner dimensions of A and B"));
  if (b->shape[r.inner].is_const()) depth = b->shape[r.inner];
  std::vector<Dim> batch = TRY(c.broadcast(l.batch, r.batch)), shape = batch;
  if (!l.is_vector) shape.push_back(a->shape[l.outer]);
  if (!r.is_vector) shape.push_back(b->shape[r.outer]);
  return c.te().reduce("product", shape, {depth}, te::Combiner::Sum, [&](const Index& i, const Index& k) {
    Index at(i.begin(), i.begin() + static_cast<ptrdiff_t>(batch.size()));
    Dim row = l.is_vector ? c.dim(0) : i[batch.size()], col = r.is_vector ? c.dim(0) : i.back();
    return load_a(element(c, l, at, row, k[0])) * load_b(element(c, r, at, col, k[0]));
  });
}

}  // namespace pliant::ops
