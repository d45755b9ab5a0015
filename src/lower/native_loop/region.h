// Lowering of regions: the nodes of loop bodies and branches, inlined into one loop function. Values live in registers
// (Local buffers of a few vectors), on the stack (larger Locals) or in scratch memory whose size is bounded before the
// function runs.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "expr/dim/size_bounds.h"
#include "graph/control.h"
#include "lower/lower.h"
#include "lower/nest.h"

namespace pliant::lower {

// Where a value lies: contiguous, from element `offset` of a buffer on.
struct Place {
  loop::BufferId buffer = 0;
  Dim offset;
  friend bool operator==(const Place&, const Place&) = default;
};

// Statements in order, with declarations that hold for all that follows them.
class Block {
 public:
  void add(loop::StmtPtr s) { items_.push_back(std::move(s)); }
  void bind(SymbolId s, Dim value) { items_.push_back(loop::make_let(s, value, loop::make_block({}))); }
  void declare(loop::Buffer b) { items_.push_back(loop::make_alloc(std::move(b), loop::make_block({}))); }
  // Appends all of `b`; what it declares holds for what follows.
  void splice(const Block& b) { items_.insert(items_.end(), b.items_.begin(), b.items_.end()); }
  loop::StmtPtr finish() const;

 private:
  std::vector<loop::StmtPtr> items_;  // a Let or Alloc without a body takes what follows as its body
};

// Bytes that are taken for one value whether a run comes to need them or not.
constexpr int64_t kSmallRoom = int64_t{1} << 20;
// How many times the memory of what is there anyway may be taken for a value that a run may not come to need.
constexpr int64_t kSpareRoom = 4;
// Loops over the vectors of a value of this many are unrolled, so that the value can stay in registers.
constexpr int64_t kUnrolledVectors = 8;

class RegionLowering {
 public:
  explicit RegionLowering(const LoweringContext& in);

  // What stops a region from being lowered is an error of this id.
  static constexpr DiagnosticId kNotNative = "loop-not-native";

  // What was lowered; nothing where something stopped it, with what it was in `reason`.
  static Result<std::optional<LoweredNode>> if_native(Result<LoweredNode> low, std::string* reason = nullptr);
  // A core.loop that becomes the function.
  Result<LoweredNode> lower_outermost(const graph::Node& n);
  // Nodes that become the function; `outputs` are those of their values that others use, none of them a view.
  Result<LoweredNode> lower_chain(std::span<const graph::Node> nodes, const std::vector<graph::ValueId>& outputs);

 private:
  struct Carried;
  struct Iteration {
    std::string loop;  // the node as messages name it
    Dim index;
  };
  // Whether a run of the function comes to the place that is being lowered.
  struct Reach {
    bool certain = true;  // it does where `factor` is 1; else nothing is known
    Dim factor;           // 0 or 1, over outer symbols; 0: it does not
  };

  // region.cc, region_bounds.cc: nodes, places, sizes
  static Error not_native(const graph::Node& n, const std::string& why);
  // Of memory of that size.
  static Error unbounded(const graph::Node& n, const std::string& what, Dim size);
  Status lower_nodes(const std::vector<graph::Node>& nodes, Block& out);
  Status lower_node_here(const graph::Node& n, Block& out);
  int64_t least_work(Dim work) const;
  // Of a kernel that the kernels of nodes became part of.
  std::vector<artifact::Provenance> provenance_of(const char* maker) const;
  Status lower_kernels(const graph::Node& n, Block& out);
  Status lower_read(const graph::Node& n, Block& out);
  Status lower_require(const graph::Node& n, Block& out);
  Status lower_append(const graph::Node& n, Block& out);
  Dim elements_of(graph::ValueId v) const;
  std::string name_of(graph::ValueId v) const;
  Place place_of(graph::ValueId v);
  Place place_of_constant(const graph::ConstantPtr& c);
  Place add_param(const std::string& name, DType t, Dim elements, KernelArg arg);
  // A value about to be computed: where it was planned to be, or a buffer declared in `out`.
  Result<Place> define(const graph::Node& n, graph::ValueId v, Block& out);
  Result<Place> new_buffer(const graph::Node& n, const std::string& name, DType t, const graph::Shape& shape, Block& out);
  // Memory of `room` elements, which outer symbols give.
  Place declare(const std::string& name, DType t, Dim room, Block& out);
  Place new_local(const std::string& name, DType t, int64_t elements, Block& out);
  bool fits_local(DType t, Dim elements) const;
  bool fits_registers(DType t, Dim elements) const;
  // The symbols that the node's regions bind, and those of nodes inside them.
  void collect_inner(const graph::Node& n);
  void add_inner(SymbolId s);
  void add_fresh(graph::ValueId v, const std::vector<graph::ValueId>& from, size_t skipped_axes,
                 const std::set<SymbolId>& known);
  // Binds `s` for what follows in `out`, once.
  void bind(SymbolId s, Dim value, Block& out);
  // The memory of values from outside that the node uses, and of its outputs whose sizes are known before.
  void measure_outer(const graph::Node& n);
  // The axes that memory for values of this shape needs at a place of this reach: none below 0, over outer
  // symbols. No more than what a run of the function takes for certain, than a few times what is there, or than what is
  // small; nothing where no such size is known.
  std::optional<graph::Shape> room_of(const graph::Shape& shape, DType t, const Reach& reach) const;
  std::optional<Dim> room_for(const graph::Shape& shape, DType t, const Reach& reach) const;
  // Of the loop's body, and of the branch that runs where `cond` is not 0, or is 0.
  Reach reach_of_body(const graph::LoopParts& parts) const;
  Reach reach_of_branch(const graph::IfParts& parts, bool then) const;
  bool uses_inner(Dim d) const { return bounds_.uses_inner(d); }

  // region_inline.cc: statements
  Result<loop::StmtPtr> inline_kernel(const graph::Node& n, const LoweredKernel& k, const std::vector<Place>& params);
  loop::StmtPtr fill(Place to, DType t, Dim elements, const std::function<Scalar(Dim)>& value);
  loop::StmtPtr copy(Place from, Place to, DType t, Dim elements);
  Scalar load(Place p, DType t, Dim at) const { return expr::make_load(ctx_, p.buffer, t, {p.offset + at}); }
  Scalar load_first(Place p, DType t) const { return load(p, t, ctx_.constant(0)); }
  loop::StmtPtr store_first(Place p, Scalar v) const { return loop::make_store(p.buffer, {p.offset}, v); }
  loop::StmtPtr make_check_here(Scalar cond, const std::string& message, const LocPtr& loc, std::vector<Dim> values);
  loop::StmtPtr unroll_short(const loop::StmtPtr& s) const;
  bool is_local(loop::BufferId id) const { return locals_.count(id) != 0; }

  // region_if.cc
  Status lower_if(const graph::Node& n, Block& out);
  struct Branch;
  Status lower_branch(const graph::Node& n, const graph::Region& r, Branch& branch);
  bool is_cheap(const Branch& branch) const;
  Status define_merged(const graph::Node& n, const Branch& then, const Branch& otherwise, std::vector<Place>& merged,
                       Block& out);

  // outermost.cc
  // An output of the function: the place where the value is to end up.
  void add_output(graph::ValueId v);
  // A temporary of the lowered node that the function writes.
  Place add_temporary(const std::string& name, DType t, Dim elements);
  std::vector<SymbolId> late_symbols(const graph::Node& n, const graph::LoopParts& parts) const;
  // The kernel of all that was lowered, with `body`, which is done `work` times.
  LoweredNode finish(const graph::Node& n, const char* maker, loop::StmtPtr body, int64_t work);
  LoweredKernel copy_late(const graph::Node& n, graph::ValueId v, int32_t temporary);

  // loop.cc, carry.cc
  Status lower_loop(const graph::Node& n, Block& out);
  std::vector<Carried> carry(const graph::Node& n, const graph::LoopParts& parts);
  Status place_carried(const graph::Node& n, Carried& c, const graph::LoopParts& parts, Block& out);
  Result<Dim> room_of_carried(const graph::Node& n, const Carried& c, const graph::LoopParts& parts);
  void begin_iteration(std::vector<Carried>& carried, Block& body);
  void plan_destinations(const graph::LoopParts& parts, const std::vector<Carried>& carried,
                         const std::vector<Place>& scans);
  Status end_iteration(const graph::Node& n, const graph::LoopParts& parts, const std::vector<Carried>& carried,
                       const std::vector<Place>& scans, Block& body);
  Result<std::vector<Place>> place_scans(const graph::Node& n, const graph::LoopParts& parts, Block& out);
  void finish_carried(const Carried& c, Dim count, Block& out);
  bool updates_in_place(const graph::Region& r, const Carried& c);
  bool is_better_in_registers(const graph::Region& r, graph::ValueId v) const;
  bool is_computed(const graph::Region& r, graph::ValueId v) const;

  const graph::Function& f_;
  ConstantValues constants_;  // those of the function, and those of its regions
  expr::Context& ctx_;
  const target::Target& target_;
  const Options& options_;
  ScheduleMemo* memo_;
  std::vector<loop::Buffer> params_;
  std::vector<KernelArg> args_;
  std::vector<Temporary> temporaries_;
  std::string derivation_;
  std::vector<artifact::Provenance> parts_;  // kernels that became part of this one
  std::vector<loop::Trap> traps_;
  std::unordered_map<graph::ValueId, Place> places_;
  std::map<const graph::ConstantData*, Place> constant_places_;
  std::map<graph::ValueId, Place> destinations_;
  // The results of concats that lie where the carried value lies: their pieces are written behind it.
  std::map<graph::ValueId, Place> appends_;
  std::set<loop::BufferId> locals_;
  int64_t local_bytes_ = 0;
  expr::SizeBounds bounds_;   // the symbols that the function binds,
  std::set<SymbolId> bound_;  // and those of them that are bound at this point
  Reach reach_;
  Dim outer_bytes_;                    // measure_outer
  std::vector<Iteration> iterations_;  // outermost first
  int64_t work_ = 0;                   // of one iteration of the outermost loop, at the least
};

}  // namespace pliant::lower
