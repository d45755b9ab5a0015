#include "lower/fourier/step.h"

#include <cmath>

#include "machine/pages.h"

namespace pliant::lower {

using loop::ForKind;
using loop::StmtPtr;

namespace {

Complex times_minus_i(Complex a) { return {a.im, -a.re}; }
Complex scaled(Complex a, double by) {
  const Scalar c = expr::make_const(*a.re->ctx, a.re->dtype, by);
  return {a.re * c, a.im * c};
}

std::vector<Complex> by_two(const std::vector<Complex>& x) { return {x[0] + x[1], x[0] - x[1]}; }

std::vector<Complex> by_four(const std::vector<Complex>& x) {
  const Complex a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = times_minus_i(x[1] - x[3]);
  return {a + c, b + d, a - c, b - d};
}

std::vector<Complex> by_eight(const std::vector<Complex>& x) {
  const std::vector<Complex> even = by_four({x[0], x[2], x[4], x[6]});
  std::vector<Complex> odd = by_four({x[1], x[3], x[5], x[7]});
  // Times exp(-2 pi i k / 8): (1 - i) / sqrt(2) and (-1 - i) / sqrt(2) for k of 1 and 3.
  odd[1] = scaled(odd[1] + times_minus_i(odd[1]), M_SQRT1_2);
  odd[2] = times_minus_i(odd[2]);
  odd[3] = scaled(times_minus_i(odd[3]) - odd[3], M_SQRT1_2);
  std::vector<Complex> y;
  for (size_t k = 0; k < 4; ++k) y.push_back(even[k] + odd[k]);
  for (size_t k = 0; k < 4; ++k) y.push_back(even[k] - odd[k]);
  return y;
}

// Sums and differences of the inputs that stand opposite each other: cosines weigh the ones, sines the others.
std::vector<Complex> by_odd(const std::vector<Complex>& x) {
  expr::Context& ctx = *x[0].re->ctx;
  const DType t = x[0].re->dtype;
  const size_t r = x.size(), half = r / 2;
  std::vector<Complex> y(r), sum(half), difference(half);
  y[0] = x[0];
  for (size_t k = 0; k < half; ++k) {
    sum[k] = x[k + 1] + x[r - 1 - k];
    difference[k] = x[k + 1] - x[r - 1 - k];
    y[0] = y[0] + sum[k];
  }
  for (size_t j = 1; j <= half; ++j) {
    Complex even = x[0], odd{};
    for (size_t k = 0; k < half; ++k) {
      const double angle = 2 * M_PI * static_cast<double>(j * (k + 1) % r) / static_cast<double>(r);
      const Scalar c = expr::make_const(ctx, t, std::cos(angle)), s = expr::make_const(ctx, t, std::sin(angle));
      even = {expr::make_fma(sum[k].re, c, even.re), expr::make_fma(sum[k].im, c, even.im)};
      odd = k == 0 ? Complex{difference[k].re * s, difference[k].im * s}
                   : Complex{expr::make_fma(difference[k].re, s, odd.re), expr::make_fma(difference[k].im, s, odd.im)};
    }
    y[j] = even + times_minus_i(odd);
    y[r - j] = even - times_minus_i(odd);
  }
  return y;
}

std::vector<Complex> transformed(const std::vector<Complex>& x) {
  switch (x.size()) {
    case 1: return x;
    case 2: return by_two(x);
    case 4: return by_four(x);
    case 8: return by_eight(x);
    default: return by_odd(x);
  }
}

StmtPtr vectors_again(expr::Context& ctx, Dim count, int64_t lanes, const loop::MakeBody& body) {
  return loop::make_for(ctx, "v", expr::ceildiv(count, lanes), ForKind::Serial, [&](Dim v) {
    if (expr::mod(count, lanes).is_const(0)) return body(v * lanes);
    loop::Lets lets(ctx);
    return lets.around(body(lets.add("start", expr::min(v * lanes, count - lanes))));
  });
}

}  // namespace

FourierSteps::FourierSteps(expr::Context& ctx, const target::Target& target, DType work, const FourierPlan& plan,
                           loop::BufferId z, loop::BufferId tables)
    : ctx_(ctx), work_(work), plan_(plan), z_(z), tables_(tables), lanes_(target.vector_bytes / byte_size(work)) {}

Complex FourierSteps::at(Dim half, Dim element) const {
  const Dim size = plan(PlanField::Size), first = half * size * 2 + element;
  return {expr::make_load(ctx_, z_, work_, {first}), expr::make_load(ctx_, z_, work_, {first + size})};
}

StmtPtr FourierSteps::put(Dim half, Dim element, Complex v) const {
  const Dim size = plan(PlanField::Size), first = half * size * 2 + element;
  return loop::make_block({loop::make_store(z_, {first}, v.re), loop::make_store(z_, {first + size}, v.im)});
}

Complex FourierSteps::table(Dim first, Dim plane, Dim element) const {
  return {expr::make_load(ctx_, tables_, work_, {first + element}),
          expr::make_load(ctx_, tables_, work_, {first + plane + element})};
}

StmtPtr FourierSteps::meet_pages() const {
  const int64_t elements = machine::kHugePage / byte_size(work_);
  const Dim pages = expr::floordiv(plan(PlanField::Size) * 4, elements);
  if (pages.is_const(0)) return loop::make_block({});
  return loop::make_for(ctx_, "page", pages, ForKind::Serial,
                        [&](Dim page) { return loop::make_store(z_, {page * elements}, expr::make_const(ctx_, work_, 0)); });
}

StmtPtr FourierSteps::over(Dim count, const loop::MakeBody& body) const {
  return make_vector_loop(ctx_, count, lanes_, body);
}

StmtPtr FourierSteps::over_again(Dim count, bool short_vectors, const loop::MakeBody& body) const {
  auto vector = [&](Dim start, int64_t lanes) {
    return loop::make_for(ctx_, "l", lanes, ForKind::Vector, [&](Dim l) { return body(start + l); });
  };
  constexpr int64_t kShort = 4;
  StmtPtr all = over_vectors(count, vector, body);
  if (count.is_const() || !short_vectors || kShort >= lanes_) return all;
  const Dim few = ctx_.constant(kShort), many = ctx_.constant(lanes_);
  StmtPtr some = vectors_again(ctx_, count, kShort, [&](Dim start) { return vector(start, kShort); });
  const Scalar is_short = expr::logical_and(expr::less_equal(few, count), expr::less(count, many));
  return loop::make_if(is_short, some, all);
}

StmtPtr FourierSteps::over_vectors(Dim count, const std::function<StmtPtr(Dim, int64_t)>& vector,
                                   const loop::MakeBody& element) const {
  auto single = [&] { return loop::make_for(ctx_, "i", count, ForKind::Serial, element); };
  auto vectors = [&](int64_t lanes) {
    return vectors_again(ctx_, count, lanes, [&](Dim start) { return vector(start, lanes); });
  };
  if (!count.is_const()) return loop::make_if(expr::less(count, ctx_.constant(lanes_)), single(), vectors(lanes_));
  int64_t lanes = lanes_;
  while (lanes > count.const_value()) lanes /= 2;
  return lanes < 2 ? single() : vectors(lanes);
}

StmtPtr FourierSteps::move(Complex from, const std::function<StmtPtr(Complex)>& to) const {
  return butterfly(1, [&](int64_t) { return from; }, [&](int64_t, Complex v) { return to(v); });
}

StmtPtr FourierSteps::butterfly(int64_t radix, const std::function<Complex(int64_t)>& input,
                                const std::function<StmtPtr(int64_t, Complex)>& output) const {
  // Everything is read before anything is written: the halves are one buffer.
  const loop::Buffer x = make_local(ctx_, "x", work_, 2 * radix);
  std::vector<StmtPtr> seq;
  std::vector<Complex> values;
  for (int64_t k = 0; k < radix; ++k) {
    const Complex v = input(k);
    const Dim re = ctx_.constant(2 * k), im = ctx_.constant(2 * k + 1);
    seq.push_back(loop::make_store(x.id, {re}, v.re));
    seq.push_back(loop::make_store(x.id, {im}, v.im));
    values.push_back({expr::make_load(ctx_, x.id, work_, {re}), expr::make_load(ctx_, x.id, work_, {im})});
  }
  const std::vector<Complex> y = transformed(values);
  for (int64_t j = 0; j < radix; ++j) seq.push_back(output(j, y[static_cast<size_t>(j)]));
  return loop::make_alloc(x, loop::make_block(std::move(seq)));
}

StmtPtr FourierSteps::first_of(int64_t radix, const std::function<Complex(Dim)>& point) const {
  const Dim apart = expr::floordiv(plan(PlanField::Size), radix), half = ctx_.constant(0);
  return over_again(apart, false, [&](Dim q) {
    return butterfly(
        radix, [&](int64_t k) { return point(q + apart * k); },
        [&](int64_t j, Complex y) { return put(half, q + apart * j, y); });
  });
}

StmtPtr FourierSteps::first(const std::function<Complex(Dim)>& point) const {
  const Dim radix = plan(PlanField::First);
  if (radix.is_const()) return first_of(radix.const_value(), point);
  StmtPtr out;
  for (int64_t r : kFirstRadices) out = loop::make_if(expr::equal(radix, ctx_.constant(r)), first_of(r, point), out);
  return out;
}

StmtPtr FourierSteps::wide(int64_t radix, Dim done, Dim half, Dim apart) const {
  return loop::make_for(ctx_, "p", done, ForKind::Serial, [&](Dim p) {
    return over_again(apart, true, [&](Dim q) { return step_at(radix, done, half, apart, p, q); });
  });
}

StmtPtr FourierSteps::step_at(int64_t radix, Dim done, Dim half, Dim apart, Dim p, Dim q) const {
  return butterfly(
      radix,
      [&](int64_t k) {
        const Complex x = at(half, q + apart * (p * radix + k));
        return k == 0 ? x : x * table(plan_.twiddles(), plan(PlanField::Size), p * apart * k);
      },
      [&](int64_t j, Complex y) { return put(1 - half, q + apart * (p + done * j), y); });
}

StmtPtr FourierSteps::last(int64_t radix, Dim done, Dim half) const {
  const Dim zero = ctx_.constant(0), one = ctx_.constant(1);
  return over_again(done, false, [&](Dim p) { return step_at(radix, done, half, one, p, zero); });
}

StmtPtr FourierSteps::known_rest() const {
  int64_t done = plan(PlanField::First).const_value(), half = 0;
  const int64_t size = plan(PlanField::Size).const_value();
  std::vector<StmtPtr> seq;
  for (const CountedRadix& c : kCountedRadices)
    for (int64_t i = 0; i < plan(c.field).const_value(); ++i) {
      seq.push_back(wide(c.radix, ctx_.constant(done), ctx_.constant(half), ctx_.constant(size / done / c.radix)));
      done *= c.radix;
      half = 1 - half;
    }
  const int64_t radix = plan(PlanField::Last).const_value();
  if (radix > 1) seq.push_back(last(radix, ctx_.constant(done), ctx_.constant(half)));
  return loop::make_block(std::move(seq));
}

StmtPtr FourierSteps::start(loop::BufferId state, Dim done) const {
  const Scalar zero = expr::make_const_int(ctx_, DType::I64, 0);
  return loop::make_block({loop::make_store(state, {ctx_.constant(0)}, expr::make_index(done)),
                           loop::make_store(state, {ctx_.constant(1)}, zero)});
}

StmtPtr FourierSteps::rest(const std::optional<loop::BufferId>& state) const {
  if (!state) return known_rest();
  auto field = [&](int64_t at) { return expr::value(expr::make_load(ctx_, *state, DType::I64, {ctx_.constant(at)})); };
  auto step = [&](int64_t radix, bool is_last) {
    loop::Lets lets(ctx_);
    const Dim done = lets.add("done", field(0), 1), half = lets.add("half", field(1), 0, 1);
    auto apart = [&] { return lets.add("apart", expr::floordiv(plan(PlanField::Size), done * radix), 1); };
    auto set = [&](int64_t at, Dim v) { return loop::make_store(*state, {ctx_.constant(at)}, expr::make_index(v)); };
    const StmtPtr work = is_last ? last(radix, done, half) : wide(radix, done, half, apart());
    return lets.around(loop::make_block({work, set(0, done * radix), set(1, 1 - half)}));
  };
  std::vector<StmtPtr> seq;
  for (const CountedRadix& c : kCountedRadices)
    seq.push_back(loop::make_for(ctx_, "step", plan(c.field), ForKind::Serial, [&](Dim) { return step(c.radix, false); }));
  for (int64_t r : kLastRadices)
    seq.push_back(loop::make_if(expr::equal(plan(PlanField::Last), ctx_.constant(r)), step(r, true)));
  return loop::make_block(std::move(seq));
}

StmtPtr FourierSteps::with_result(const std::optional<loop::BufferId>& state, const loop::MakeBody& use) const {
  if (!state) {
    int64_t steps = plan(PlanField::Last).is_const(1) ? 0 : 1;
    for (const CountedRadix& c : kCountedRadices) steps += plan(c.field).const_value();
    return use(ctx_.constant(steps % 2));
  }
  loop::Lets lets(ctx_);
  const Scalar known = expr::make_load(ctx_, *state, DType::I64, {ctx_.constant(1)});
  return lets.around(use(lets.add("half", expr::value(known), 0, 1)));
}

}  // namespace pliant::lower
