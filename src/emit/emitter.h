// The state of emission, one object for each function of the module; its members lie in files by topic: emitter.cc
// (inputs, epochs, storage), emit_nodes.cc, emit_extern.cc, emit_results.cc.
#pragma once
#include <map>
#include <set>
#include <vector>

#include "emit/emit.h"
#include "emit/slots.h"
#include "ops/op.h"

namespace pliant::emit {

using artifact::Arg;
using artifact::Opcode;
using graph::kNoValue;
using graph::Node;
using graph::TensorType;
using graph::ValueId;

// Where a value lies: an input, output, buffer … and a position in it.
struct Storage {
  Arg::Kind kind = Arg::Kind::Buffer;
  uint32_t index = 0;
  Dim offset;  // in bytes
  bool known = false;
};

class Emitter {
 public:
  Emitter(const graph::Function& f, expr::Context& ctx, const codegen::Target& target, const Options& options);
  Result<Emitted> run();

 private:
  artifact::Program& prog() { return out_.program; }
  uint32_t position() { return static_cast<uint32_t>(prog().code.size()); }
  // Appends an instruction and gives its position.
  size_t append(Opcode op, size_t a = 0, size_t b = 0, size_t c = 0);

  // Inputs and epochs.
  artifact::Axis axis_of(Dim d) { return {slots_.of(d), d.str()}; }
  void add_bind(uint32_t input, uint32_t axis, expr::SymbolId s, bool is_element);
  void bind_inputs();
  // A new definition point: the shape program, the obligations that have become decidable and the plan of what follows.
  Status begin_epoch();
  bool all_known(Dim d) const;

  // Storage.
  uint32_t constant_index(const graph::ConstantPtr& c);
  Dim bytes_of(DType t, const std::vector<Dim>& shape) { return product(ctx_, shape) * byte_size(t); }
  Storage new_buffer(Dim bytes);
  // Storage for a value about to be computed: where it is to end up (`direct_`) when `may_be_direct`, else a buffer.
  Storage define_value(ValueId v, bool may_be_direct);
  // The argument for a value at the instruction about to be appended.
  Arg arg_of(const Storage& s);
  Arg arg_of_value(ValueId v);

  // Nodes.
  Status emit_nodes(const std::vector<Node>& nodes);
  Status emit_node(const Node& n);
  Status emit_read(const Node& n);
  Status emit_extern(const Node& n, const ops::OpDef& op);
  Status emit_kernels(const Node& n);
  Status emit_lowered(const Node& n, lower::LoweredNode low);
  uint32_t add_kernel(lower::LoweredKernel& k);

  // Results.
  void plan_results();
  void finish_results();
  void finish_tables();

  const graph::Function& f_;
  expr::Context& ctx_;
  const codegen::Target& target_;
  const Options& options_;
  Slots slots_;
  std::vector<Storage> storage_;  // one a value
  lower::ConstantValues constants_;
  std::map<ValueId, Storage> direct_;  // where values are to be written when nothing else has a claim on them
  std::map<const graph::ConstantData*, uint32_t> constant_ids_;
  std::set<size_t> required_;  // obligations that have been emitted
  uint32_t epoch_ = 0;
  Emitted out_;
};

}  // namespace pliant::emit
