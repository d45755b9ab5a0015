// Random loops: the reference evaluator, the loop interpreter and compiled code must agree to the bit.
#include <algorithm>

#include "codegen/kernel_harness_test.h"
#include "lower/lower.h"
#include "lower/native_loop/random_loops_test.h"
#include "ops/op.h"

namespace pliant::bufferize {
namespace {

class Program {
 public:
  explicit Program(const std::string& text) {
    auto f = graph::parse_function(text, ctx_);
    if (!f.ok()) throw std::runtime_error(f.error().text());
    f_ = f.take();
    auto verified = graph::verify(*f_, ctx_);
    if (!verified.ok()) throw std::runtime_error(verified.error().text());
  }

  // Whether the loop became a kernel; when it did, it is compared.
  bool expect_same(const std::map<std::string, int64_t>& sizes) {
    sizes_ = sizes;
    std::mt19937 rng(7);
    for (graph::ValueId v : f_->params) {
      te::Array a = blank(v);
      for (size_t i = 0; i < a.data.size() / 4; ++i) {
        float x = static_cast<float>(static_cast<int>(rng() % 65) - 32) / 8;
        std::memcpy(a.data.data() + 4 * i, &x, 4);
      }
      memory_[v] = std::move(a);
    }
    std::vector<te::ArrayView> inputs;
    for (graph::ValueId v : f_->params) inputs.push_back({DType::F32, memory_[v].shape, memory_[v].data.data()});
    auto expected = ops::evaluate(*f_, ctx_, inputs);
    if (!expected.ok()) throw std::runtime_error(expected.error().text());
    for (size_t i = 0; i < f_->results.size(); ++i) wanted_[f_->results[i]] = expected.value()[i];
    bool native = true;
    lower::ConstantValues constants;
    for (const graph::Node& n : f_->nodes) {
      if (n.op == "array.reshape") {
        memory_[n.outputs[0]] = memory_[n.inputs[0]];
      } else if (n.op == "core.const") {
        constants.set(n.outputs[0], n.attrs.constant("value"));
      } else {
        native = native && run(n, constants);
      }
    }
    return native;
  }

 private:
  int64_t value_of(expr::Dim d) const {
    auto v = expr::evaluate(d, [&](expr::SymbolId s) -> std::optional<int64_t> {
      auto it = sizes_.find(ctx_.info(s).name);
      return it == sizes_.end() ? std::nullopt : std::optional<int64_t>(it->second);
    });
    if (!v) throw std::runtime_error("no value for " + d.str());
    return *v;
  }
  te::Array blank(graph::ValueId v) const {
    te::Array a{f_->tensor_type(v).dtype, {}, {}};
    int64_t count = 1;
    for (expr::Dim d : f_->tensor_type(v).shape) {
      a.shape.push_back(value_of(d));
      count *= a.shape.back();
    }
    a.data.resize(static_cast<size_t>(count * byte_size(a.dtype)));
    return a;
  }

  bool run(const graph::Node& n, const lower::ConstantValues& constants) {
    for (const target::Target& target : target::all_targets()) {
      std::string reason;
      auto low = lower::lower_loop({*f_, constants, ctx_, target, {}}, n, &reason);
      if (!low.ok()) throw std::runtime_error(low.error().text());
      if (!low.value()) return false;
      const lower::LoweredKernel& k = low.value()->kernels[0];
      auto verified = loop::verify(k.function, ctx_);
      if (!verified.ok())
        throw std::runtime_error(verified.error().text() + graph::print(*f_, ctx_) + loop::print(k.function, ctx_));
      std::vector<std::pair<expr::SymbolId, int64_t>> symbols;
      std::vector<expr::SymbolId> ints = loop::free_symbols(k.function);
      for (expr::SymbolId s : ints) symbols.emplace_back(s, value_of(ctx_.symbol_dim(s)));
      SCOPED_TRACE(loop::print(k.function, ctx_));
      compare(*low.value(), n, [&](const std::vector<void*>& buffers) {
        auto ran = loop::interpret(k.function, ctx_, symbols, buffers);
        if (!ran.ok()) throw std::runtime_error(ran.error().text());
      });
      if (::testing::Test::HasFailure() || !target::machine_runs(target)) return true;
      for (int level : {0, 3}) {
        codegen::Options options;
        options.opt_level = level;
        auto compiled = codegen::compile({{&k.function, ints}}, {}, ctx_, target, options);
        if (!compiled.ok()) throw std::runtime_error(compiled.error().text());
        codegen::MappedImage image(compiled.value().image);
        compare(*low.value(), n, [&](const std::vector<void*>& buffers) {
          std::vector<int64_t> values, traps(8);
          for (auto& s : symbols) values.push_back(s.second);
          std::vector<int64_t> pieces;
          for (const auto& piece : codegen::scratch_layout(k.function, ctx_).pieces) pieces.push_back(value_of(piece.bytes));
          const codegen::GuardedScratch scratch(pieces);
          artifact::KernelFrame frame{buffers.data(), values.data(), scratch.data(),
                                      traps.data(),   nullptr,       codegen::GuardedScratch::kGap};
          EXPECT_EQ(image.kernel(compiled.value().kernel_offsets[0])(&frame, 0, 1), 0u);
          EXPECT_TRUE(scratch.is_intact());
        });
        if (::testing::Test::HasFailure()) return true;
      }
    }
    return true;
  }

  // Memory for the outputs whose sizes are known, full of what is nowhere right.
  void allocate(const graph::Node& n, bool late) {
    for (graph::ValueId v : n.outputs) {
      bool known = true;
      for (expr::Dim d : f_->tensor_type(v).shape)
        for (expr::SymbolId s : expr::symbols_of(d)) known = known && sizes_.count(ctx_.info(s).name);
      if (!known || (late && memory_.count(v))) continue;
      memory_[v] = blank(v);
      std::fill(memory_[v].data.begin(), memory_[v].data.end(), std::byte{0xee});
    }
  }

  void compare(const lower::LoweredNode& low, const graph::Node& n,
               const std::function<void(const std::vector<void*>&)>& execute) {
    for (graph::ValueId v : n.outputs) memory_.erase(v);
    const std::map<std::string, int64_t> before = sizes_;
    allocate(n, false);
    std::vector<std::vector<std::byte>> temporaries;
    for (const lower::Temporary& t : low.temporaries)
      temporaries.emplace_back(static_cast<size_t>(value_of(product(ctx_, t.shape)) * byte_size(t.dtype)), std::byte{0xee});
    auto buffers_of = [&](const lower::LoweredKernel& k) {
      std::vector<void*> buffers;
      for (const lower::KernelArg& a : k.args)
        buffers.push_back(a.constant         ? const_cast<std::byte*>(a.constant->data)
                          : a.temporary >= 0 ? temporaries[static_cast<size_t>(a.temporary)].data()
                                             : memory_[a.value].data.data());
      return buffers;
    };
    execute(buffers_of(low.kernels[0]));
    for (const lower::SymbolRead& r : low.reads)
      std::memcpy(&sizes_[ctx_.info(r.symbol).name], temporaries[static_cast<size_t>(r.temporary)].data() + 8 * r.element,
                  8);
    allocate(n, true);
    for (const lower::LoweredKernel& k : low.after_reads) {
      std::vector<std::pair<expr::SymbolId, int64_t>> symbols;
      for (expr::SymbolId s : loop::free_symbols(k.function)) symbols.emplace_back(s, value_of(ctx_.symbol_dim(s)));
      if (!loop::interpret(k.function, ctx_, symbols, buffers_of(k)).ok()) throw std::runtime_error("a copy failed");
    }
    sizes_ = before;
    for (graph::ValueId v : n.outputs) {
      if (!wanted_.count(v)) continue;
      EXPECT_EQ(memory_[v].shape, wanted_[v].shape) << "value " << v;
      EXPECT_EQ(memory_[v].data, wanted_[v].data) << "value " << v;
    }
  }

  expr::Context ctx_;
  graph::FunctionPtr f_;
  std::map<std::string, int64_t> sizes_;
  std::map<graph::ValueId, te::Array> memory_, wanted_;
};

TEST(NativeLoops, RandomOnesAgreeWithTheReference) {
  // A failure prints the graph; a longer run only needs a larger number here.
  const int loops = 30;
  int native = 0, runs = 0;
  for (int seed = 1; seed <= loops && !HasFailure(); ++seed) {
    const std::string text = lower::RandomLoops(static_cast<uint32_t>(seed)).graph();
    SCOPED_TRACE(text);
    for (int64_t n : {0, 1, 2, 7}) {
      native += Program(text).expect_same({{"n", n}, {"m", n == 2 ? 0 : 9 + n}});
      ++runs;
      if (HasFailure()) break;
    }
  }
  EXPECT_GE(native, runs * 9 / 10);
}

TEST(NativeLoops, SizesThatIterationsChange) {
  // Inside another loop, where a bound of the size is known: a value that a branch shortens, and one that keeps what it had.
  const std::string text = R"(symbol n {hi=40, origin=input_axis("rows", 0)}
symbol i {hi=39, upper=dim(n - 1), origin=loop_index("l", 0)}
symbol j {hi=3, upper=dim(3), origin=loop_index("k", 0)}
symbol s {hi=16, origin=data("k", 0)}
symbol t {hi=16, origin=data("k", 1)}
symbol u {hi=16, origin=data("if", 0)}
func @main(%0 "0": f32[16], %1 "rows": f32[n]) {
  %2 = core.const() {value=bool[] dense<true>} : bool[]
  %3 = core.loop(_, %0) {count=dim(n), index=dim(i), trip=dim(n)} : f32[16]
    region(%4: f32[16]) {
      %5 = core.loop(_, %4) {count=dim(4), index=dim(j), trip=dim(4)} : f32[t]
        region(%6: f32[s]) {
          %7 = core.if() {cond=dim(mod(i + j, 2))} : f32[u]
            region() {
              %8 = array.slice(%6) {axes=[0], ends=dims(s), starts=dims(min(s, 3))} : f32[s - min(s, 3)]
              %9 = math.neg(%8) : f32[s - min(s, 3)]
              yield %9
            }
            region() {
              yield %6
            }
          yield %2, %7
        }
      %10 = reduce.max(%5) {axes=[0], keepdims=true} : f32[1]
      %11 = math.max(%10, %4) : f32[16]
      yield %2, %11
    }
  return %3 "y"
}
)";
  for (int64_t n : {0, 1, 2, 5}) EXPECT_TRUE(Program(text).expect_same({{"n", n}}));
}

std::string reason_against(const std::string& body, const std::string& symbols = "",
                           const std::string& attrs = "trip=dim(n)", const std::string& count = "max(0, n)") {
  expr::Context ctx;
  auto f =
      graph::parse_function("symbol n {origin=input_axis(\"rows\", 0)}\nsymbol i {origin=loop_index(\"l\", 0)}\n" + symbols +
                                "func @main(%0 \"x\": f32[b, 512], %1 \"rows\": f32[n], %2 \"w\": f32[512, 512]) {\n"
                                "  %3 = core.const() {value=bool[] dense<true>} : bool[]\n"
                                "  %4 = core.loop(_, %0) {count=dim(" +
                                count + "), index=dim(i), " + attrs + "} : f32[b, 512]\n    region(%5: f32[b, 512]) {\n" +
                                body + "\n    }\n  return %4 \"y\"\n}\n",
                            ctx);
  if (!f.ok()) return f.error().text();
  lower::ConstantValues constants;
  std::string reason;
  const graph::Node& loop = f.value()->nodes.back();
  auto low = lower::lower_loop({*f.value(), constants, ctx, target::native_target(), {}}, loop, &reason);
  if (!low.ok()) return low.error().text();
  return low.value() ? "native" : reason.substr(reason.find("): ") + 3);
}

TEST(NativeLoops, SayWhyNot) {
  const std::string b = "symbol b {origin=input_axis(\"x\", 0)}\n", many = "symbol b {lo=16, origin=input_axis(\"x\", 0)}\n";
  const std::string product = "%6 = nn.matmul(%5, %2) : f32[b, 512]\n yield %3, %6";
  EXPECT_EQ(reason_against(product, b), "native");
  EXPECT_EQ(reason_against(product, many), "its kernels are heavy enough for threads of their own");
  EXPECT_EQ(reason_against("%6 = core.call(%5) {callee=\"g\"} : f32[b, 512]\n yield %3, %6", b), "it calls a function");
}

}  // namespace
}  // namespace pliant::bufferize
