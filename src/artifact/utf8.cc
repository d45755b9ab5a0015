#include "artifact/utf8.h"

#include <cstdint>

namespace pliant::artifact {

size_t utf8_character(std::string_view s, size_t at) {
  auto byte = [&](size_t i) { return i < s.size() ? static_cast<uint8_t>(s[i]) : 0; };
  auto follows = [&](size_t i, int least = 0x80, int most = 0xbf) { return byte(i) >= least && byte(i) <= most; };
  const int first = byte(at);
  if (first == 0) return 0;
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(at + 1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef)
    return follows(at + 1, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf) && follows(at + 2) ? 3 : 0;
  if (first >= 0xf0 && first <= 0xf4)
    return follows(at + 1, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf) && follows(at + 2) && follows(at + 3)
               ? 4
               : 0;
  return 0;
}

bool is_text(std::string_view bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const size_t n = utf8_character(bytes, at);
    if (n == 0) return false;
    at += n;
  }
  return true;
}

}  // namespace pliant::artifact
