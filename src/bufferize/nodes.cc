#include "base/stop.h"
#include "bufferize/bufferizer.h"
#include "codegen/frame.h"
#include "loop/outline.h"
#include "lower/view.h"

namespace pliant::bufferize {

Status Bufferizer::bufferize_nodes(const std::vector<Node>& nodes, const graph::Region* region) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    poll_stop();
    TRY(bufferize_node(nodes[i]));
    drop_lists(nodes, i, region);
    if (&nodes == &f_.nodes && options_.progress)
      options_.progress(static_cast<double>(i + 1) / static_cast<double>(nodes.size()));
  }
  return ok();
}

Status Bufferizer::bufferize_node(const Node& n) {
  if (n.op == "core.const") {
    constants_.set(n.outputs[0], n.attrs.constant("value"));
    return ok();
  }
  if (n.op == "core.read_dims") return bufferize_read(n);
  if (auto view = lower::view_of(n, f_, ctx_)) {
    ValueId v = n.inputs[0];
    if (view->is_whole() && constants_[v])
      constants_.set(n.outputs[0], lower::with_shape(constants_[v], f_.tensor_type(n.outputs[0])));
    const Arg viewed = arg_of_value(v);
    if (viewed.kind == Arg::Kind::Buffer) add(host::Keep{viewed.index});
    storage_[n.outputs[0]] = storage_[v];
    storage_[n.outputs[0]].offset = storage_[v].offset + view->byte_offset;
    return ok();
  }
  if (graph::is_kernel(n)) return bufferize_kernel(n);
  if (n.op == "core.if") return bufferize_if(n);
  if (n.op == "core.loop") return bufferize_loop(n);
  if (n.op == "core.call") return bufferize_call(n);
  if (n.op == "core.require") return bufferize_require(n);
  if (n.op == "core.fail") return bufferize_fail(n);
  if (bufferize_append(n)) return ok();
  const ops::OpDef* op = ops::find_op(n.op);
  PLIANT_CHECK(op) << "an unknown operator " << n.op << " at " << describe(n.loc);
  if (!op->kernel.symbol.empty()) return bufferize_library(n, *op);
  PLIANT_CHECK(op->list.infer) << n.op << " is in no kernel, at " << describe(n.loc);
  return bufferize_list(n);
}

Status Bufferizer::bufferize_read(const Node& n) {
  std::vector<Dim> symbols = n.attrs.dims_or("symbols", {});
  uint32_t epoch = new_epoch();
  for (size_t k = 0; k < symbols.size(); ++k) {
    auto s = symbols[k].as_symbol();
    PLIANT_CHECK(s) << "core.read_dims defines " << symbols[k].str();
    if (slots_.knows(*s)) continue;
    read_slot(n.inputs[0], static_cast<uint32_t>(k), n.loc, slots_.add_symbol(*s, epoch));
  }
  start_epoch(epoch);
  return ok();
}

// Equal kernels share their code in the image (loop::fingerprint), not their names and messages.
uint32_t Bufferizer::add_kernel(lower::LoweredKernel& k, const std::string& backend) {
  host::Kernel d;
  d.backend = backend;
  d.name = k.function.name;
  for (const loop::Buffer& b : k.function.params) d.params.push_back({b.dtype, b.is_output});
  d.ints = loop::free_symbols(k.function);
  for (const loop::Trap& trap : k.function.traps) d.traps.push_back({describe(trap.loc), trap.message});
  d.function = std::make_unique<loop::Function>(std::move(k.function));
  module().kernels.push_back(std::move(d));
  return static_cast<uint32_t>(module().kernels.size() - 1);
}

// As many kernels of one form have code of their own, which depends on what is known of their sizes; none that is made of
// more sizes, whose sums and products would each be code.
constexpr size_t kOwnCode = 3, kMostOwnSizes = 64;

expr::DimMap Bufferizer::share_code(loop::Function& f) {
  const std::vector<Dim> sizes = loop::outlined_sizes(f, ctx_);
  if (sizes.empty()) return {};
  auto& own = unit_.own_code[loop::outline_key(f)];
  if (own.count(sizes) != 0) return {};
  if (own.size() < kOwnCode && loop::free_symbols(f).size() <= kMostOwnSizes) {
    own.insert(sizes);
    return {};
  }
  loop::Outlined outlined = loop::outline_sizes(f, ctx_);
  f = std::move(outlined.function);
  return expr::DimMap(outlined.sizes.begin(), outlined.sizes.end());
}

// The nodes of a chain run one after another, so one may read where another has written: they need memory of their own.
bool Bufferizer::lies_over_input(const Node& n, ValueId v) const {
  const Storage* planned = place_planned_for(v);
  return planned != nullptr && graph::kernel_form(n) == graph::KernelForm::Chain &&
         std::any_of(n.inputs.begin(), n.inputs.end(), [&](ValueId in) { return storage_[in].same_memory(*planned); });
}

Status Bufferizer::bufferize_kernel(const Node& n) {
  auto known = unit_.lowered.extract(n.regions[0].get());
  lower::LoweredNode low = known.empty()
                               ? TRY(lower::lower_kernel({f_, constants_, ctx_, target_, options_.lower, &unit_.memo}, n))
                               : std::move(known.mapped());
  if (options_.lower.derivations) add_derivation(n, low);
  std::vector<Storage> temporaries;
  for (const lower::Temporary& t : low.temporaries) temporaries.push_back(new_buffer(memory_of(t.dtype, t.shape)));
  for (ValueId v : n.outputs)
    if (low.reads.empty() || all_known(f_.tensor_type(v))) define_value(v, !lies_over_input(n, v));
  launch(n, low.kernels, temporaries);
  if (low.reads.empty()) return ok();
  const uint32_t epoch = new_epoch();
  for (const lower::SymbolRead& r : low.reads) {
    const auto temporary = static_cast<size_t>(r.temporary);
    add(host::Read{{arg_of(temporaries[temporary]), low.temporaries[temporary].dtype, r.element,
                    slots_.add_symbol(r.symbol, epoch), describe(n.loc)}});
  }
  start_epoch(epoch);
  for (ValueId v : n.outputs)
    if (!storage_[v].known) define_value(v, true);
  launch(n, low.after_reads, temporaries);
  return ok();
}

void Bufferizer::launch(const Node& n, std::vector<lower::LoweredKernel>& kernels, const std::vector<Storage>& temporaries) {
  for (lower::LoweredKernel& k : kernels) {
    add_debug(k);
    for (expr::SymbolId s : loop::free_symbols(k.function))
      PLIANT_CHECK(slots_.knows(s)) << "kernel " << k.function.name << " needs " << ctx_.info(s).name
                                    << ", which nothing defines:\n"
                                    << loop::print(k.function, ctx_);
    host::Launch launch;
    artifact::CallDesc& c = launch.call;
    c.where = describe(n.loc);
    c.tasks = slots_.size_of(k.tasks);
    c.work = slots_.of(k.work);
    for (const auto& piece : codegen::scratch_layout(k.function, ctx_).pieces)
      c.scratch.push_back(slots_.size_of(piece.bytes));
    const expr::DimMap sizes = share_code(k.function);
    for (expr::SymbolId s : loop::free_symbols(k.function)) {
      const auto given = sizes.find(s);
      c.ints.push_back(slots_.of(given == sizes.end() ? ctx_.symbol_dim(s) : given->second));
    }
    for (size_t i = 0; i < k.args.size(); ++i) {
      const lower::KernelArg& a = k.args[i];
      Storage s;
      if (a.constant)
        s = {Arg::Kind::Constant, constant_index(a.constant), ctx_.constant(0), true};
      else
        s = a.temporary >= 0 ? temporaries[static_cast<size_t>(a.temporary)] : storage_of(a.value);
      if (a.offset) s.offset = s.offset + a.offset * byte_size(k.function.params[i].dtype);
      c.args.push_back(arg_of(s));
    }
    c.kernel = add_kernel(k, n.attrs.string_or("backend", ""));
    add(std::move(launch));
  }
}

}  // namespace pliant::bufferize
