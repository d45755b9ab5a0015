// Loops, functions, growable blocks and failures, in programs made by hand.
#include <atomic>
#include <thread>

#include "runtime/vm/fixture_test.h"

namespace pliant::runtime::fixture {
namespace {

// Inputs n: i64[1] and x: f32[m]; slots: m, n (an element), then the program's own.
Program loop_program() {
  Program p = empty_program();
  p.slot_count = 8;
  p.key_slots = 2;
  p.slot_names = {"m", "n"};
  p.inputs = {tensor("x", DType::F32, {symbol("m", 0)}), tensor("n", DType::I64, {fixed(1)})};
  p.binds = {bind_axis(0, 0, 0, "m"), {1, 0, 1, true, "n", INT64_MIN, INT64_MAX, 1}};
  p.shape_programs = {{0, false, {}}};
  return p;
}

struct Answer {
  pliant_status status;
  std::vector<int64_t> values;
};
Answer run(pliant_model* model, int64_t n, size_t m = 0, const pliant_run_options* options = nullptr) {
  const std::vector<float> x(m);
  const int64_t x_shape[] = {static_cast<int64_t>(m)}, n_shape[] = {1};
  const pliant_input in[] = {{"x", x.data(), PLIANT_F32, 1, x_shape}, {"n", &n, PLIANT_I64, 1, n_shape}};
  pliant_output out = {};
  Answer a{pliant_run_with(model, in, 2, &out, 1, options), {}};
  if (a.status == PLIANT_OK) {
    const auto* p = static_cast<const int64_t*>(out.data);
    int64_t count = 1;
    for (int32_t d = 0; d < out.rank; ++d) count *= out.shape[d];
    a.values.assign(p, p + count);
  }
  pliant_release_buffer(out.buffer);
  return a;
}

// counter = 0, n times counter += index through a kernel; y = counter.
Program counting_loop() {
  Program p = loop_program();
  p.outputs = {tensor("y", DType::I64, {fixed(1)})};
  p.buffers = {{imm(8), 0, 0, 6}};
  p.kernels = {{"increment", offset_of(Kernel::Increment), {}}};
  p.calls = {{0, {buffer(0)}, {slot(2)}, imm(1), imm(1), {}, "node \"inc\""}};
  p.constants = {{0, 8}};
  p.copies = {{constant(0), buffer(0), imm(8)}, {buffer(0), output(0), imm(8)}};
  p.loops = {{4, 5, 2, "node \"loop\""}};
  p.code = {instr(Opcode::Plan, 0),       instr(Opcode::Copy, 0),
            instr(Opcode::LoadImm, 2, 0), instr(Opcode::JumpNotLess, 6, 2, 1),
            instr(Opcode::Call, 0),       instr(Opcode::Next, 4, 2, 1),
            instr(Opcode::Copy, 1),       instr(Opcode::Return)};
  return p;
}
std::vector<std::byte> with_zero(const Program& p) { return file_of(p, {bytes_of(std::vector<int64_t>{0})}); }

TEST(interpret, counts) {
  const std::vector<std::byte> file = with_zero(counting_loop());
  const ModelPtr model = load(file);
  for (int64_t n : {0, 1, 2, 100, -3, 1000}) {
    const Answer a = run(model.get(), n);
    ASSERT_EQ(a.status, PLIANT_OK) << pliant_last_error();
    EXPECT_EQ(a.values[0], n > 0 ? n * (n - 1) / 2 : 0);
  }
  pliant_stats stats = {sizeof stats};
  pliant_read_stats(model.get(), &stats);
  EXPECT_EQ(stats.plan_misses, 6u);
}

TEST(interpret, stops) {
  Program p = counting_loop();
  p.code[5] = instr(Opcode::Jump, 4);  // for ever
  const std::vector<std::byte> file = with_zero(p);
  const ModelPtr model = load(file);
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pliant_cancel(model.get());
  });
  EXPECT_EQ(run(model.get(), 1).status, PLIANT_CANCELLED);
  EXPECT_NE(std::string(pliant_last_error()).find("the run was cancelled, in iteration 0 of node \"loop\""),
            std::string::npos)
      << pliant_last_error();
  canceller.join();
  int32_t stop = 1;
  const pliant_run_options options = {sizeof options, &stop, 0};
  EXPECT_EQ(run(model.get(), 1, 0, &options).status, PLIANT_CANCELLED);
  EXPECT_EQ(run(model.get(), 0).status, PLIANT_OK);
}

// y: i64[n] = 0 … n - 1, one iteration an element, through a growable block.
Program growing_loop() {
  Program p = counting_loop();
  p.grow_count = 1;
  p.outputs = {tensor("y", DType::I64, {symbol("n", 1)})};
  p.shape_programs = {{0, false, {}}};
  p.copies.push_back({buffer(0), {Arg::Kind::Grow, 0, slot(3)}, imm(8)});
  p.copies.push_back({{Arg::Kind::Grow, 0, imm(0)}, output(0), slot(5)});
  p.reserves = {{{Arg::Kind::Grow, 0, imm(0)}, slot(4), "node \"append\""}};
  p.calls[0].ints = {imm(1)};
  p.loops = {{5, 11, 2, "node \"loop\""}};
  p.buffers[0].last = 11;
  p.code = {instr(Opcode::Plan, 0),
            instr(Opcode::Copy, 0),
            instr(Opcode::LoadImm, 2, 0),
            instr(Opcode::LoadImm, 6, 8),
            instr(Opcode::JumpNotLess, 12, 2, 1),
            instr(Opcode::Mul, 3, 2, 6),
            instr(Opcode::AddImm, 4, 3, 8),
            instr(Opcode::Reserve, 0),
            instr(Opcode::Copy, 2),
            instr(Opcode::Call, 0),
            instr(Opcode::Move, 7, 4),
            instr(Opcode::Next, 5, 2, 1),
            instr(Opcode::Mul, 5, 1, 6),
            instr(Opcode::Copy, 3),
            instr(Opcode::Return)};
  return p;
}

TEST(interpret, blocks_grow_and_keep_what_they_hold) {
  const std::vector<std::byte> file = with_zero(growing_loop());
  const ModelPtr model = load(file);
  for (int64_t n : {1, 100, 100'000, 3, 1'000'000, 5}) {
    const Answer a = run(model.get(), n);
    ASSERT_EQ(a.status, PLIANT_OK) << pliant_last_error();
    ASSERT_EQ(a.values.size(), static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(a.values[static_cast<size_t>(i)], i);
  }
}

TEST(interpret, growth_stays_within_the_limit) {
  const std::vector<std::byte> file = with_zero(growing_loop());
  const ModelPtr model = load(file);
  const pliant_run_options options = {sizeof options, nullptr, 1'000'000};
  EXPECT_EQ(run(model.get(), 1000, 0, &options).status, PLIANT_OK);
  EXPECT_EQ(run(model.get(), 1'000'000, 0, &options).status, PLIANT_OUT_OF_MEMORY);
  EXPECT_NE(std::string(pliant_last_error()).find("node \"append\": a growing tensor of"), std::string::npos)
      << pliant_last_error();
  EXPECT_EQ(run(model.get(), 1'000'000).status, PLIANT_OK);
}

// y = n + (n - 1) + … + 1 by recursion: the callee's slots are n and n - 1; a result comes back in a slot.
Program recursion() {
  Program p = counting_loop();
  p.loops.clear();
  p.calls[0].ints = {slot(2)};
  p.buffers[0].last = 5;
  p.invokes = {{0, {slot(1)}, {}, {}, {{2, 2}}, "node \"outer\""}, {0, {slot(1)}, {}, {}, {{2, 2}}, "node \"inner\""}};
  p.code = {instr(Opcode::Plan, 0), instr(Opcode::Copy, 0), instr(Opcode::Invoke, 0), instr(Opcode::Call, 0),
            instr(Opcode::Copy, 1), instr(Opcode::Return),
            // slot 0: n, 1: n - 1, 2: the sum
            instr(Opcode::LoadImm, 2, 0), instr(Opcode::JumpZero, 11, 0),
            instr(Opcode::AddImm, 1, 0, static_cast<uint32_t>(-1)), instr(Opcode::Invoke, 1), instr(Opcode::Add, 2, 2, 0),
            instr(Opcode::Return)};
  p.functions = {{"sum", 6, 11, 3, 0, 1, 0, 0, 0}};
  return p;
}

TEST(interpret, recursion_does_not_use_the_threads_stack) {
  const std::vector<std::byte> file = with_zero(recursion());
  const ModelPtr model = load(file);
  for (int64_t n : {0, 1, 10, 1'000'000, 2}) {
    const Answer a = run(model.get(), n);
    ASSERT_EQ(a.status, PLIANT_OK) << pliant_last_error();
    EXPECT_EQ(a.values[0], n * (n + 1) / 2);
  }
  const pliant_run_options options = {sizeof options, nullptr, 1'000'000};
  EXPECT_EQ(run(model.get(), 1'000'000, 0, &options).status, PLIANT_OUT_OF_MEMORY);
  const std::string error = pliant_last_error();
  EXPECT_NE(error.find("node \"inner\": calls this deep pass the memory limit of 1000000"), std::string::npos) << error;
  EXPECT_NE(error.find("calls deep"), std::string::npos) << error;
  EXPECT_EQ(run(model.get(), 4).values, (std::vector<int64_t>{10}));
}

TEST(interpret, arms_that_the_key_decides_are_part_of_the_plan) {
  Program p = counting_loop();
  p.loops.clear();
  p.fails = {{"node \"f\"", "{0} is zero", {slot(1)}}};
  p.code = {instr(Opcode::Plan, 0), instr(Opcode::Copy, 0), instr(Opcode::JumpZero, 5, 1), instr(Opcode::Call, 0),
            instr(Opcode::Jump, 6), instr(Opcode::Fail, 0), instr(Opcode::Copy, 1),        instr(Opcode::Return)};
  p.calls[0].ints = {slot(1)};
  const std::vector<std::byte> file = with_zero(p);
  const ModelPtr model = load(file);
  for (int round = 0; round < 2; ++round)
    for (int64_t n : {7, -2}) EXPECT_EQ(run(model.get(), n).values, (std::vector<int64_t>{n}));
  EXPECT_EQ(run(model.get(), 0).status, PLIANT_RUN_FAULT);
  EXPECT_STREQ(pliant_last_error(), "node \"f\": 0 is zero");
}

TEST(interpret, a_fault_names_its_iterations_and_calls) {
  Program p = counting_loop();
  p.kernels = {{"check", offset_of(Kernel::CheckPositive), {{"node \"k\"", "element {0} is {1}"}}}};
  p.buffers = {{imm(8), 0, 0, 7}, {imm(8), 0, 4, 5}};
  p.calls = {{0, {input(1), buffer(1)}, {}, imm(1), imm(1), {}, "node \"k\""}};
  p.code[3] = instr(Opcode::LoadImm, 3, 5);
  p.code[5] = instr(Opcode::Next, 4, 2, 3);
  const std::vector<std::byte> file = with_zero(p);
  const ModelPtr model = load(file);
  EXPECT_EQ(run(model.get(), 5).status, PLIANT_OK) << pliant_last_error();
  EXPECT_EQ(run(model.get(), -5).status, PLIANT_RUN_FAULT);
  EXPECT_STREQ(pliant_last_error(), "node \"k\": element 0 is -5, in iteration 0 of node \"loop\"");
}

TEST(interpret, many_counts_keep_memory_flat) {
  const std::vector<std::byte> file = with_zero(growing_loop());
  const ModelPtr model = load(file);
  for (int64_t n = 0; n < 2000; n += 1 + n / 50) ASSERT_EQ(run(model.get(), n).values.size(), static_cast<size_t>(n));
  pliant_stats stats = {sizeof stats};
  pliant_read_stats(model.get(), &stats);
  EXPECT_EQ(stats.states, 1u);
  EXPECT_LE(stats.arena_bytes, 1u << 20);
}

TEST(interpret, threads_run_are_cancelled_and_pass_limits) {
  const std::vector<std::byte> file = with_zero(growing_loop());
  const ModelPtr model = load(file);
  std::atomic<int> running = 4;
  auto requests = [&](int64_t n, uint64_t limit) {
    const pliant_run_options options = {sizeof options, nullptr, limit};
    for (int round = 0; round < 50; ++round) {
      const Answer a = run(model.get(), n, 0, &options);
      if (a.status == PLIANT_CANCELLED) continue;
      EXPECT_EQ(a.status, limit == 0 ? PLIANT_OK : PLIANT_OUT_OF_MEMORY) << pliant_last_error();
      for (size_t i = 0; i < a.values.size(); ++i) ASSERT_EQ(a.values[i], static_cast<int64_t>(i));
    }
    --running;
  };
  std::vector<std::thread> threads;
  for (int64_t n : {10, 3000, 20'000}) threads.emplace_back(requests, n, 0);
  threads.emplace_back(requests, 100'000, 100'000);
  while (running > 0) {
    pliant_cancel(model.get());
    pliant_stats stats = {sizeof stats};
    pliant_read_stats(model.get(), &stats);
    std::this_thread::yield();
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(run(model.get(), 1000).values.size(), 1000u);
}

// y: i64[count], element e is e + 1. Each element is made in an epoch of its own, in a buffer that lives to the end, beside
// one of n elements that lives as long as the epoch.
Program many_epochs(uint32_t count) {
  Program p = counting_loop();
  p.loops.clear();
  p.calls.clear();
  p.outputs = {tensor("y", DType::I64, {fixed(count)})};
  p.copies.clear();
  p.buffers.clear();
  p.code = {instr(Opcode::LoadImm, 6, 8), instr(Opcode::Mul, 3, 1, 6)};
  const uint32_t end = 2 + 4 * count;
  for (uint32_t e = 0; e < count; ++e) {
    const auto at = static_cast<uint32_t>(p.code.size());
    p.buffers.push_back({imm(8), e, at, end + e});
    p.buffers.push_back({slot(3), e, at, at + 3});
    p.copies.push_back({constant(0), buffer(2 * e), imm(8)});
    p.copies.push_back({buffer(2 * e), buffer(2 * e + 1), imm(8)});
    p.calls.push_back({0, {buffer(2 * e)}, {imm(e + 1)}, imm(1), imm(1), {}, "node \"inc\""});
    p.code.insert(p.code.end(), {instr(Opcode::Plan, e), instr(Opcode::Copy, 2 * e), instr(Opcode::Copy, 2 * e + 1),
                                 instr(Opcode::Call, e)});
  }
  for (uint32_t e = 0; e < count; ++e) {
    p.copies.push_back({buffer(2 * e), {Arg::Kind::Output, 0, imm(8 * e)}, imm(8)});
    p.code.push_back(instr(Opcode::Copy, 2 * count + e));
  }
  p.code.push_back(instr(Opcode::Return));
  return p;
}

TEST(interpret, many_epochs_that_live_on) {
  for (uint32_t count : {3u, 100u, 1000u}) {
    const std::vector<std::byte> file = with_zero(many_epochs(count));
    const ModelPtr model = load(file);
    for (int64_t n : {1, 100, 100, 1000, 3}) {
      const Answer a = run(model.get(), n);
      ASSERT_EQ(a.status, PLIANT_OK) << pliant_last_error();
      for (uint32_t e = 0; e < count; ++e) ASSERT_EQ(a.values[e], int64_t{e} + 1);
    }
    pliant_stats stats = {sizeof stats};
    pliant_read_stats(model.get(), &stats);
    EXPECT_LE(stats.arena_bytes, 1u << 20);
  }
}

}  // namespace
}  // namespace pliant::runtime::fixture
