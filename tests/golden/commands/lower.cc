// links: pliant_graph pliant_ops pliant_lower pliant_loop

// `lower TARGET NAME=VALUE…`: the kernels of every node, after they were verified and run by the loop interpreter on random
// inputs at the given sizes, where they must give what the reference evaluator gives.
#include "lower/lower.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "base/half.h"
#include "golden/golden.h"
#include "graph/graph.h"
#include "ops/op.h"

namespace pliant::golden {
namespace {

using expr::Dim;
using graph::ValueId;

class Runner {
 public:
  Runner(const graph::Function& f, expr::Context& ctx, const codegen::Target& target, std::map<std::string, int64_t> sizes)
      : f_(f), ctx_(ctx), target_(target), sizes_(std::move(sizes)), memory_(f.values.size()) {}

  Result<std::string> run() {
    std::vector<te::ArrayView> inputs;
    for (ValueId v : f_.params) {
      memory_[v] = random_array(f_.tensor_type(v));
      inputs.push_back({memory_[v].dtype, memory_[v].shape, memory_[v].data.data()});
    }
    std::string text;
    for (const graph::Node& n : f_.nodes) text += TRY(run_node(n));
    std::vector<te::Array> expected = TRY(ops::evaluate(f_, ctx_, inputs));
    for (size_t i = 0; i < expected.size(); ++i) compare(memory_[f_.results[i]], expected[i], f_.result_names[i]);
    return text;
  }

 private:
  int64_t value_of(Dim d) const {
    auto v = expr::evaluate(d, [&](expr::SymbolId s) -> std::optional<int64_t> {
      auto it = sizes_.find(ctx_.info(s).name);
      return it == sizes_.end() ? std::nullopt : std::optional<int64_t>(it->second);
    });
    PLIANT_CHECK(v) << "size " << d.str() << " has no value; give its symbols as NAME=VALUE";
    return *v;
  }

  te::Array blank_array(DType t, const std::vector<Dim>& shape) const {
    te::Array a;
    a.dtype = t;
    int64_t count = 1;
    for (Dim d : shape) {
      a.shape.push_back(value_of(d));
      count *= a.shape.back();
    }
    a.data.resize(static_cast<size_t>(count * byte_size(t)));
    return a;
  }

  // Small multiples of 1/8, so that sums are exact in f32 whatever their order; any bytes.
  te::Array random_array(const graph::TensorType& t) {
    te::Array a = blank_array(t.dtype, t.shape);
    if (t.dtype == DType::U8 || t.dtype == DType::I8) {
      std::uniform_int_distribution<int> byte(0, 255);
      for (std::byte& b : a.data) b = static_cast<std::byte>(byte(random_));
      return a;
    }
    std::uniform_int_distribution<int> pick(-16, 16);
    for (size_t i = 0; i < a.data.size() / static_cast<size_t>(byte_size(t.dtype)); ++i) {
      float x = static_cast<float>(pick(random_)) / 8;
      std::byte* at = a.data.data() + i * static_cast<size_t>(byte_size(t.dtype));
      if (t.dtype == DType::F32) {
        std::memcpy(at, &x, 4);
      } else {
        PLIANT_CHECK(t.dtype == DType::I64) << "lower tests take f32, i64 and 8-bit inputs";
        auto n = static_cast<int64_t>(std::abs(x));
        std::memcpy(at, &n, 8);
      }
    }
    return a;
  }

  Result<std::string> run_node(const graph::Node& n) {
    if (n.op == "core.const") {
      auto c = n.attrs.constant("value");
      constants_.by_value.resize(f_.values.size());
      constants_.by_value[n.outputs[0]] = c;
      memory_[n.outputs[0]] = {c->dtype, c->shape, {c->data, c->data + c->bytes}};
      return std::string();
    }
    constants_.by_value.resize(f_.values.size());
    lower::Options options;
    lower::LoweredNode low;
    if (n.op == "core.loop") {
      std::string reason;
      auto native = TRY(lower::lower_loop(f_, n, constants_, ctx_, target_, options, &reason));
      if (!native) return make_error("not-native", describe(n.loc), reason);
      low = std::move(*native);
    } else {
      low = TRY(lower::lower_node(f_, n, constants_, ctx_, target_, options));
    }
    allocate(n);
    std::vector<te::Array> temporaries;
    for (const lower::Temporary& t : low.temporaries) temporaries.push_back(blank_array(t.dtype, t.shape));
    std::string text;
    for (const lower::LoweredKernel& k : low.kernels) text += TRY(run_kernel(k, temporaries));
    for (const lower::SymbolRead& r : low.reads) {
      int64_t v = 0;
      std::memcpy(&v, temporaries[static_cast<size_t>(r.temporary)].data.data() + 8 * r.element, 8);
      sizes_[ctx_.info(r.symbol).name] = v;
    }
    allocate(n);
    for (const lower::LoweredKernel& k : low.after_reads) text += TRY(run_kernel(k, temporaries));
    return text;
  }

  // Memory for the outputs whose sizes are known and that have none.
  void allocate(const graph::Node& n) {
    for (ValueId v : n.outputs) {
      const auto& shape = f_.tensor_type(v).shape;
      const bool known = std::all_of(shape.begin(), shape.end(), [&](Dim d) {
        auto symbols = expr::symbols_of(d);
        return std::all_of(symbols.begin(), symbols.end(), [&](auto s) { return sizes_.count(ctx_.info(s).name) != 0; });
      });
      if (known && memory_[v].data.empty()) memory_[v] = blank_array(f_.tensor_type(v).dtype, shape);
    }
  }

  Result<std::string> run_kernel(const lower::LoweredKernel& k, std::vector<te::Array>& temporaries) {
    TRY(loop::verify(k.function, ctx_));
    std::vector<void*> buffers;
    for (size_t i = 0; i < k.args.size(); ++i) {
      const lower::KernelArg& a = k.args[i];
      std::byte* memory = a.constant         ? const_cast<std::byte*>(a.constant->data)
                          : a.temporary >= 0 ? temporaries[static_cast<size_t>(a.temporary)].data.data()
                                             : memory_[a.value].data.data();
      buffers.push_back(memory + (a.offset ? value_of(a.offset) * byte_size(k.function.params[i].dtype) : 0));
    }
    std::vector<std::pair<expr::SymbolId, int64_t>> symbols;
    for (expr::SymbolId s : loop::free_symbols(k.function)) symbols.push_back({s, value_of(ctx_.symbol_dim(s))});
    TRY(loop::interpret(k.function, ctx_, symbols, buffers));
    return loop::print(k.function, ctx_);
  }

  void compare(const te::Array& got, const te::Array& wanted, const std::string& name) const {
    PLIANT_CHECK(got.shape == wanted.shape && got.dtype == wanted.dtype) << "result " << name << " has another type";
    if (got.dtype != DType::F32) {
      PLIANT_CHECK(got.data == wanted.data) << "result " << name << " differs from the reference";
      return;
    }
    for (size_t i = 0; i < got.data.size() / 4; ++i) {
      float a, b;
      std::memcpy(&a, got.data.data() + i * 4, 4);
      std::memcpy(&b, wanted.data.data() + i * 4, 4);
      PLIANT_CHECK(std::fabs(a - b) <= 1e-5f * std::max(1.0f, std::fabs(b)))
          << "result " << name << " is " << a << " at " << i << " but the reference gives " << b;
    }
  }

  const graph::Function& f_;
  expr::Context& ctx_;
  const codegen::Target& target_;
  std::map<std::string, int64_t> sizes_;
  std::vector<te::Array> memory_;
  lower::ConstantValues constants_;
  std::mt19937 random_{7};
};

}  // namespace

Command command_lower() {
  return {"lower", [](const Case& c) -> Result<std::string> {
            expr::Context ctx;
            graph::FunctionPtr f = TRY(graph::parse_function(c.input, ctx));
            PLIANT_CHECK(!c.args.empty()) << "lower needs a target";
            const codegen::Target* target = codegen::find_target(c.args[0]);
            PLIANT_CHECK(target) << "there is no target " << c.args[0];
            std::map<std::string, int64_t> sizes;
            for (size_t i = 1; i < c.args.size(); ++i) {
              size_t at = c.args[i].find('=');
              PLIANT_CHECK(at != std::string::npos) << "expected NAME=VALUE, not " << c.args[i];
              sizes[c.args[i].substr(0, at)] = std::stoll(c.args[i].substr(at + 1));
            }
            return Runner(*f, ctx, *target, sizes).run();
          }};
}

}  // namespace pliant::golden
