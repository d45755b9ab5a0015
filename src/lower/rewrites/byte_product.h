// Sums of products of 8-bit integers less their zero points: the sum over k of
// (i32(x[…, k]) - x_zero) * (i32(w[k, c]) - w_zero).
#pragma once
#include "lower/epilogue.h"
#include "lower/lower.h"
#include "lower/rewrites/padding.h"
#include "lower/stages.h"

namespace pliant::lower {

struct ByteProduct {
  size_t root;  // the stage; what follows it is elementwise
  Scalar x, w;  // the factors
  // Whether w is made of constants, and then not x. If not, the sum is a matrix product: one reduction, along the last axis
  // of the tensor in x and the one before the last of that in w, whose last axis is that of the sum.
  bool is_constant;
  Scalar load;  // of the tensor whose bytes x has, in x
  te::Tensor tensor;
  // The axes of `tensor` outside which x is zero.
  std::vector<bool> guarded;
  size_t tap;  // the reduction along the tensor's last axis
  // What is subtracted from the byte in each factor, in i32; null for nothing.
  Scalar x_zero() const { return zero_of(x); }
  Scalar w_zero() const { return zero_of(w); }
  Scalar w_load() const { return byte_of(w); }
  static Scalar zero_of(Scalar f) { return f->kind == expr::ScalarKind::Binary ? f->args[1] : Scalar(); }
  static Scalar byte_of(Scalar f) { return (f->kind == expr::ScalarKind::Binary ? f->args[0] : f)->args[0]; }
};
// The last reduction, where it is one. With constants, reductions have known sizes, none of them zero.
std::optional<ByteProduct> find_byte_product(const Problem& p, const StageList& list);

// The position that the sum reads in a copy whose last axis a strategy arranges, with `last` there.
te::Index read_at(const BorderedCopy& copy, const ByteProduct& f, const expr::DimMap& map, Dim last);

}  // namespace pliant::lower
