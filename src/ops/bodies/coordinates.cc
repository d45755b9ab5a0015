#include "ops/bodies/coordinates.h"

#include "ops/bodies/elementwise.h"
#include "ops/bodies/indices.h"

namespace pliant::ops {

Result<size_t> coordinate_count(DefineContext& c, const Tensor& indices, size_t limit) {
  if (indices->rank() == 0) return c.fail("shape-mismatch", "the indices have rank 0");
  if (!in_domain(indices->dtype, kInts))
    return c.fail("type-mismatch", std::string("the indices may not be ") + name_of(indices->dtype));
  Dim last = indices->shape.back();
  if (!last.is_const())
    return c.fail("unsupported-shape", "the last axis of the indices has the size " + last.str() + ", which is not known");
  if (last.const_value() > static_cast<int64_t>(limit))
    return c.fail("shape-mismatch",
                  "the indices have " + last.str() + " coordinates for " + std::to_string(limit) + " axes");
  return static_cast<size_t>(last.const_value());
}

void check_coordinates(DefineContext& c, const Tensor& indices, const Tensor& x, size_t first, size_t depth) {
  std::vector<Dim> points(indices->shape.begin(), indices->shape.end() - 1);
  for (size_t j = 0; j < depth; ++j) {
    Tensor one = c.te().map("coordinate", points, [&](const Index& p) {
      Index at = p;
      at.push_back(c.dim(static_cast<int64_t>(j)));
      return (*indices)(at);
    });
    c.check_index(one, x->shape[first + j], "axis " + std::to_string(first + j));
  }
}

std::vector<Dim> coordinates(DefineContext& c, const Tensor& indices, const Tensor& x, const Index& point, size_t first,
                             size_t depth) {
  std::vector<Dim> out;
  for (size_t j = 0; j < depth; ++j) {
    Index at = point;
    at.push_back(c.dim(static_cast<int64_t>(j)));
    out.push_back(index_from((*indices)(at), x->shape[first + j]));
  }
  return out;
}

}  // namespace pliant::ops
