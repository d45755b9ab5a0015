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
  Nest nest;
  for (size_t i = 0; i < t.reduce_index.size(); ++i) nest.loops.push_back({t.reduce_index[i], t.reduce_extent[i]});
  LoweredKernel k;
  k.tasks = ctx.constant(1);
  k.work = product_of(ctx, nest.loops) * (cost_of(value) + 4);
  nest.scalars = {value};
  nest.offsets = {offset};
  collapse(ctx, nest);
  const loop::StoreKind kind = t.combiner == te::Combiner::Set ? loop::StoreKind::Assign : store_kind_of(t.combiner);
  loop::StmtPtr body = loop::make_store(t.id, nest.offsets, nest.scalars[0], kind);
  if (!nest.loops.empty()) {
    // Updates of one slice go to different places, so that their order does not matter.
    const Loop inner = nest.loops.back();
    const std::optional<Dim> step = stride_in(ctx, nest.offsets[0], inner.var);
    if (step && step->is_const(1)) {
      nest.loops.pop_back();
      body = make_vector_loop(ctx, inner.extent, lanes_for(p.target, nest.scalars), [&](Dim v) {
        const expr::DimMap at{{inner.var, v}};
        return loop::make_store(t.id, {expr::substitute(nest.offsets[0], at)}, expr::substitute(nest.scalars[0], at), kind);
      });
    }
  }
  k.function = builder.finish(wrap_loops(nest.loops, loop::ForKind::Serial, body));
  k.args = signature.take_args();
  return k;
}

}  // namespace pliant::lower
