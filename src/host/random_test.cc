// Random modules, well made or not: their text parses back to itself, and the verifier takes them. Random damage to a text
// gives an error or another module.
#include <gtest/gtest.h>

#include <random>

#include "host/host.h"

namespace pliant::host {
namespace {

using expr::Dim;

class Generator {
 public:
  Generator(uint32_t seed, expr::Context& ctx) : rng_(seed), ctx_(ctx) {
    for (const char* name : {"n", "m", "odd name", "s3"}) {
      auto known = ctx_.find_symbol(name);
      symbols_.push_back(known ? *known : *ctx_.symbol({.name = name, .lo = name[0] == 'm' ? -3 : 0}).as_symbol());
    }
  }
  Module module() {
    Module m;
    for (int i = pick(0, 2); i > 0; --i) m.devices.push_back({word()});
    for (int i = pick(1, 3); i > 0; --i) m.kernels.push_back(kernel());
    for (int i = pick(0, 3); i > 0; --i) m.constants.push_back(pick(0, 1000));
    for (int i = pick(0, 3); i > 0; --i) m.inputs.push_back(tensor());
    for (int i = pick(0, 3); i > 0; --i) m.outputs.push_back(tensor());
    for (int i = pick(0, 2); i > 0; --i)
      m.binds.push_back({number(), number(), number(), flip(), word(), -pick(0, 9), pick(0, 9), pick(1, 4)});
    for (int i = pick(0, 2); i > 0; --i) m.key_names.push_back(word());
    functions_ = static_cast<uint32_t>(pick(1, 3));
    kernels_ = static_cast<uint32_t>(m.kernels.size());
    for (uint32_t i = 0; i < functions_; ++i) m.functions.push_back(function("f" + std::to_string(i)));
    return m;
  }

 private:
  int pick(int lo, int hi) { return lo + static_cast<int>(rng_() % static_cast<uint32_t>(hi - lo + 1)); }
  bool flip() { return pick(0, 1) == 1; }
  uint32_t number() { return static_cast<uint32_t>(pick(0, 9)); }
  std::string word() {
    static const std::vector<std::string> words{"", "a", "a b", "quo\"te", "back\\slash", "two\nlines", "// no comment",
                                                "`"};
    return words[rng_() % words.size()];
  }
  DType dtype() { return static_cast<DType>(pick(0, kDTypeCount - 1)); }
  Int integer() {
    if (flip()) return artifact::slot(number());
    return artifact::imm(pick(0, 20) == 0 ? INT64_MIN : pick(-3, 100));
  }
  Arg arg() { return {static_cast<Arg::Kind>(pick(0, 6)), number(), flip() ? artifact::imm(0) : integer()}; }
  template <class F>
  auto some(int most, F&& make) {
    std::vector<decltype(make())> out;
    for (int i = pick(0, most); i > 0; --i) out.push_back(make());
    return out;
  }
  Dim dim(int depth) {
    switch (pick(0, depth > 0 ? 6 : 1)) {
      case 0: return ctx_.constant(pick(-9, 9));
      case 1: return ctx_.symbol_dim(symbols_[rng_() % symbols_.size()]);
      case 2: return dim(depth - 1) + dim(depth - 1);
      case 3: return dim(depth - 1) * dim(depth - 1);
      case 4: return floordiv(dim(depth - 1), pick(1, 5));
      case 5: return max(dim(depth - 1), dim(depth - 1));
      default: return min(dim(depth - 1), ctx_.constant(pick(0, 9)));
    }
  }
  Kernel kernel() {
    Kernel k;
    k.name = flip() ? "k" : word() + "k";
    k.backend = flip() ? "cpu" : word();
    k.params = some(3, [&] { return Kernel::Param{dtype(), flip()}; });
    k.ints = some(2, [&] { return symbols_[rng_() % symbols_.size()]; });
    k.traps = some(2, [&] { return artifact::TrapDesc{word(), word()}; });
    return k;
  }
  artifact::TensorDesc tensor() {
    artifact::TensorDesc t;
    t.name = word();
    t.dtype = dtype();
    t.kind = static_cast<artifact::TensorDesc::Kind>(pick(0, 3));
    if (t.kind != artifact::TensorDesc::Kind::Tensor) t.list = number();
    t.any_rank = pick(0, 3) == 0;
    if (!t.any_rank) t.axes = some(3, [&] { return artifact::Axis{integer(), word()}; });
    if (!t.any_rank && flip()) t.default_constant = pick(0, 3);
    return t;
  }
  Function function(const std::string& name) {
    Function f;
    f.name = name;
    f.slot_count = 10;
    f.given_slots = number();
    f.grow_count = number();
    f.list_count = number();
    f.param_count = number();
    f.result_count = number();
    f.epochs = some(3, [&] { return epoch(); });
    f.buffers = some(4, [&] { return Buffer{integer(), number(), number()}; });
    f.result_sizes = some(2, [&] { return some(2, [&] { return integer(); }); });
    f.body = block(3);
    return f;
  }
  Epoch epoch() {
    Epoch e;
    for (expr::SymbolId s : symbols_)
      if (flip()) e.shape.symbol_slots.emplace(s, number());
    e.shape.assignments = some(3, [&] { return loop::Assignment{number(), dim(3), flip()}; });
    e.checks = some(2, [&] {
      return artifact::Check{static_cast<artifact::Check::Kind>(pick(0, 2)), integer(), integer(), word(), word()};
    });
    return e;
  }
  Block block(int depth) {
    return some(4, [&] { return instr(depth); });
  }
  Instr instr(int depth) {
    switch (pick(0, depth > 0 ? 14 : 11)) {
      case 0: return {Shape{number()}};
      case 1: return {Plan{number()}};
      case 2: return {Alloc{number()}};
      case 3: return {Keep{number()}};
      case 4: return {Set{number(), integer()}};
      case 5: {
        auto args = some(3, [&] { return arg(); });
        auto ints = some(2, [&] { return integer(); });
        return {Launch{number(),
                       {static_cast<uint32_t>(pick(0, static_cast<int>(kernels_) - 1)), args, ints, integer(), integer(),
                        some(2, [&] { return integer(); }), word()}}};
      }
      case 6: return library();
      case 7: return {Copy{{arg(), arg(), integer()}}};
      case 8: return {Read{{arg(), dtype(), number(), number(), word()}}};
      case 9: return {Reserve{{arg(), integer(), word()}}};
      case 10: return {Fail{{word(), word(), some(2, [&] { return integer(); })}}};
      case 11: return call();
      case 12:
      case 13: {
        If c{number(), {}, block(depth - 1), flip(), {}};
        if (flip()) c.b = number();
        if (c.has_otherwise) c.otherwise = block(depth - 1);
        return {std::move(c)};
      }
      default: {
        Loop l{number(), {}, integer(), integer(), block(depth - 1), block(depth - 1), word()};
        if (flip()) l.trip = number();
        return {std::move(l)};
      }
    }
  }
  Instr library() {
    artifact::LibraryCallDesc x;
    x.symbol = word();
    x.inputs = some(2, [&] { return arg(); });
    for (size_t i = 0; i < x.inputs.size(); ++i) {
      x.input_shapes.push_back(some(3, [&] { return integer(); }));
      x.input_dtypes.push_back(dtype());
    }
    x.outputs = some(2, [&] { return arg(); });
    for (size_t i = 0; i < x.outputs.size(); ++i) x.output_dtypes.push_back(dtype());
    x.ints = some(2, [&] { return integer(); });
    x.result_slots = some(2, [&] { return number(); });
    x.where = word();
    x.list_inputs = some(2, [&] { return number(); });
    x.list_outputs = some(2, [&] { return number(); });
    return {Library{std::move(x)}};
  }
  Instr call() {
    Call c;
    c.function = static_cast<uint32_t>(pick(0, static_cast<int>(functions_) - 1));
    c.ints = some(2, [&] { return integer(); });
    c.args = some(2, [&] { return arg(); });
    c.results = some(2, [&] { return arg(); });
    c.sizes = some(2, [&] { return Call::Size{number(), number(), number()}; });
    c.list_args = some(2, [&] { return artifact::InvokeDesc::SlotResult{number(), number()}; });
    c.list_results = some(2, [&] { return artifact::InvokeDesc::SlotResult{number(), number()}; });
    c.where = word();
    return {std::move(c)};
  }

  std::mt19937 rng_;
  expr::Context& ctx_;
  std::vector<expr::SymbolId> symbols_;
  uint32_t functions_ = 1, kernels_ = 1;
};

TEST(HostRandom, TextsParseBack) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    expr::Context ctx, other;
    const Module m = Generator(seed, ctx).module();
    (void)verify(m, ctx);
    const std::string text = print(m, ctx);
    const auto again = parse(text, other);
    ASSERT_TRUE(again.ok()) << "seed " << seed << ": " << again.error().text() << "\n" << text;
    ASSERT_EQ(print(again.value(), other), text) << "seed " << seed;
  }
}

TEST(HostRandom, DamagedTextsAreTaken) {
  std::mt19937 rng(1);
  int parsed = 0;
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    expr::Context ctx, other;
    std::string text = print(Generator(seed % 100, ctx).module(), ctx);
    const size_t at = rng() % text.size();
    if (rng() % 2 == 0) {
      text[at] = static_cast<char>(' ' + rng() % 95);
    } else {
      text.erase(at, rng() % 8);
    }
    const auto m = parse(text, other);
    if (!m.ok()) continue;
    ++parsed;
    (void)verify(m.value(), other);
    const auto again = parse(print(m.value(), other), other);
    EXPECT_TRUE(again.ok()) << "seed " << seed << ": " << again.error().text();
  }
  EXPECT_GT(parsed, 50);
}

}  // namespace
}  // namespace pliant::host
