// Flat code for the scalar expressions of the interpreter: a register machine whose registers hold the bits of scalars as
// expr::ScalarKind::Const describes them, and Dims as 64-bit integers.
#pragma once
#include <cstddef>
#include <unordered_map>
#include <vector>

#include "loop/loop.h"

namespace pliant::loop {

using Reg = uint32_t;

enum class Op : uint8_t {
  AddDim,
  MulDim,
  FloorDivDim,
  ModDim,
  MinDim,
  MaxDim,
  BroadcastDim,  // dst = a op b
  Load,          // dst = accesses[imm]
  Unary,         // dst = unary a
  Binary,        // dst = a binary b
  AddF32,
  SubF32,
  MulF32,
  Cast,
  Bitcast,     // dst = a, from `t` to `to`
  Fma,         // dst = a * b + c
  Move,        // dst = a
  Select,      // dst = a ? b : c
  Jump,        // to instruction imm
  JumpIfZero,  // to instruction imm when a is 0
};
struct Instr {
  Op op;
  uint8_t sub = 0;  // UnaryOp or BinaryOp
  DType t = DType::I64, to = DType::I64;
  Reg dst = 0, a = 0, b = 0, c = 0;
  uint32_t imm = 0;
};
using Code = std::vector<Instr>;

// An element of a buffer: its position among the interpreter's buffers, and the registers that hold the index.
struct Access {
  uint32_t buffer;
  std::vector<Reg> index;
};

// The run-time state of one buffer.
struct Memory {
  const Buffer* buffer = nullptr;
  std::byte* data = nullptr;
  std::vector<int64_t> extents, strides;
};

uint64_t read_element(const std::byte* p, DType t);
void write_element(std::byte* p, DType t, uint64_t bits);

struct Machine {
  std::vector<uint64_t> regs;
  std::vector<Access> accesses;
  std::vector<Memory> memories;
  std::string kernel;

  void run(const Code& code);
  // The address of an element; an index out of bounds is an InternalError.
  std::byte* address(const Access& a) const;
};

// Compiles expressions into one Machine. A register is computed at most once in the code of one statement, and only where
// the semantics allow: what a Select guards is computed in its branch.
class CodeBuilder {
 public:
  explicit CodeBuilder(Machine& m) : machine_(m) {}
  Reg symbol(SymbolId s);
  uint32_t buffer(BufferId id) const { return buffers_.at(id); }
  uint32_t add_buffer(const Buffer& b);
  // Starts the code of one statement; the registers of the last one are not reused.
  void begin(Code& code);
  Reg dim(Dim d);
  Reg scalar(Scalar s);
  uint32_t access(BufferId id, const std::vector<Dim>& index);

 private:
  Reg fresh();
  Reg constant(uint64_t bits);
  Reg emit(Instr i);
  Reg atom(const expr::Atom& a);
  Reg compute(Scalar s);
  Reg guarded_select(Scalar s);
  // Whether computing it where the program does not may go wrong: loads, divisions of sizes.
  bool may_trap(Scalar s);
  bool may_trap(Dim d);
  Reg known(const void* node) const;

  Machine& machine_;
  Code* code_ = nullptr;
  std::unordered_map<SymbolId, Reg> symbols_;
  std::unordered_map<BufferId, uint32_t> buffers_;
  std::unordered_map<uint64_t, Reg> constants_;
  // What each open branch has computed; the innermost is last.
  std::vector<std::unordered_map<const void*, Reg>> scopes_;
  std::unordered_map<const void*, bool> traps_;
};

}  // namespace pliant::loop
