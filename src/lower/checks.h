// Data checks that are stages: the kernels of maps test them where they compute.
#pragma once
#include "lower/stage_kernels.h"

namespace pliant::lower {

// Whether the check is a map of many elements, with nothing to say about the one that fails.
bool is_map(const ops::DataCheck& check);
// Whether the kernels of the node test its checks as they go: all of it is maps, and there is nothing to say about the
// element that fails.
bool checks_are_stages(const ops::Defined& d);
// The model's node that asks for check k of those of `node`.
LocPtr location_of_check(const graph::Function& f, const graph::Node& node, size_t k, expr::Context& ctx);

// What is tested at each point of a check that is made of maps, and what its message says, over ok's index and the node's
// inputs.
struct CheckBody {
  Scalar condition;
  std::vector<Dim> values;
};
CheckBody body_of(const Problem& p, const ops::DataCheck& check);

// The check of Problem::checks that the stage is, whose body is tested and not stored; nothing for other stages.
std::optional<size_t> check_of(const Problem& p, const Stage& s);
// Whether one kernel of such maps can test those among them that are checks: where memory is walked in one direction, and
// the group has both.
bool tests_in_place(const Problem& p, const StageList& list, const std::vector<const Stage*>& group);

}  // namespace pliant::lower
