// A nest that computes what an instruction of the target does becomes that instruction.
#include "schedule/edit.h"
#include "target/match.h"

namespace pliant::schedule {
namespace {

// Of an instruction of any number.
constexpr int64_t kMostLanes = 64;

// `4, 8 or 16`.
std::string widths_of(const target::Instruction& i) {
  std::set<int64_t> lanes;
  for (const target::Form& f : i.forms) lanes.insert(f.lanes);
  if (*lanes.begin() == 0) return "1 to " + std::to_string(kMostLanes);
  std::string text;
  size_t left = lanes.size();
  for (int64_t n : lanes) text += std::to_string(n) + (--left > 1 ? ", " : left == 1 ? " or " : "");
  return text;
}

bool has_lanes(const target::Instruction& i, int64_t lanes) {
  for (const target::Form& f : i.forms)
    if (f.lanes == 0 ? lanes > 0 && lanes <= kMostLanes : f.lanes == lanes) return true;
  return false;
}

std::optional<target::Match> match_in(const Edit& e, const target::Instruction& i, bool written, const StmtPtr& nest,
                                      std::string& why) {
  auto find = [&](BufferId id) { return loop::find_buffer(e.function, id); };
  return target::match(i, written, nest, e.ctx, find, why);
}

}  // namespace

Status check_instructions(const Edit& e) {
  Status status = ok();
  auto visit = [&](auto&& self, const StmtPtr& s) -> void {
    if (s->kind == StmtKind::For && s->for_kind == ForKind::Tensor) {
      std::string why;
      const target::Instruction* i = target::find_instruction(s->instruction);
      if (i ? !match_in(e, *i, false, s, why) : true)
        status = e.refuse("loop " + e.name_of(s->var) + " would no longer be the instruction " + s->instruction +
                          (why.empty() ? "" : ": " + why));
    }
    for (const StmtPtr& child : s->body) self(self, child);
  };
  visit(visit, e.function.body);
  return status;
}

Status Schedule::tensorize(std::string_view name, std::string_view instruction) {
  Edit e(*this, "tensorize", name, instruction);
  const std::string loop_name(name);
  const StmtPtr s = TRY(e.find_serial_loop(name));
  const target::Instruction* i = target::find_instruction(instruction);
  if (!i) {
    std::string known;
    for (const target::Instruction& row : target::all_instructions()) known += (known.empty() ? "" : ", ") + row.name;
    return e.refuse("there is no instruction " + std::string(instruction) + "; the instructions are " + known);
  }
  std::string why;
  auto m = match_in(e, *i, true, s, why);
  if (!m) return e.refuse("the nest of loop " + loop_name + " is not what " + i->name + " computes: " + why);
  if (!has_lanes(*i, m->lanes))
    return e.refuse(i->name + " has " + widths_of(*i) + " lanes, loop " + loop_name + " " + std::to_string(m->lanes));
  e.replace(s, loop::make_tensor(s->var, s->extent, i->name, target::instance_of(*i, *m, s, e.ctx)));
  return e.commit();
}

}  // namespace pliant::schedule
