// Text that may come from anywhere, made fit for C strings, Python and JSON.
#pragma once
#include <string>
#include <string_view>

#include "artifact/utf8.h"

namespace pliant {

using artifact::is_text;
// The same text where is_text(); otherwise each byte that does not fit as `\xNN`.
std::string to_text(std::string_view bytes);

}  // namespace pliant
