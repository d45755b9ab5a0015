// The kernels that nodes are lowered to, run by the loop interpreter: what tests compare with the reference evaluator.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/half.h"
#include "loop/pass/flatten.h"
#include "lower/lower.h"
#include "lower/version.h"
#include "schedule/schedule.h"

namespace pliant::lower {

class InterpretedNodes {
 public:
  using Lowering = std::function<Result<LoweredNode>(const graph::Node& n, const ConstantValues& constants)>;

  // `sizes`: of the symbols, by name.
  InterpretedNodes(const graph::Function& f, expr::Context& ctx, std::map<std::string, int64_t> sizes)
      : f_(f), ctx_(ctx), sizes_(std::move(sizes)), memory_(f.values.size()) {}

  // The memory of a value; that of the params is the caller's to fill.
  te::Array& memory(graph::ValueId v) { return memory_[v]; }

  te::Array blank_array(DType t, const std::vector<expr::Dim>& shape) const {
    te::Array a;
    a.dtype = t;
    int64_t count = 1;
    for (expr::Dim d : shape) count *= a.shape.emplace_back(value_of(d));
    a.data.resize(static_cast<size_t>(count * byte_size(t)));
    return a;
  }

  // Runs every node; `ran` gets each kernel, verified and done.
  Status run(const Lowering& lower, const std::function<void(const LoweredNode&)>& ran = {}) {
    for (const graph::Node& n : f_.nodes) {
      if (n.op == "core.const") {
        auto c = n.attrs.constant("value");
        constants_.set(n.outputs[0], c);
        memory_[n.outputs[0]] = {c->dtype, c->shape, {c->data, c->data + c->bytes}};
        continue;
      }
      const LoweredNode low = TRY(lower(n, constants_));
      TRY(run_node(n, low));
      if (ran) ran(low);
    }
    return ok();
  }

  int64_t value_of(expr::Dim d) const {
    auto v = expr::evaluate(d, [&](expr::SymbolId s) -> std::optional<int64_t> {
      auto it = sizes_.find(ctx_.info(s).name);
      return it == sizes_.end() ? std::nullopt : std::optional<int64_t>(it->second);
    });
    PLIANT_CHECK(v) << "size " << d.str() << " has no value; give its symbols as NAME=VALUE";
    return *v;
  }

  // Runs the kernels of one node, whose inputs have memory.
  Status run_node(const graph::Node& n, const LoweredNode& low) {
    allocate(n);
    std::vector<te::Array> temporaries;
    for (const Temporary& t : low.temporaries) temporaries.push_back(blank_array(t.dtype, t.shape));
    for (const LoweredKernel& k : low.kernels) TRY(run_kernel(k, temporaries));
    for (const SymbolRead& r : low.reads) {
      int64_t v = 0;
      std::memcpy(&v, temporaries[static_cast<size_t>(r.temporary)].data.data() + 8 * r.element, 8);
      sizes_[ctx_.info(r.symbol).name] = v;
    }
    allocate(n);
    for (const LoweredKernel& k : low.after_reads) TRY(run_kernel(k, temporaries));
    return ok();
  }

 private:
  // Memory for the outputs whose sizes are known and that have none.
  void allocate(const graph::Node& n) {
    for (graph::ValueId v : n.outputs) {
      const auto& shape = f_.tensor_type(v).shape;
      const bool known = std::all_of(shape.begin(), shape.end(), [&](expr::Dim d) {
        auto symbols = expr::symbols_of(d);
        return std::all_of(symbols.begin(), symbols.end(), [&](auto s) { return sizes_.count(ctx_.info(s).name) != 0; });
      });
      if (known && memory_[v].data.empty()) memory_[v] = blank_array(f_.tensor_type(v).dtype, shape);
    }
  }

  Status run_kernel(const LoweredKernel& k, std::vector<te::Array>& temporaries) {
    TRY(loop::verify(k.function, ctx_));
    for (const auto& [left, right] : k.when)
      if (value_of(left) > value_of(right)) return ok();
    std::vector<void*> buffers;
    for (size_t i = 0; i < k.args.size(); ++i) {
      const KernelArg& a = k.args[i];
      std::byte* memory = a.constant         ? const_cast<std::byte*>(a.constant->data)
                          : a.temporary >= 0 ? temporaries[static_cast<size_t>(a.temporary)].data.data()
                                             : memory_[a.value].data.data();
      buffers.push_back(memory + (a.offset ? value_of(a.offset) * byte_size(k.function.params[i].dtype) : 0));
    }
    std::vector<std::pair<expr::SymbolId, int64_t>> symbols;
    for (expr::SymbolId s : loop::free_symbols(k.function)) symbols.push_back({s, value_of(ctx_.symbol_dim(s))});
    return loop::interpret(k.function, ctx_, symbols, buffers);
  }

  const graph::Function& f_;
  expr::Context& ctx_;
  std::map<std::string, int64_t> sizes_;
  std::vector<te::Array> memory_;
  ConstantValues constants_;
};

// Whether the trace of a kernel that a template made gives its loops again from its naive function, which the kernel has
// with Options::derivations; of other kernels there is nothing to replay.
inline Status replay(const LoweredKernel& k, expr::Context& ctx) {
  if (k.naive.empty()) return ok();
  const loop::Function naive = TRY(loop::parse(k.naive, ctx));
  schedule::Schedule s(naive, ctx);
  TRY(s.replay(k.provenance.at(0).trace));
  loop::Function again = loop::flatten(s.function(), ctx);
  // A segment of a tensor ends where the tensor does, which its axes do not say.
  for (size_t i = 0; i < again.params.size(); ++i) again.params[i].shape = k.function.params.at(i).shape;
  const std::string text = loop::print(again, ctx), wanted = loop::print(k.function, ctx);
  if (text != wanted)
    return make_error("loop-equivalence", k.function.name, "another function:\n" + text + describe(k) + wanted);
  return ok();
}

// Element `i` as f64.
inline double element_of(const te::Array& a, size_t i) {
  const std::byte* at = a.data.data() + i * static_cast<size_t>(byte_size(a.dtype));
  auto as = [&](auto x) {
    std::memcpy(&x, at, sizeof x);
    return x;
  };
  switch (a.dtype) {
    case DType::F16: return f16_to_f32(as(uint16_t{}));
    case DType::BF16: return bf16_to_f32(as(uint16_t{}));
    case DType::F32: return as(float{});
    default: break;
  }
  PLIANT_CHECK(a.dtype == DType::F64) << "only floats are compared as such";
  return as(double{});
}

// Where two arrays of one type differ by more than rounding in another order explains; nothing where they do not. Integers
// are equal. NaN equals NaN.
inline std::optional<size_t> first_difference(const te::Array& got, const te::Array& wanted) {
  PLIANT_CHECK(got.shape == wanted.shape && got.dtype == wanted.dtype) << "arrays of other types";
  const auto width = static_cast<size_t>(byte_size(got.dtype));
  for (size_t i = 0; i < got.data.size() / width; ++i) {
    if (!is_float(got.dtype)) {
      if (std::memcmp(got.data.data() + i * width, wanted.data.data() + i * width, width) != 0) return i;
      continue;
    }
    const double a = element_of(got, i), b = element_of(wanted, i);
    const double relative = got.dtype == DType::BF16 ? 1.0 / 64 : got.dtype == DType::F16 ? 1.0 / 512 : 1e-5;
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!(std::fabs(a - b) <= relative * std::max(1.0, std::fabs(b)))) return i;
  }
  return std::nullopt;
}

}  // namespace pliant::lower
