// A loop as a kernel of its own: its outputs, and what the program learns from running it.
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

LoweredKernel make_kernel(expr::Context& ctx, const Node& n, std::string name, std::vector<loop::Buffer> params,
                          std::vector<KernelArg> args, loop::StmtPtr body) {
  LoweredKernel k;
  k.function.name = std::move(name);
  k.function.params = std::move(params);
  k.function.loc = n.loc;
  k.function.body = std::move(body);
  k.args = std::move(args);
  k.tasks = ctx.constant(1);
  k.work = ctx.constant(1);
  return k;
}

}  // namespace

void RegionLowering::add_output(ValueId v) {
  loop::Buffer b{.id = ctx_.fresh_tensor(), .name = name_of(v), .dtype = f_.tensor_type(v).dtype, .shape = {elements_of(v)}};
  b.is_output = true;
  destinations_[v] = {b.id, ctx_.constant(0)};
  params_.push_back(std::move(b));
  args_.push_back({.value = v});
}

Place RegionLowering::add_temporary(const std::string& name, DType t, Dim elements) {
  loop::Buffer b{.id = ctx_.fresh_tensor(), .name = name, .dtype = t, .shape = {elements}};
  b.is_output = true;
  Place p{b.id, ctx_.constant(0)};
  args_.push_back({.temporary = static_cast<int32_t>(temporaries_.size())});
  temporaries_.push_back({t, b.shape});
  params_.push_back(std::move(b));
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
  loop::Buffer from{
      .id = ctx_.fresh_tensor(), .name = "all", .dtype = t, .shape = temporaries_[static_cast<size_t>(temporary)].shape};
  loop::Buffer to{.id = ctx_.fresh_tensor(), .name = name_of(v), .dtype = t, .shape = {elements_of(v)}};
  to.is_output = true;
  loop::StmtPtr body = copy({from.id, ctx_.constant(0)}, {to.id, ctx_.constant(0)}, t, elements_of(v));
  LoweredKernel k =
      make_kernel(ctx_, n, "collect_" + symbol_name(n), {from, to}, {{.temporary = temporary}, {.value = v}}, body);
  k.provenance.push_back({.maker = "builder copy"});
  return k;
}

Result<LoweredNode> RegionLowering::lower_outermost(const Node& n) {
  const LoopParts parts = graph::loop_parts(n);
  for (ValueId v : n.outputs)
    if (!f_.value(v).type.tensor()) return not_native(n, "it gives values other than tensors");
  collect_inner(n);
  measure_outer(n);
  LoweredNode low;
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
    const std::optional<Dim> room = room_for(shape, t);
    if (!room) return not_native(n, "the size of an output is only known after it and has no small bound");
    destinations_[v] = add_temporary(name_of(v), t, *room);
    low.after_reads.push_back(copy_late(n, v, args_.back().temporary));
  }
  Block out;
  TRY(lower_loop(n, out));
  if (work_ >= kHeavyBody) return not_native(n, "its kernels are heavy enough for threads of their own");
  for (size_t k = 0; k < late.size(); ++k) {
    out.add(loop::make_store(sizes.buffer, {ctx_.constant(static_cast<int64_t>(k))},
                             expr::make_index(ctx_.symbol_dim(late[k]))));
    low.reads.push_back({0, static_cast<uint32_t>(k), late[k]});
  }
  std::vector<loop::Buffer> escaping;
  for (size_t i = 0; i < params_.size(); ++i)
    if (params_[i].is_output && args_[i].value != graph::kNoValue && escapes(f_, args_[i].value))
      escaping.push_back(params_[i]);
  loop::StmtPtr body = make_non_temporal(out.finish(), escaping, target_.l2_bytes, ctx_);
  low.kernels.push_back(make_kernel(ctx_, n, "loop_" + symbol_name(n), params_, args_, std::move(body)));
  low.kernels.back().function.traps = traps_;
  low.kernels.back().provenance = provenance_of("loop");
  for (SymbolId s : loop::free_symbols(low.kernels.back().function))
    if (bounds_.binds(s)) return not_native(n, "a size that an iteration decides is needed where none has run");
  low.temporaries = temporaries_;
  low.derivation = derivation_;
  return low;
}

Result<std::optional<LoweredNode>> lower_loop(const graph::Function& f, const Node& node, const ConstantValues& constants,
                                              expr::Context& ctx, const target::Target& target, const Options& options,
                                              std::string* reason) {
  Result<LoweredNode> low = RegionLowering(f, constants, ctx, target, options).lower_outermost(node);
  if (low.ok()) return std::optional<LoweredNode>(low.take());
  const Diagnostic& d = low.error().diagnostics[0];
  if (d.id != RegionLowering::kNotNative) return low.error();
  if (reason) *reason = d.where + ": " + d.message;
  return std::optional<LoweredNode>();
}

}  // namespace pliant::lower
