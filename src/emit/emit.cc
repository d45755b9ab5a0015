#include "emit/emit.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/frame.h"
#include "emit/slots.h"
#include "emit/view.h"
#include "graph/visit.h"
#include "ops/op.h"

namespace pliant::emit {

namespace {

using artifact::Arg;
using artifact::Opcode;
using graph::kNoValue;
using graph::Node;
using graph::TensorType;
using graph::ValueId;

struct Storage {
  Arg::Kind kind = Arg::Kind::Buffer;
  uint32_t index = 0;
  Dim offset;  // in bytes
  bool known = false;
};

class Emitter {
 public:
  Emitter(const graph::Function& f, expr::Context& ctx, const codegen::Target& target, const Options& options)
      : f_(f), ctx_(ctx), target_(target), options_(options), slots_(ctx), storage_(f.values.size()) {
    constants_.by_value.resize(f.values.size());
  }

  Result<Emitted> run() {
    bind_inputs();
    TRY(begin_epoch());
    plan_results();
    size_t done = 0;
    for (const Node& n : f_.nodes) {
      TRY(emit_node(n));
      if (options_.progress) options_.progress(static_cast<double>(++done) / static_cast<double>(f_.nodes.size()));
    }
    finish_results();
    append(Opcode::Return);
    finish_tables();
    return std::move(out_);
  }

 private:
  artifact::Program& prog() { return out_.program; }

  size_t append(Opcode op, size_t a = 0) {
    PLIANT_CHECK(a < 65536 && prog().code.size() < 65535) << "a program of more than 65535 instructions";
    artifact::Instr i;
    i.op = op;
    i.a = static_cast<uint16_t>(a);
    prog().code.push_back(i);
    return prog().code.size() - 1;
  }

  // ---- inputs and epochs

  artifact::Axis axis_of(Dim d) { return {slots_.of(d), d.str()}; }

  void add_bind(uint32_t input, uint32_t axis, expr::SymbolId s, bool is_element) {
    if (slots_.knows(s)) return;
    const expr::SymbolInfo& info = ctx_.info(s);
    artifact::Bind b;
    b.input = input;
    b.axis = axis;
    b.slot = slots_.add_symbol(s, 0);
    b.is_element = is_element;
    b.symbol = info.name;
    b.lo = info.lo;
    b.hi = info.hi;
    b.multiple_of = info.multiple_of;
    prog().binds.push_back(b);
    prog().slot_names.push_back(info.name);
  }

  void bind_inputs() {
    for (uint32_t i = 0; i < f_.params.size(); ++i) {
      const TensorType& t = f_.tensor_type(f_.params[i]);
      for (uint32_t a = 0; a < t.shape.size(); ++a)
        if (auto s = t.shape[a].as_symbol()) add_bind(i, a, *s, false);
    }
    for (expr::SymbolId s : graph::symbols_of(f_, ctx_)) {
      const expr::Origin& o = ctx_.info(s).origin;
      if (o.kind != expr::Origin::Kind::InputValue) continue;
      for (uint32_t i = 0; i < f_.params.size(); ++i)
        if (f_.value(f_.params[i]).name == o.name) add_bind(i, static_cast<uint32_t>(o.axis), s, true);
    }
    prog().key_slots = slots_.count();
    for (uint32_t i = 0; i < f_.params.size(); ++i) {
      ValueId v = f_.params[i];
      const TensorType& t = f_.tensor_type(v);
      artifact::TensorDesc d;
      d.name = f_.value(v).name;
      d.dtype = t.dtype;
      for (Dim x : t.shape) d.axes.push_back(axis_of(x));
      if (i < f_.default_values.size() && f_.default_values[i])
        d.default_constant = static_cast<int32_t>(constant_index(f_.default_values[i]));
      prog().inputs.push_back(std::move(d));
      storage_[v] = {Arg::Kind::Input, i, ctx_.constant(0), true};
    }
  }

  // A new definition point: the shape program and the plan of what follows.
  Status begin_epoch() {
    epoch_ = static_cast<uint32_t>(prog().shape_programs.size());
    prog().shape_programs.emplace_back();
    append(Opcode::Shape, epoch_);
    for (size_t i = 0; i < f_.obligations.size(); ++i) {
      const graph::Obligation& o = f_.obligations[i];
      if (required_.count(i) || !all_known(o.a) || !all_known(o.b)) continue;
      required_.insert(i);
      artifact::Check c;
      c.kind = o.kind == graph::Obligation::Kind::Equal       ? artifact::Check::Kind::Equal
               : o.kind == graph::Obligation::Kind::LessEqual ? artifact::Check::Kind::LessEqual
                                                              : artifact::Check::Kind::Broadcast;
      c.a = slots_.of(o.a);
      c.b = slots_.of(o.b);
      c.where = describe(o.loc);
      c.message = o.message;
      prog().shape_programs[epoch_].checks.push_back(std::move(c));
    }
    append(Opcode::Plan, epoch_);
    return ok();
  }

  bool all_known(Dim d) const {
    for (expr::SymbolId s : expr::symbols_of(d))
      if (!slots_.knows(s)) return false;
    return true;
  }

  // ---- storage

  uint32_t constant_index(const graph::ConstantPtr& c) {
    auto it = constant_ids_.find(c.get());
    if (it != constant_ids_.end()) return it->second;
    auto id = static_cast<uint32_t>(out_.constants.size());
    out_.constants.push_back(c);
    constant_ids_[c.get()] = id;
    return id;
  }

  Dim bytes_of(DType t, const std::vector<Dim>& shape) { return product(ctx_, shape) * byte_size(t); }

  Storage new_buffer(Dim bytes) {
    artifact::BufferDesc b;
    b.bytes = slots_.of(bytes);
    PLIANT_CHECK(slots_.epoch_of(bytes) <= epoch_) << "a buffer whose size is not known yet";
    b.epoch = epoch_;
    b.first = b.last = static_cast<uint32_t>(prog().code.size());
    prog().buffers.push_back(b);
    return {Arg::Kind::Buffer, static_cast<uint32_t>(prog().buffers.size() - 1), ctx_.constant(0), true};
  }

  // Which results a value may be written to directly: the first result that it, or a view of it, is.
  void plan_results() {
    std::map<ValueId, ValueId> view_of;
    for (const Node& n : f_.nodes)
      if (n.outputs.size() == 1 && is_whole_view(n)) view_of[n.outputs[0]] = n.inputs[0];
    std::set<ValueId> params(f_.params.begin(), f_.params.end());
    for (uint32_t i = 0; i < f_.results.size(); ++i) {
      ValueId v = f_.results[i];
      while (view_of.count(v)) v = view_of[v];
      if (!params.count(v) && !direct_.count(v)) direct_[v] = i;
    }
  }

  Storage define_value(ValueId v, bool may_be_output) {
    const TensorType& t = f_.tensor_type(v);
    auto it = direct_.find(v);
    if (may_be_output && it != direct_.end())
      storage_[v] = {Arg::Kind::Output, it->second, ctx_.constant(0), true};
    else
      storage_[v] = new_buffer(bytes_of(t.dtype, t.shape));
    return storage_[v];
  }

  // The argument for a value at the instruction about to be appended.
  Arg arg_of(const Storage& s) {
    PLIANT_CHECK(s.known) << "a value without storage";
    Arg a;
    a.kind = s.kind;
    a.index = s.index;
    a.byte_offset = slots_.of(s.offset);
    if (s.kind == Arg::Kind::Buffer) {
      artifact::BufferDesc& b = prog().buffers[s.index];
      b.last = std::max(b.last, static_cast<uint32_t>(prog().code.size()));
    }
    return a;
  }

  Arg arg_of_value(ValueId v) {
    if (!storage_[v].known && constants_.by_value[v])
      storage_[v] = {Arg::Kind::Constant, constant_index(constants_.by_value[v]), ctx_.constant(0), true};
    return arg_of(storage_[v]);
  }

  // ---- nodes

  Status emit_node(const Node& n) {
    if (n.op == "core.const") {
      constants_.by_value[n.outputs[0]] = n.attrs.constant("value");
      return ok();
    }
    if (n.op == "core.read_dims") return emit_read(n);
    if (auto view = view_of(n, f_, ctx_)) {
      ValueId v = n.inputs[0];
      if (view->is_whole() && constants_.by_value[v])
        constants_.by_value[n.outputs[0]] = with_shape(constants_.by_value[v], f_.tensor_type(n.outputs[0]));
      arg_of_value(v);
      storage_[n.outputs[0]] = storage_[v];
      storage_[n.outputs[0]].offset = storage_[v].offset + view->byte_offset;
      return ok();
    }
    if (n.op != "core.fused") {
      const ops::OpDef* op = ops::find_op(n.op);
      PLIANT_CHECK(op) << "an unknown operator " << n.op << " at " << describe(n.loc);
      if (!op->kernel.symbol.empty()) return emit_extern(n, *op);
    }
    return emit_kernels(n);
  }

  Status emit_read(const Node& n) {
    std::vector<Dim> symbols = n.attrs.dims_or("symbols", {});
    uint32_t next = epoch_ + 1;
    for (size_t k = 0; k < symbols.size(); ++k) {
      auto s = symbols[k].as_symbol();
      PLIANT_CHECK(s) << "core.read_dims defines " << symbols[k].str();
      if (slots_.knows(*s)) continue;
      artifact::ReadDesc r;
      r.from = arg_of_value(n.inputs[0]);
      r.dtype = f_.tensor_type(n.inputs[0]).dtype;
      r.element = static_cast<uint32_t>(k);
      r.slot = slots_.add_symbol(*s, next);
      prog().reads.push_back(r);
      append(Opcode::Read, prog().reads.size() - 1);
    }
    return begin_epoch();
  }

  Status emit_extern(const Node& n, const ops::OpDef& op) {
    artifact::ExternDesc x;
    x.symbol = op.kernel.symbol;
    x.where = describe(n.loc);
    DType first = f_.tensor_type(n.inputs[0]).dtype;
    te::Builder builder(ctx_);
    std::vector<te::Tensor> inputs;
    for (ValueId v : n.inputs) {
      if (v == kNoValue) {
        inputs.push_back(nullptr);
        continue;
      }
      inputs.push_back(builder.input("in", f_.tensor_type(v).dtype, f_.tensor_type(v).shape));
    }
    graph::Attrs attrs = TRY(ops::normalise_attrs(op, n.attrs, ctx_, n.loc));
    ops::DefineContext define(builder, attrs, inputs, n.outputs.size(), n.loc);
    if (op.kernel.ints)
      for (Dim d : op.kernel.ints(define)) x.ints.push_back(slots_.of(d));
    // Sizes that the function finds out are symbols that nothing has defined before.
    std::vector<expr::SymbolId> fresh;
    std::vector<std::pair<ValueId, Dim>> bounded;
    for (ValueId v : n.outputs) {
      std::vector<Dim> shape = f_.tensor_type(v).shape;
      bool data_dependent = false;
      for (Dim& d : shape)
        for (expr::SymbolId s : expr::symbols_of(d)) {
          if (slots_.knows(s) && std::find(fresh.begin(), fresh.end(), s) == fresh.end()) continue;
          data_dependent = true;
          if (std::find(fresh.begin(), fresh.end(), s) == fresh.end()) fresh.push_back(s);
          PLIANT_CHECK(ctx_.info(s).upper) << "the size " << ctx_.info(s).name << " of " << x.symbol << " has no bound";
          d = expr::substitute(d, {{s, *ctx_.info(s).upper}});
        }
      if (data_dependent)
        storage_[v] = new_buffer(bytes_of(f_.tensor_type(v).dtype, shape));
      else
        define_value(v, true);
    }
    for (ValueId v : n.inputs) {
      if (v == kNoValue) {
        Storage none = new_buffer(ctx_.constant(0));
        x.inputs.push_back(arg_of(none));
        x.input_shapes.push_back({artifact::imm(0)});
        x.input_dtypes.push_back(first);
        continue;
      }
      const TensorType& t = f_.tensor_type(v);
      x.inputs.push_back(arg_of_value(v));
      std::vector<artifact::Int> shape;
      for (Dim d : t.shape) shape.push_back(slots_.of(d));
      x.input_shapes.push_back(shape);
      x.input_dtypes.push_back(t.dtype);
    }
    for (ValueId v : n.outputs) {
      x.outputs.push_back(arg_of(storage_[v]));
      x.output_dtypes.push_back(f_.tensor_type(v).dtype);
    }
    for (expr::SymbolId s : fresh) x.result_slots.push_back(slots_.add_symbol(s, epoch_ + 1));
    prog().externs.push_back(std::move(x));
    append(Opcode::Extern, prog().externs.size() - 1);
    return fresh.empty() ? ok() : begin_epoch();
  }

  // Equal kernels share their code in the image (codegen::fingerprint), not their names and messages.
  uint32_t add_kernel(lower::LoweredKernel& k) {
    artifact::KernelDesc d;
    d.name = k.function.name;
    for (const loop::Fault& fault : k.function.faults) d.faults.push_back({describe(fault.loc), fault.message});
    prog().kernels.push_back(std::move(d));
    out_.kernel_ints.push_back(loop::free_symbols(k.function));
    out_.functions.push_back(std::make_unique<loop::Function>(std::move(k.function)));
    return static_cast<uint32_t>(prog().kernels.size() - 1);
  }

  Status emit_kernels(const Node& n) {
    lower::LoweredNode low = TRY(lower::lower_node(f_, n, constants_, ctx_, target_, options_.lower));
    std::vector<Storage> temporaries;
    for (const lower::Temporary& t : low.temporaries) temporaries.push_back(new_buffer(bytes_of(t.dtype, t.shape)));
    for (ValueId v : n.outputs) define_value(v, true);
    for (lower::LoweredKernel& k : low.kernels) {
      for (expr::SymbolId s : loop::free_symbols(k.function))
        PLIANT_CHECK(slots_.knows(s)) << "kernel " << k.function.name << " needs " << ctx_.info(s).name
                                      << ", which nothing defines:\n"
                                      << loop::print(k.function, ctx_);
      artifact::CallDesc c;
      c.where = describe(n.loc);
      c.tasks = slots_.of(k.tasks);
      c.work = slots_.of(k.work);
      c.scratch = slots_.of(codegen::scratch_bytes(k.function, ctx_));
      for (expr::SymbolId s : loop::free_symbols(k.function)) c.ints.push_back(slots_.of(ctx_.symbol_dim(s)));
      for (const lower::KernelArg& a : k.args) {
        if (a.constant) {
          c.args.push_back(arg_of({Arg::Kind::Constant, constant_index(a.constant), ctx_.constant(0), true}));
        } else if (a.temporary >= 0) {
          c.args.push_back(arg_of(temporaries[static_cast<size_t>(a.temporary)]));
        } else {
          c.args.push_back(arg_of_value(a.value));
        }
      }
      c.kernel = add_kernel(k);
      prog().calls.push_back(std::move(c));
      append(Opcode::Call, prog().calls.size() - 1);
    }
    return ok();
  }

  // ---- results

  void finish_results() {
    for (uint32_t i = 0; i < f_.results.size(); ++i) {
      ValueId v = f_.results[i];
      const TensorType& t = f_.tensor_type(v);
      artifact::TensorDesc d;
      d.name = f_.result_names[i];
      d.dtype = t.dtype;
      for (Dim x : t.shape) d.axes.push_back(axis_of(x));
      prog().outputs.push_back(std::move(d));
      Arg from = arg_of_value(v);
      if (from.kind == Arg::Kind::Output && from.index == i && from.byte_offset == artifact::imm(0)) continue;
      artifact::CopyDesc c;
      c.from = from;
      c.to.kind = Arg::Kind::Output;
      c.to.index = i;
      c.bytes = slots_.of(bytes_of(t.dtype, t.shape));
      prog().copies.push_back(c);
      append(Opcode::Copy, prog().copies.size() - 1);
    }
  }

  void finish_tables() {
    prog().slot_count = slots_.count();
    std::vector<int32_t> symbols = slots_.symbol_slots();
    for (uint32_t e = 0; e < prog().shape_programs.size(); ++e) {
      codegen::ShapeFunction s;
      s.name = "shape_" + std::to_string(e);
      s.assignments = slots_.assignments(e);
      s.symbol_slots = symbols;
      prog().shape_programs[e].has_code = !s.assignments.empty();
      out_.shapes.push_back(std::move(s));
    }
  }

  const graph::Function& f_;
  expr::Context& ctx_;
  const codegen::Target& target_;
  const Options& options_;
  Slots slots_;
  std::vector<Storage> storage_;
  lower::ConstantValues constants_;
  std::map<ValueId, uint32_t> direct_;
  std::map<const graph::ConstantData*, uint32_t> constant_ids_;
  std::set<size_t> required_;
  uint32_t epoch_ = 0;
  Emitted out_;
};

}  // namespace

Result<Emitted> emit(const graph::Function& f, expr::Context& ctx, const codegen::Target& target, const Options& options) {
  return Emitter(f, ctx, target, options).run();
}

}  // namespace pliant::emit
