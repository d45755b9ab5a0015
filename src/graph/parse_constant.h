// The text of one constant.
#pragma once
#include "graph/cursor.h"
#include "graph/graph.h"

namespace pliant::graph {

// `f32[2, 3] dense<…> "name"`, from its shape on: the dtype was read. Each listed element is read as the dtype says.
Result<ConstantPtr> parse_constant(Cursor& in, DType dtype, const ConstantTable& constants);

}  // namespace pliant::graph
