#include "runtime/vm/fixture_test.h"

#include "artifact/entry.h"
#include "artifact/seal.h"

// Code that may be copied elsewhere: no calls, no constants in memory, no instrumentation. The bytes before each function
// are room for its record.
#if defined(__clang__)
#define TEST_KERNEL                                                                                                    \
  __attribute__((section("pliant_kernels"), used, noinline, no_sanitize("address", "undefined", "thread"), no_builtin, \
                 aligned(64), patchable_function_entry(64, 64)))
#else
#define TEST_KERNEL                                                                                        \
  __attribute__((section("pliant_kernels"), used, noinline, no_sanitize("address", "undefined", "thread"), \
                 optimize("O1", "no-tree-loop-distribute-patterns", "no-stack-protector"), aligned(64),    \
                 patchable_function_entry(64, 64)))
#endif

extern "C" {

extern const char __start_pliant_kernels[];
extern const char __stop_pliant_kernels[];

// out[i] = a[i] + b[i]
TEST_KERNEL uint32_t fixture_add(const pliant::artifact::KernelFrame* f, int64_t begin, int64_t end) {
  const auto* a = static_cast<const float*>(f->buffers[0]);
  const auto* b = static_cast<const float*>(f->buffers[1]);
  auto* out = static_cast<float*>(f->buffers[2]);
  for (int64_t i = begin; i < end; ++i) out[i] = a[i] + b[i];
  return 0;
}

// counter[i] += ints[0]
TEST_KERNEL uint32_t fixture_increment(const pliant::artifact::KernelFrame* f, int64_t begin, int64_t end) {
  auto* counter = static_cast<int64_t*>(f->buffers[0]);
  for (int64_t i = begin; i < end; ++i) counter[i] += f->ints[0];
  return 0;
}

// out[i] = x[i], and fault 0 with the position and the value at the first negative element.
TEST_KERNEL uint32_t fixture_check_positive(const pliant::artifact::KernelFrame* f, int64_t begin, int64_t end) {
  const auto* x = static_cast<const int64_t*>(f->buffers[0]);
  auto* out = static_cast<int64_t*>(f->buffers[1]);
  for (int64_t i = begin; i < end; ++i) {
    if (x[i] < 0) {
      f->trap_values[0] = i;
      f->trap_values[1] = x[i];
      return 1;
    }
    out[i] = x[i];
  }
  return 0;
}

// out[i] = i + (i + 1) + ... + (i + ints[0] - 1), through ints[0] values of scratch.
TEST_KERNEL uint32_t fixture_sum_with_scratch(const pliant::artifact::KernelFrame* f, int64_t begin, int64_t end) {
  auto* scratch = reinterpret_cast<int64_t*>(f->scratch);
  auto* out = static_cast<int64_t*>(f->buffers[0]);
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t k = 0; k < f->ints[0]; ++k) scratch[k] = i + k;
    int64_t sum = 0;
    for (int64_t k = 0; k < f->ints[0]; ++k) sum += scratch[k];
    out[i] = sum;
  }
  return 0;
}

// As add, but slow enough that slices overlap.
TEST_KERNEL uint32_t fixture_slow_add(const pliant::artifact::KernelFrame* f, int64_t begin, int64_t end) {
  const auto* a = static_cast<const float*>(f->buffers[0]);
  const auto* b = static_cast<const float*>(f->buffers[1]);
  auto* out = static_cast<float*>(f->buffers[2]);
  for (int64_t i = begin; i < end; ++i) {
    for (int spin = 0; spin < 200; ++spin) __asm__ volatile("");
    out[i] = a[i] + b[i];
  }
  return 0;
}

// slots 2 and 3: elements and bytes of f32[slot 0, slot 1]
TEST_KERNEL void fixture_elements(int64_t* slots) {
  slots[2] = slots[0] * slots[1];
  slots[3] = 4 * slots[2];
}

// slot 4: bytes of slot 0 positions
TEST_KERNEL void fixture_bound_bytes(int64_t* slots) { slots[4] = 8 * slots[0]; }

// slot 3: bytes of slot 2 positions; slot 4: bytes of slot 0 positions
TEST_KERNEL void fixture_count_bytes(int64_t* slots) {
  slots[3] = 8 * slots[2];
  slots[4] = 8 * slots[0];
}

}  // extern "C"

namespace pliant::runtime::fixture {

namespace {

template <class Fn>
uint64_t offset(Fn function) {
  return kSealBytes + static_cast<uint64_t>(reinterpret_cast<const char*>(function) - __start_pliant_kernels);
}

Entry kernel_entry(uint32_t args, uint32_t ints, std::vector<bool> writes_to) {
  return {Entry::Kind::Kernel, args, ints, std::move(writes_to), {}, {}};
}
Entry shape_entry(std::vector<uint32_t> reads, std::vector<uint32_t> writes) {
  return {Entry::Kind::Shape, 0, 0, {}, std::move(reads), std::move(writes)};
}

}  // namespace

std::vector<std::byte> kernel_text() {
  const auto* begin = reinterpret_cast<const std::byte*>(__start_pliant_kernels);
  std::vector<std::byte> text(kSealBytes);
  text.insert(text.end(), begin, reinterpret_cast<const std::byte*>(__stop_pliant_kernels));
  auto describe = [&](uint64_t at, const Entry& entry) {
    const std::vector<std::byte> record = encode_entry(entry);
    EXPECT_TRUE(at % kEntryAlignment == 0 && record.size() <= at && record.size() <= 64);
    std::memcpy(text.data() + at - record.size(), record.data(), record.size());
  };
  describe(offset_of(Kernel::Add), kernel_entry(3, 0, {false, false, true}));
  describe(offset_of(Kernel::Increment), kernel_entry(1, 1, {true}));
  describe(offset_of(Kernel::CheckPositive), kernel_entry(2, 0, {false, true}));
  describe(offset_of(Kernel::SumWithScratch), kernel_entry(1, 1, {true}));
  describe(offset_of(Kernel::SlowAdd), kernel_entry(3, 0, {false, false, true}));
  describe(offset_of(Shape::Elements), shape_entry({0, 1}, {2, 3}));
  describe(offset_of(Shape::CountBytes), shape_entry({0, 2}, {3, 4}));
  describe(offset_of(Shape::BoundBytes), shape_entry({0}, {4}));
  return text;
}

uint64_t offset_of(Kernel kernel) {
  switch (kernel) {
    case Kernel::Add: return offset(&fixture_add);
    case Kernel::Increment: return offset(&fixture_increment);
    case Kernel::CheckPositive: return offset(&fixture_check_positive);
    case Kernel::SumWithScratch: return offset(&fixture_sum_with_scratch);
    case Kernel::SlowAdd: return offset(&fixture_slow_add);
  }
  return 0;
}
uint64_t offset_of(Shape shape) {
  switch (shape) {
    case Shape::Elements: return offset(&fixture_elements);
    case Shape::CountBytes: return offset(&fixture_count_bytes);
    case Shape::BoundBytes: return offset(&fixture_bound_bytes);
  }
  return 0;
}

Program empty_program() {
  Program p;
  p.model = "fixture.onnx";
  p.producer = "test";
  p.image.target = "any";
  p.image.text = kernel_text();
  seal(p.image);
  return p;
}

TensorDesc tensor(std::string name, DType dtype, std::vector<Axis> axes) {
  return {std::move(name), dtype, std::move(axes), -1};
}

Program add_chain(int steps) {
  Program p = empty_program();
  p.slot_count = 4;
  p.key_slots = 2;
  p.slot_names = {"n", "m"};
  for (const char* name : {"a", "b"}) p.inputs.push_back(tensor(name, DType::F32, {symbol("n", 0), symbol("m", 1)}));
  p.outputs = {tensor("y", DType::F32, {symbol("n", 0), symbol("m", 1)})};
  p.binds = {bind_axis(0, 0, 0, "n"), bind_axis(0, 1, 1, "m"), bind_axis(1, 0, 0, "n"), bind_axis(1, 1, 1, "m")};
  p.shape_programs = {{offset_of(Shape::Elements), true, {}}};
  p.kernels = {{"add", offset_of(Kernel::Add), {}}};
  p.code = {instr(Opcode::Shape, 0), instr(Opcode::Plan, 0)};
  for (int i = 0; i < steps; ++i) {
    const auto at = static_cast<uint32_t>(p.code.size());
    const auto u = static_cast<uint32_t>(i);
    const bool last = i + 1 == steps;
    if (!last) p.buffers.push_back({slot(3), 0, at, at + 1});
    CallDesc call;
    call.args = {i == 0 ? input(0) : buffer(u - 1), input(1), last ? output(0) : buffer(u)};
    call.tasks = call.work = slot(2);
    call.where = "node \"add" + std::to_string(i) + "\" (onnx.Add)";
    p.calls.push_back(call);
    p.code.push_back(instr(Opcode::Call, static_cast<uint32_t>(i)));
  }
  p.code.push_back(instr(Opcode::Return));
  return p;
}

Program nonzero_program() {
  Program p = empty_program();
  p.slot_count = 5;
  p.key_slots = 1;
  p.slot_names = {"n"};
  p.inputs = {tensor("x", DType::F32, {symbol("n", 0)})};
  p.outputs = {tensor("y", DType::I64, {fixed(1), symbol("count", 2)})};
  p.binds = {bind_axis(0, 0, 0, "n")};
  p.shape_programs = {{offset_of(Shape::BoundBytes), true, {}}, {offset_of(Shape::CountBytes), true, {}}};
  p.buffers = {{slot(4), 0, 2, 4}};
  LibraryCallDesc e;
  e.symbol = "nonzero";
  e.inputs = {input(0)};
  e.input_shapes = {{slot(0)}};
  e.input_dtypes = {DType::F32};
  e.outputs = {buffer(0)};
  e.output_dtypes = {DType::I64};
  e.result_slots = {2};
  e.where = "node \"nz\" (onnx.NonZero)";
  p.library_calls = {e};
  p.copies = {{buffer(0), output(0), slot(3)}};
  p.code = {instr(Opcode::Shape, 0), instr(Opcode::Plan, 0), instr(Opcode::Library, 0),
            instr(Opcode::Shape, 1), instr(Opcode::Copy, 0), instr(Opcode::Return)};
  return p;
}

Program scratch_program(std::vector<Int> pieces) {
  Program p = empty_program();
  p.slot_count = p.key_slots = 1;
  p.slot_names = {"n"};
  p.inputs = {tensor("x", DType::U8, {symbol("n", 0)})};
  p.outputs = {tensor("y", DType::I64, {symbol("n", 0)})};
  p.binds = {bind_axis(0, 0, 0, "n")};
  p.kernels = {{"sum", offset_of(Kernel::SumWithScratch), {}}};
  CallDesc call;
  call.args = {output(0)};
  call.ints = {imm(100)};
  call.tasks = slot(0);
  call.work = imm(1 << 30);
  call.scratch = std::move(pieces);
  call.where = "node \"s\"";
  p.calls = {call};
  p.code = {instr(Opcode::Call, 0), instr(Opcode::Return)};
  return p;
}

std::vector<std::byte> file_of(const Program& program, const std::vector<std::vector<std::byte>>& constants) {
  Variant v{program, {constants.begin(), constants.end()}};
  seal(v.program.image);
  return write_file({&v, 1});
}

ModelPtr load(const std::vector<std::byte>& file, int threads) {
  pliant_load_options options = {sizeof options, threads, 0};
  pliant_model* model = nullptr;
  EXPECT_EQ(pliant_load_memory(file.data(), file.size(), &options, &model), PLIANT_OK) << pliant_last_error();
  return ModelPtr(model);
}
ModelPtr load(const Program& program, int threads) {
  // Without constants the file's bytes are not needed after loading.
  return load(file_of(program), threads);
}

pliant_status run_add_chain(pliant_model* model, int steps, int64_t n, int64_t m) {
  const auto count = static_cast<size_t>(n * m);
  std::vector<float> a(count), b(count);
  for (size_t i = 0; i < count; ++i) a[i] = static_cast<float>(i % 1000), b[i] = static_cast<float>(i % 7);
  const int64_t shape[] = {n, m};
  const pliant_input in[] = {{"a", a.data(), PLIANT_F32, 2, shape}, {"b", b.data(), PLIANT_F32, 2, shape}};
  pliant_output out = {};
  const pliant_status status = pliant_run(model, in, 2, &out, 1);
  if (status != PLIANT_OK) return status;
  EXPECT_EQ(out.rank, 2);
  EXPECT_EQ(out.shape[0], n);
  EXPECT_EQ(out.shape[1], m);
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i)
    wrong += static_cast<const float*>(out.data)[i] != a[i] + static_cast<float>(steps) * b[i];
  EXPECT_EQ(wrong, 0u) << "at " << n << " x " << m;
  pliant_release_buffer(out.buffer);
  return status;
}

}  // namespace pliant::runtime::fixture
