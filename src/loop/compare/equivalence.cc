#include "loop/compare/equivalence.h"

#include <cmath>
#include <cstring>
#include <random>

#include "expr/scalar/fold.h"
#include "loop/scalar_code.h"
#include "loop/walk.h"

namespace pliant::loop {
namespace {

using Bindings = std::vector<std::pair<SymbolId, int64_t>>;

int64_t value_of(Dim d, const Bindings& bindings) {
  auto v = expr::evaluate(d, [&](SymbolId s) -> std::optional<int64_t> {
    for (auto& [symbol, value] : bindings)
      if (symbol == s) return value;
    return std::nullopt;
  });
  PLIANT_CHECK(v) << "the size " << d.str() << " has no value";
  return *v;
}

class Trial {
 public:
  Trial(const Function& before, const Function& after, expr::Context& ctx, const Relayout& relayout, uint64_t seed)
      : before_(before), after_(after), ctx_(ctx), relayout_(relayout), random_(seed) {}

  Status run() {
    bind();
    std::vector<Array> inputs;
    for (const Buffer& b : before_.params) inputs.push_back(random_array(b));
    std::vector<Array> want = inputs, got = inputs;
    if (relayout_) relayout_(got);
    Status expected = ok();
    try {
      expected = execute(before_, want);
    } catch (const InternalError&) {
      return ok();
    }
    // A second run takes the loops whose order must not matter backwards.
    std::vector<Array> backwards = got;
    Status actual = execute(after_, got);
    if (expected.ok() != actual.ok())
      return fault(expected.ok() ? "it stops with: " + actual.error().text()
                                 : "it does not stop with: " + expected.error().text());
    if (!expected.ok()) return ok();
    PLIANT_CHECK(execute(reversed(after_), backwards).ok()) << "the order of independent loops matters to a check";
    for (size_t k = 0; k < before_.params.size(); ++k) {
      if (!before_.params[k].is_output) continue;
      TRY(compare(before_.params[k], want[k], got[k], ""));
      TRY(compare(before_.params[k], want[k], backwards[k], ", with parallel and vector loops run backwards"));
    }
    return ok();
  }

 private:
  int64_t pick(int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(random_); }

  // One symbol in two is small; the others lie around multiples of usual tiles.
  void bind() {
    constexpr int64_t kTiles[] = {4, 6, 8, 12, 14, 16, 28, 32};
    std::vector<SymbolId> symbols = free_symbols(before_);
    size_t large = 0;
    for (SymbolId s : symbols) {
      const expr::SymbolInfo& info = ctx_.info(s);
      int64_t v = pick(0, 5);
      if (large < 3 && pick(0, 1)) {
        ++large;
        v = kTiles[pick(0, 7)] * pick(1, symbols.size() > 3 ? 1 : 2) + pick(-1, 1);
      }
      v = (v + info.multiple_of - 1) / info.multiple_of * info.multiple_of;
      bindings_.emplace_back(s, std::clamp(v, info.lo, info.hi));
    }
  }

  Array random_array(const Buffer& b) {
    Array a;
    for (Dim d : b.shape) a.shape.push_back(std::max<int64_t>(0, value_of(d, bindings_)));
    int64_t last = 0, bytes = byte_size(b.dtype);
    bool empty = false;
    auto strides = strides_of(b, ctx_);
    for (size_t k = 0; k < a.shape.size(); ++k) {
      last += (a.shape[k] - 1) * value_of(strides[k], bindings_);
      empty |= a.shape[k] == 0;
    }
    int64_t count = empty ? 0 : last + 1;
    a.data.resize(static_cast<size_t>(count * bytes));
    // Small whole numbers, so that sums of their products are exact in any order.
    for (int64_t i = 0; i < count; ++i) {
      int64_t v = is_float(b.dtype) || is_signed_int(b.dtype) ? pick(-3, 3) : pick(0, 3);
      write_element(&a.data[static_cast<size_t>(i * bytes)], b.dtype, expr::bits_of_int(b.dtype, v));
    }
    return a;
  }

  Status execute(const Function& f, std::vector<Array>& arrays) {
    std::vector<void*> memory;
    for (Array& a : arrays) memory.push_back(a.data.data());
    return interpret(f, ctx_, bindings_, memory);
  }

  Function reversed(Function f) const {
    f.body = rewrite(f.body, [&](const StmtPtr& s) {
      if (s->kind != StmtKind::For || (s->for_kind != ForKind::Parallel && s->for_kind != ForKind::Vector)) return s;
      // Another variable: what is known of loops inside, such as their bounds, speaks of this one as it runs forwards.
      const Dim var = ctx_.index_symbol("backwards", s->extent);
      StmtPtr body = substitute(s->body[0], {{s->var, s->extent - 1 - var}});
      return make_for(*var.as_symbol(), s->extent, s->for_kind, body);
    });
    return f;
  }

  Status compare(const Buffer& b, const Array& want, const Array& got, const std::string& how) const {
    auto bytes = static_cast<size_t>(byte_size(b.dtype));
    for (size_t i = 0; i * bytes < want.data.size(); ++i) {
      uint64_t x = read_element(&want.data[i * bytes], b.dtype), y = read_element(&got.data[i * bytes], b.dtype);
      if (x == y) continue;
      auto as_double = [&](uint64_t bits) { return std::bit_cast<double>(expr::fold_cast(DType::F64, b.dtype, bits)); };
      double p = as_double(x), q = as_double(y), tolerance = byte_size(b.dtype) == 2 ? 1e-2 : 1e-5;
      bool close =
          is_float(b.dtype) && (p == q || (std::isnan(p) && std::isnan(q)) || std::abs(p - q) <= tolerance * std::abs(p));
      if (!close)
        return fault("element " + std::to_string(i) + " of %" + b.name + " is " + std::to_string(q) + " for " +
                     std::to_string(p) + how);
    }
    return ok();
  }

  Error fault(const std::string& what) const {
    std::string at;
    for (auto& [s, v] : bindings_) at += (at.empty() ? "" : ", ") + ctx_.info(s).name + "=" + std::to_string(v);
    return make_error("loop-equivalence", "kernel \"" + before_.name + "\" at " + at, what);
  }

  const Function& before_;
  const Function& after_;
  expr::Context& ctx_;
  const Relayout& relayout_;
  std::mt19937_64 random_;
  Bindings bindings_;
};

}  // namespace

Status check_equivalence(const Function& before, const Function& after, expr::Context& ctx, uint64_t seed, int rounds,
                         const Relayout& relayout) {
  for (int k = 0; k < rounds; ++k) TRY(Trial(before, after, ctx, relayout, seed * 1000003 + static_cast<uint64_t>(k)).run());
  return ok();
}

}  // namespace pliant::loop
