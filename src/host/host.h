// The host IR: what the host does in a run, between the lowered functions and the bytecode. It takes memory, computes sizes,
// checks them, launches kernels on devices, calls functions of the runtime and of the module, branches and loops.
//
//   module      devices, kernels, constants, the model's inputs and outputs, functions (the first is the entry)
//   function    integer slots, epochs, buffers, growable blocks, list registers; a body of instructions
//   epoch       a point at which symbols become known: a shape function that computes sizes from them, the checks that can
//               then be made, and the buffers that are placed together
//
// Control flow is structured: instructions know neither positions nor jumps, buffers no live ranges. src/emit derives these.
// Leaves are described by the structs of artifact/program.h where the bytecode has the same thing.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "artifact/program.h"
#include "base/result.h"
#include "loop/loop.h"
#include "loop/shape_function.h"

namespace pliant::host {

using artifact::Arg;
using artifact::Int;

// Where kernels run and buffers lie. Device 0 is the host's own: the model's inputs and outputs, constants, growable blocks,
// params, results and lists lie there.
struct Device {
  std::string backend = "cpu";
};
inline constexpr uint32_t kHostDevice = 0;

// A function that a back end compiles, for the devices of that back end.
struct Kernel {
  struct Param {
    DType dtype = DType::F32;
    bool is_output = false;
  };
  std::string name;
  std::string backend = "cpu";
  std::vector<Param> params;
  std::vector<expr::SymbolId> ints;  // the free symbols, in the order in which a launch gives their values
  std::vector<artifact::TrapDesc> traps;
  std::unique_ptr<loop::Function> function;  // null where the module was read from text
};

// Memory that Plan places, for its epoch.
struct Buffer {
  Int bytes;
  uint32_t epoch = 0;
  uint32_t device = kHostDevice;
};
struct Epoch {
  loop::ShapeFunction shape;
  std::vector<artifact::Check> checks;  // after the shape function, in order
};

struct Instr;
using Block = std::vector<Instr>;

// Runs the epoch's shape function, then its checks.
struct Shape {
  uint32_t epoch = 0;
};
// Places the buffers of the epoch. It ends the epochs with higher numbers.
struct Plan {
  uint32_t epoch = 0;
};
// The buffer's life begins here; it ends with its last use, or with the last of the loops around that began after it.
struct Alloc {
  uint32_t buffer = 0;
};
// The buffer lives at least up to here.
struct Keep {
  uint32_t buffer = 0;
};
// slots[slot] = value.
struct Set {
  uint32_t slot = 0;
  Int value;
};
// Runs a kernel over a grid of tasks.
struct Launch {
  uint32_t device = kHostDevice;
  artifact::CallDesc call;
};
// Calls a function of the runtime.
struct Library {
  artifact::LibraryCallDesc call;
};
struct Copy {
  artifact::CopyDesc copy;
};
struct Read {
  artifact::ReadDesc read;
};
struct Reserve {
  artifact::ReserveDesc reserve;
};
// Ends the run: nothing behind it in its block is reached.
struct Fail {
  artifact::FailDesc fail;
};
// Calls functions[function]. Lists as in artifact::InvokeDesc.
struct Call {
  // Slot `to` gets the size that the callee's result `result` has on axis `axis`.
  struct Size {
    uint32_t result = 0, axis = 0, to = 0;
  };
  uint32_t function = 0;
  std::vector<Int> ints;  // the callee's first slots
  std::vector<Arg> args, results;
  std::vector<Size> sizes;
  std::vector<artifact::InvokeDesc::SlotResult> list_args, list_results;
  std::string where;
};
// Runs `then` where slot `a` is not 0, or, with `b`, where slot `a` is below it; else `otherwise`, if there is one.
struct If {
  uint32_t a = 0;
  std::optional<uint32_t> b;
  Block then;
  bool has_otherwise = false;
  Block otherwise;
};
// The slot `index`, which is set before, counts the iterations. There is none unless `enters` is not 0 and the index is
// below slot `trip`, if there is one. `preheader` runs once, before the first iteration. After `body` the index grows by 1;
// another iteration follows while `continues` is not 0 and the index is below the trip count. Immediates of conditions are 0
// or 1.
struct Loop {
  uint32_t index = 0;
  std::optional<uint32_t> trip;
  Int enters = artifact::imm(1), continues = artifact::imm(1);
  Block preheader, body;
  std::string where;
};

struct Instr {
  std::variant<Shape, Plan, Alloc, Keep, Set, Launch, Library, Copy, Read, Reserve, Fail, Call, If, Loop> op;
};

struct Function {
  std::string name;
  uint32_t slot_count = 0;
  uint32_t given_slots = 0;  // slots [0, given_slots) are known at the start: the caller's integers, or what binds set
  uint32_t grow_count = 0;   // growable blocks
  uint32_t list_count = 0;   // list registers
  uint32_t param_count = 0, result_count = 0;  // tensors; none of the entry, which has the model's inputs and outputs
  std::vector<Epoch> epochs;
  std::vector<Buffer> buffers;
  // The sizes of results that callers may ask for, by result and axis; immediates where the caller knows them itself.
  std::vector<std::vector<Int>> result_sizes;
  Block body;  // returns at its end
};

struct Module {
  std::vector<Device> devices{Device{}};
  std::vector<Kernel> kernels;
  std::vector<int64_t> constants;  // bytes of each
  std::vector<artifact::TensorDesc> inputs, outputs;
  std::vector<artifact::Bind> binds;
  std::vector<std::string> key_names;  // of the symbols that binds set, by slot
  std::vector<Function> functions;
};

// Whether the end of the block is never reached.
bool ends_run(const Block& block);

// The text, which print.cc describes, and back. Kernels keep their signatures alone.
std::string print(const Module& module, expr::Context& ctx);
Result<Module> parse(std::string_view text, expr::Context& ctx);

// Holds when
//   every index is in range, every name unique, every buffer allocated once;
//   every slot is computed on every path to each use, and every buffer's epoch planned, its allocation behind it;
//   sizes of memory and grids are immediates, symbols or what a shape function computed as a size: one that does not fit
//   into 64 bits is then larger than any memory;
//   launches fit the signature of their kernel, which is one of their device's back end, with buffers of that device;
//   calls fit their function; what is written is a buffer, an output, a growable block or a result.
// The error, of id `bad-host-ir`, names the function and the instruction.
Status verify(const Module& module, expr::Context& ctx);

}  // namespace pliant::host
