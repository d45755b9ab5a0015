// The same elements in row-major order under another shape.
//
// Axes are matched in groups with equal products, so that an axis that a reshape leaves alone keeps its index, a split
// gives an affine index and only a merge needs division: f32[b, s, 768] to [b, s, 12, 64] reads x[i0, i1, i2*64 + i3].
#include "ops/bodies/scalars.h"

namespace pliant::ops {
namespace {

// Axes [in_begin, in_end) of the input hold the elements of axes [out_begin, out_end) of the output.
struct Group {
  size_t in_begin, in_end, out_begin, out_end;
};

enum class Side { None, In, Out };

// The side that must grow for the products to become equal; None when they are.
Side smaller_side(expr::Context& ctx, Dim in, Dim out) {
  if (ctx.proves_equal(in, out)) return Side::None;
  if (in.is_const() && out.is_const()) return in.const_value() < out.const_value() ? Side::In : Side::Out;
  if (ctx.divide_exact(in, out)) return Side::Out;
  if (ctx.divide_exact(out, in)) return Side::In;
  return in.is_const() ? Side::In : Side::Out;
}

std::vector<Group> match_axes(expr::Context& ctx, const std::vector<Dim>& in, const std::vector<Dim>& out) {
  std::vector<Group> groups;
  size_t i = 0, j = 0;
  while (i < in.size() && j < out.size()) {
    Group g{i, i + 1, j, j + 1};
    Dim a = in[i], b = out[j];
    for (Side s; (s = smaller_side(ctx, a, b)) != Side::None;) {
      if (s == Side::In && g.in_end < in.size())
        a = a * in[g.in_end++];
      else if (s == Side::Out && g.out_end < out.size())
        b = b * out[g.out_end++];
      else if (g.in_end < in.size())
        a = a * in[g.in_end++];
      else if (g.out_end < out.size())
        b = b * out[g.out_end++];
      else
        break;
    }
    groups.push_back(g);
    i = g.in_end;
    j = g.out_end;
  }
  // What is left over on one side has product 1 where the counts agree.
  if (groups.empty()) groups.push_back({0, 0, 0, 0});
  groups.back().in_end = in.size();
  groups.back().out_end = out.size();
  return groups;
}

// `[n, 4, ?]` for a message: long formulas say less than their places.
std::string shape_text(const std::vector<Dim>& shape) {
  constexpr size_t kLongest = 32;
  std::string out = "[";
  for (size_t k = 0; k < shape.size(); ++k) {
    const std::string size = shape[k].str();
    out += (k == 0 ? "" : ", ") + (size.size() > kLongest ? "?" : size);
  }
  return out + "]";
}

Tensors compute(DefineContext& c) {
  const Tensor& x = c.in(0);
  const std::vector<Dim>& shape = c.attr().as_dims("shape");
  const Dim had = expr::product(c.ctx(), x->shape), wanted = expr::product(c.ctx(), shape);
  if (!c.ctx().proves_equal(had, wanted))
    TRY(c.require_equal(had, wanted,
                        "the elements of " + shape_text(x->shape) + " and of its new shape " + shape_text(shape)));
  std::vector<Group> groups = match_axes(c.ctx(), x->shape, shape);
  return std::vector{c.te().map("y", shape, [&](const Index& i) {
    Index at(x->rank(), c.dim(0));
    for (const Group& g : groups) {
      Dim flat = c.dim(0);
      for (size_t k = g.out_begin; k < g.out_end; ++k)
        if (!shape[k].is_const(1)) flat = flat * shape[k] + i[k];
      size_t outermost = g.in_begin;
      while (outermost < g.in_end && x->shape[outermost].is_const(1)) ++outermost;
      for (size_t k = g.in_end; k-- > g.in_begin;) {
        if (x->shape[k].is_const(1)) continue;
        at[k] = k == outermost ? flat : expr::mod(flat, x->shape[k]);
        if (k != outermost) flat = expr::floordiv(flat, x->shape[k]);
      }
    }
    return (*x)(at);
  })};
}

}  // namespace

OpDef op_array_reshape() {
  return {.name = "array.reshape",
          .doc = "The same elements in row-major order under the shape `shape`.",
          .attrs = {required_attr("shape", AttrKind::Dims, "the final sizes")},
          .compute = compute,
          .samples = {"f32[B,S,12] B=2 S=3 shape=[B,S,3,4]", "f32[B,S,3,4] B=2 S=3 shape=[B,S,12]",
                      "f32[M,N] M=2 N=3 shape=[M*N]", "i64[6,4] shape=[8,1,3]", "f32[M,N] M=4 N=3 shape=[N,M]",
                      "f32[1,M,1] M=3 shape=[M]", "f32[] shape=[1,1]", "f32[M,4,N] M=2 N=3 shape=[M*2,2,N]"}};
}

}  // namespace pliant::ops
