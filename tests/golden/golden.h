// Golden tests: tests/golden/<area>/*.ir. The first line says what to do, `// test: <command> [argument…]`; the text up to
// `// ---- expect` is the input, the rest is the whole output that the command must give. A command is one file
// tests/golden/commands/<name>.cc that exports `Command command_<name>()`; a line `// links: pliant_x pliant_y` in it names
// the libraries that it needs.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace pliant::golden {

struct Case {
  std::string path;
  std::vector<std::string> args;
  std::string input;
};
// An Error becomes output too: a line `// error: …` for each diagnostic.
struct Command {
  std::string name;
  std::function<Result<std::string>(const Case&)> run;
};

}  // namespace pliant::golden
