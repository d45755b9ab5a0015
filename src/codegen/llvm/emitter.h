// Loop functions and shape functions to LLVM IR. The input is legal (see codegen/legalize): every Scalar is an operation
// that the emitter has, or a call of a mathematical function in f64.
//
// The loop passes (loop/pass/pass.h) have run. A Vector loop becomes straight-line code over LLVM vectors of `lanes`
// elements. Each value is either uniform (one scalar for all lanes) or a vector; uniform operands are splat where they meet
// vectors. Conditions that differ between lanes become masks.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "artifact/entry.h"
#include "codegen/codegen.h"
#include "codegen/frame.h"
#include "codegen/llvm/hoist.h"
#include "codegen/llvm/index.h"
#include "codegen/polls.h"
#include "target/match.h"

namespace pliant::codegen {

// A value of the program: of the lanes when `vec`, otherwise the same for all of them.
struct Val {
  llvm::Value* v = nullptr;
  bool vec = false;
};

// Of one kernel or shape function.
class Emitter {
 public:
  Emitter(llvm::Module& module, expr::Context& ctx, const Target& target, int opt_level);
  // Defines `uint32_t symbol(const KernelFrame*, int64_t, int64_t)`.
  void emit_kernel(const KernelSource& source, const std::string& symbol);
  // Defines `void symbol(int64_t*)`.
  void emit_shape(const ShapeFunction& source, const std::string& symbol);

 private:
  // Under which condition the code being emitted is meant to run; what is emitted without control flow must not touch memory
  // outside it.
  struct Guard {
    llvm::Value* uniform = nullptr;  // i1, null for true
    llvm::Value* mask = nullptr;     // <lanes x i1>, null for all
    bool some_lane = true;           // at least one lane of the mask is known to be set
    unsigned id = 0;                 // equal ids, equal guards
    bool any() const { return uniform || mask; }
  };
  struct BufferState {
    const loop::Buffer* buffer = nullptr;
    llvm::Value* base = nullptr;
    int64_t elements = -1;  // Local: allocated elements
  };
  // emit_function.cc
  llvm::Function* begin_function(const std::string& symbol, llvm::FunctionType* type);
  void describe_entry(const artifact::Entry& entry);
  void bind_buffers(const loop::Function& f, llvm::Value* frame);
  void finish_alias_scopes();

  // emit_stmt.cc
  void emit(const loop::StmtPtr& s);
  void emit_block(const loop::Stmt& s);
  void emit_for(const loop::Stmt& s);
  void emit_let(const loop::Stmt& s);
  void emit_while(const loop::Stmt& s);
  // When a loop looks at the flag.
  Turn turn_of(const loop::Stmt& s) const;
  llvm::Value* iterations_of(const Turn& turn);
  void emit_vector_for(const loop::Stmt& s);
  // Gives the branch back to the next iteration; null where there is no loop.
  llvm::Instruction* emit_serial_loop(expr::SymbolId var, llvm::Value* extent, bool runs_once, const Turn& turn,
                                      const std::function<void()>& body);
  // `for index in [begin, end)`, which is not empty, with a look at the stop flag after each turn. Gives the branch back.
  llvm::Instruction* emit_iterations(const std::string& name, llvm::Value* begin, llvm::Value* end, const Turn& turn,
                                     const std::function<void(llvm::Value* index)>& body);
  // Leaves the kernel when its run is to end, else goes on to `next`.
  void emit_poll(llvm::BasicBlock* next);
  void emit_if(const loop::Stmt& s);
  void emit_under_mask(const loop::StmtPtr& body, llvm::Value* mask);
  void emit_branch(llvm::Value* cond, const std::function<void()>& then, const loop::StmtPtr& otherwise = nullptr);
  void emit_alloc(const loop::Stmt& s);
  void emit_check(const loop::Stmt& s);
  bool needs_some_lane(const loop::StmtPtr& s);
  void bind(expr::SymbolId var, llvm::Value* v, const std::function<void()>& body);

  // emit_instruction.cc
  void emit_tensor(const loop::Stmt& s);
  // An update that an instruction does, in a vector loop or to one element.
  struct LaneUpdate {
    const target::Instruction* instruction;
    const target::Form* form;
    std::pair<expr::Scalar, expr::Scalar> operands;
  };
  std::optional<LaneUpdate> lane_update(const loop::Stmt& s, DType t);
  llvm::Value* emit_update(const LaneUpdate& u, llvm::Value* sum, llvm::Value* x, llvm::Value* y);
  llvm::Value* operand_address(const target::Operand& o);
  llvm::Value* load_operand(const target::Operand& o, int64_t lanes);

  // emit_index.cc
  Index index_of(expr::Dim d);
  Index index_of_atom(const expr::Atom& a);
  Index divide(expr::Dim numerator, expr::Dim divisor, bool want_mod);
  Index extremum(const expr::Atom& a);
  Index product(const expr::Monomial& m, int64_t coefficient);
  void accumulate(Index& sum, const Index& x);
  Index scale(const Index& x, llvm::Value* by);
  // The uniform part as one value.
  llvm::Value* uniform_part(const Index& x);
  // The uniform part except the constant, summed outermost level first.
  llvm::Value* uniform_sum(std::vector<llvm::Value*> terms);
  llvm::Value* uniform_dim(expr::Dim d);
  // All lanes as <lanes x i64>.
  llvm::Value* wide_lanes(const Index& x);
  // The varying part as <lanes x i32> with its bounds, when it is small enough.
  struct Small {
    llvm::Value* v = nullptr;
    int64_t lo = 0, hi = 0;
  };
  std::optional<Small> small_part(const Index& x);
  // floordiv or mod of n = base + small by a uniform divisor.
  Index divide_small(const Index& n, const Small& small, llvm::Value* div, bool nonnegative, bool want_mod);
  // (r + s) / div in 32 bits, for 0 <= r < div and lanes s in [0, hi].
  llvm::Value* small_carry(llvm::Value* r, llvm::Value* s, llvm::Value* div, int64_t hi);
  // Sums and products of lanes, placed as far out as they can be; null: nothing to add.
  llvm::Value* add_lanes(llvm::Value* x, llvm::Value* y);
  llvm::Value* multiply_lanes(llvm::Value* x, llvm::Value* y);
  // Compares `x` with zero.
  Val compare_index(expr::BinaryOp op, const Index& x);
  llvm::Value* lane_numbers(llvm::Type* element);

  // emit_memory.cc
  Val emit_load(expr::Scalar s);
  // The four bytes from `first` on as one i32; null where the lanes read different ones, or not all of them may be there.
  llvm::Value* load_word(expr::Scalar first);
  void emit_store(const loop::Stmt& s);
  void store_reduced(const loop::Stmt& s, const BufferState& b, const Index& ix, Val value);
  void store_lanes(const loop::Stmt& s, const BufferState& b, const Index& ix, Val value);
  expr::Dim flat_index(const loop::Buffer& b, const std::vector<expr::Dim>& index);
  llvm::Value* address(const BufferState& b, const Index& ix);
  llvm::Value* lane_addresses(const BufferState& b, const Index& ix);
  llvm::Value* gather(const BufferState& b, llvm::Value* pointers, llvm::Value* mask);
  static llvm::Align alignment_of(const BufferState& b);
  bool proves_in_bounds(const loop::Buffer& b, const std::vector<expr::Dim>& index);
  llvm::Value* load_vector(const BufferState& b, llvm::Value* pointer, llvm::Value* mask);
  // The same from a place that may lie outside of the buffer where the mask has no lane.
  llvm::Value* load_where(const BufferState& b, llvm::Value* pointer, llvm::Value* mask);
  // ±2 to ±4 when the lanes are so many elements apart, otherwise 0.
  int64_t short_step(const Index& ix) const;
  // Elements `first`, `first + step` …; for a negative step `first` is the last lane's.
  llvm::Value* load_strided(const BufferState& b, llvm::Value* first, int64_t step);
  // `whole`: what the mask leaves out exists as well and is the kernel's own.
  void store_vector(const BufferState& b, llvm::Value* pointer, llvm::Value* value, llvm::Value* mask, bool whole);
  void store_non_temporal(const BufferState& b, llvm::Value* pointer, llvm::Value* value);
  llvm::Value* load_scalar(const BufferState& b, llvm::Value* pointer);
  void store_scalar(const BufferState& b, llvm::Value* pointer, llvm::Value* value);
  llvm::Value* zeros(int64_t bytes);
  void annotate(llvm::Instruction* i, const BufferState& b, bool is_load);
  void for_each_lane(llvm::Value* mask, const std::function<void(llvm::Value* lane)>& body);

  // emit_broadcast.cc
  // Whether each lane reads the element of its own or all of them the first, which the run decides: `flat` is the index.
  bool runs_or_stays(const Index& ix, expr::Dim flat);
  llvm::Value* load_run_or_element(const BufferState& b, const Index& ix, llvm::Value* mask, llvm::Value* condition);

  // emit_shuffle.cc
  // Null where the lanes of a local buffer are not known or lie in more than two vectors.
  llvm::Value* load_shuffled(const BufferState& b, const Index& ix);
  // Lanes at known distances from a uniform position, all within one vector's length: one load and a shuffle.
  llvm::Value* load_spread(const BufferState& b, const Index& ix);

  // emit_scale.cc
  // Null where `s` is not a scaling by a power of two, or there is no instruction for it.
  llvm::Value* emit_scale(expr::Scalar s);

  // emit_scalar.cc
  Val emit(expr::Scalar s);
  // What was emitted for `s` and holds here, or null.
  const Val* emitted(expr::Scalar s);
  std::unordered_set<const expr::ScalarNode*> not_emitted(expr::Scalar s);
  Val emit_uncached(expr::Scalar s);
  Val emit_select(expr::Scalar s);
  Val emit_side(expr::Scalar side, expr::Scalar other, Val cond, bool negate);
  // Whether what `side` needs beyond what `other` needs too is long.
  bool is_worth_a_branch(expr::Scalar side, expr::Scalar other);
  // Emits what both sides need, so that neither branch has it alone.
  void emit_shared(expr::Scalar side, expr::Scalar other);
  bool has_load(expr::Scalar s);
  void with_guard(Guard g, const std::function<void()>& body);
  void clear_memo();
  // Forgets what was emitted since there were `log` entries: it does not dominate what follows.
  void forget_since(size_t log);
  // Legalises what gathered indices hold, which the statement-level rewrite does not reach.
  Val emit_value_atom(const expr::Atom& a);

  // emit_arith.cc: operations on single values or vectors alike.
  llvm::Type* type(DType t, bool vec) const;
  llvm::Type* memory_type(DType t) const;
  llvm::FixedVectorType* vector_of(llvm::Type* element) const;
  // What was loaded as a value: a bool is a byte in memory.
  llvm::Value* from_memory(DType t, llvm::Value* loaded) { return t == DType::Bool ? b_.CreateIsNotNull(loaded) : loaded; }
  llvm::Value* splat(Val v);
  llvm::Value* splat(llvm::Value* v);
  // The same, placed where `v` was made; not to be used inside Hoister::pure.
  llvm::Value* spread(llvm::Value* v);
  llvm::Value* unary(expr::UnaryOp op, DType t, llvm::Value* x);
  llvm::Value* binary(expr::BinaryOp op, DType t, llvm::Value* x, llvm::Value* y);
  llvm::Value* float_binary(expr::BinaryOp op, DType t, llvm::Value* x, llvm::Value* y);
  llvm::Value* int_divide(expr::BinaryOp op, DType t, llvm::Value* x, llvm::Value* y);
  llvm::Value* extremum(bool max, DType t, llvm::Value* x, llvm::Value* y);
  llvm::Value* cast(DType to, DType from, llvm::Value* x);
  llvm::Value* widen_half(DType t, llvm::Value* x);
  llvm::Value* narrow_half(DType t, llvm::Value* x);
  // Vectors of floats to integers.
  llvm::Value* saturate(DType to, llvm::Value* x);
  llvm::Value* combine(loop::StoreKind k, DType t, llvm::Value* old, llvm::Value* value);
  llvm::Value* reduce_lanes(loop::StoreKind k, DType t, llvm::Value* v);
  llvm::Value* constant(DType t, uint64_t bits);
  // Calls a C function of f64 arguments, lane by lane.
  llvm::Value* call_math(const char* name, std::vector<llvm::Value*> args);
  llvm::Value* int_power(DType t, llvm::Value* x, llvm::Value* y);

  llvm::Module& module_;
  llvm::LLVMContext& llvm_;
  expr::Context& ctx_;
  const Target& target_;
  const int opt_level_;
  llvm::IRBuilder<> b_;

  // State of the function being emitted.
  llvm::Function* function_ = nullptr;
  std::unique_ptr<Hoister> hoist_;
  std::unordered_map<expr::SymbolId, llvm::Value*> env_;
  std::function<llvm::Value*(expr::SymbolId)> read_symbol_;     // for symbols not in env_
  std::unordered_map<expr::Dim, Index>* known_dims_ = nullptr;  // in a shape function: the dims of the assignment
  std::map<loop::BufferId, BufferState> buffers_;
  struct ScratchPlace {
    expr::Dim offset;
    llvm::Value* gaps = nullptr;  // bytes of the gaps before it; null: none
  };
  std::map<loop::BufferId, ScratchPlace> scratch_places_;
  llvm::Value* scratch_ = nullptr;
  llvm::Value* fault_values_ = nullptr;
  bool has_non_temporal_ = false;  // the function has non-temporal stores
  Polls polls_;
  llvm::Value* stop_ = nullptr;          // the address of the flag, where the function has a loop that looks at it
  llvm::BasicBlock* stopped_ = nullptr;  // where a loop goes that was asked to stop; null: there is none yet
  std::vector<std::pair<llvm::Instruction*, loop::BufferId>> accesses_;
  int64_t lanes_ = 0;  // of the vector loop being emitted, 0 outside
  expr::SymbolId lane_var_ = 0;
  Guard guard_;
  std::vector<unsigned> outer_guards_;  // the ids of the guards, outermost first, `guard_` last
  std::map<std::pair<llvm::Value*, llvm::Value*>, unsigned> guard_ids_;
  struct MemoKey {
    const expr::ScalarNode* node;
    unsigned guard;
    friend bool operator<(const MemoKey& a, const MemoKey& b) {
      return a.node != b.node ? a.node < b.node : a.guard < b.guard;
    }
  };
  std::map<MemoKey, Val> memo_;  // looked up only, never iterated
  std::vector<MemoKey> memo_log_;
  std::unordered_map<const expr::ScalarNode*, bool> has_load_;
};

llvm::CmpInst::Predicate predicate_of(expr::BinaryOp comparison, DType t);

}  // namespace pliant::codegen
