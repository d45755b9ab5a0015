// Scatters: the base is written like any map, then the updates in their order, by one thread, because they may meet.
#include "lower/stage_kernels.h"
#include "lower/templates/template.h"

namespace pliant::lower {

Result<LoweredKernel> lower_scatter_base(const Problem& p, const StageList& list, const Stage& s,
                                         const Temporaries& temporaries) {
  Stage base = s;
  base.body = s.base;
  return lower_map_stages(p, list, {&base}, temporaries);
}

Result<LoweredKernel> lower_scatter_updates(const Problem& p, const StageList& list, const Stage& s,
                                            const Temporaries& temporaries) {
  LoweredKernel k = TRY(schedule_kernel(p, kSerial, make_updates_work(p, list, s, temporaries)));
  k.work = product(p.ctx, s.tensor->reduce_extent) * (cost_of(s.body) + 4);
  return k;
}

}  // namespace pliant::lower
