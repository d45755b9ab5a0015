// Values that are other names for memory that exists: nothing is computed for them.
#pragma once
#include <optional>

#include "graph/graph.h"

namespace pliant::lower {

using expr::Dim;

struct View {
  Dim byte_offset;
  bool is_whole() const { return byte_offset.is_const(0); }
};
// The output of `n` as a contiguous part of its first input: reshapes, identities, slices of the outermost axis that
// matters.
std::optional<View> view_of(const graph::Node& n, const graph::Function& f, expr::Context& ctx);
// The same bytes under another shape of constant sizes; null when a size is symbolic.
graph::ConstantPtr with_shape(const graph::ConstantPtr& c, const graph::TensorType& t);

}  // namespace pliant::lower
