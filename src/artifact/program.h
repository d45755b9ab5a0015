// What an artifact holds, as plain structs: written by emit, read by the runtime. artifact/file.h gives the bytes on disk.
//
// A run: bind symbols from the inputs' axes and elements into integer slots, check the inputs' shapes, then execute `code`.
// Shape programs fill further slots from those known; buffer sizes, task counts and output shapes are slots or immediates.
// Slots known after shape program 0 form the key of the plan cache.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "artifact/dtype.h"

namespace pliant::artifact {

// An integer: an immediate, or the value of a slot.
struct Int {
  int64_t value = 0;
  bool is_slot = false;
  friend bool operator==(const Int&, const Int&) = default;
};
inline Int imm(int64_t v) { return {v, false}; }
inline Int slot(uint32_t s) { return {static_cast<int64_t>(s), true}; }

// One axis of an input or output. `text` is the symbolic size as people read it: `batch`, `2*n + 1`, `3`. An input's axis is
// compared with its size, whether a Bind names it or not. An output is sized and allocated when an instruction first uses
// it, or at the end: its slots must be known by then.
struct Axis {
  Int size;
  std::string text;
};
struct TensorDesc {
  std::string name;
  DType dtype = DType::F32;
  std::vector<Axis> axes;
  int32_t default_constant = -1;  // inputs: used when the caller gives none
  // A Sequence is a list of tensors, an Optional none or one, an OptionalSequence none or a list. Dtype and axes are the
  // elements' then, and an axis whose size is the immediate kAnySize may differ between them.
  enum class Kind : uint8_t { Tensor, Sequence, Optional, OptionalSequence };
  Kind kind = Kind::Tensor;
  bool any_rank = false;  // the elements may have any rank; there are no axes
  uint32_t list = 0;      // the list register that holds it, unless it is a tensor
};
inline constexpr int64_t kAnySize = -1;
// slots[slot] = axis `axis` of input `input`; with is_element: element `axis` of an integer input, in row-major order.
// The symbol's allowed range is checked with a message that names the input, axis and symbol.
struct Bind {
  uint32_t input = 0;
  uint32_t axis = 0;
  uint32_t slot = 0;
  bool is_element = false;
  std::string symbol;
  int64_t lo = 0, hi = INT64_MAX;
  int64_t multiple_of = 1;
};

// A condition between integers after a shape program ran. `message` may hold {a} and {b}.
struct Check {
  enum class Kind : uint8_t { Equal, LessEqual, Broadcast /* a is 1 or b */ };
  Kind kind = Kind::Equal;
  Int a, b;
  std::string where;  // the model's node
  std::string message;
};
// Native code `void(int64_t* slots)` that fills slots from slots; then its checks are tested in order.
struct ShapeProgram {
  uint64_t code_offset = 0;
  bool has_code = false;
  std::vector<Check> checks;
};

// Memory of the arena, alive from instruction `first` to `last`, both inclusive. Buffers of one epoch are planned together
// once the epoch's slots are known (opcode Plan).
struct BufferDesc {
  Int bytes;
  uint32_t epoch = 0;
  uint32_t first = 0, last = 0;
};
struct ConstantDesc {
  uint64_t offset = 0;  // into the constants section, a multiple of 64
  uint64_t bytes = 0;
};

// Grow names a growable block of the running function; Param and Result what its caller gave it.
struct Arg {
  enum class Kind : uint8_t { Input, Output, Buffer, Constant, Grow, Param, Result };
  Kind kind = Kind::Buffer;
  uint32_t index = 0;
  Int byte_offset;
};
// A kernel's message for trap k (KernelStatus k + 1): {0}, {1} … stand for the values it left in KernelFrame::trap_values.
struct TrapDesc {
  std::string where;
  std::string message;
};
struct KernelDesc {
  std::string name;
  uint64_t code_offset = 0;
  std::vector<TrapDesc> traps;
};
// One call of a native kernel. The task grid is [0, tasks); `work` is its total cost in scalar operations, from which the
// runtime decides how many threads pay. `scratch` is bytes for each thread, one size for each piece: a piece begins at the
// next multiple of 64 behind the one before it, and KernelFrame::scratch_gap.
struct CallDesc {
  uint32_t kernel = 0;
  std::vector<Arg> args;
  std::vector<Int> ints;  // KernelFrame::ints
  Int tasks, work;
  std::vector<Int> scratch;
  std::string where;  // the model's nodes
};
// A call of a function of the runtime by name (sorting, selection); `ints` and `text` are its parameters. `result_slots`
// receives counts that become known.
struct LibraryCallDesc {
  std::string symbol;
  std::vector<Arg> inputs;
  std::vector<std::vector<Int>> input_shapes;
  std::vector<DType> input_dtypes;
  std::vector<Arg> outputs;
  std::vector<DType> output_dtypes;
  std::vector<Int> ints;
  std::vector<uint32_t> result_slots;
  std::string where;
  // List registers, of functions that work on sequences and optionals.
  std::vector<uint32_t> list_inputs, list_outputs;
};
struct CopyDesc {
  Arg from, to;
  Int bytes;
};
// slots[slot] = element `element` of the integer tensor at `from`.
struct ReadDesc {
  Arg from;
  DType dtype = DType::I64;
  uint32_t element = 0;
  uint32_t slot = 0;
  std::string where;
};

// Makes the growable block `to` (kind Grow, or Result where the caller gave one) hold at least `bytes`; what it holds stays.
struct ReserveDesc {
  Arg to;
  Int bytes;
  std::string where;
};
// The end of a run that cannot go on. `message` may hold {0}, {1} … for `values`.
struct FailDesc {
  std::string where;
  std::string message;
  std::vector<Int> values;
};
// Code [first, last] is a loop whose slot `index` holds the number of the iteration: messages name both.
struct LoopDesc {
  uint32_t first = 0, last = 0;
  uint32_t index = 0;
  std::string where;
};
// A function: code [first, last], entered at `first` through Invoke, left by Return. It has slots, growable blocks and
// buffers of its own, and list registers, one set a call in flight; its buffers are [first_buffer, first_buffer +
// buffer_count) of the table. Slots, epochs, growable blocks and list registers count from 0. The code of all functions
// follows the entry's without gaps.
struct FunctionDesc {
  std::string name;
  uint32_t first = 0, last = 0;
  uint32_t slot_count = 0;
  uint32_t grow_count = 0;
  uint32_t first_buffer = 0, buffer_count = 0;
  uint32_t param_count = 0, result_count = 0;  // tensors
  uint32_t list_count = 0;
};
// Calls functions[function]: slots[i] of the callee are `ints`, its Params `args`, its Results `results`; on return the
// caller's slot `to` gets the callee's slot `from`. The callee's list register `to` begins as the caller's `from`, and on
// return the caller's `to` becomes the callee's `from`; the others begin and end absent.
struct InvokeDesc {
  struct SlotResult {
    uint32_t from = 0, to = 0;
  };
  uint32_t function = 0;
  std::vector<Int> ints;
  std::vector<Arg> args, results;
  std::vector<SlotResult> slot_results;
  std::string where;
  std::vector<SlotResult> list_args, list_results;
};

enum class Opcode : uint8_t {
#define PLIANT_OPCODE(name, operands, doc) name,
#include "artifact/opcodes.def"
#undef PLIANT_OPCODE
};
// `a`, `b` and `c` are table indices, slots or code positions, as the opcode's row says.
struct Instr {
  Opcode op;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  friend bool operator==(const Instr&, const Instr&) = default;
};
static_assert(sizeof(Instr) == 16);

// Absolute addresses and imported functions that the loader writes into the data section.
struct Relocation {
  enum class Kind : uint8_t { Image /* base + addend */, Import /* address of imports[addend] */ };
  Kind kind = Kind::Image;
  uint64_t offset = 0;  // into `data`
  uint64_t addend = 0;
};
// Native code of one target. `text` is position independent and reaches `rodata` and `data` relative to itself: the three
// are mapped one after the other, each at a multiple of 4096 bytes, text first.
struct NativeImage {
  std::string target;                 // `x86-64-v4`
  std::vector<std::string> features;  // CPU features the code needs: `avx512f`, `avx512vl` …
  std::vector<std::byte> text, rodata, data;
  std::vector<Relocation> relocations;
  std::vector<std::string> imports;  // names from runtime/load/imports.def
};

struct Program {
  std::string model;     // the model file's name
  std::string producer;  // `pliant 0.1.0`
  std::string precision = "fp32";
  uint32_t slot_count = 0;
  uint32_t key_slots = 0;               // slots [0, key_slots) are set by `binds` and form the plan-cache key
  std::vector<std::string> slot_names;  // for the key slots
  uint32_t list_count = 0;              // registers of the entry that hold sequences and optionals
  std::vector<TensorDesc> inputs, outputs;
  std::vector<Bind> binds;
  std::vector<ShapeProgram> shape_programs;
  std::vector<BufferDesc> buffers;
  std::vector<KernelDesc> kernels;
  std::vector<CallDesc> calls;
  std::vector<LibraryCallDesc> library_calls;
  std::vector<CopyDesc> copies;
  std::vector<ReadDesc> reads;
  std::vector<ReserveDesc> reserves;
  std::vector<FailDesc> fails;
  std::vector<LoopDesc> loops;
  std::vector<FunctionDesc> functions;
  std::vector<InvokeDesc> invokes;
  uint32_t grow_count = 0;  // growable blocks of the entry
  std::vector<Instr> code;
  std::vector<ConstantDesc> constants;
  NativeImage image;
};

// The binary interface between a native kernel and the runtime:
//   uint32_t kernel(const KernelFrame* frame, int64_t task_begin, int64_t task_end)
// runs tasks [task_begin, task_end) and gives 0, 1 + the number of the trap that stopped it, or kKernelStopped. Kernels
// write nothing but their output buffers, their scratch and the trap values.
struct KernelFrame {
  void* const* buffers;  // one an argument
  const int64_t* ints;   // values of CallDesc::ints
  std::byte* scratch;    // 64-byte aligned, this thread's
  int64_t* trap_values;  // room for 8
  const int32_t* stop;   // loops without a fixed end give up soon after this is not 0; null: never
  int64_t scratch_gap;   // between the pieces of scratch memory, a multiple of 64
};
constexpr uint32_t kKernelStopped = UINT32_MAX;
using KernelFn = uint32_t (*)(const KernelFrame*, int64_t, int64_t);
using ShapeFn = void (*)(int64_t*);

}  // namespace pliant::artifact
