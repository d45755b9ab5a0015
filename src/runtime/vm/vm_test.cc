#include <chrono>
#include <thread>

#include "artifact/entry.h"
#include "artifact/seal.h"
#include "runtime/vm/fixture_test.h"

namespace pliant::runtime::fixture {
namespace {

TEST(vm, runs_at_many_shapes) {
  const ModelPtr model = load(add_chain(5));
  for (int64_t n = 0; n < 12; ++n)
    for (int64_t m : {0, 1, 3, 64, 1000}) ASSERT_EQ(run_add_chain(model.get(), 5, n, m), PLIANT_OK) << pliant_last_error();
  pliant_stats stats = {sizeof stats};
  ASSERT_EQ(pliant_read_stats(model.get(), &stats), PLIANT_OK);
  EXPECT_EQ(stats.runs, 60u);
  EXPECT_EQ(stats.plan_misses, 60u);
  EXPECT_EQ(stats.states, 1u);
  ASSERT_EQ(run_add_chain(model.get(), 5, 11, 1000), PLIANT_OK);
  pliant_read_stats(model.get(), &stats);
  EXPECT_EQ(stats.plan_hits, 1u);
  // Two buffers of 44000 bytes, rounded up to 64, are alive at once.
  EXPECT_EQ(stats.peak_bytes, 2u * 44032u);
}

TEST(vm, threads_give_the_same_result) {
  for (int threads : {1, 2, 3, 8}) {
    const ModelPtr model = load(add_chain(4), threads);
    for (int64_t m : {1, 1000, 100'000, 1'000'003})
      ASSERT_EQ(run_add_chain(model.get(), 4, 1, m), PLIANT_OK) << pliant_last_error();
  }
}

TEST(vm, eight_threads_run_one_model_at_different_shapes) {
  const ModelPtr model = load(add_chain(6), 2);
  std::vector<std::thread> users;
  for (int t = 0; t < 8; ++t)
    users.emplace_back([&model, t] {
      for (int i = 0; i < 60; ++i)
        EXPECT_EQ(run_add_chain(model.get(), 6, 1 + (i + t) % 9, 17 * t + 30'000 * (i % 3)), PLIANT_OK);
    });
  for (std::thread& u : users) u.join();
  pliant_stats stats = {sizeof stats};
  pliant_read_stats(model.get(), &stats);
  EXPECT_EQ(stats.runs, 480u);
  EXPECT_LE(stats.states, 8u);
}

std::vector<int64_t> nonzero_positions(pliant_model* model, const std::vector<float>& x) {
  const int64_t shape[] = {static_cast<int64_t>(x.size())};
  const pliant_input in = {"x", x.data(), PLIANT_F32, 1, shape};
  pliant_output out = {};
  EXPECT_EQ(pliant_run(model, &in, 1, &out, 1), PLIANT_OK) << pliant_last_error();
  EXPECT_EQ(out.rank, 2);
  EXPECT_EQ(out.shape[0], 1);
  const auto* p = static_cast<const int64_t*>(out.data);
  std::vector<int64_t> positions(p, p + out.shape[1]);
  pliant_release_buffer(out.buffer);
  return positions;
}

TEST(vm, sizes_an_output_from_the_data) {
  const ModelPtr model = load(nonzero_program());
  EXPECT_EQ(nonzero_positions(model.get(), {0, 3, 0, -1, 5}), (std::vector<int64_t>{1, 3, 4}));
  EXPECT_EQ(nonzero_positions(model.get(), {0, 0, 0, -0.0f, 0}), (std::vector<int64_t>{}));
  EXPECT_EQ(nonzero_positions(model.get(), {}), (std::vector<int64_t>{}));
  EXPECT_EQ(nonzero_positions(model.get(), {7}), (std::vector<int64_t>{0}));
}

// Between the positions and the output, buffers of an epoch whose sizes are the count's: nonzero -> copy -> copy through a
// kernel.
Program second_epoch_program() {
  Program p = nonzero_program();
  p.buffers = {{slot(4), 0, 2, 5}, {slot(3), 1, 5, 6}, {slot(3), 1, 6, 7}};
  p.kernels = {{"check", offset_of(Kernel::CheckPositive), {}}};
  CallDesc call;
  call.args = {buffer(1), buffer(2)};
  call.tasks = call.work = slot(2);
  p.calls = {call};
  p.copies = {{buffer(0), buffer(1), slot(3)}, {buffer(2), output(0), slot(3)}};
  p.code = {instr(Opcode::Shape, 0), instr(Opcode::Plan, 0), instr(Opcode::Library, 0),
            instr(Opcode::Shape, 1), instr(Opcode::Plan, 1), instr(Opcode::Copy, 0),
            instr(Opcode::Call, 0),  instr(Opcode::Copy, 1), instr(Opcode::Return)};
  return p;
}

TEST(vm, plans_memory_again_when_a_count_is_known) {
  const ModelPtr model = load(second_epoch_program());
  for (size_t n : {100u, 3u, 0u, 5000u, 100u})
    for (size_t every : {1u, 2u, 2u, 1000u}) {
      std::vector<float> x(n);
      std::vector<int64_t> expected;
      for (size_t i = 0; i < n; i += every) {
        x[i] = 1;
        expected.push_back(static_cast<int64_t>(i));
      }
      EXPECT_EQ(nonzero_positions(model.get(), x), expected) << n << " every " << every;
    }
}

TEST(vm, callers_buffers) {
  const ModelPtr model = load(add_chain(2));
  const int64_t shape[] = {2, 3};
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};
  const pliant_input in[] = {{nullptr, a.data(), PLIANT_F32, 2, shape}, {nullptr, a.data(), PLIANT_F32, 2, shape}};
  alignas(64) float room[8] = {};
  pliant_output out = {};
  out.data = room;
  out.capacity = 24;
  ASSERT_EQ(pliant_run(model.get(), in, 2, &out, 1), PLIANT_OK) << pliant_last_error();
  EXPECT_EQ(out.data, room);
  EXPECT_EQ(out.buffer, nullptr);
  EXPECT_EQ(room[5], 18);
  EXPECT_EQ(room[6], 0);
  out.capacity = 23;
  EXPECT_EQ(pliant_run(model.get(), in, 2, &out, 1), PLIANT_BUFFER_TOO_SMALL);
  EXPECT_STREQ(pliant_last_error(), "output \"y\" needs 24 bytes, shape [2, 3], but the given buffer has 23");
  EXPECT_EQ(out.shape[1], 3);
  out.data = room + 1;
  out.capacity = 28;
  EXPECT_EQ(pliant_run(model.get(), in, 2, &out, 1), PLIANT_INVALID_ARGUMENT);
}

// counter = start; repeat `times`: counter += 3
Program loop_program() {
  Program p = empty_program();
  p.slot_count = 4;
  p.inputs = {tensor("start", DType::I64, {fixed(1)}), tensor("times", DType::I64, {fixed(1)})};
  p.outputs = {tensor("end", DType::I64, {fixed(1)})};
  p.kernels = {{"increment", offset_of(Kernel::Increment), {}}};
  CallDesc call;
  call.args = {output(0)};
  call.ints = {imm(3)};
  call.tasks = call.work = imm(1);
  p.calls = {call};
  p.copies = {{input(0), output(0), imm(8)}};
  p.reads = {{input(1), DType::I64, 0, 0}};
  p.code = {instr(Opcode::Copy, 0),       instr(Opcode::Read, 0),       instr(Opcode::LoadImm, 1, 0),
            instr(Opcode::LoadImm, 2, 1), instr(Opcode::Less, 3, 1, 0), instr(Opcode::JumpZero, 9, 3),
            instr(Opcode::Call, 0),       instr(Opcode::Add, 1, 1, 2),  instr(Opcode::Jump, 4),
            instr(Opcode::Return)};
  return p;
}

int64_t run_loop(pliant_model* model, int64_t start, int64_t times) {
  const int64_t shape[] = {1};
  const pliant_input in[] = {{"start", &start, PLIANT_I64, 1, shape}, {"times", &times, PLIANT_I64, 1, shape}};
  pliant_output out = {};
  EXPECT_EQ(pliant_run(model, in, 2, &out, 1), PLIANT_OK) << pliant_last_error();
  const int64_t end = out.data != nullptr ? *static_cast<const int64_t*>(out.data) : -1;
  pliant_release_buffer(out.buffer);
  return end;
}

TEST(vm, loops_with_calls) {
  const ModelPtr model = load(loop_program());
  EXPECT_EQ(run_loop(model.get(), 5, 0), 5);
  EXPECT_EQ(run_loop(model.get(), 5, 1), 8);
  EXPECT_EQ(run_loop(model.get(), -5, 100'000), 299'995);
}

TEST(vm, counts_to_many_millions) {
  Program p = loop_program();
  p.code[6] = instr(Opcode::Move, 3, 3);
  const ModelPtr model = load(p);
  EXPECT_EQ(run_loop(model.get(), 9, 20'000'000), 9);
}

TEST(vm, shape_checks_speak) {
  Program p = add_chain(1);
  p.shape_programs[0].checks = {
      {Check::Kind::LessEqual, slot(2), imm(100), "node \"r\" (onnx.Reshape)", "{a} elements, at most {b}"},
      {Check::Kind::Broadcast, slot(0), slot(1), "node \"b\" (onnx.Add)", "{a} does not go with {b}"},
      {Check::Kind::Equal, imm(1), imm(1), "", ""}};
  const ModelPtr model = load(p);
  EXPECT_EQ(run_add_chain(model.get(), 1, 1, 100), PLIANT_OK);
  EXPECT_EQ(run_add_chain(model.get(), 1, 5, 5), PLIANT_OK);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(run_add_chain(model.get(), 1, 1, 101), PLIANT_RUN_FAULT);
    EXPECT_STREQ(pliant_last_error(), "node \"r\" (onnx.Reshape): 101 elements, at most 100");
  }
  EXPECT_EQ(run_add_chain(model.get(), 1, 3, 4), PLIANT_RUN_FAULT);
  EXPECT_STREQ(pliant_last_error(), "node \"b\" (onnx.Add): 3 does not go with 4");
}

TEST(vm, kernel_faults_name_the_first_place_at_any_thread_count) {
  Program p = empty_program();
  p.slot_count = p.key_slots = 1;
  p.slot_names = {"n"};
  p.inputs = {tensor("x", DType::I64, {symbol("n", 0)})};
  p.outputs = {tensor("y", DType::I64, {symbol("n", 0)})};
  p.binds = {bind_axis(0, 0, 0, "n")};
  p.kernels = {{"check",
                offset_of(Kernel::CheckPositive),
                {{"node \"g\" (onnx.Gather)", "index {1} at position {0} is out of range"}}}};
  CallDesc call;
  call.args = {input(0), output(0)};
  call.tasks = slot(0);
  call.work = imm(1 << 30);
  p.calls = {call};
  p.code = {instr(Opcode::Call, 0), instr(Opcode::Return)};
  for (int threads : {1, 2, 7}) {
    const ModelPtr model = load(p, threads);
    // Again and again, since it is never the same thread that runs a task.
    for (int64_t at = 0; at < 900; at += 11) {
      std::vector<int64_t> x(1000, 1);
      x[static_cast<size_t>(at)] = -4;
      x[static_cast<size_t>(at) + 1] = x[900] = x[990] = -5;
      const int64_t shape[] = {1000};
      const pliant_input in = {"x", x.data(), PLIANT_I64, 1, shape};
      pliant_output out = {};
      EXPECT_EQ(pliant_run(model.get(), &in, 1, &out, 1), PLIANT_RUN_FAULT);
      const std::string message =
          "node \"g\" (onnx.Gather): index -4 at position " + std::to_string(at) + " is out of range";
      EXPECT_EQ(pliant_last_error(), message);
      EXPECT_EQ(out.buffer, nullptr);
      EXPECT_EQ(out.data, nullptr);
    }
  }
}

// The stop flag is the first element of the result, which the first tasks write.
TEST(vm, a_kernel_with_much_work_stops_between_its_tasks) {
  Program p = add_chain(1);
  p.calls[0].work = imm(1 << 30);
  const ModelPtr model = load(p, 1);
  const std::vector<float> ones(4096, 1);
  alignas(64) float y[4096] = {};
  const int64_t shape[] = {64, 64};
  const pliant_input in[] = {{"a", ones.data(), PLIANT_F32, 2, shape}, {"b", ones.data(), PLIANT_F32, 2, shape}};
  pliant_output out = {};
  out.data = y;
  out.capacity = sizeof y;
  int32_t stop = 0;
  pliant_run_options options = {sizeof options, &stop, 0};
  EXPECT_EQ(pliant_run_with(model.get(), in, 2, &out, 1, &options), PLIANT_OK);
  EXPECT_EQ(y[4095], 2);
  std::fill(y, y + 4096, 0.f);
  options.stop = reinterpret_cast<int32_t*>(y);
  EXPECT_EQ(pliant_run_with(model.get(), in, 2, &out, 1, &options), PLIANT_CANCELLED);
  EXPECT_EQ(y[0], 2);
  EXPECT_EQ(y[4095], 0);
  EXPECT_STREQ(pliant_last_error(), "the run was cancelled");
}

TEST(vm, each_thread_has_its_scratch) {
  const Program p = scratch_program({imm(800)});
  const ModelPtr model = load(p, 4);
  const std::vector<uint8_t> x(5000);
  const int64_t shape[] = {5000};
  const pliant_input in = {"x", x.data(), PLIANT_U8, 1, shape};
  for (int repeat = 0; repeat < 20; ++repeat) {
    pliant_output out = {};
    ASSERT_EQ(pliant_run(model.get(), &in, 1, &out, 1), PLIANT_OK) << pliant_last_error();
    for (int64_t i = 0; i < 5000; ++i) ASSERT_EQ(static_cast<const int64_t*>(out.data)[i], 100 * i + 4950);
    pliant_release_buffer(out.buffer);
  }
}

TEST(vm, sizes_that_cannot_be_are_errors) {
  Program p = add_chain(3);
  p.shape_programs[0].has_code = false;
  p.buffers[0].bytes = slot(0);
  p.buffers[1].bytes = imm(64);
  p.code.insert(p.code.begin() + 1, {instr(Opcode::LoadImm, 2, 1), instr(Opcode::LoadImm, 3, static_cast<uint32_t>(-5)),
                                     instr(Opcode::Move, 0, 3)});
  for (BufferDesc& b : p.buffers) b.first += 3, b.last += 3;
  ModelPtr model = load(p);
  EXPECT_EQ(run_add_chain(model.get(), 3, 1, 1), PLIANT_RUN_FAULT);
  EXPECT_STREQ(pliant_last_error(), "node \"add0\" (onnx.Add): an intermediate tensor of -5 bytes is negative");
  p.buffers[0].bytes = imm(INT64_MAX);
  model = load(p);
  EXPECT_EQ(run_add_chain(model.get(), 3, 1, 1), PLIANT_OUT_OF_MEMORY);
  p.buffers[0].bytes = imm(int64_t{1} << 45);
  model = load(p);
  EXPECT_EQ(run_add_chain(model.get(), 3, 1, 1), PLIANT_OUT_OF_MEMORY);
  EXPECT_STREQ(pliant_last_error(), "node \"add0\" (onnx.Add): no memory for 35184372088896 bytes of intermediate tensors");
  p.buffers[0].bytes = imm(64);
  p.outputs[0].axes[0] = {slot(3), "n - 6"};
  model = load(p);
  EXPECT_EQ(run_add_chain(model.get(), 3, 1, 1), PLIANT_RUN_FAULT);
  EXPECT_STREQ(pliant_last_error(), "output \"y\" axis 0 (n - 6) has the negative size -5");
}

TEST(vm, copies_stay_inside) {
  Program p = nonzero_program();
  p.copies[0].bytes = slot(4);  // the bound, not the count
  const ModelPtr model = load(p);
  const std::vector<float> x = {0, 1, 0};
  const int64_t shape[] = {3};
  const pliant_input in = {"x", x.data(), PLIANT_F32, 1, shape};
  pliant_output out = {};
  EXPECT_EQ(pliant_run(model.get(), &in, 1, &out, 1), PLIANT_RUN_FAULT);
  EXPECT_STREQ(pliant_last_error(), "a copy needs 24 bytes where there are 8");
}

TEST(vm, functions_of_the_runtime_take_aligned_elements) {
  Program p = nonzero_program();
  p.buffers[0].bytes = imm(1000);
  p.library_calls[0].outputs[0].byte_offset = imm(4);
  const std::vector<float> x = {0, 1, 0};
  const int64_t shape[] = {3};
  const pliant_input in = {"x", x.data(), PLIANT_F32, 1, shape};
  pliant_output out = {};
  EXPECT_EQ(pliant_run(load(p).get(), &in, 1, &out, 1), PLIANT_RUN_FAULT);
  EXPECT_STREQ(pliant_last_error(), "node \"nz\" (onnx.NonZero): output 0 is not aligned to its elements");
  p.library_calls[0].outputs[0].byte_offset = imm(0);
  p.library_calls[0].inputs[0].byte_offset = imm(2);
  p.library_calls[0].input_shapes[0][0] = imm(1);
  EXPECT_EQ(pliant_run(load(p).get(), &in, 1, &out, 1), PLIANT_RUN_FAULT);
  EXPECT_STREQ(pliant_last_error(), "node \"nz\" (onnx.NonZero): input 0 is not aligned to its elements");
}

TEST(vm, imported_functions_and_read_only_data) {
  Program p = empty_program();
  // sub rsp, 8; rdi = buffers[0]; esi = 7; edx = 16; call [the first 8 bytes of data]; eax = 0
  const std::vector<uint8_t> code = {0x48, 0x83, 0xec, 0x08, 0x48, 0x8b, 0x07, 0x48, 0x8b, 0x38, 0xbe,
                                     7,    0,    0,    0,    0xba, 16,   0,    0,    0,    0xff, 0x15,
                                     0,    0,    0,    0,    0x31, 0xc0, 0x48, 0x83, 0xc4, 0x08, 0xc3};
  p.image.text.resize(kSealBytes);
  for (std::byte b : encode_entry({Entry::Kind::Kernel, 1, 0, {true}, {}, {}})) p.image.text.push_back(b);
  const size_t begin = p.image.text.size();
  for (uint8_t b : code) p.image.text.push_back(std::byte{b});
  const auto displacement = static_cast<uint32_t>(2 * 4096 - begin - 26);
  std::memcpy(p.image.text.data() + begin + 22, &displacement, 4);
  p.image.rodata.resize(1);
  p.image.data.resize(16);
  p.image.imports = {"powf", "memset"};
  p.image.relocations = {{Relocation::Kind::Import, 0, 1}, {Relocation::Kind::Image, 8, 4096}};
  p.outputs = {tensor("y", DType::U8, {fixed(16)})};
  p.kernels = {{"fill", begin, {}}};
  CallDesc call;
  call.args = {output(0)};
  call.tasks = call.work = imm(1);
  p.calls = {call};
  p.code = {instr(Opcode::Call, 0), instr(Opcode::Return)};
  const ModelPtr model = load(p);
  pliant_output out = {};
  ASSERT_EQ(pliant_run(model.get(), nullptr, 0, &out, 1), PLIANT_OK) << pliant_last_error();
  for (int i = 0; i < 16; ++i) EXPECT_EQ(static_cast<const uint8_t*>(out.data)[i], 7);
  pliant_release_buffer(out.buffer);
  p.image.imports[1] = "system";
  const std::vector<std::byte> file = file_of(p);
  pliant_model* refused = nullptr;
  EXPECT_EQ(pliant_load_memory(file.data(), file.size(), nullptr, &refused), PLIANT_BAD_ARTIFACT);
  EXPECT_STREQ(pliant_last_error(), "the code needs a function \"system\" that this runtime lacks");
}

}  // namespace
}  // namespace pliant::runtime::fixture
