// Attributes that are usually plain integers but may be dims known at run time only.
#pragma once
#include <optional>

#include "passes/names.h"

namespace pliant::passes {

// Nothing where the attribute is absent or not known at compile time.
std::optional<int64_t> known_int(const Attrs& attrs, const std::string& name);
std::optional<std::vector<int64_t>> known_ints(const Attrs& attrs, const std::string& name);
// A list of dims that may have been given as integers; empty where it is absent.
std::vector<Dim> dims_of(const Attrs& attrs, const std::string& name, expr::Context& ctx);

}  // namespace pliant::passes
