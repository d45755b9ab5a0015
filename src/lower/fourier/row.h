// A node whose root is a Fourier sum, on its way to kernels: one that plans, one or two that make tables, and the one over
// rows.
#pragma once
#include <algorithm>

#include "lower/fourier/fourier.h"
#include "lower/fourier/step.h"

namespace pliant::lower {

constexpr int64_t kWorkOfPoint = 64;  // of LoweredKernel::work

class FourierLowering {
 public:
  FourierLowering(const Problem& p, const StageList& list, FourierSum sum)
      : p_(p), ctx_(p.ctx), list_(list), sum_(std::move(sum)), t_(*list.stages[sum_.root].tensor) {
    samples_ = t_.reduce_extent[0];
    pairs_ = !sum_.term.im && sum_.part.has_value();
  }
  Result<LoweredNode> lower();

 private:
  // ---- what is known when
  bool is_known() const { return samples_.is_const(); }
  FourierPlan known_plan() const { return plan_of(ctx_, samples_.const_value(), pairs_); }
  loop::StmtPtr with(const std::function<loop::StmtPtr(const FourierPlan&)>& body) {
    return is_known() ? body(known_plan()) : with_plan(ctx_, plan_->id, body);
  }
  Dim most() const { return is_known() ? known_plan()[PlanField::Size] : most_points(samples_); }
  // If where the condition is not known.
  loop::StmtPtr choose(Dim value, int64_t wanted, const std::function<loop::StmtPtr()>& then,
                       const std::function<loop::StmtPtr()>& otherwise) {
    if (value.is_const()) return value.is_const(wanted) ? then() : otherwise();
    return loop::make_if(expr::equal(value, ctx_.constant(wanted)), then(), otherwise());
  }

  // ---- kernels
  LoweredKernel plan_kernel();
  LoweredKernel table_kernel();
  LoweredKernel filter_kernel();
  Result<LoweredKernel> row_kernel(graph::ConstantPtr constant);
  LoweredKernel finish(const char* builder, KernelBuilder& b, Signature& s, const std::vector<Loop>& grid,
                       loop::StmtPtr body, Dim work) {
    LoweredKernel k = built_by(builder);
    k.tasks = product_of(ctx_, grid);
    k.work = work;
    k.function = b.finish(wrap_loops(grid, loop::ForKind::Parallel, std::move(body)));
    k.args = s.take_args();
    return k;
  }
  // A transform's z and, where the run plans, the state of its steps, declared around what is done with them.
  using WithSteps = std::function<loop::StmtPtr(const FourierSteps& s, const FourierPlan& plan,
                                                const std::optional<loop::BufferId>& state)>;
  loop::StmtPtr with_steps(loop::BufferId tables, const WithSteps& body);

  // ---- parts of the row kernel
  size_t bin_axis() const {
    return static_cast<size_t>(std::find(t_.index.begin(), t_.index.end(), sum_.bin) - t_.index.begin());
  }
  Complex point(Dim n, int64_t packed) const;
  loop::StmtPtr load(const FourierSteps& s, const FourierPlan& plan, const std::optional<loop::BufferId>& state,
                     int64_t packed);
  loop::StmtPtr transform(const FourierSteps& s, const FourierPlan& plan, const std::optional<loop::BufferId>& state);
  loop::StmtPtr result(const FourierSteps& s, const FourierPlan& plan, Dim half);
  loop::StmtPtr take_pairs_apart(const FourierSteps& s, const FourierPlan& plan, Dim half);
  bool is_read_plainly() const;
  // value(i) at bin i + offsets[k], for i from `begin` on.
  using Values = std::function<std::vector<Complex>(Dim)>;
  loop::StmtPtr store_bins(Dim begin, Dim count, const std::vector<Dim>& offsets, const FourierSteps& s,
                           const Values& values);
  loop::StmtPtr store_pairs(Dim first, const std::vector<Dim>& offsets, int64_t lanes, const Values& values);
  loop::StmtPtr store_at(const expr::DimMap& at, Scalar total) const;
  Scalar part_of(Complex c, int64_t part) const { return part == 0 ? c.re : sum_.term.inverse ? -c.im : c.im; }
  bool parts_are_neighbours() const;

  const Problem& p_;
  expr::Context& ctx_;
  StageList list_;
  const FourierSum sum_;
  const te::TensorDef& t_;
  Dim samples_;
  bool pairs_ = false;  // two real samples may be one point
  te::Tensor plan_, tables_;
  Temporaries temporaries_;
  expr::TensorId total_ = 0;    // stands for the sum in `values_`
  Scalar re_, im_;              // flat
  std::vector<Scalar> values_;  // of the outputs, flat
  std::vector<Dim> offsets_;
};

}  // namespace pliant::lower
