// Running reductions. Where the scanned axis is not the innermost one, lanes are neighbouring scans. Where it is, lanes are
// neighbouring elements of one: a vector is scanned in registers, and what stands before it is combined with all its lanes.
#include "lower/reduction/long_sum.h"
#include "lower/stage_kernels.h"

namespace pliant::lower {

namespace {

struct Running {
  expr::Context& ctx;
  const te::TensorDef& t;
  Scalar body;  // flat
  Dim offset;   // of the output
  int64_t lanes;
  size_t axis = static_cast<size_t>(t.scan_axis), last = t.shape.size() - 1;
  loop::StoreKind kind = store_kind_of(t.combiner);

  Scalar identity(DType type) const { return identity_of(ctx, t.combiner, type); }
  Scalar load(const loop::Buffer& b, Dim i) const { return expr::make_load(ctx, b.id, b.dtype, {i}); }
  Scalar combined(Scalar x, Scalar y) const { return expr::make_binary(*loop::update_of(kind), x, y); }
  Scalar input(const expr::DimMap& at) const { return expr::make_cast(t.accumulate, expr::substitute(body, at)); }
  loop::StmtPtr store(const expr::DimMap& at, Scalar value) const {
    return loop::make_store(t.id, {expr::substitute(offset, at)}, finish_value(t, value));
  }
  loop::StmtPtr for_lanes(const std::function<loop::StmtPtr(Dim)>& f) const {
    Dim l = ctx.index_symbol("l", ctx.constant(lanes));
    return loop::make_for(*l.as_symbol(), ctx.constant(lanes), loop::ForKind::Vector, f(l));
  }
};

// `lanes` scans, starting at element `base` of the innermost axis; of which `valid` exist (null: all). In long sums, what is
// stored is that of the blocks before and what the block has so far.
loop::StmtPtr make_side_by_side(const Running& r, Dim base, Dim valid) {
  expr::Context& ctx = r.ctx;
  const te::TensorDef& t = r.t;
  Dim extent = t.shape[r.axis], step = ctx.index_symbol("a", extent);
  loop::Buffer acc = make_local(ctx, "acc", t.accumulate, r.lanes),
               before = make_local(ctx, "before", t.accumulate, r.lanes);
  auto lane_loop = [&](const std::function<loop::StmtPtr(Dim)>& f) {
    return r.for_lanes([&](Dim l) { return valid ? loop::make_if(expr::less(l, valid), f(l)) : f(l); });
  };
  auto clear = [&](const loop::Buffer& b) {
    return lane_loop([&](Dim l) { return loop::make_store(b.id, {l}, r.identity(t.accumulate)); });
  };
  auto sweep = [&](bool in_blocks) {
    return lane_loop([&](Dim l) {
      const expr::DimMap at{{t.index[r.axis], t.reverse ? extent - 1 - step : step}, {t.index[r.last], base + l}};
      loop::StmtPtr add = loop::make_store(acc.id, {l}, r.input(at), r.kind);
      loop::StmtPtr put = r.store(at, in_blocks ? r.load(before, l) + r.load(acc, l) : r.load(acc, l));
      return t.exclusive ? loop::make_block({put, add}) : loop::make_block({add, put});
    });
  };
  LongSum sum(ctx, t.combiner, acc, r.lanes, {extent});
  sum.set_parts({}, sum.copy_totals(before.id));
  loop::StmtPtr all = sum.versions([&](const LongSum& blocks) {
    loop::StmtPtr steps = blocks.at_level(0, {*step.as_symbol(), extent}, sweep(blocks.is_long()));
    return blocks.is_long() ? loop::make_block({clear(before), steps}) : steps;
  });
  if (sum.is_long()) all = loop::make_alloc(before, all);
  return loop::make_alloc(acc, loop::make_block({clear(acc), all}));
}

// Strips of several vectors read more of each row at once, which costs registers that work on the elements needs too.
constexpr int64_t kVectorsOfStrip = 8, kCheap = 4;

// The scans of one task and the loop over tasks.
loop::StmtPtr make_strips(Running r, std::vector<Loop>& parallel) {
  expr::Context& ctx = r.ctx;
  const int64_t lanes = r.lanes, wide = cost_of(r.body) <= kCheap ? lanes * kVectorsOfStrip : lanes;
  const Dim inner = r.t.shape[r.last], strips = ceildiv(inner, wide), c = ctx.index_symbol("t", strips);
  parallel.push_back({*c.as_symbol(), strips});
  const Dim base = c * wide, left = inner - base;
  if (wide == lanes) return make_side_by_side(r, base, left);
  const Dim parts = ceildiv(left, lanes), part = ctx.index_symbol("p", parts);
  loop::StmtPtr narrow = loop::make_for(*part.as_symbol(), parts, loop::ForKind::Serial,
                                        make_side_by_side(r, base + part * lanes, left - part * lanes));
  r.lanes = wide;
  return loop::make_if(expr::less_equal(ctx.constant(wide), left), make_side_by_side(r, base, {}), narrow);
}

// One vector of a scan beside one of lanes that change nothing, which are read where there is nothing earlier.
struct ScanStep {
  loop::Buffer buffer;
  int64_t own, outside;  // where the vector and the other lanes start
};

// The elements from `first` on along the axis, `valid` of which exist (null: all lanes), behind `before`.
loop::StmtPtr scan_vector(const Running& r, const loop::Buffer& before, Dim first, Dim valid) {
  expr::Context& ctx = r.ctx;
  const te::TensorDef& t = r.t;
  const Scalar identity = r.identity(t.accumulate);
  auto at = [&](Dim l) { return expr::DimMap{{t.index[r.axis], first + l}}; };
  std::vector<ScanStep> stages;
  std::vector<loop::StmtPtr> seq;
  auto add_stage = [&](const std::function<loop::StmtPtr(const ScanStep&, Dim)>& fill) {
    ScanStep p{make_local(ctx, "scanned", t.accumulate, 2 * r.lanes), t.reverse ? r.lanes : 0, t.reverse ? 0 : r.lanes};
    seq.push_back(r.for_lanes([&](Dim l) { return loop::make_store(p.buffer.id, {l + p.outside}, identity); }));
    seq.push_back(r.for_lanes([&](Dim l) { return fill(p, l); }));
    stages.push_back(std::move(p));
  };
  // A shuffle of both vectors: what leaves its own at one end comes to the other one.
  auto earlier = [&](const ScanStep& p, Dim l, int64_t distance) {
    return r.load(p.buffer, mod(l + p.own + (t.reverse ? distance : 2 * r.lanes - distance), 2 * r.lanes));
  };
  add_stage([&](const ScanStep& p, Dim l) {
    loop::StmtPtr s = loop::make_store(p.buffer.id, {l + p.own}, r.input(at(l)));
    return valid ? loop::make_if(expr::less(l, valid), s, loop::make_store(p.buffer.id, {l + p.own}, identity)) : s;
  });
  for (int64_t distance = 1; distance < r.lanes; distance *= 2) {
    const ScanStep from = stages.back();
    add_stage([&](const ScanStep& p, Dim l) {
      return loop::make_store(p.buffer.id, {l + p.own}, r.combined(earlier(from, l, 0), earlier(from, l, distance)));
    });
  }
  const ScanStep& scanned = stages.back();
  seq.push_back(r.for_lanes([&](Dim l) {
    Scalar behind = expr::make_cast(t.accumulate, r.load(before, ctx.constant(0)));
    loop::StmtPtr s = r.store(at(l), r.combined(behind, earlier(scanned, l, t.exclusive ? 1 : 0)));
    return valid ? loop::make_if(expr::less(l, valid), s) : s;
  }));
  Scalar all = r.load(scanned.buffer, ctx.constant(t.reverse ? scanned.own : scanned.own + r.lanes - 1));
  seq.push_back(loop::make_store(before.id, {ctx.constant(0)}, expr::make_cast(before.dtype, all), r.kind));
  loop::StmtPtr s = loop::make_block(std::move(seq));
  for (size_t i = stages.size(); i-- > 0;) s = loop::make_alloc(stages[i].buffer, s);
  return s;
}

loop::StmtPtr make_along(const Running& r) {
  expr::Context& ctx = r.ctx;
  const te::TensorDef& t = r.t;
  Dim extent = t.shape[r.axis], whole = floordiv(extent, r.lanes), rest = mod(extent, r.lanes);
  // One addition a vector: sums of f32 have room for all digits.
  const bool is_sum = t.combiner == te::Combiner::Sum && t.accumulate == DType::F32;
  loop::Buffer before = make_local(ctx, "before", is_sum ? DType::F64 : t.accumulate, 1);
  std::vector<loop::StmtPtr> seq{loop::make_store(before.id, {ctx.constant(0)}, r.identity(before.dtype))};
  Dim v = ctx.index_symbol("v", whole), first = t.reverse ? extent - (v + 1) * r.lanes : v * r.lanes;
  if (!whole.is_const(0))
    seq.push_back(loop::make_for(*v.as_symbol(), whole, loop::ForKind::Serial, scan_vector(r, before, first, {})));
  if (!rest.is_const(0)) {
    Dim left = t.reverse ? ctx.constant(0) : whole * r.lanes;
    seq.push_back(loop::make_if(expr::less(ctx.constant(0), rest), scan_vector(r, before, left, rest)));
  }
  return loop::make_alloc(before, loop::make_block(std::move(seq)));
}

}  // namespace

Result<LoweredKernel> lower_scan_stage(const Problem& p, const StageList& list, const Stage& s,
                                       const Temporaries& temporaries) {
  expr::Context& ctx = p.ctx;
  const te::TensorDef& t = *s.tensor;
  Scalar body = flatten_loads(ctx, s.body, list.shapes);
  std::vector<Dim> index;
  for (SymbolId v : t.index) index.push_back(ctx.symbol_dim(v));
  KernelBuilder builder(ctx, p.name + "_" + t.name, p.loc);
  Signature signature(p, list, builder, temporaries);
  signature.add_reads(body, {});
  signature.add_write(s.tensor);
  const Running r{ctx, t, body, flat_offset(ctx, t.shape, index),
                  lanes_for(p.target, {body, expr::make_const(ctx, t.accumulate, 0)})};
  std::vector<Loop> parallel;
  for (size_t i = 0; i < r.last; ++i)
    if (i != r.axis) parallel.push_back({t.index[i], t.shape[i]});
  const loop::StmtPtr stmt = r.axis == r.last ? make_along(r) : make_strips(r, parallel);
  LoweredKernel k;
  k.tasks = product_of(ctx, parallel);
  k.work = element_count(ctx, t.shape) * (cost_of(body) + 2);
  k.function = builder.finish(wrap_loops(parallel, loop::ForKind::Parallel, stmt));
  k.args = signature.take_args();
  return k;
}

}  // namespace pliant::lower
