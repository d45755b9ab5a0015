// Programs built by hand for the tests of the runtime. Their native code is compiled with the tests, into a section of its
// own whose bytes become an image's text.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "artifact/file.h"
#include "artifact/program.h"
#include "runtime/pliant.h"

namespace pliant::runtime::fixture {

using namespace pliant::artifact;  // the builders read like the structs they fill

// Offsets of the compiled kernels in the image; see fixture_test.cc for what each does.
enum class Kernel { Add, Increment, CheckPositive, SumWithScratch, SlowAdd };
enum class Shape { Elements, CountBytes, BoundBytes };
std::vector<std::byte> kernel_text();
uint64_t offset_of(Kernel kernel);
uint64_t offset_of(Shape shape);

Program empty_program();
TensorDesc tensor(std::string name, DType dtype, std::vector<Axis> axes);
inline Axis fixed(int64_t v) { return {imm(v), std::to_string(v)}; }
inline Axis symbol(std::string text, uint32_t s) { return {slot(s), std::move(text)}; }
inline Arg buffer(uint32_t i) { return {Arg::Kind::Buffer, i, imm(0)}; }
inline Arg input(uint32_t i) { return {Arg::Kind::Input, i, imm(0)}; }
inline Arg output(uint32_t i) { return {Arg::Kind::Output, i, imm(0)}; }
inline Arg constant(uint32_t i) { return {Arg::Kind::Constant, i, imm(0)}; }
inline Bind bind_axis(uint32_t in, uint32_t axis, uint32_t to, std::string name) {
  return {in, axis, to, false, std::move(name), 0, INT64_MAX, 1};
}
inline Instr instr(Opcode op, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0) { return {op, a, b, c}; }

// y[n, m] = a + b + b + ... (steps times b), through arena buffers; a and b are f32[n, m]. Slots: n, m, elements, bytes.
Program add_chain(int steps);
// y[count] = the positions of the nonzero elements of x: f32[n].
Program nonzero_program();
// y[n] by a kernel of n tasks, each of which adds up 100 numbers that it keeps in pieces of scratch memory of these bytes;
// x: u8[n] gives n.
Program scratch_program(std::vector<Int> pieces);

std::vector<std::byte> file_of(const Program& program, const std::vector<std::vector<std::byte>>& constants = {});

struct ModelDeleter {
  void operator()(pliant_model* m) const { pliant_release_model(m); }
};
using ModelPtr = std::unique_ptr<pliant_model, ModelDeleter>;
// Loads, with a failed expectation when that fails.
ModelPtr load(const std::vector<std::byte>& file, int threads = 1);
ModelPtr load(const Program& program, int threads = 1);

// Runs an add_chain model at [n, m] and compares every element; the status of the run.
pliant_status run_add_chain(pliant_model* model, int steps, int64_t n, int64_t m);

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& v) {
  std::vector<std::byte> out(v.size() * sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), v.data(), out.size());
  return out;
}

}  // namespace pliant::runtime::fixture
