// Walks over the parts of a function that hold dims or constants: what printing and verifying have to look at.
#pragma once
#include <functional>

#include "graph/graph.h"

namespace pliant::graph {

void for_each_dim(const Type& t, const std::function<void(Dim)>& visit);
void for_each_dim(const AttrValue& v, const std::function<void(Dim)>& visit);
// The symbols of types, attributes and constraints, with those their upper bounds use; each once, in id order.
std::vector<expr::SymbolId> symbols_of(const Function& f, const expr::Context& ctx);

}  // namespace pliant::graph
