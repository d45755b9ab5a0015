// Random loops: the reference evaluator, the loop interpreter and compiled code must agree to the bit.
#include <algorithm>

#include "codegen/kernel_harness.h"
#include "lower/lower.h"
#include "ops/op.h"

namespace pliant::bufferize {
namespace {

// Writes graphs whose values are scalars, vectors of 4 and of m, and bools, in nested loops and branches.
class Writer {
 public:
  explicit Writer(uint32_t seed) : rng_(seed) {}

  std::string graph() {
    for (const char* t : {"f32[]", "f32[4]", "f32[m]"}) scope_.push_back({fresh(), t});
    std::string params;
    for (const Value& v : scope_)
      params += (params.empty() ? "" : ", ") + v.name + " \"" + v.name.substr(1) + "\": " + v.type;
    std::string rows = fresh();
    params += ", " + rows + " \"rows\": f32[n]";
    Loop l = loop("n", 2);
    std::string text = symbols_ + "func @main(" + params + ") {\n" + l.text + "  return ";
    for (size_t i = 0; i < l.outputs.size(); ++i)
      text += (i ? ", " : "") + l.outputs[i].name + " \"out" + std::to_string(i) + "\"";
    return text + "\n}\n";
  }

 private:
  struct Value {
    std::string name, type;
  };
  struct Loop {
    std::string text;
    std::vector<Value> outputs;
  };

  int pick(int lo, int hi) { return lo + static_cast<int>(rng_() % static_cast<uint32_t>(hi - lo + 1)); }
  bool chance(int one_in) { return pick(1, one_in) == 1; }
  std::string fresh() { return "%" + std::to_string(next_++); }
  std::string of_type(const std::string& type) {
    std::vector<std::string> found;
    for (const Value& v : scope_)
      if (v.type == type) found.push_back(v.name);
    return found.empty() ? "" : found[static_cast<size_t>(pick(0, static_cast<int>(found.size()) - 1))];
  }
  std::string any_type() { return std::vector<std::string>{"f32[]", "f32[4]", "f32[m]"}[static_cast<size_t>(pick(0, 2))]; }
  std::string define(std::string& text, const std::string& op, const std::string& type) {
    std::string v = fresh();
    text += "  " + v + " = " + op + " : " + type + "\n";
    scope_.push_back({v, type});
    return v;
  }

  std::string constant(std::string& text, const std::string& type) {
    std::string number = std::to_string(pick(-4, 4)) + (chance(2) ? ".5" : "");
    return define(text, "core.const() {value=" + type + " dense<splat " + number + ">}", type);
  }
  std::string condition(std::string& text) {
    std::string a = of_type("f32[]"), b = constant(text, "f32[]");
    return define(text, std::string(chance(2) ? "math.lt(" : "math.ge(") + a + ", " + b + ")", "bool[]");
  }
  // A value that stays small whatever it is made of.
  std::string damp(std::string& text, const std::string& v, const std::string& type) {
    std::string half = define(text, "core.const() {value=f32[] dense<0.5>}", "f32[]");
    return define(text, "math.mul(" + v + ", " + half + ")", type);
  }

  void statement(std::string& text, int depth) {
    std::string type = any_type(), a = of_type(type), b = of_type(type);
    switch (pick(0, depth > 0 ? 9 : 6)) {
      case 0: define(text, "math.neg(" + a + ")", type); return;
      case 1: define(text, "math.max(" + a + ", " + b + ")", type); return;
      case 2: {
        std::string c = condition(text);
        define(text, "math.where(" + c + ", " + a + ", " + b + ")", type);
        return;
      }
      case 3: define(text, "reduce.max(" + of_type("f32[4]") + ") {axes=[0], keepdims=false}", "f32[]"); return;
      case 4: {
        std::string i = define(text, "array.from_dims() {values=dims(" + index_.back() + ")}", "i64[1]");
        std::string x = define(text, "math.cast(" + i + ") {to=f32}", "f32[1]");
        std::string y = define(text, "array.reshape(" + x + ") {shape=dims()}", "f32[]");
        damp(text, y, "f32[]");
        return;
      }
      case 5: {
        std::string cut =
            define(text, "array.slice(" + of_type("f32[4]") + ") {axes=[0], ends=dims(4), starts=dims(1)}", "f32[3]");
        std::string one =
            define(text, "array.slice(" + of_type("f32[4]") + ") {axes=[0], ends=dims(1), starts=dims(0)}", "f32[1]");
        define(text, "array.concat(" + cut + ", " + one + ") {axis=0}", "f32[4]");
        return;
      }
      case 6: {
        std::string s = define(text, "math.add(" + a + ", " + b + ")", type);
        damp(text, s, type);
        return;
      }
      case 7: branch(text, depth); return;
      case 8: {
        Loop l = loop(chance(2) ? "3" : index_.back() + " + 1", depth - 1);
        text += l.text;
        scope_.insert(scope_.end(), l.outputs.begin(), l.outputs.end());
        return;
      }
      default: define(text, "array.cumsum(" + of_type("f32[4]") + ") {axis=0}", "f32[4]"); return;
    }
  }

  void branch(std::string& text, int depth) {
    std::string head;
    std::string c = condition(head), type = any_type(), branches;
    for (int k = 0; k < 2; ++k) {
      size_t mark = scope_.size();
      std::string body;
      for (int s = pick(0, 2); s > 0; --s) statement(body, depth - 1);
      branches += "  region() {\n" + body + "  yield " + of_type(type) + "\n  }\n";
      scope_.resize(mark);
    }
    std::string v = fresh();
    text += head + "  " + v + " = core.if(" + c + ") : " + type + "\n" + branches;
    scope_.push_back({v, type});
  }

  Loop loop(const std::string& trip, int depth) {
    const std::string number = std::to_string(loops_++), index = "i" + number, count = "c" + number;
    const bool conditional = chance(2);
    symbols_ += "symbol " + index + " {hi=40, upper=dim(" + trip + " - 1), origin=loop_index(\"l" + number + "\", 0)}\n";
    if (conditional) symbols_ += "symbol " + count + " {hi=41, origin=data(\"l" + number + "\", 0)}\n";
    const std::string times = conditional ? count : trip;
    // Carried: any values; one may grow.
    std::vector<Value> init, params;
    for (int k = pick(1, 3); k > 0; --k) {
      std::string type = any_type();
      init.push_back({of_type(type), type});
    }
    std::string before;
    const bool grows = chance(2);
    if (grows) {
      std::string start = of_type("f32[4]");
      std::string two = define(before, "array.reshape(" + start + ") {shape=dims(1, 4)}", "f32[1, 4]");
      init.push_back({two, "f32[1, 4]"});
    }
    std::string arguments, signature, types;
    size_t mark = scope_.size();
    for (const Value& v : init) {
      arguments += ", " + v.name;
      const bool growing = grows && &v == &init.back();
      params.push_back({fresh(), growing ? "f32[" + index + " + 1, 4]" : v.type});
      signature += (signature.empty() ? "" : ", ") + params.back().name + ": " + params.back().type;
      types += (types.empty() ? "" : ", ") + (growing ? "f32[" + times + " + 1, 4]" : v.type);
    }
    scope_.insert(scope_.end(), params.begin(), params.end());
    index_.push_back(index);
    std::string body;
    for (int s = pick(1, 5); s > 0; --s) statement(body, depth);
    std::string yields = conditional ? condition(body) : define(body, "core.const() {value=bool[] dense<true>}", "bool[]");
    std::vector<std::string> scanned;
    for (size_t k = 0; k < params.size(); ++k) {
      if (grows && k + 1 == params.size()) {
        std::string row = define(body, "array.reshape(" + of_type("f32[4]") + ") {shape=dims(1, 4)}", "f32[1, 4]");
        std::string grown = fresh();
        body += "  " + grown + " = array.concat(" + params[k].name + ", " + row + ") {axis=0} : f32[" + index + " + 2, 4]\n";
        yields += ", " + grown;
      } else {
        yields += ", " + of_type(params[k].type);
      }
    }
    for (int k = pick(0, 2); k > 0; --k) {
      std::string type = any_type();
      yields += ", " + of_type(type);
      scanned.push_back("f32[" + times + (type == "f32[]" ? "]" : ", " + type.substr(4)));
      types += ", " + scanned.back();
    }
    index_.pop_back();
    scope_.resize(mark);
    Loop out;
    for (const Value& v : init) out.outputs.push_back({fresh(), v.type});
    if (grows) out.outputs.back().type = "grown";
    for (const std::string& t : scanned) out.outputs.push_back({fresh(), t});
    std::string names;
    for (const Value& v : out.outputs) names += (names.empty() ? "" : ", ") + v.name;
    // Without a count the size is never negative: the trips of these graphs are not.
    out.text = before + "  " + names + " = core.loop(_" + arguments + ") {count=dim(" + times + "), index=dim(" + index +
               "), trip=dim(" + trip + ")} : " + types + "\n  region(" + signature + ") {\n" + body + "  yield " + yields +
               "\n  }\n";
    return out;
  }

  std::mt19937 rng_;
  int next_ = 0, loops_ = 0;
  std::string symbols_ = "symbol n {hi=40, origin=input_axis(\"rows\", 0)}\nsymbol m {hi=64, origin=input_axis(\"2\", 0)}\n";
  std::vector<Value> scope_;
  std::vector<std::string> index_;
};

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
    constants.by_value.resize(f_->values.size());
    for (const graph::Node& n : f_->nodes) {
      if (n.op == "array.reshape") {
        memory_[n.outputs[0]] = memory_[n.inputs[0]];
      } else if (n.op == "core.const") {
        constants.by_value[n.outputs[0]] = n.attrs.constant("value");
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
      auto low = lower::lower_loop(*f_, n, constants, ctx_, target, {}, &reason);
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
    const std::string text = Writer(static_cast<uint32_t>(seed)).graph();
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
  auto low = lower::lower_loop(*f.value(), loop, constants, ctx, target::native_target(), {}, &reason);
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
