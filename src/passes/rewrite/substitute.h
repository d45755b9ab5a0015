// Sizes in the place of symbols.
#pragma once
#include "graph/graph.h"

namespace pliant::passes {

graph::Type substituted(const graph::Type& t, const expr::DimMap& sizes);
graph::AttrValue substituted(const graph::AttrValue& v, const expr::DimMap& sizes);
graph::Attrs substituted(const graph::Attrs& attrs, const expr::DimMap& sizes);

// Adds `s` to the map; neither its size nor those of the others name a symbol of the map after it.
void add_size(expr::DimMap& sizes, expr::SymbolId s, graph::Dim size);
// The function with these sizes, in types, attributes and obligations, and in the bounds of the symbols that stay.
graph::FunctionPtr with_sizes(const graph::Function& f, const expr::DimMap& sizes, expr::Context& ctx);

}  // namespace pliant::passes
