// Sizes in the place of symbols.
#pragma once
#include "passes/names.h"

namespace pliant::passes {

Type substituted(const Type& t, const expr::DimMap& sizes);
AttrValue substituted(const AttrValue& v, const expr::DimMap& sizes);
Attrs substituted(const Attrs& attrs, const expr::DimMap& sizes);

// Adds `s` to the map; neither its size nor those of the others name a symbol of the map after it.
void add_size(expr::DimMap& sizes, expr::SymbolId s, Dim size);
// The function with these sizes, in types, attributes and constraints, and in the bounds of the symbols that stay.
FunctionPtr with_sizes(const Function& f, const expr::DimMap& sizes, expr::Context& ctx);

}  // namespace pliant::passes
