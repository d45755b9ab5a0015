#include "base/utf8.h"

#include <cstdint>
#include <cstdio>

namespace pliant {

std::string to_text(std::string_view bytes) {
  std::string out;
  for (size_t at = 0; at < bytes.size();) {
    const size_t n = artifact::utf8_character(bytes, at);
    if (n > 0) {
      out += bytes.substr(at, n);
      at += n;
      continue;
    }
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(static_cast<uint8_t>(bytes[at++])));
    out += escaped;
  }
  return out;
}

}  // namespace pliant
