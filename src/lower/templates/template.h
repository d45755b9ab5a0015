// Templates: ways to schedule naive functions of one form. What varies is named by knobs, whose values a tuner may choose;
// the primitives applied are a trace, which replays on the naive function.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lower/naive/work.h"
#include "schedule/schedule.h"

namespace pliant::lower {

struct Knob {
  const char* name;
  std::vector<int64_t> domain;  // the value that is taken without tuning comes first
};
using Space = std::vector<Knob>;
using Point = std::vector<int64_t>;  // a value for each knob

struct Template {
  const char* name;
  // The knobs for a naive function; nothing where the template does not fit it.
  std::optional<Space> (*match)(const Work& work, const target::Target& target);
  // Schedules the naive function that `s` starts from.
  Status (*apply)(schedule::Schedule& s, const Point& point);
};

// Checks, and updates that meet: a nest that runs in its order. (serial.cc)
extern const Template kSerial;

// Maps: a nest of independent iterations. (map.cc)
extern const Template kMap;

// Rows: reductions of the last axes with the elementwise work around them. (rows.cc)
extern const Template kRows;

// Reductions whose lanes lie along the output. (window.cc)
extern const Template kWindow;
// The columns and rows of an output that are a task's at most, if there are not many more.
constexpr int64_t kColumnsOfTask = 1024, kRowsOfTask = 64;
bool has_parts(expr::Context& ctx, Dim extent, int64_t size);
// Divides a nest into tasks, each of some columns of at most so many rows; with 0, of one. (outputs.cc)
Status divide_outputs(schedule::Schedule& s, int64_t rows);

// Scans: running reductions. (scan.cc)
extern const Template kScan;

// Contractions: a nest of sums and the results that follow from it. (gemm.cc)
extern const Template kGemm;
// The same of few rows, by a matrix that is read where it lies. (skinny_gemm.cc)
extern const Template kSkinnyGemm;

// `base`, or with a number behind it where a loop or buffer already has that name.
std::string fresh_name(const schedule::Schedule& s, const std::string& base);
// The names of all loops, in program order; and of these.
std::vector<std::string> loop_names(const schedule::Schedule& s);
std::vector<std::string> loop_names(const schedule::Schedule& s, const std::vector<loop::StmtPtr>& loops);
// The loop of that name, which there is.
loop::StmtPtr loop_named(const schedule::Schedule& s, const std::string& name);
// The loops that a primitive makes, in program order.
Result<std::vector<std::string>> added_by(const schedule::Schedule& s, const std::function<Status()>& primitive);
// The loops that hold nothing but each other, from `s` on, outermost first.
std::vector<loop::StmtPtr> perfect_nest(loop::StmtPtr s);

// A template at work on a schedule: it knows the loops by their names.
class TemplateSchedule {
 protected:
  using Names = std::vector<std::string>;
  TemplateSchedule(schedule::Schedule& s, const Point& point) : s_(s), ctx_(s.ctx()), point_(point) {}
  std::string fresh(const std::string& base) const { return fresh_name(s_, base); }
  // The name of the loop that this one is a copy of.
  static std::string base_of(const std::string& loop) { return loop.substr(0, loop.find('.')); }
  Dim extent_of(const std::string& loop) const { return loop_named(s_, loop)->extent; }
  // The loops that follow `loop`, with what stood in it behind its first statement.
  Result<Names> fission(const std::string& loop) {
    return added_by(s_, [&] { return s_.fission(loop); });
  }
  // The outer loops, then those of `inner` that there are, nest in this order.
  Status nest(Names outer, const Names& inner);

  schedule::Schedule& s_;
  expr::Context& ctx_;
  const Point& point_;
};
template <class S>
Status apply_as(schedule::Schedule& s, const Point& point) {
  return S(s, point).apply();
}

// The kernel that the template makes of a naive function it matches, at the first value of each knob. Storage is flat. It
// has a task for each iteration of its Parallel loops; `work` is the caller's to set. Where Problem::memo has an equal naive
// function, it is that one's schedule over the params of this one.
Result<LoweredKernel> schedule_kernel(const Problem& p, const Template& t, Work work);

}  // namespace pliant::lower
