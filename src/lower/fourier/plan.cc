#include "lower/fourier/plan.h"

#include <cmath>
#include <complex>
#include <cstring>

namespace pliant::lower {

using loop::StmtPtr;

namespace {

constexpr int64_t kChunk = 4096;
constexpr int64_t kMostDivisions = 64;

using Complex = std::complex<double>;

// exp(-2 pi i t / period), exact to the last bits: the angle is brought below an eighth of a turn.
Complex turn(int64_t t, int64_t period) {
  const int64_t eighths = 8 * t / period;  // 0 … 7
  const int64_t quarter = (eighths + 1) / 2;
  const double angle = 2 * M_PI * (static_cast<double>(4 * t - quarter * period) / static_cast<double>(4 * period));
  const double c = std::cos(angle), s = std::sin(angle);
  switch (quarter % 4) {
    case 0: return {c, -s};
    case 1: return {-s, -c};
    case 2: return {-c, s};
    default: return {s, c};
  }
}

// The transform of `x` by its smallest prime factor, recursively.
std::vector<Complex> transform(const std::vector<Complex>& x) {
  const size_t n = x.size();
  size_t radix = 2;
  while (radix < n && n % radix != 0) ++radix;
  if (n <= 1) return x;
  const size_t part = n / radix;
  std::vector<std::vector<Complex>> parts;
  for (size_t k = 0; k < radix; ++k) {
    std::vector<Complex> y(part);
    for (size_t i = 0; i < part; ++i) y[i] = x[i * radix + k];
    parts.push_back(transform(y));
  }
  std::vector<Complex> out(n);
  for (size_t b = 0; b < n; ++b)
    for (size_t k = 0; k < radix; ++k)
      out[b] += parts[k][b % part] * turn(static_cast<int64_t>(b * k % n), static_cast<int64_t>(n));
  return out;
}

Complex chirp(int64_t t, int64_t length) { return turn(t * t % (2 * length), 2 * length); }

std::vector<Complex> filter_of(int64_t length, int64_t size) {
  std::vector<Complex> filter(static_cast<size_t>(size));
  for (int64_t t = 0; t < length; ++t) {
    const Complex c = std::conj(chirp(t, length));
    filter[static_cast<size_t>(t)] = c;
    if (t > 0) filter[static_cast<size_t>(size - t)] = c;
  }
  filter = transform(filter);
  for (Complex& c : filter) c /= static_cast<double>(size);
  return filter;
}

Scalar i64(expr::Context& ctx, int64_t v) { return expr::make_const_int(ctx, DType::I64, v); }

// Statements over the i64 elements of one buffer.
class Fields {
 public:
  Fields(expr::Context& ctx, loop::BufferId memory) : ctx_(ctx), memory_(memory) {}
  Scalar get(int64_t at) const { return expr::make_load(ctx_, memory_, DType::I64, {ctx_.constant(at)}); }
  StmtPtr set(int64_t at, Scalar v) const { return loop::make_store(memory_, {ctx_.constant(at)}, v); }
  StmtPtr set(int64_t at, int64_t v) const { return set(at, i64(ctx_, v)); }
  StmtPtr add(int64_t at, int64_t v) const { return set(at, get(at) + i64(ctx_, v)); }
  Scalar constant(int64_t v) const { return i64(ctx_, v); }
  Scalar is(expr::BinaryOp op, Scalar a, int64_t v) const { return expr::make_binary(op, a, i64(ctx_, v)); }
  StmtPtr repeat(Scalar condition, StmtPtr body) const {
    const Dim most = ctx_.constant(kMostDivisions);
    return loop::make_while(*ctx_.index_symbol("n", most).as_symbol(), most, condition, body);
  }

 private:
  expr::Context& ctx_;
  loop::BufferId memory_;
};

int64_t at(PlanField f) { return static_cast<int64_t>(f); }

// The size of the convolution, and the factors of it.
StmtPtr plan_convolution(const Fields& f, int64_t rest, int64_t bits) {
  using expr::BinaryOp;
  const Scalar least = f.get(at(PlanField::Length)) * f.constant(2) - f.constant(1), size = f.get(at(PlanField::Size));
  const Scalar less = size / f.constant(4) * f.constant(3);
  std::vector<StmtPtr> seq{f.set(at(PlanField::Convolves), 1),
                           f.set(at(PlanField::Sevens), 0),
                           f.set(at(PlanField::Fives), 0),
                           f.set(at(PlanField::Threes), 0),
                           f.set(bits, 0),
                           f.set(at(PlanField::Size), 1),
                           f.set(rest, 1)};
  seq.push_back(f.repeat(expr::make_binary(BinaryOp::Lt, size, least),
                         loop::make_block({f.set(at(PlanField::Size), size * f.constant(2)), f.add(bits, 1)})));
  const Scalar enough = expr::logical_and(f.is(BinaryOp::Ge, f.get(bits), 2), expr::make_binary(BinaryOp::Ge, less, least));
  seq.push_back(loop::make_if(
      enough, loop::make_block({f.set(at(PlanField::Size), less), f.add(bits, -2), f.set(at(PlanField::Threes), 1)})));
  return loop::make_block(std::move(seq));
}

// What is taken from the factors for the last step and for the first.
StmtPtr plan_ends(const Fields& f, int64_t bits) {
  using expr::BinaryOp;
  auto take = [&](int64_t from, int64_t count, PlanField field, int64_t radix) {
    return loop::make_block({f.add(from, -count), f.set(at(field), radix)});
  };
  StmtPtr last = f.set(at(PlanField::Last), 1);
  for (auto [field, radix] : {std::pair{PlanField::Sevens, 7}, {PlanField::Fives, 5}, {PlanField::Threes, 3}})
    last = loop::make_if(f.is(BinaryOp::Gt, f.get(at(field)), 0), take(at(field), 1, PlanField::Last, radix), last);
  last = loop::make_if(f.is(BinaryOp::Eq, f.get(bits), 1), take(bits, 1, PlanField::Last, 2), last);
  last = loop::make_if(f.is(BinaryOp::Ge, f.get(bits), 2), take(bits, 2, PlanField::Last, 4), last);
  const Scalar odd = f.is(BinaryOp::Eq, expr::make_binary(BinaryOp::Mod, f.get(bits), f.constant(2)), 1);
  const Scalar has_first =
      expr::logical_and(f.is(BinaryOp::Eq, f.get(at(PlanField::Convolves)), 0), f.is(BinaryOp::Ge, f.get(bits), 2));
  StmtPtr first =
      loop::make_if(has_first, loop::make_if(odd, take(bits, 3, PlanField::First, 8), take(bits, 2, PlanField::First, 4)));
  return loop::make_block({last, f.set(at(PlanField::First), 1), first,
                           f.set(at(PlanField::Fours), f.get(bits) / f.constant(2)),
                           f.set(at(PlanField::Twos), expr::make_binary(BinaryOp::Mod, f.get(bits), f.constant(2)))});
}

// exp(-2 pi i * turns) in f64: its real or imaginary part, as `t`.
Scalar turned(Scalar turns, DType t, bool imaginary) {
  expr::Context& ctx = *turns->ctx;
  const Scalar angle = turns * expr::make_const(ctx, DType::F64, 2 * M_PI);
  if (!imaginary) return expr::make_cast(t, expr::make_unary(expr::UnaryOp::Cos, angle));
  return expr::make_cast(t, -expr::make_unary(expr::UnaryOp::Sin, angle));
}

}  // namespace

FourierPlan plan_of(expr::Context& ctx, int64_t samples, bool pairs) {
  expr::Context own;
  int64_t fields[kPlanFields];
  loop::Function f;
  f.params = {loop::make_buffer(own, "plan", DType::I64, {own.constant(kPlanFields)}, loop::Scope::Param)};
  f.params[0].is_output = true;
  f.body = make_plan(own, f.params[0].id, own.constant(samples), pairs);
  const Status planned = loop::interpret(f, own, {}, {fields});
  PLIANT_CHECK(planned.ok()) << planned.error().text();
  FourierPlan plan;
  for (int64_t v : fields) plan.fields.push_back(ctx.constant(v));
  return plan;
}

StmtPtr with_plan(expr::Context& ctx, loop::BufferId memory, const std::function<StmtPtr(const FourierPlan&)>& body) {
  static const char* const kNames[] = {"length", "size",  "convolves", "first", "sevens", "fives",
                                       "threes", "fours", "twos",      "last",  "packed"};
  static const int64_t kLeast[] = {1, 1, 0, 1, 0, 0, 0, 0, 0, 1, 1};
  FourierPlan plan;
  loop::Lets lets(ctx);
  for (size_t i = 0; i < kPlanFields; ++i) {
    const Scalar field = expr::make_load(ctx, memory, DType::I64, {ctx.constant(static_cast<int64_t>(i))});
    plan.fields.push_back(lets.add(kNames[i], expr::value(field), kLeast[i]));
  }
  return lets.around(body(plan));
}

// A convolution has fewer than 3 * length points: three quarters of a power of two, or the power where those are too few.
Dim most_points(Dim samples) { return samples * 3 + 3; }

StmtPtr make_plan(expr::Context& ctx, loop::BufferId memory, Dim samples, bool pairs) {
  using expr::BinaryOp;
  const Fields f(ctx, memory);
  const Dim packed = pairs ? 2 - expr::mod(samples, 2) : ctx.constant(1);
  const Dim length = expr::max(ctx.constant(1), expr::floordiv(samples, packed));
  // What is left to divide, and the number of twos, are kept where Last and Twos belong.
  const int64_t rest = at(PlanField::Last), bits = at(PlanField::Twos);
  std::vector<StmtPtr> seq;
  for (size_t i = 0; i < kPlanFields; ++i) seq.push_back(f.set(static_cast<int64_t>(i), 0));
  seq.push_back(f.set(at(PlanField::Packed), expr::make_index(packed)));
  for (int64_t field : {at(PlanField::Length), at(PlanField::Size), rest})
    seq.push_back(f.set(field, expr::make_index(length)));
  for (auto [field, radix] :
       {std::pair{PlanField::Sevens, 7}, {PlanField::Fives, 5}, {PlanField::Threes, 3}, {PlanField::Twos, 2}}) {
    const Scalar by = f.constant(radix), divides = f.is(BinaryOp::Eq, expr::make_binary(BinaryOp::Mod, f.get(rest), by), 0);
    seq.push_back(f.repeat(divides, loop::make_block({f.set(rest, f.get(rest) / by), f.add(at(field), 1)})));
  }
  seq.push_back(loop::make_if(f.is(BinaryOp::Ne, f.get(rest), 1), plan_convolution(f, rest, bits)));
  seq.push_back(plan_ends(f, bits));
  return loop::make_block(std::move(seq));
}

TableGrid make_tables(expr::Context& ctx, const target::Target& target, DType t, loop::BufferId tables, Dim samples,
                      Dim most, const std::function<StmtPtr(const std::function<StmtPtr(const FourierPlan&)>&)>& with) {
  const Dim chunks = expr::ceildiv(most, kChunk), chunk = ctx.index_symbol("chunk", chunks), begin = chunk * kChunk;
  const int64_t lanes = target.vector_bytes / byte_size(DType::F64);
  auto number = [](Dim d) { return expr::make_cast(DType::F64, expr::make_index(d)); };
  auto fill = [&](Dim first, Dim plane, const std::function<Scalar(Dim)>& turns) {
    loop::Lets lets(ctx);
    const Dim count = lets.add("count", expr::max(ctx.constant(0), expr::min(ctx.constant(kChunk), plane - begin)));
    return lets.around(make_vector_loop(ctx, count, lanes, [&](Dim i) {
      const Dim at = begin + i;
      const Scalar value = turns(at);
      return loop::make_block({loop::make_store(tables, {first + at}, turned(value, t, false)),
                               loop::make_store(tables, {first + plane + at}, turned(value, t, true))});
    }));
  };
  StmtPtr body = with([&](const FourierPlan& p) {
    const Dim size = p[PlanField::Size], length = p[PlanField::Length];
    StmtPtr all = fill(p.twiddles(), size, [&](Dim i) { return number(i) / number(size); });
    StmtPtr chirp =
        fill(p.chirp(), length, [&](Dim i) { return number(expr::mod(i * i, length * 2)) / number(length * 2); });
    StmtPtr halves =
        fill(p.halves(), length, [&](Dim i) { return number(i) / number(expr::max(samples, ctx.constant(1))); });
    return loop::make_block({all, loop::make_if(expr::equal(p[PlanField::Convolves], ctx.constant(1)), chirp),
                             loop::make_if(expr::equal(p[PlanField::Packed], ctx.constant(2)), halves)});
  });
  return {{*chunk.as_symbol(), chunks}, body};
}

graph::ConstantPtr constant_tables(const FourierPlan& plan, DType t) {
  const int64_t size = plan[PlanField::Size].const_value(), length = plan[PlanField::Length].const_value();
  const bool convolves = plan[PlanField::Convolves].is_const(1), pairs = plan[PlanField::Packed].is_const(2);
  auto [out, bytes] = graph::make_blank_constant(t, {(convolves ? plan.elements()
                                                      : pairs   ? plan.chirp()
                                                                : plan.halves())
                                                         .const_value()});
  auto put = [t, memory = bytes](int64_t at, double v) {
    const float narrow = static_cast<float>(v);
    if (t == DType::F64) std::memcpy(memory + at * 8, &v, 8);
    if (t != DType::F64) std::memcpy(memory + at * 4, &narrow, 4);
  };
  auto fill = [&](Dim first, int64_t plane, const std::function<Complex(int64_t)>& value) {
    for (int64_t i = 0; i < plane; ++i) {
      const Complex v = value(i);
      put(first.const_value() + i, v.real());
      put(first.const_value() + plane + i, v.imag());
    }
  };
  fill(plan.twiddles(), size, [&](int64_t i) { return turn(i, size); });
  if (pairs) fill(plan.halves(), length, [&](int64_t i) { return turn(i, 2 * length); });
  if (!convolves) return out;
  fill(plan.chirp(), length, [&](int64_t i) { return chirp(i, length); });
  const std::vector<Complex> filter = filter_of(length, size);
  fill(plan.filter(), size, [&](int64_t i) { return filter[static_cast<size_t>(i)]; });
  return out;
}

}  // namespace pliant::lower
