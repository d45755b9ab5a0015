#include <algorithm>

#include "host/host.h"

namespace pliant::host {

bool ends_run(const Block& block) {
  return std::any_of(block.rbegin(), block.rend(), [](const Instr& i) {
    const auto* branch = std::get_if<If>(&i.op);
    return std::holds_alternative<Fail>(i.op) ||
           (branch != nullptr && branch->has_otherwise && ends_run(branch->then) && ends_run(branch->otherwise));
  });
}

}  // namespace pliant::host
