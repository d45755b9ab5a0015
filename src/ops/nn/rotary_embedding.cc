// Rotary position embedding.
#include "ops/bodies/elementwise.h"
#include "ops/bodies/indices.h"

namespace pliant::ops {
namespace {

// Inputs: x 0, cos 1, sin 2, positions? 3. x is [batch, heads, length, size] or [batch, length, heads * size].
struct Rotation {
  bool split = false;  // rank 4
  Dim heads, size;
  int64_t rotated = 0;  // leading elements of each head that turn
};

Result<Rotation> read_rotation(DefineContext& c) {
  const Tensor& x = c.in(0);
  Rotation r;
  if (x->rank() != 3 && x->rank() != 4)
    return c.fail("shape-mismatch", "the input must have rank 3 or 4 but has " + std::to_string(x->rank()));
  r.split = x->rank() == 4;
  if (r.split) {
    r.heads = x->shape[1];
    r.size = x->shape[3];
  } else {
    int64_t n = c.attr().as_int("num_heads");
    if (n < 1) return c.fail("missing-attribute", "an input of rank 3 needs num_heads");
    r.heads = c.dim(n);
    r.size = expr::floordiv(x->shape[2], n);
    TRY(c.require_equal(r.size * n, x->shape[2], "whole heads and the last axis"));
  }
  if (!r.size.is_const()) return c.fail("unsupported-shape", "the size of a head, " + r.size.str() + ", is not known");
  r.rotated = c.attr().as_int("rotary_dim");
  if (r.rotated == 0) r.rotated = r.size.const_value();
  if (r.rotated < 0 || r.rotated > r.size.const_value() || r.rotated % 2 != 0)
    return c.fail("bad-attribute", "rotary_dim " + std::to_string(r.rotated) + " does not fit heads of " + r.size.str());
  return r;
}

Tensors compute(DefineContext& c) {
  TRY(require_domain(c, 0, kFloats));
  const Tensor& x = c.in(0);
  Rotation r = TRY(read_rotation(c));
  Dim length = r.split ? x->shape[2] : x->shape[1], half = c.dim(r.rotated / 2);
  size_t cache_rank = c.has(3) ? 2 : 3;
  for (size_t k : {size_t{1}, size_t{2}}) {
    TRY(c.require_same_dtype(0, k));
    if (c.in(k)->rank() != cache_rank)
      return c.fail("shape-mismatch", "cosines and sines must have rank " + std::to_string(cache_rank));
    TRY(c.require_equal(c.in(k)->shape.back(), half, "the last axis of cosines or sines and half of what turns"));
    if (!c.has(3)) TRY(c.require_equal(c.in(k)->shape[1], length, "the cosines or sines and the sequence"));
  }
  if (c.has(3)) {
    TRY(require_domain(c, 3, kInts));
    if (c.in(3)->rank() != 2) return c.fail("shape-mismatch", "the positions must have rank 2");
    TRY(c.require_equal(c.in(3)->shape[1], length, "the positions and the sequence"));
    c.check_index(c.in(3), c.in(1)->shape[0], "the table of cosines");
    c.check_index(c.in(3), c.in(2)->shape[0], "the table of sines");
  }
  bool interleaved = c.attr().as_bool("interleaved");
  return std::vector{c.te().map("y", x->shape, [&](const Index& i) {
    Dim b = i[0], s = r.split ? i[2] : i[1];
    Dim head = r.split ? i[1] : expr::floordiv(i[2], r.size), d = r.split ? i[3] : expr::mod(i[2], r.size);
    auto at = [&](Dim e) { return r.split ? (*x)({b, head, s, e}) : (*x)({b, s, head * r.size + e}); };
    auto table = [&](size_t k, Dim j) {
      if (!c.has(3)) return c.at_broadcast(c.in(k), {b, s, j});
      return (*c.in(k))({index_from(c.at_broadcast(c.in(3), {b, s}), c.in(k)->shape[0]), j});
    };
    if (r.rotated == 0) return at(d);
    // The pair of an element is `first` and `second`; angle number `pair`.
    Dim pair = interleaved ? expr::floordiv(d, 2) : expr::mod(d, half);
    Dim first = interleaved ? pair * 2 : pair, second = interleaved ? pair * 2 + 1 : pair + half;
    Scalar turned, is_first = interleaved ? expr::equal(expr::mod(d, 2), c.dim(0)) : expr::less(d, half);
    if (r.rotated < r.size.const_value()) {
      pair = expr::min(pair, half - 1);
      first = expr::min(first, c.dim(r.rotated - 1));
      second = expr::min(second, c.dim(r.rotated - 1));
    }
    Scalar cosine = table(1, pair), sine = table(2, pair);
    turned = expr::make_select(is_first, cosine * at(first) - sine * at(second), sine * at(first) + cosine * at(second));
    if (r.rotated == r.size.const_value()) return turned;
    return expr::make_select(expr::less(d, c.dim(r.rotated)), turned, at(d));
  })};
}

}  // namespace

OpDef op_nn_rotary_embedding() {
  return {
      .name = "nn.rotary_embedding",
      .doc = "Pairs of each head's elements turned by angles that depend on the position.",
      .attrs = {attr("interleaved", false, "pairs are neighbours, not halves"),
                attr("num_heads", 0, "for an input of rank 3"), attr("rotary_dim", 0, "leading elements that turn; 0: all")},
      .min_inputs = 3,
      .max_inputs = 4,
      .compute = compute,
      .samples = {"f32[B,2,S,6] f32[10,3] f32[10,3] i64[B,S]@0..10 B=2 S=3",
                  "f32[B,S,8] f32[B,S,2] f32[B,S,2] B=2 S=3 num_heads=2 interleaved=true",
                  "f32[B,2,S,6] f32[B,S,2] f32[B,S,2] B=1 S=3 rotary_dim=4",
                  "f16[B,1,S,6] f16[4,1] f16[4,1] i64[B,S]@0..4 B=1 S=2 rotary_dim=2 interleaved=true"}};
}

}  // namespace pliant::ops
