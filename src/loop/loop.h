// Loop IR: what a kernel does, one scalar iteration at a time. Vectorisation, unrolling, parallelism and instructions are
// annotations of loops; the meaning is always that of the serial scalar program, which is what loop::interpret runs.
//
// Semantics. A kernel's buffers do not overlap unless they are the same buffer. Param buffers are contiguous unless they
// carry strides. Local and Scratch buffers are uninitialised at their Alloc. Loads and stores are in bounds; a Load under a
// Select or an If whose condition is false is not performed. A For runs `extent` times with var = 0 … extent-1, and not at
// all when extent <= 0. A While runs with var = 0, 1 … as long as var < extent (where there is one) and then its condition
// (where there is one) holds; the condition is evaluated before every iteration and once after the last, so its loads are in
// bounds then too. A Let evaluates its Dim once, before its body. Iterations of Parallel and Vector loops are independent,
// except that a Vector loop may carry a Reduce store. Integer and float arithmetic is that of expr/expr.h; a `Reduce` store
// may be reassociated, nothing else may.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loc.h"
#include "expr/expr.h"

namespace pliant::loop {

using expr::Dim;
using expr::Scalar;
using expr::SymbolId;
using BufferId = expr::TensorId;

enum class Scope : uint8_t {
  Param,    // a kernel argument
  Local,    // registers or stack: constant shape, indexed by unrolled or vector indices in hot code
  Scratch,  // per-thread memory of the run's arena: any shape over the kernel's symbols
};

struct Buffer {
  BufferId id;
  std::string name;
  DType dtype;
  std::vector<Dim> shape;
  std::vector<Dim> strides;  // in elements; empty: row-major contiguous
  Scope scope = Scope::Param;
  bool is_output = false;    // Param: written by the kernel
  bool is_constant = false;  // Param: bound to a constant of the artifact
};
std::vector<Dim> strides_of(const Buffer& b, expr::Context& ctx);

enum class ForKind : uint8_t {
  Serial,
  Parallel,  // outermost only, any number of perfectly nested ones: together they are the kernel's task grid
  Vector,    // constant extent: lanes. A body that a mask guards is an If on the vector index.
  Unroll,    // constant extent
  Outline,   // serial, in machine code of its own: what its iterations share takes no registers of the loops around it
  Tensor,    // constant extent: the loop with all that is in it is one instruction, Stmt::instruction
};

// What a store does with the old value.
enum class StoreKind : uint8_t { Assign, Add, Mul, Max, Min, And, Or };
const char* name_of(ForKind k);
const char* name_of(StoreKind k);
// What a store does with the element that is there and the new value; none for Assign.
std::optional<expr::BinaryOp> update_of(StoreKind k);

struct Stmt;
using StmtPtr = std::shared_ptr<const Stmt>;

enum class StmtKind : uint8_t { Block, For, Store, If, Alloc, Check, Let, While };

// One node type for all statements; which fields are set depends on `kind`.
struct Stmt {
  StmtKind kind;
  std::vector<StmtPtr> body;  // Block: in order; For, Alloc, Let, While: one; If: then, and optionally else
  // For, While, Let
  SymbolId var = 0;
  Dim extent;  // Let: the value of `var`, which may read memory; While: null for no limit
  ForKind for_kind = ForKind::Serial;
  std::string instruction;  // Tensor: a name of target/instruction.h, whose description the loop is
  // Store: buffer[index] = value, or buffer[index] op= value
  BufferId buffer = 0;
  std::vector<Dim> index;
  Scalar value;  // Store; If, Check and While: the condition (Bool; While: null for true)
  StoreKind store_kind = StoreKind::Assign;
  bool non_temporal = false;  // Store: nothing reads the place soon, it may be written by non-temporal stores
  // Alloc: declares `alloc` for its body
  std::shared_ptr<const Buffer> alloc;
  // Check: when `value` is false the kernel stops with trap `trap` (an index into Function::traps) and the values of
  // `index`
  uint32_t trap = 0;
};

StmtPtr make_block(std::vector<StmtPtr> stmts);  // flattens nested blocks
StmtPtr make_for(SymbolId var, Dim extent, ForKind kind, StmtPtr body);
StmtPtr make_tensor(SymbolId var, Dim extent, std::string instruction, StmtPtr body);
StmtPtr make_store(BufferId buffer, std::vector<Dim> index, Scalar value, StoreKind kind = StoreKind::Assign);
StmtPtr make_if(Scalar cond, StmtPtr then, StmtPtr otherwise = nullptr);
StmtPtr make_alloc(Buffer buffer, StmtPtr body);
StmtPtr make_check(Scalar cond, uint32_t trap, std::vector<Dim> values);
StmtPtr make_let(SymbolId var, Dim value, StmtPtr body);
StmtPtr make_while(SymbolId var, Dim limit, Scalar cond, StmtPtr body);

bool binds_variable(const Stmt& s);  // For, While, Let

struct Trap {
  std::string message;  // `{0}`, `{1}` … stand for the values of the Check
  LocPtr loc;
};

struct Function {
  std::string name;
  std::vector<Buffer> params;
  StmtPtr body;
  std::vector<Trap> traps;
  LocPtr loc;
  double flops_hint = 0;  // per element of the task grid; only for deciding whether threads pay
};

// The symbols that the body and the shapes and strides of params read and no loop binds: the kernel's integer arguments, in
// id order.
std::vector<SymbolId> free_symbols(const Function& f);
const Buffer* find_buffer(const Function& f, BufferId id);  // params and allocs

std::string print(const Function& f, expr::Context& ctx);
// Parses what `print` gives; symbols that are not known to `ctx` are declared.
Result<Function> parse(std::string_view text, expr::Context& ctx);
// Structure: every variable and buffer in scope, ranks and dtypes agree, Vector, Unroll and Tensor extents constant,
// Parallel only outermost, Tensor around serial loops and stores alone and not inside Vector.
Status verify(const Function& f, expr::Context& ctx);

// Runs the function on raw memory: the oracle for code generation. `symbols` binds the free symbols; `buffers[i]` is the
// memory of params[i]. A Check that fails gives an error with id "run-time-check".
Status interpret(const Function& f, expr::Context& ctx, const std::vector<std::pair<SymbolId, int64_t>>& symbols,
                 const std::vector<void*>& buffers);

}  // namespace pliant::loop
