// The steps of a Fourier transform over one row: z[2][2][size], two halves of two planes. A step of radix r reads one half
// and writes the other. With `done` the product of the radices so far, element q + s * t of a half, where s = size / done,
// is bin t of the transform of every s-th sample from sample q on; so no step reorders anything (Stockham).
#pragma once
#include "lower/fourier/plan.h"

namespace pliant::lower {

struct Complex {
  Scalar re, im;
};
inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
inline Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
inline Complex operator*(Complex a, Complex b) {
  return {expr::make_fma(a.re, b.re, -(a.im * b.im)), expr::make_fma(a.re, b.im, a.im * b.re)};
}
inline Complex conj(Complex a) { return {a.re, -a.im}; }

class FourierSteps {
 public:
  // `work` is the type of z and of the tables.
  FourierSteps(expr::Context& ctx, const target::Target& target, DType work, const FourierPlan& plan, loop::BufferId z,
               loop::BufferId tables);
  Complex at(Dim half, Dim element) const;
  loop::StmtPtr put(Dim half, Dim element, Complex v) const;
  Complex table(Dim first, Dim plane, Dim element) const;

  // Before anything else is written to z: a step writes to up to sixteen places far apart, and would meet as many new huge
  // pages in one iteration. This meets them one after another, and those alone that a transform of this size uses.
  loop::StmtPtr meet_pages() const;
  // The first step, of the plan's first radix: `point` gives the points that are transformed. It writes half 0.
  loop::StmtPtr first(const std::function<Complex(Dim)>& point) const;
  // All others. The result lies in the half that `use` gets; with `state`, two i64 in registers, that is known in the run.
  loop::StmtPtr rest(const std::optional<loop::BufferId>& state) const;
  // The half in which the result lies.
  loop::StmtPtr with_result(const std::optional<loop::BufferId>& state, const loop::MakeBody& use) const;
  // Before `rest` where half 0 was filled by other means.
  loop::StmtPtr start(loop::BufferId state, Dim done) const;
  loop::StmtPtr over(Dim count, const loop::MakeBody& body) const;
  // Where doing an element twice does no harm: the last vector reaches back over what is done. `short_vectors`: counts below
  // a vector are usual.
  loop::StmtPtr over_again(Dim count, bool short_vectors, const loop::MakeBody& body) const;
  // Likewise, a vector from `start` on at a time; single elements where there is none.
  loop::StmtPtr over_vectors(Dim count, const std::function<loop::StmtPtr(Dim start, int64_t lanes)>& vector,
                             const loop::MakeBody& element) const;
  // One value, read before any part of it is written.
  loop::StmtPtr move(Complex from, const std::function<loop::StmtPtr(Complex)>& to) const;

 private:
  Dim plan(PlanField f) const { return plan_[f]; }
  loop::StmtPtr butterfly(int64_t radix, const std::function<Complex(int64_t)>& input,
                          const std::function<loop::StmtPtr(int64_t, Complex)>& output) const;
  loop::StmtPtr first_of(int64_t radix, const std::function<Complex(Dim)>& point) const;
  // A step where elements that stand side by side do the same, and the last one, where they do not.
  loop::StmtPtr wide(int64_t radix, Dim done, Dim half, Dim apart) const;
  loop::StmtPtr last(int64_t radix, Dim done, Dim half) const;
  // Both at element q + apart * p.
  loop::StmtPtr step_at(int64_t radix, Dim done, Dim half, Dim apart, Dim p, Dim q) const;
  loop::StmtPtr known_rest() const;

  expr::Context& ctx_;
  DType work_;
  const FourierPlan& plan_;
  loop::BufferId z_, tables_;
  int64_t lanes_;
};

}  // namespace pliant::lower
