// Scatters: the base is written like any map, then the updates in their order, by one thread, because they may meet.
#include "lower/stage_kernels.h"

namespace pliant::lower {

Result<LoweredKernel> lower_scatter_base(const Problem& p, const StageList& list, const Stage& s,
                                         const Temporaries& temporaries) {
  Stage base = s;
  base.body = s.base;
  return lower_map_stages(p, list, {&base}, temporaries);
}

Result<LoweredKernel> lower_scatter_updates(const Problem& p, const StageList& list, const Stage& s,
                                            const Temporaries& temporaries) {
  expr::Context& ctx = p.ctx;
  const te::TensorDef& t = *s.tensor;
  Scalar value = flatten_loads(ctx, s.body, list.shapes);
  Dim offset = flatten_loads(ctx, flat_offset(ctx, t.shape, s.target), list.shapes);
  KernelBuilder builder(ctx, p.name + "_" + t.name + "_updates", p.loc);
  Signature signature(p, list, builder, temporaries);
  signature.add_reads(value, {});
  signature.add_reads(expr::make_index(offset), {});
  signature.add_write(s.tensor);
  std::vector<Loop> loops;
  for (size_t i = 0; i < t.reduce_index.size(); ++i) loops.push_back({t.reduce_index[i], t.reduce_extent[i]});
  loop::StoreKind kind = t.combiner == te::Combiner::Set ? loop::StoreKind::Assign : store_kind_of(t.combiner);
  LoweredKernel k;
  k.tasks = ctx.constant(1);
  k.work = product_of(ctx, loops) * (cost_of(value) + 4);
  k.function = builder.finish(wrap_loops(loops, loop::ForKind::Serial, loop::make_store(t.id, {offset}, value, kind)));
  k.args = signature.take_args();
  return k;
}

}  // namespace pliant::lower
