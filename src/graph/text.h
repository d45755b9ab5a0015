// Pieces of the text form that printing and parsing share.
#pragma once
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace pliant::graph {

// Constants with more elements print as their hash.
constexpr int64_t kInlineElements = 16;

// Letters, digits, '_' and '.', not starting with a digit: printed without quotes.
bool is_plain_name(std::string_view name);
std::string print_name(const std::string& name);
std::string quote(std::string_view text);
std::string print(const AttrValue& v);
// ` {lo=1, …}`: the facts that are not the default, or nothing.
std::string print_facts(const expr::SymbolInfo& info);

}  // namespace pliant::graph
