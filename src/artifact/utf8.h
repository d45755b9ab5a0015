// Which bytes are text that C strings, Python and JSON can hold.
#pragma once
#include <cstddef>
#include <string_view>

namespace pliant::artifact {

// How many bytes the character that begins at `at` takes; 0 where none begins: a zero, stray or overlong byte, a surrogate.
size_t utf8_character(std::string_view bytes, size_t at);
// Whether it is UTF-8 without a zero byte.
bool is_text(std::string_view bytes);

}  // namespace pliant::artifact
