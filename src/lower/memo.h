// What templates made of naive functions for one target and its options. Layers repeat: an equal function, which differs in
// its loop variables and params alone, is not scheduled again.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "lower/lower.h"
#include "schedule/schedule.h"

namespace pliant::lower {

struct Scheduled {
  std::vector<loop::Buffer> naive_params;
  loop::Function function;  // flat
  std::vector<schedule::Repack> repacks;
  artifact::Provenance provenance;
  std::string domains;  // of the knobs, with Options::derivations
};
struct ScheduleMemo {
  // By all that a template and its schedule look at except the names of params.
  std::unordered_map<std::string, std::vector<Scheduled>> made;
};

}  // namespace pliant::lower
