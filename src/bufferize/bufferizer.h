// The state of one function of the module on its way to the host IR; its members lie in files by topic: bufferizer.cc
// (inputs, epochs, storage), nodes.cc, if.cc, loop.cc, carried.cc, call.cc, library.cc, sequence.cc, results.cc.
#pragma once
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "bufferize/bufferize.h"
#include "bufferize/slots.h"
#include "graph/control.h"
#include "graph/kernel.h"
#include "graph/list_type.h"
#include "lower/memo.h"
#include "ops/op.h"

namespace pliant::bufferize {

using artifact::Arg;
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
  bool same_memory(const Storage& o) const { return known && o.known && kind == o.kind && index == o.index; }
  friend bool operator==(const Storage& a, const Storage& b) { return a.same_memory(b) && a.offset == b.offset; }
};

struct SizesLess {
  bool operator()(const std::vector<Dim>& a, const std::vector<Dim>& b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](Dim x, Dim y) { return x->id < y->id; });
  }
};

// What the functions of one module share.
struct ModuleState {
  const graph::Module& module;
  expr::Context& ctx;
  const target::Target& target;
  const Options& options;
  lower::LoweredKernels lowered;
  Bufferized out;
  std::map<const graph::ConstantData*, uint32_t> constant_ids;
  std::vector<const graph::Function*> called;  // module.functions after the entry, those still to be done too
  // By loop::outline_key, the lists of sizes for which there are kernels with those in their code.
  std::unordered_map<std::string, std::set<std::vector<Dim>, SizesLess>> own_code;
  std::map<std::vector<std::string>, uint32_t> provenance_ids{};  // by the fields of artifact::Provenance
  std::map<std::string, int64_t> predicted_at{};                  // sizes of symbols, by name
  lower::ScheduleMemo memo{};
};

struct IfMerge;    // if.cc
struct LoopState;  // loop_state.h

class Bufferizer {
 public:
  Bufferizer(const graph::Function& f, ModuleState& unit);
  Status run_entry();
  Status run_function(uint32_t index);

 private:
  host::Module& module() { return unit_.out.module; }
  // Appends an instruction to the block that is being filled.
  template <class T>
  void add(T op) {
    block_->push_back({std::move(op)});
  }
  void set(uint32_t slot, artifact::Int value) { add(host::Set{slot, value}); }
  void move(uint32_t slot, uint32_t from) { set(slot, artifact::slot(from)); }
  // Fills `block` by what `fill` does.
  template <class F>
  auto in_block(host::Block& block, F&& fill) {
    struct Restore {
      host::Block*& current;
      host::Block* outer;
      ~Restore() { current = outer; }
    } restore{block_, std::exchange(block_, &block)};
    return fill();
  }

  // Inputs and epochs.
  artifact::Axis axis_of(Dim d) { return {slots_.size_of(d), d.str()}; }
  // An input or output of the program, tensor or list.
  artifact::TensorDesc describe_value(ValueId v, const std::string& name);
  void add_bind(uint32_t input, uint32_t axis, expr::SymbolId s, bool is_element);
  void bind_inputs();
  void bind_params();
  // A new definition point: the shape function, the constraints that have become decidable and the plan of what follows.
  void begin_epoch();
  uint32_t new_epoch();
  void start_epoch(uint32_t epoch);
  void add_constraints(uint32_t epoch);
  void add_check(uint32_t epoch, const graph::ShapeConstraint& o);
  std::optional<expr::SymbolId> first_unknown(Dim d) const;
  bool all_known(Dim d) const { return !first_unknown(d); }
  bool all_known(const TensorType& t) const;

  // Storage.
  uint32_t constant_index(const graph::ConstantPtr& c);
  Dim bytes_of(DType t, const std::vector<Dim>& shape) { return product(ctx_, shape) * byte_size(t); }
  Dim bytes_of(const TensorType& t) { return bytes_of(t.dtype, t.shape); }
  // As bytes_of, but below 0 where any axis is.
  Dim memory_of(DType t, const std::vector<Dim>& shape);
  // A buffer of this function, and the instruction with which its life begins.
  Storage new_buffer(Dim bytes);
  Storage new_grow() { return {Arg::Kind::Grow, grow_count_++, ctx_.constant(0), true}; }
  // Storage for a value about to be computed: where it is to end up (`direct_`) when `may_be_direct`, else a buffer.
  // Null where the value has none, or where it is an output of the model whose size is not known yet: a reshape of the value
  // may get its sizes only later.
  const Storage* place_planned_for(ValueId v) const;
  Storage define_value(ValueId v, bool may_be_direct);
  Arg arg_of(const Storage& s);
  Arg arg_of_value(ValueId v);
  const Storage& storage_of(ValueId v);
  void copy(const Storage& from, const Storage& to, Dim bytes);
  // Room in a growable block; other storage has its size.
  void reserve(const Storage& to, Dim bytes, const LocPtr& loc);
  uint32_t read_slot(ValueId v, uint32_t element, const LocPtr& loc, uint32_t slot);

  // Nodes.
  Status bufferize_nodes(const std::vector<Node>& nodes, const graph::Region* region = nullptr);
  Status bufferize_node(const Node& n);
  Status bufferize_read(const Node& n);
  Status bufferize_library(const Node& n, const ops::OpDef& op);
  // Whether the runtime gives the value exactly its memory as an output of the model when its call knows the sizes.
  bool is_output_sized_by_call(ValueId v, const std::vector<expr::SymbolId>& found) const;
  Status bufferize_kernel(const Node& n);
  // debug.cc: how kernels were made, for the dump and for the artifact's debug table.
  void add_derivation(const Node& n, const lower::LoweredNode& low);
  void add_debug(const lower::LoweredKernel& k);
  uint64_t predicted_ns(const lower::LoweredKernel& k);
  // Whether `v` is to lie where an input of the kernel is.
  bool lies_over_input(const Node& n, ValueId v) const;
  void launch(const Node& n, std::vector<lower::LoweredKernel>& kernels, const std::vector<Storage>& temporaries);
  uint32_t add_kernel(lower::LoweredKernel& k, const std::string& backend);
  // Lets a kernel be given its sizes where others of its form have theirs in their code, so that these share it. The sizes
  // that its new symbols stand for.
  expr::DimMap share_code(loop::Function& f);

  // Structured control flow.
  Status bufferize_if(const Node& n);
  Status bufferize_branch(const Node& n, const graph::Region& branch, IfMerge& merge);
  Status bufferize_taken_branch(const Node& n, const graph::Region& branch);
  void finish_merge(const Node& n, IfMerge& merge);
  std::optional<bool> known_condition(const graph::IfParts& parts);
  Status bufferize_require(const Node& n);
  Status bufferize_fail(const Node& n);
  Status bufferize_loop(const Node& n);
  bool can_overwrite(const graph::LoopParts& loop, size_t k, bool through_loop) const;
  bool appends_inside(const graph::LoopParts& loop, size_t k) const;
  const Node* append_of(const graph::LoopParts& loop, size_t k) const;
  void begin_carried(const Node& n, const graph::LoopParts& loop, LoopState& state);
  void begin_scans(const Node& n, const graph::LoopParts& loop, LoopState& state);
  void claim_places(const Node& n, const graph::LoopParts& loop, LoopState& state);
  Storage scan_place(const graph::LoopParts& loop, const Storage& first, const TensorType& type);
  void finish_scans(const Node& n, const graph::LoopParts& loop, LoopState& state);
  void finish_carried(const Node& n, const graph::LoopParts& loop, LoopState& state);
  void move_sizes(const graph::LoopParts& loop, const LoopState& state);
  void finish_loop(const Node& n, const graph::LoopParts& loop, const LoopState& state);
  Status bufferize_body(const Node& n, const graph::LoopParts& loop, LoopState& state, artifact::Int& continues);
  // A bool tensor's element: 0 or 1 where it is known, else a slot that it is read into. No value is 1.
  artifact::Int condition_of(ValueId v, const LocPtr& loc);
  Status bufferize_call(const Node& n);
  uint32_t function_index(const Node& n);
  bool bufferize_append(const Node& n);
  // Lets the values that a region yields be written where they are to lie, when a node of the region computes them and
  // nothing else has a claim on them.
  bool computes(const graph::Region& r, ValueId v) const;
  void claim(const graph::Region& r, ValueId v, const Storage& to);

  // Sequences and optionals, sequence.cc: each value has a list register.
  bool is_list(ValueId v) const { return graph::is_list(f_.value(v).type); }
  uint32_t list_of(ValueId v);
  // Several moves at once: into the carried values and results of control flow. `from` keeps its value where `keeps` says
  // so.
  struct ListMove {
    ValueId from, to;
    bool keeps = false;
  };
  void move_lists(const std::vector<ListMove>& moves);
  // The moves of the lists among the results of `from`, from the first on, to `to`. What the region made is used up.
  std::vector<ListMove> list_moves(const graph::Region& from, size_t first, const std::vector<ValueId>& to) const;
  // A carried list that the body changes last of all and then yields is changed where its param lies.
  void share_lists(const graph::Region& body);
  // The lists that `nodes[i]` was the last to use are let go; `region` is where the nodes are, unless the function's own.
  void drop_lists(const std::vector<Node>& nodes, size_t i, const graph::Region* region);
  void describe_list(artifact::TensorDesc& d, ValueId v);
  Status bufferize_list(const Node& n);
  void bufferize_list_read(const Node& n, const std::string& shape_symbol, const std::string& symbol);
  host::Library list_call(const Node& n, const std::string& symbol);
  void add_tensor_input(host::Library& call, ValueId v);
  void add_position(host::Library& call, const Node& n, size_t input);

  // Results.
  void plan_results(Arg::Kind kind);
  void finish_results();
  void finish_function(host::Function& to);

  const graph::Function& f_;
  ModuleState& unit_;
  expr::Context& ctx_;
  const target::Target& target_;
  const Options& options_;
  Slots slots_;
  std::vector<Storage> storage_;  // one a value
  lower::ConstantValues constants_;
  std::map<ValueId, Storage> direct_;  // where values are to be written when nothing else has a claim on them
  // Carried values of loops in bytecode and merged values of branches, by output, that go on with the storage of a carried
  // value of the loop around them.
  std::map<ValueId, Storage> continued_;
  // array.concat nodes, by output, that append where their first input lies; whether there is room already.
  struct Append {
    Storage storage;
    bool reserved;
  };
  std::map<ValueId, Append> appends_;
  // Constraints by a symbol that they wait for; of how many known symbols no shape constraint waits any more.
  std::map<expr::SymbolId, std::vector<size_t>> waiting_;
  size_t waited_for_ = 0;
  bool waits_ = false;
  std::map<ValueId, uint32_t> lists_;
  std::set<ValueId> shared_lists_;  // params whose register is that of what they become
  uint32_t epoch_ = 0;
  // Code of earlier epochs than this runs also where what is being emitted does not: the branch or loop body around it.
  uint32_t first_epoch_ = 0;
  uint32_t grow_count_ = 0;
  uint32_t list_count_ = 0;
  host::Function out_;
  host::Block* block_ = &out_.body;
};

}  // namespace pliant::bufferize
