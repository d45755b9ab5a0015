#include "machine/first_line.h"

#include <cstdio>
#include <cstring>

namespace pliant::machine {

std::string first_line(const std::string& path) {
  std::FILE* f = std::fopen(path.c_str(), "re");
  if (f == nullptr) return {};
  char line[512] = {};
  const char* got = std::fgets(line, sizeof line, f);
  std::fclose(f);
  if (got == nullptr) return {};
  line[std::strcspn(line, "\n")] = 0;
  return line;
}

}  // namespace pliant::machine
