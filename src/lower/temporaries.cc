#include "lower/temporaries.h"

namespace pliant::lower {

void add_temporary(const te::Tensor& t, Temporaries& temporaries, LoweredNode& out) {
  temporaries[t->id] = static_cast<int32_t>(out.temporaries.size());
  out.temporaries.push_back({t->dtype, t->shape});
}

Status lower_stages_before(const Problem& p, const StageList& list, size_t root, Temporaries& temporaries,
                           LoweredNode& out) {
  for (size_t i = 0; i < root; ++i) {
    const Stage& s = list.stages[i];
    if (!s.is_output) add_temporary(s.tensor, temporaries, out);
    out.kernels.push_back(TRY(lower_single_stage(p, list, s, temporaries)));
  }
  return ok();
}

}  // namespace pliant::lower
