// How a Fourier transform of some length is done: its factors, and the tables that its steps read.
#pragma once
#include <functional>

#include "lower/stage_kernels.h"

namespace pliant::lower {

// A transform of `length` points. Lengths with other prime factors than 2, 3, 5 and 7 become a convolution of `size` points
// (Bluestein); for the others `size` is `length`. The radices of its steps: `first`, then so many sevens, fives, threes,
// fours and twos, then `last`. `packed` real samples are one point: the even ones its real parts, the odd ones the imaginary
// ones.
enum class PlanField : uint8_t { Length, Size, Convolves, First, Sevens, Fives, Threes, Fours, Twos, Last, Packed, Count };
constexpr size_t kPlanFields = static_cast<size_t>(PlanField::Count);
struct FourierPlan {
  std::vector<Dim> fields;  // by PlanField
  Dim operator[](PlanField f) const { return fields[static_cast<size_t>(f)]; }
  // Parts of the tables, each two planes (real and imaginary) of so many elements: the twiddle factors exp(-2 pi i t /
  // size); exp(-2 pi i t / samples), where two samples are one point; and for a convolution exp(-pi i t^2 / length) and the
  // spectrum of its filter.
  Dim twiddles() const { return fields[0]->ctx->constant(0); }
  Dim halves() const { return (*this)[PlanField::Size] * 2; }
  Dim chirp() const { return halves() + (*this)[PlanField::Length] * 2; }
  Dim filter() const { return chirp() + (*this)[PlanField::Length] * 2; }
  Dim elements() const { return filter() + (*this)[PlanField::Size] * 2; }
};
// The radices of the steps in whose place plan fields count, in the order in which they are done.
struct CountedRadix {
  PlanField field;
  int64_t radix;
};
inline constexpr CountedRadix kCountedRadices[] = {
    {PlanField::Sevens, 7}, {PlanField::Fives, 5}, {PlanField::Threes, 3}, {PlanField::Twos, 2}, {PlanField::Fours, 4}};
inline constexpr int64_t kFirstRadices[] = {8, 4, 1}, kLastRadices[] = {4, 2, 3, 5, 7};

// The plan for a number of samples; `pairs`: two samples are one point where their number is even.
FourierPlan plan_of(expr::Context& ctx, int64_t samples, bool pairs);
// The fields read from memory that plan_kernel filled, as symbols known inside `body`.
loop::StmtPtr with_plan(expr::Context& ctx, loop::BufferId memory,
                        const std::function<loop::StmtPtr(const FourierPlan&)>& body);
// Most points of `size` for a number of samples.
Dim most_points(Dim samples);
// One task that fills kPlanFields elements of `memory`.
loop::StmtPtr make_plan(expr::Context& ctx, loop::BufferId memory, Dim samples, bool pairs);

// The tables but the filter's spectrum, in chunks of tasks.
struct TableGrid {
  Loop chunks;
  loop::StmtPtr body;
};
TableGrid make_tables(expr::Context& ctx, const target::Target& target, DType t, loop::BufferId tables, Dim samples,
                      Dim most,
                      const std::function<loop::StmtPtr(const std::function<loop::StmtPtr(const FourierPlan&)>&)>& with);
// All tables of a plan of constants.
graph::ConstantPtr constant_tables(const FourierPlan& plan, DType t);

}  // namespace pliant::lower
