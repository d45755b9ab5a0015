#include "lower/temporaries.h"

#include <algorithm>
#include <unordered_set>

#include "lower/checks.h"
#include "lower/templates/template.h"

namespace pliant::lower {

void add_temporary(const te::Tensor& t, Temporaries& temporaries, LoweredNode& out) {
  temporaries[t->id] = static_cast<int32_t>(out.temporaries.size());
  out.temporaries.push_back({t->dtype, t->shape});
}

namespace {

// The most maps that share a kernel.
constexpr size_t kMostMaps = 64;

// Map `first`, and those behind it, before `end`, that can share its kernel.
std::vector<const Stage*> maps_together(const Problem& p, const StageList& list, size_t first, size_t end) {
  std::vector<const Stage*> group{&list.stages[first]};
  std::unordered_set<expr::TensorId> computed{group[0]->tensor->id};
  size_t checks = check_of(p, *group[0]) ? 1 : 0;
  for (size_t j = first + 1; j < end && group.size() < kMostMaps; ++j) {
    const Stage& s = list.stages[j];
    if (s.tensor->kind != te::Kind::Map || s.tensor->shape != group[0]->tensor->shape) break;
    const std::vector<expr::TensorId> reads = reads_of(s);
    if (std::any_of(reads.begin(), reads.end(), [&](expr::TensorId id) { return computed.count(id) != 0; })) break;
    group.push_back(&s);
    checks += check_of(p, s) ? 1 : 0;
    if (checks > 0 && checks < group.size() && !tests_in_place(p, list, group)) {
      group.pop_back();
      break;
    }
    computed.insert(s.tensor->id);
  }
  return group;
}

// The base is written like any map, then the updates in their order, by one thread, because they may meet.
Status lower_scatter(const Problem& p, const StageList& list, const Stage& s, const Temporaries& temporaries,
                     LoweredNode& out) {
  Stage base = s;
  base.body = s.base;
  out.kernels.push_back(TRY(lower_map_stages(p, list, {&base}, temporaries)));
  out.kernels.push_back(TRY(schedule_kernel(p, kSerial, make_updates_work(p, list, s, temporaries))));
  out.kernels.back().work = product(p.ctx, s.tensor->reduce_extent) * (cost_of(s.body) + 4);
  return ok();
}

}  // namespace

Status lower_stages_before(const Problem& p, const StageList& list, size_t root, Temporaries& temporaries,
                           LoweredNode& out) {
  for (size_t i = 0; i < root; ++i)
    if (const Stage& s = list.stages[i]; !s.is_output && !check_of(p, s)) add_temporary(s.tensor, temporaries, out);
  for (size_t i = 0; i < root;) {
    const Stage& s = list.stages[i];
    if (s.tensor->kind == te::Kind::Map) {
      const std::vector<const Stage*> group = maps_together(p, list, i, root);
      std::vector<Segment> segments;
      if (group.size() == 1 && !check_of(p, s)) segments = segments_of(p.ctx, s);
      for (const Segment& segment : segments)
        out.kernels.push_back(TRY(lower_map_stages(p, list, group, temporaries, &segment)));
      if (segments.empty()) out.kernels.push_back(TRY(lower_map_stages(p, list, group, temporaries)));
      i += group.size();
      continue;
    }
    if (s.tensor->kind == te::Kind::Scatter) {
      TRY(lower_scatter(p, list, s, temporaries, out));
    } else {
      out.kernels.push_back(TRY(lower_single_stage(p, list, s, temporaries)));
    }
    ++i;
  }
  return ok();
}

}  // namespace pliant::lower
