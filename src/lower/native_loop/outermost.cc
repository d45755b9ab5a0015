// A loop or nodes in a row as a kernel of its own: its outputs, and what the program learns from running it.
#include <algorithm>

#include "lower/movement/non_temporal.h"
#include "lower/native_loop/carry.h"

namespace pliant::lower {

using graph::LoopParts;
using graph::Node;
using graph::ValueId;

namespace {

// Scalar operations of one iteration from which its kernels are worth threads of their own.
constexpr int64_t kHeavyBody = int64_t{1} << 22;

}  // namespace

void RegionLowering::add_output(ValueId v) {
  destinations_[v] = add_param(name_of(v), f_.tensor_type(v).dtype, elements_of(v), {.value = v});
  params_.back().is_output = true;
}

Place RegionLowering::add_temporary(const std::string& name, DType t, Dim elements) {
  const Place p = add_param(name, t, elements, {.temporary = static_cast<int32_t>(temporaries_.size())});
  params_.back().is_output = true;
  temporaries_.push_back({t, {elements}});
  return p;
}

// Symbols in the sizes of the outputs, and the count of the loop, that only running it tells.
std::vector<SymbolId> RegionLowering::late_symbols(const Node& n, const LoopParts& parts) const {
  std::set<SymbolId> late;
  if (!graph::is_unconditional(f_, parts)) late.insert(*parts.count.as_symbol());
  for (ValueId v : n.outputs)
    for (Dim d : f_.tensor_type(v).shape)
      for (SymbolId s : expr::symbols_of(d))
        if (bounds_.binds(s)) late.insert(s);
  return {late.begin(), late.end()};
}

// From a temporary to an output whose size is known by now.
LoweredKernel RegionLowering::copy_late(const Node& n, ValueId v, int32_t temporary) {
  const DType t = f_.tensor_type(v).dtype;
  const std::vector<Dim>& all = temporaries_[static_cast<size_t>(temporary)].shape;
  const loop::Buffer from = loop::make_buffer(ctx_, "all", t, all, loop::Scope::Param);
  loop::Buffer to = loop::make_buffer(ctx_, name_of(v), t, {elements_of(v)}, loop::Scope::Param);
  to.is_output = true;
  LoweredKernel k = built_by("copy");
  k.function.name = "collect_" + symbol_name(n);
  k.function.params = {from, to};
  k.function.loc = n.loc;
  k.function.body = copy({from.id, ctx_.constant(0)}, {to.id, ctx_.constant(0)}, t, elements_of(v));
  k.args = {{.temporary = temporary}, {.value = v}};
  k.tasks = k.work = ctx_.constant(1);
  return k;
}

LoweredNode RegionLowering::finish(const Node& n, const char* maker, loop::StmtPtr body, int64_t work) {
  LoweredKernel k;
  k.provenance = provenance_of(maker);
  k.function = {maker + ("_" + symbol_name(n)), params_, std::move(body), traps_, n.loc};
  k.args = args_;
  k.tasks = ctx_.constant(1);
  k.work = ctx_.constant(work);
  LoweredNode low;
  low.kernels.push_back(std::move(k));
  low.temporaries = temporaries_;
  low.derivation = derivation_;
  return low;
}

Result<LoweredNode> RegionLowering::lower_outermost(const Node& n) {
  const LoopParts parts = graph::loop_parts(n);
  for (ValueId v : n.outputs)
    if (!f_.value(v).type.tensor()) return not_native(n, "it gives values other than tensors");
  collect_inner(n);
  measure_outer(n);
  std::vector<SymbolRead> reads;
  std::vector<LoweredKernel> after_reads;
  const std::vector<SymbolId> late = late_symbols(n, parts);
  Place sizes;
  if (!late.empty()) sizes = add_temporary("sizes", DType::I64, ctx_.constant(static_cast<int64_t>(late.size())));
  for (ValueId v : n.outputs) {
    // One axis may be unknown of a value without elements as well.
    const graph::Shape& shape = f_.tensor_type(v).shape;
    if (std::none_of(shape.begin(), shape.end(), [&](Dim d) { return uses_inner(d); })) {
      add_output(v);
      continue;
    }
    const DType t = f_.tensor_type(v).dtype;
    const std::optional<Dim> room = room_for(shape, t, reach_);
    if (!room) return not_native(n, "the size of an output is only known after it and has no small bound");
    destinations_[v] = add_temporary(name_of(v), t, *room);
    after_reads.push_back(copy_late(n, v, args_.back().temporary));
  }
  Block out;
  TRY(lower_loop(n, out));
  if (work_ >= kHeavyBody) return not_native(n, "its kernels are heavy enough for threads of their own");
  for (size_t k = 0; k < late.size(); ++k) {
    out.add(loop::make_store(sizes.buffer, {ctx_.constant(static_cast<int64_t>(k))},
                             expr::make_index(ctx_.symbol_dim(late[k]))));
    reads.push_back({0, static_cast<uint32_t>(k), late[k]});
  }
  std::vector<loop::Buffer> escaping;
  for (size_t i = 0; i < params_.size(); ++i)
    if (params_[i].is_output && args_[i].value != graph::kNoValue && escapes(f_, args_[i].value))
      escaping.push_back(params_[i]);
  loop::StmtPtr body = make_non_temporal(out.finish(), escaping, target_.l2_bytes, ctx_);
  LoweredNode low = finish(n, "loop", std::move(body), 1);
  low.reads = std::move(reads);
  low.after_reads = std::move(after_reads);
  for (SymbolId s : loop::free_symbols(low.kernels.back().function))
    if (bounds_.binds(s)) return not_native(n, "a size that an iteration decides is needed where none has run");
  return low;
}

Result<std::optional<LoweredNode>> RegionLowering::if_native(Result<LoweredNode> low, std::string* reason) {
  if (low.ok()) return std::optional<LoweredNode>(low.take());
  const Diagnostic& d = low.error().diagnostics[0];
  if (d.id != kNotNative) return low.error();
  if (reason) *reason = d.where + ": " + d.message;
  return std::optional<LoweredNode>();
}

Result<std::optional<LoweredNode>> lower_loop(const LoweringContext& in, const Node& node, std::string* reason) {
  return RegionLowering::if_native(RegionLowering(in).lower_outermost(node), reason);
}

// Nodes in a row:
//
//   kernel(a, b) { the kernels of the first node; those of the second; … }
//
// What only the nodes themselves use stays in registers, on the stack or in scratch memory.
Result<LoweredNode> RegionLowering::lower_chain(std::span<const Node> nodes, const std::vector<ValueId>& outputs) {
  for (ValueId v : outputs) add_output(v);
  Block out;
  for (const Node& n : nodes) TRY(lower_node_here(n, out));
  return finish(nodes.back(), "chain", out.finish(), work_);
}

Result<std::optional<LoweredNode>> lower_chain(const LoweringContext& in, std::span<const Node> nodes,
                                               const std::vector<ValueId>& outputs) {
  return RegionLowering::if_native(RegionLowering(in).lower_chain(nodes, outputs));
}

}  // namespace pliant::lower
