// Programs at random that the verifier accepts: whatever their tables say, a run ends with a status. What a run may not do
// is read or write outside its memory, which the address sanitizer would see. Jumps go forward and functions call none, so
// that every run ends; there is no native code, which no verifier could judge.
#include <random>

#include "artifact/verify/verify.h"
#include "runtime/vm/fixture_test.h"

namespace pliant::runtime::fixture {
namespace {

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  Program make() {
    Program p = empty_program();
    p.slot_count = 8;
    p.key_slots = 2;
    p.slot_names = {"n", "k"};
    p.inputs = {tensor("x", DType::F32, {symbol("n", 0)}), tensor("k", DType::I64, {fixed(3)})};
    p.binds = {bind_axis(0, 0, 0, "n"), {1, below(5), 1, true, "k", INT64_MIN, INT64_MAX, 1}};
    p.constants = {{0, 64}, {64, 8}};
    for (uint32_t i = 0; i < 1 + below(2); ++i) {
      TensorDesc t = tensor("y", dtype(), {});
      for (uint32_t a = 0; a < below(3); ++a) t.axes.push_back({size(), "a"});
      p.outputs.push_back(t);
    }
    const uint32_t length = 10 + below(14);
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t first = below(length), last = first + below(length - first);
      p.buffers.push_back({size(), below(2), below(2) == 0 ? 0 : first, below(2) == 0 ? length - 1 : last});
    }
    p.shape_programs = {{0, false, {}},
                        {0, false, {{Check::Kind::LessEqual, integer(), integer(), "node \"c\"", "{a} {b}"}}}};
    p.grow_count = 2;
    for (int i = 0; i < 4; ++i) p.library_calls.push_back(make_library_call(p));
    for (int i = 0; i < 4; ++i) p.copies.push_back({any(p), writable(p), size()});
    for (int i = 0; i < 3; ++i) p.reads.push_back({any(p), below(2) == 0 ? DType::I64 : DType::I8, below(6), below(8), ""});
    for (int i = 0; i < 2; ++i) p.reserves.push_back({{Arg::Kind::Grow, below(2), imm(0)}, size(), "node \"g\""});
    p.fails = {{"node \"f\"", "{0}", {integer()}}};
    for (int i = 0; i < 2; ++i)
      p.invokes.push_back(
          {0, {integer(), integer()}, {any(p), any(p)}, {writable(p), writable(p)}, {{below(4), below(8)}}, "node \"i\""});
    for (uint32_t s = p.key_slots; s < p.slot_count; ++s)
      p.code.push_back(instr(Opcode::LoadImm, s, below(3) == 0 ? 8 * below(20) : 0));
    p.code.push_back(instr(Opcode::Plan, 0));
    p.code.push_back(instr(Opcode::Plan, 1));
    while (p.code.size() + 1 < length)
      p.code.push_back(make_instr(static_cast<uint32_t>(p.code.size()), static_cast<uint32_t>(length)));
    p.code.resize(length - 1);
    p.code.push_back(instr(Opcode::Return));
    add_function(p);
    return p;
  }
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  int64_t number() {
    switch (below(16)) {
      case 0: return -static_cast<int64_t>(below(100));
      case 1: return int64_t{1} << (50 + below(14));
      case 2: return INT64_MIN;
      default: return 8 * static_cast<int64_t>(below(40));
    }
  }

 private:
  // Copies between its params, results, a growable block and a buffer.
  void add_function(Program& p) {
    FunctionDesc f;
    f.name = "f";
    f.first = static_cast<uint32_t>(p.code.size());
    f.slot_count = 4;
    f.grow_count = 1;
    f.first_buffer = static_cast<uint32_t>(p.buffers.size());
    f.buffer_count = f.param_count = f.result_count = 2;
    f.buffer_count = 1;
    auto arg = [&](bool writes) -> Arg {
      const Int at = below(3) == 0 ? slot(below(4)) : imm(static_cast<int64_t>(8 * below(2)));
      switch (below(writes ? 3 : 4)) {
        case 0: return {Arg::Kind::Grow, 0, at};
        case 1: return {Arg::Kind::Result, below(2), at};
        case 2: return {Arg::Kind::Buffer, f.first_buffer, at};
        default: return {Arg::Kind::Param, below(2), at};
      }
    };
    auto bytes = [&] { return below(2) == 0 ? slot(below(4)) : imm(static_cast<int64_t>(8 * below(20))); };
    for (uint32_t s = 2; s < f.slot_count; ++s)
      p.code.push_back(instr(Opcode::LoadImm, s, below(3) == 0 ? 8 * below(20) : 0));
    p.code.push_back(instr(Opcode::Plan, 0));
    for (uint32_t i = 0; i < 6; ++i) {
      if (below(3) == 0) {
        const Arg::Kind to = below(2) == 0 ? Arg::Kind::Grow : Arg::Kind::Result;
        p.reserves.push_back({{to, 0, imm(0)}, bytes(), "node \"r\""});
        p.code.push_back(instr(Opcode::Reserve, static_cast<uint32_t>(p.reserves.size() - 1)));
      } else {
        p.copies.push_back({arg(false), arg(true), bytes()});
        p.code.push_back(instr(Opcode::Copy, static_cast<uint32_t>(p.copies.size() - 1)));
      }
    }
    p.code.push_back(instr(Opcode::Return));
    f.last = static_cast<uint32_t>(p.code.size() - 1);
    p.buffers.push_back({bytes(), 0, f.first, f.last});
    p.functions.push_back(f);
  }
  DType dtype() { return static_cast<DType>(below(kDTypeCount)); }
  Int integer() { return below(2) == 0 ? slot(below(8)) : imm(number()); }
  Int size() {
    const Int v = integer();
    return !v.is_slot && v.value < 0 ? imm(24) : v;
  }
  Int offset() { return below(4) == 0 ? size() : imm(0); }
  Arg any(const Program& p) {
    switch (below(5)) {
      case 0: return {Arg::Kind::Input, below(2), offset()};
      case 1: return {Arg::Kind::Constant, below(2), offset()};
      case 2: return {Arg::Kind::Grow, below(2), offset()};
      default: return writable(p);
    }
  }
  Arg writable(const Program& p) {
    if (below(4) == 0) return {Arg::Kind::Grow, below(2), offset()};
    if (below(3) == 0) return {Arg::Kind::Output, below(static_cast<uint32_t>(p.outputs.size())), offset()};
    return {Arg::Kind::Buffer, below(4), offset()};
  }
  Int small() { return below(5) == 0 ? integer() : imm(below(5)); }
  LibraryCallDesc make_library_call(const Program& p) {
    static const char* names[] = {"top_k", "nonzero", "unique", "compress", "non_max_suppression"};
    static const uint32_t inputs[] = {2, 1, 1, 2, 5}, outputs[] = {2, 1, 4, 1, 1}, ints[] = {3, 0, 2, 1, 1},
                          results[] = {0, 1, 1, 1, 1};
    const uint32_t k = below(std::size(names));
    LibraryCallDesc e;
    e.symbol = names[k];
    for (uint32_t i = 0; i < inputs[k]; ++i) {
      e.inputs.push_back(any(p));
      e.input_dtypes.push_back(k == 3 && i == 1 ? DType::Bool : k == 4 ? (i == 2 ? DType::I64 : DType::F32) : dtype());
      e.input_shapes.emplace_back();
      const uint32_t rank = k == 4 && i < 2 ? 3 : k == 3 && i == 1 ? 1 : i > 0 ? 0 : below(4);
      for (uint32_t d = 0; d < rank; ++d) e.input_shapes.back().push_back(small());
      if (k == 4 && i == 0) e.input_shapes[0][2] = imm(4);
      if (k == 4 && i == 1) e.input_shapes[1] = {e.input_shapes[0][0], imm(2), e.input_shapes[0][1]};
    }
    for (uint32_t i = 0; i < outputs[k]; ++i) {
      e.outputs.push_back(writable(p));
      e.output_dtypes.push_back(i == 0 && k != 1 && k != 4 ? e.input_dtypes[0] : DType::I64);
    }
    for (uint32_t i = 0; i < ints[k]; ++i)
      e.ints.push_back(below(8) == 0 ? integer() : imm(static_cast<int64_t>(below(3)) - (below(4) == 0)));
    for (uint32_t i = 0; i < results[k]; ++i) e.result_slots.push_back(below(8));
    return e;
  }
  Instr make_instr(uint32_t at, uint32_t length) {
    const auto s = [&] { return static_cast<uint32_t>(below(8)); };
    switch (below(18)) {
      case 0: return instr(Opcode::Shape, static_cast<uint32_t>(below(2)));
      case 1: return instr(Opcode::Plan, static_cast<uint32_t>(below(2)));
      case 2:
      case 3:
      case 4: return instr(Opcode::Library, static_cast<uint32_t>(below(4)));
      case 5:
      case 6:
      case 7: return instr(Opcode::Copy, static_cast<uint32_t>(below(4)));
      case 8: return instr(Opcode::Read, static_cast<uint32_t>(below(3)));
      case 9: return instr(Opcode::LoadImm, s(), static_cast<uint32_t>(8 * below(20)));
      case 10: return instr(Opcode::Mul, s(), s(), s());
      case 11: return instr(Opcode::Less, s(), s(), s());
      case 12:
        return instr(Opcode::JumpZero, static_cast<uint32_t>(std::min<uint32_t>(at + 1u + below(4), length - 1u)), s());
      case 13: return instr(Opcode::AddImm, s(), s(), static_cast<uint32_t>(8 * below(9)));
      case 14:
      case 15: return instr(Opcode::Reserve, static_cast<uint32_t>(below(2)));
      case 16: return below(4) == 0 ? instr(Opcode::Fail, 0) : instr(Opcode::Invoke, static_cast<uint32_t>(below(2)));
      default: return instr(Opcode::Sub, s(), s(), s());
    }
  }
  std::mt19937 random_;
};

TEST(vm, accepted_programs_stay_inside_their_memory) {
  const std::vector<std::vector<std::byte>> constants = {
      bytes_of(std::vector<float>{1, 0, 3, 0, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}), bytes_of(std::vector<int64_t>{2})};
  int accepted = 0, ran = 0;
  for (unsigned seed = 0; seed < 12'000; ++seed) {
    Generator g(seed);
    const Program p = g.make();
    std::string error;
    if (!artifact::verify(p, 72, error)) continue;
    ++accepted;
    const std::vector<std::byte> file = file_of(p, constants);
    const ModelPtr model = load(file);
    ASSERT_NE(model, nullptr);
    for (int64_t n : {0, 40, 7}) {
      std::vector<float> x(static_cast<size_t>(n));
      for (float& v : x) v = static_cast<float>(g.below(5));
      const std::vector<int64_t> k = {g.number(), g.number(), 3};
      const int64_t x_shape[] = {n}, k_shape[] = {3};
      const pliant_input in[] = {{"x", x.data(), PLIANT_F32, 1, x_shape}, {"k", k.data(), PLIANT_I64, 1, k_shape}};
      std::vector<pliant_output> out(p.outputs.size());
      const pliant_status status = pliant_run(model.get(), in, 2, out.data(), out.size());
      ran += status == PLIANT_OK;
      ASSERT_TRUE(status == PLIANT_OK || status == PLIANT_RUN_FAULT || status == PLIANT_BAD_INPUT ||
                  status == PLIANT_OUT_OF_MEMORY)
          << seed << ": " << pliant_last_error();
      for (pliant_output& o : out) pliant_release_buffer(o.buffer);
    }
  }
  EXPECT_GT(accepted, 500);
  EXPECT_GT(ran, 100);
}

}  // namespace
}  // namespace pliant::runtime::fixture
