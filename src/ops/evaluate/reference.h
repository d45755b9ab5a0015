// Elements of arrays for the kernels' reference functions.
#pragma once
#include "ops/op.h"

namespace pliant::ops {

using Arrays = Result<std::vector<te::Array>>;

int64_t count_of(const std::vector<int64_t>& shape);
// Exact for every element type; NaN stays NaN.
long double number_at(const te::ArrayView& a, int64_t i);
// A total order in which NaN is the greatest and equal to itself.
int compare_numbers(long double a, long double b);
te::Array make_array(DType t, std::vector<int64_t> shape);
// Copies element `from` of a to element `to` of `out`, of the same type.
void copy_element(te::Array& out, int64_t to, const te::ArrayView& a, int64_t from);
void set_i64(te::Array& out, int64_t i, int64_t v);

// [outer][size][inner] around an axis.
struct AxisView {
  int64_t outer = 1, size = 1, inner = 1;
};
AxisView split_axis(const std::vector<int64_t>& shape, int64_t axis);
// A yes or no among the integers of a kernel.
inline Dim flag(expr::Context& ctx, bool v) { return ctx.constant(v ? 1 : 0); }

}  // namespace pliant::ops
