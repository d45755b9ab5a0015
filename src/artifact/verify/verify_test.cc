#include "artifact/verify/verify_test.h"

#include <gtest/gtest.h>

#include <functional>

#include "artifact/entry.h"
#include "artifact/seal.h"
#include "artifact/verify/verify.h"

namespace pliant::artifact {
namespace {

// Where the functions of full_program() begin; the first of each kind is the one that it uses.
constexpr uint64_t kShape = 128, kGemm = 256, kAdd = 384, kTextBytes = 448;

std::vector<std::byte> full_text() {
  std::vector<std::byte> text(kTextBytes, std::byte{0xc3});
  auto describe = [&](uint64_t at, const Entry& entry) {
    const std::vector<std::byte> record = encode_entry(entry);
    std::copy(record.begin(), record.end(), text.begin() + static_cast<ptrdiff_t>(at - record.size()));
  };
  describe(kShape, {Entry::Kind::Shape, 0, 0, {}, {0, 1}, {2, 3}});
  describe(kGemm, {Entry::Kind::Kernel, 3, 2, {false, false, true}, {}, {}});
  describe(kAdd, {Entry::Kind::Kernel, 1, 0, {true}, {}, {}});
  return text;
}

}  // namespace

Program full_program() {
  Program p;
  p.model = "model.onnx";
  p.producer = "pliant test";
  p.slot_count = 6;
  p.key_slots = 2;
  p.slot_names = {"batch", "seq"};
  p.inputs = {{"x", DType::F32, {{slot(0), "batch"}, {slot(1), "seq"}, {imm(3), "3"}}, -1},
              {"k", DType::I64, {{imm(8), "8"}}, 1}};
  p.outputs = {{"y", DType::F32, {{slot(0), "batch"}, {slot(4), "count"}}, -1}};
  p.binds = {
      {0, 0, 0, false, "batch", 1, 64, 1}, {0, 1, 1, false, "seq", 0, INT64_MAX, 8}, {1, 7, 1, true, "seq", -5, 5, 1}};
  p.shape_programs = {{kShape, true, {{Check::Kind::Broadcast, slot(1), imm(-7), "node \"a\"", "{a} and {b}"}}},
                      {0, false, {}}};
  p.buffers = {{slot(3), 0, 2, 4}, {imm(640), 1, 6, 7}};
  p.kernels = {{"gemm", kGemm, {{"node \"g\"", "index {0}"}}}, {"add", kAdd, {}}};
  p.calls = {{0,
              {{Arg::Kind::Input, 0, imm(0)}, {Arg::Kind::Constant, 0, imm(64)}, {Arg::Kind::Buffer, 0, slot(3)}},
              {slot(0), imm(-9)},
              slot(2),
              imm(1000),
              {imm(256)},
              "node \"g\""}};
  p.library_calls = {{"nonzero",
                      {{Arg::Kind::Buffer, 0, imm(0)}},
                      {{slot(0), imm(3)}},
                      {DType::F32},
                      {{Arg::Kind::Buffer, 0, imm(0)}},
                      {DType::I64},
                      {imm(4)},
                      {4},
                      "node \"n\""}};
  p.copies = {{{Arg::Kind::Buffer, 1, imm(0)}, {Arg::Kind::Output, 0, imm(0)}, slot(5)}};
  p.reads = {{{Arg::Kind::Input, 1, imm(0)}, DType::I64, 2, 5}};
  p.code = {{Opcode::Shape, 0},
            {Opcode::Plan, 0},
            {Opcode::Call, 0},
            {Opcode::Library, 0},
            {Opcode::JumpZero, 9, 4},
            {Opcode::Plan, 1},
            {Opcode::Move, 5, 4},
            {Opcode::Copy, 0},
            {Opcode::Read, 0},
            {Opcode::Return},
            // A function from 10 on, and what the entry's code does not reach.
            {Opcode::Plan, 0},
            {Opcode::Reserve, 0},
            {Opcode::Copy, 1},
            {Opcode::Next, 12, 0, 1},
            {Opcode::Invoke, 0},
            {Opcode::JumpZero, 17, 1},
            {Opcode::Fail, 0},
            {Opcode::Return}};
  p.grow_count = 2;
  p.buffers.push_back({slot(1), 0, 10, 16});
  p.copies.push_back({{Arg::Kind::Param, 0, imm(0)}, {Arg::Kind::Buffer, 2, imm(8)}, imm(8)});
  p.reserves = {{{Arg::Kind::Grow, 0, imm(0)}, slot(1), "node \"r\""}};
  p.fails = {{"node \"f\"", "{0} is bad", {slot(0), imm(-4)}}};
  p.loops = {{12, 13, 0, "node \"l\""}, {5, 8, 5, "node \"m\""}};
  p.functions = {{"f", 10, 17, 2, 1, 2, 1, 1, 1}};
  p.invokes = {
      {0, {slot(0), imm(3)}, {{Arg::Kind::Param, 0, imm(8)}}, {{Arg::Kind::Result, 0, imm(0)}}, {{1, 0}}, "node \"i\""}};
  p.constants = {{0, 1000}, {1024, 64}, {1088, 0}, {0, 1000}, {1088, 70'000}};
  p.image.target = "x86-64-v3";
  p.image.features = {"avx2", "fma"};
  p.image.text = full_text();
  p.image.rodata.resize(10, std::byte{1});
  p.image.data.resize(24, std::byte{2});
  p.image.relocations = {{Relocation::Kind::Import, 8, 0}, {Relocation::Kind::Image, 16, 4100}};
  p.image.imports = {"memcpy"};
  seal(p.image);
  return p;
}

namespace {

std::string error_of(const std::function<void(Program&)>& change) {
  Program p = full_program();
  change(p);
  seal(p.image);
  std::string error;
  return verify(p, 71'088, error) ? "" : error.substr(std::string("the program is malformed: ").size());
}

TEST(verify, accepts_a_good_program) {
  EXPECT_EQ(error_of([](Program&) {}), "");
}

TEST(verify, sizes_and_image) {
  EXPECT_EQ(error_of([](Program& p) { p.slot_count = 1u << 30; }), "slot count 1073741824 is over the limit");
  EXPECT_EQ(error_of([](Program& p) { p.key_slots = 7; }), "key slot count 7 is over the slot count");
  EXPECT_EQ(error_of([](Program& p) { p.slot_names.pop_back(); }), "slot name count 1 is not the key slot count");
  EXPECT_EQ(error_of([](Program& p) { p.code.clear(); }), "code size 0 is out of range");
  EXPECT_EQ(error_of([](Program& p) { p.image.relocations[0].offset = 17; }), "relocation 0 lies outside the data");
  EXPECT_EQ(error_of([](Program& p) { p.image.relocations[0].offset = 24; }), "relocation 0 lies outside the data");
  EXPECT_EQ(error_of([](Program& p) { p.image.relocations[0].addend = 1; }), "relocation 0 points outside the image");
  EXPECT_EQ(error_of([](Program& p) { p.image.relocations[1].addend = 3 * 4096; }), "relocation 1 points outside the image");
  EXPECT_EQ(error_of([](Program& p) { p.kernels[1].code_offset = 100; }), "kernel 1 begins where no kernel does");
  EXPECT_EQ(error_of([](Program& p) { p.kernels[1].code_offset = 10'000; }), "kernel 1 begins where no kernel does");
  EXPECT_EQ(error_of([](Program& p) { p.kernels[1].code_offset = kGemm + 64; }), "kernel 1 begins where no kernel does");
  EXPECT_EQ(error_of([](Program& p) { p.kernels[1].code_offset = kShape; }), "kernel 1 begins where no kernel does");
  EXPECT_EQ(error_of([](Program& p) { p.outputs[0].axes[1].text = "a\xff"; }), "text 14 is not UTF-8");
  EXPECT_EQ(error_of([](Program& p) { p.binds[0].symbol = std::string("a\0b", 3); }), "text 15 is not UTF-8");
}

TEST(verify, the_image_is_the_one_that_was_linked) {
  const std::function<void(NativeImage&)> changes[] = {
      [](NativeImage& m) { m.text.resize(m.text.size() - 1); },
      [](NativeImage& m) { m.text.push_back(std::byte{0}); },
      [](NativeImage& m) { m.text.back() = std::byte{1}; },
      [](NativeImage& m) { m.rodata.push_back(std::byte{1}); },
      [](NativeImage& m) { m.data.push_back(m.rodata.back()), m.rodata.pop_back(); },
      [](NativeImage& m) { m.data[3] = std::byte{7}; },
      [](NativeImage& m) { m.relocations[1].addend = 0; },
      [](NativeImage& m) { std::swap(m.relocations[0], m.relocations[1]); },
      [](NativeImage& m) { m.relocations.pop_back(); },
      [](NativeImage& m) { m.imports[0] = "memset"; },
      [](NativeImage& m) { m.imports.push_back("memset"); }};
  for (const auto& change : changes) {
    Program p = full_program();
    change(p.image);
    std::string error;
    EXPECT_FALSE(verify(p, 71'088, error));
    EXPECT_NE(error.find("is not the one that was linked"), std::string::npos) << error;
  }
  NativeImage nothing;
  EXPECT_TRUE(is_sealed(nothing));
  nothing.data.resize(8);
  EXPECT_FALSE(is_sealed(nothing));
}

TEST(verify, tensors_and_binds) {
  EXPECT_EQ(error_of([](Program& p) { p.constants[4].bytes++; }), "constant 4 lies outside the constants");
  EXPECT_EQ(error_of([](Program& p) { p.constants[0].offset = 32; }), "constant 0 lies outside the constants");
  EXPECT_EQ(error_of([](Program& p) { p.constants[0].bytes = UINT64_MAX; }), "constant 0 lies outside the constants");
  EXPECT_EQ(error_of([](Program& p) { p.inputs[0].axes[0].size = slot(6); }), "input 0 has a bad axis");
  EXPECT_EQ(error_of([](Program& p) { p.inputs[0].axes[2].size = imm(-1); }), "input 0 has a bad axis");
  EXPECT_EQ(error_of([](Program& p) { p.inputs[0].axes.resize(33); }), "input 0 has a bad axis");
  EXPECT_EQ(error_of([](Program& p) { p.inputs[1].default_constant = 5; }), "input 1 has a bad default");
  EXPECT_EQ(error_of([](Program& p) { p.inputs[0].default_constant = 1; }), "input 0 has a default but no fixed size");
  EXPECT_EQ(error_of([](Program& p) { p.inputs[1].default_constant = 0; }), "input 1 has a default of another size");
  EXPECT_EQ(error_of([](Program& p) { p.outputs[0].axes[1].size = slot(9); }), "output 0 has a bad axis or a default");
  EXPECT_EQ(error_of([](Program& p) { p.binds[0].slot = 2; }), "bind 0 names no input or no key slot");
  EXPECT_EQ(error_of([](Program& p) { p.binds[0].input = 2; }), "bind 0 names no input or no key slot");
  EXPECT_EQ(error_of([](Program& p) { p.binds[0].axis = 3; }), "bind 0 does not fit its input");
  EXPECT_EQ(error_of([](Program& p) { p.binds[0].is_element = true; }), "bind 0 does not fit its input");
  EXPECT_EQ(error_of([](Program& p) { p.binds[0].lo = 65; }), "bind 0 allows no value");
  EXPECT_EQ(error_of([](Program& p) { p.binds[0].multiple_of = 0; }), "bind 0 allows no value");
  EXPECT_EQ(error_of([](Program& p) { p.binds.erase(p.binds.begin()); }), "key slot 0 is bound by nothing");
}

TEST(verify, tables_of_code) {
  EXPECT_EQ(error_of([](Program& p) { p.shape_programs[0].code_offset = 100; }), "shape program 0 begins where none does");
  EXPECT_EQ(error_of([](Program& p) { p.shape_programs[0].code_offset = kGemm; }), "shape program 0 begins where none does");
  EXPECT_EQ(error_of([](Program& p) { p.shape_programs[0].checks[0].a = slot(6); }),
            "shape program 0 checks a slot that is none");
  EXPECT_EQ(error_of([](Program& p) { p.buffers[0].bytes = imm(-1); }), "buffer 0 has a bad size, epoch or range");
  EXPECT_EQ(error_of([](Program& p) { p.buffers[0].epoch = kMaxEpochs; }), "buffer 0 has a bad size, epoch or range");
  EXPECT_EQ(error_of([](Program& p) { p.buffers[0].last = 18; }), "buffer 0 has a bad size, epoch or range");
  EXPECT_EQ(error_of([](Program& p) { p.buffers[0].last = 10; }), "buffer 0 does not fit its function");
  EXPECT_EQ(error_of([](Program& p) { p.buffers[0].first = 5; }), "buffer 0 has a bad size, epoch or range");
  EXPECT_EQ(error_of([](Program& p) { p.calls[0].kernel = 2; }), "call 0 names no kernel");
  EXPECT_EQ(error_of([](Program& p) { p.calls[0].kernel = 1; }),
            "call 0 has another number of arguments or integers than its kernel");
  EXPECT_EQ(error_of([](Program& p) { p.calls[0].args.pop_back(); }),
            "call 0 has another number of arguments or integers than its kernel");
  EXPECT_EQ(error_of([](Program& p) { p.calls[0].ints.pop_back(); }),
            "call 0 has another number of arguments or integers than its kernel");
  EXPECT_EQ(error_of([](Program& p) { p.calls[0].args[2] = p.calls[0].args[0]; }),
            "call 0 has a result that may not be written");
  EXPECT_EQ(error_of([](Program& p) { p.calls[0].args[0].index = 2; }), "call 0 has a bad argument");
  EXPECT_EQ(error_of([](Program& p) { p.calls[0].args[1].index = 5; }), "call 0 has a bad argument");
  EXPECT_EQ(error_of([](Program& p) { p.calls[0].args[2].byte_offset = imm(-1); }), "call 0 has a bad argument");
  EXPECT_EQ(error_of([](Program& p) { p.calls[0].ints[0] = slot(6); }), "call 0 has a bad integer");
  EXPECT_EQ(error_of([](Program& p) { p.calls[0].scratch = {imm(-1)}; }), "call 0 has a bad integer");
  EXPECT_EQ(error_of([](Program& p) { p.library_calls[0].input_dtypes.clear(); }),
            "runtime call 0 has lists of different lengths");
  EXPECT_EQ(error_of([](Program& p) { p.library_calls[0].outputs[0].kind = Arg::Kind::Constant; }),
            "runtime call 0 has a bad output");
  EXPECT_EQ(error_of([](Program& p) { p.library_calls[0].input_shapes[0][0] = slot(77); }),
            "runtime call 0 has a bad shape");
  EXPECT_EQ(error_of([](Program& p) { p.library_calls[0].result_slots[0] = 6; }),
            "runtime call 0 gives a result to no slot");
  EXPECT_EQ(error_of([](Program& p) { p.copies[0].to.kind = Arg::Kind::Input; }), "copy 0 is bad");
  EXPECT_EQ(error_of([](Program& p) { p.reads[0].dtype = DType::F32; }), "read 0 is bad");
  EXPECT_EQ(error_of([](Program& p) { p.reads[0].slot = 6; }), "read 0 is bad");
}

TEST(verify, functions_have_their_own) {
  const std::string outside = " has an operand out of range";
  EXPECT_EQ(error_of([](Program& p) { p.code[13].b = 2; }), "instruction 13 (Next)" + outside);
  EXPECT_EQ(error_of([](Program& p) { p.code[13].a = 9; }), "instruction 13 (Next)" + outside);
  EXPECT_EQ(error_of([](Program& p) { p.code[4].a = 10; }), "instruction 4 (JumpZero)" + outside);
  EXPECT_EQ(error_of([](Program& p) { p.copies[1].from.index = 1; }), "instruction 12 (Copy)" + outside);
  EXPECT_EQ(error_of([](Program& p) { p.copies[1].from.kind = Arg::Kind::Input; }), "instruction 12 (Copy)" + outside);
  EXPECT_EQ(error_of([](Program& p) { p.copies[1].to.index = 0; }), "instruction 12 (Copy)" + outside);
  EXPECT_EQ(error_of([](Program& p) { p.copies[1].bytes = slot(2); }), "instruction 12 (Copy)" + outside);
  EXPECT_EQ(error_of([](Program& p) { p.copies[0].from = {Arg::Kind::Param, 0, imm(0)}; }),
            "instruction 7 (Copy)" + outside);
  EXPECT_EQ(error_of([](Program& p) { p.reserves[0].to.index = 1; }), "instruction 11 (Reserve)" + outside);
  EXPECT_EQ(error_of([](Program& p) { p.reserves[0].to.kind = Arg::Kind::Buffer; }), "reserve 0 is bad");
  EXPECT_EQ(error_of([](Program& p) { p.fails[0].values[0] = slot(3); }), "instruction 16 (Fail)" + outside);
  EXPECT_EQ(error_of([](Program& p) { p.fails[0].values.resize(9); }), "fail 0 has bad values");
  EXPECT_EQ(error_of([](Program& p) { p.buffers[2].bytes = slot(2); }), "buffer 2 does not fit its function");
  EXPECT_EQ(error_of([](Program& p) { p.buffers[2].first = 9; }), "buffer 2 does not fit its function");
  EXPECT_EQ(error_of([](Program& p) { p.loops[0].index = 2; }), "loop 0 has a bad range or index");
  EXPECT_EQ(error_of([](Program& p) { p.loops[1].last = 12; }), "loop 1 has a bad range or index");
}

TEST(verify, calls_of_functions) {
  EXPECT_EQ(error_of([](Program& p) { p.functions[0].first = 11; }), "instruction 10 is the last but falls through");
  EXPECT_EQ(error_of([](Program& p) { p.functions[0].last = 16; }),
            "function count 1 does not cover the code and the buffers");
  EXPECT_EQ(error_of([](Program& p) { p.functions[0].last = 18; }), "function 0 has a bad code range");
  EXPECT_EQ(error_of([](Program& p) { p.functions[0].first = 0; }), "function 0 leaves no code to the entry");
  EXPECT_EQ(error_of([](Program& p) { p.functions[0].buffer_count = 2; }), "function 0 has a bad range of buffers");
  EXPECT_EQ(error_of([](Program& p) { p.functions[0].first_buffer = 4; }), "function 0 has a bad range of buffers");
  EXPECT_EQ(error_of([](Program& p) { p.functions[0].slot_count = 1u << 30; }), "slot count 1073741824 is over the limit");
  EXPECT_EQ(error_of([](Program& p) { p.functions[0].grow_count = 1u << 30; }),
            "function 0 has too many params, results or growable blocks");
  EXPECT_EQ(error_of([](Program& p) { p.invokes[0].function = 1; }), "invoke 0 names no function or slot");
  EXPECT_EQ(error_of([](Program& p) { p.invokes[0].results[0].kind = Arg::Kind::Param; }), "invoke 0 has a bad result");
  const std::string outside = "instruction 14 (Invoke) has an operand out of range";
  EXPECT_EQ(error_of([](Program& p) { p.invokes[0].ints.resize(3); }), outside);
  EXPECT_EQ(error_of([](Program& p) { p.invokes[0].args.clear(); }), outside);
  EXPECT_EQ(error_of([](Program& p) { p.invokes[0].slot_results[0].from = 2; }), outside);
  EXPECT_EQ(error_of([](Program& p) { p.invokes[0].slot_results[0].to = 2; }), outside);
  EXPECT_EQ(error_of([](Program& p) { p.invokes[0].list_args = {{0, 0}}, p.list_count = 1; }), outside);
  EXPECT_EQ(error_of([](Program& p) { p.invokes[0].list_results = {{1, 0}}, p.functions[0].list_count = 1; }), outside);
  EXPECT_EQ(error_of([](Program& p) { p.functions[0].list_count = kMaxLists + 1; }), "list count 65537 is over the limit");
  EXPECT_EQ(error_of([](Program& p) {
              p.library_calls[0].list_inputs = {0}, p.list_count = 1;
              p.code[16] = {Opcode::Library, 0};
            }),
            "instruction 16 (Library) has an operand out of range");
}

TEST(verify, instructions) {
  EXPECT_EQ(error_of([](Program& p) { p.code[0].a = 2; }), "instruction 0 (Shape) has an operand out of range");
  EXPECT_EQ(error_of([](Program& p) { p.code[2].a = 1; }), "instruction 2 (Call) has an operand out of range");
  EXPECT_EQ(error_of([](Program& p) { p.code[4].a = 10; }), "instruction 4 (JumpZero) has an operand out of range");
  EXPECT_EQ(error_of([](Program& p) { p.code[6].b = 6; }), "instruction 6 (Move) has an operand out of range");
  EXPECT_EQ(error_of([](Program& p) { p.code[9].op = Opcode::Move; }), "instruction 9 is the last but falls through");
}

TEST(verify, slots_are_computed_on_every_path) {
  auto missing = [](size_t at, uint32_t s) {
    return "instruction " + std::to_string(at) + " uses slot " + std::to_string(s) + ", which need not be computed there";
  };
  // The shape program gives the size of the buffer, the runtime call the output's.
  EXPECT_EQ(error_of([](Program& p) { p.code[0] = {Opcode::LoadImm, 2, 1}; }), missing(1, 3));
  EXPECT_EQ(error_of([](Program& p) { p.code[0] = {Opcode::Shape, 1}; }), missing(1, 3));
  EXPECT_EQ(error_of([](Program& p) { p.library_calls[0].result_slots.clear(); }), missing(4, 4));
  // Around what computes slot 5.
  EXPECT_EQ(error_of([](Program& p) { p.code[6] = {Opcode::JumpZero, 8, 4}; }), missing(7, 5));
  EXPECT_EQ(error_of([](Program& p) { p.code[5] = {Opcode::JumpZero, 7, 4}; }),
            "instruction 7 uses a buffer that holds nothing there");
  EXPECT_EQ(error_of([](Program& p) { p.code[6] = {Opcode::JumpZero, 7, 4}; }), missing(7, 5));
  EXPECT_EQ(error_of([](Program& p) { p.code[6] = {Opcode::Plan, 1}; }), missing(7, 5));
  // A program that reads what nothing gave, and one whose checks do.
  EXPECT_EQ(error_of([](Program& p) { p.shape_programs[0].checks[0].a = slot(5); }), missing(0, 5));
  EXPECT_EQ(error_of([](Program& p) { p.shape_programs[0].checks[0].a = slot(2); }), "");
  EXPECT_EQ(error_of([](Program& p) { p.key_slots = 1, p.slot_names.pop_back(), p.binds.resize(1); }), missing(0, 1));
  // A function begins with what every caller gives.
  EXPECT_EQ(error_of([](Program& p) { p.invokes[0].ints.pop_back(); }), missing(10, 1));
  EXPECT_EQ(error_of([](Program& p) {
              p.functions[0].slot_count = 3;
              p.code[16] = {Opcode::Move, 0, 0};
              p.invokes[0].slot_results = {{2, 0}};
            }),
            missing(17, 2));
}

TEST(verify, buffers_are_planned_on_every_path_and_alive) {
  EXPECT_EQ(error_of([](Program& p) { p.code[1] = {Opcode::Move, 0, 0}; }),
            "instruction 2 uses a buffer that holds nothing there");
  EXPECT_EQ(error_of([](Program& p) { p.buffers[0].last = 2; }), "instruction 3 uses a buffer that holds nothing there");
  // The jump around the plan of epoch 1.
  EXPECT_EQ(error_of([](Program& p) { p.code[4].a = 6; }), "instruction 7 uses a buffer that holds nothing there");
  // Around a loop the epoch stays planned.
  EXPECT_EQ(error_of([](Program& p) { p.code[8] = {Opcode::JumpZero, 6, 5}; }), "");
  // Planning an epoch ends the later ones.
  EXPECT_EQ(error_of([](Program& p) { p.code[6] = {Opcode::Plan, 0}; }),
            "instruction 7 uses a buffer that holds nothing there");
}

}  // namespace
}  // namespace pliant::artifact
