// The words of the graph that every pass is written in.
#pragma once
#include "graph/control.h"
#include "graph/graph.h"

namespace pliant::passes {

using graph::Attrs;
using graph::AttrValue;
using graph::ConstantData;
using graph::ConstantPtr;
using graph::Dim;
using graph::Function;
using graph::FunctionBuilder;
using graph::FunctionPtr;
using graph::IfParts;
using graph::kNoValue;
using graph::LoopParts;
using graph::Node;
using graph::Region;
using graph::Shape;
using graph::ShapeConstraint;
using graph::TensorType;
using graph::Type;
using graph::ValueId;

}  // namespace pliant::passes
