// The functions that native code may call, by name (imports.def).
#pragma once
#include <string_view>

namespace pliant::runtime {

// Null for a name that is not in the table.
void* find_import(std::string_view name);

}  // namespace pliant::runtime
