#include "lower/templates/template.h"

#include <algorithm>

#include "loop/pass/flatten.h"

namespace pliant::lower {

namespace {

artifact::Provenance provenance_of(const Template& t, const Space& space, const Point& point, const std::string& trace) {
  artifact::Provenance out{.maker = std::string("template ") + t.name, .trace = trace};
  for (size_t k = 0; k < space.size(); ++k)
    out.knobs += (k > 0 ? ", " : "") + std::string(space[k].name) + " = " + std::to_string(point[k]);
  return out;
}

std::string print(const Space& space) {
  std::string text;
  for (const Knob& k : space) {
    text += std::string("// domain of ") + k.name + ":";
    for (int64_t v : k.domain) text += " " + std::to_string(v);
    text += "\n";
  }
  return text;
}

}  // namespace

std::vector<loop::StmtPtr> perfect_nest(loop::StmtPtr s) {
  std::vector<loop::StmtPtr> out;
  for (; s->kind == loop::StmtKind::For; s = s->body[0]) out.push_back(s);
  return out;
}

std::string fresh_name(const schedule::Schedule& s, const std::string& base) {
  std::string name = base;
  for (int k = 2; s.has_loop(name) || s.has_buffer(name); ++k) name = base + std::to_string(k);
  return name;
}

std::vector<std::string> loop_names(const schedule::Schedule& s) {
  std::vector<std::string> out;
  for (const schedule::LoopInfo& l : s.loops()) out.push_back(l.name);
  return out;
}

std::vector<std::string> loop_names(const schedule::Schedule& s, const std::vector<loop::StmtPtr>& loops) {
  std::map<SymbolId, std::string> all;
  for (const schedule::LoopInfo& l : s.loops()) all[l.var] = l.name;
  std::vector<std::string> out;
  for (const loop::StmtPtr& l : loops) out.push_back(all.at(l->var));
  return out;
}

loop::StmtPtr loop_named(const schedule::Schedule& s, const std::string& name) {
  const std::vector<schedule::LoopInfo> loops = s.loops();
  return std::find_if(loops.begin(), loops.end(), [&](const auto& l) { return l.name == name; })->loop;
}

Result<std::vector<std::string>> added_by(const schedule::Schedule& s, const std::function<Status()>& primitive) {
  const std::vector<std::string> before = loop_names(s);
  TRY(primitive());
  std::vector<std::string> out = loop_names(s);
  std::erase_if(out, [&](const std::string& n) { return std::find(before.begin(), before.end(), n) != before.end(); });
  return out;
}

Status TemplateSchedule::nest(Names outer, const Names& inner) {
  for (const std::string& l : inner)
    if (!l.empty()) outer.push_back(l);
  Names now = loop_names(s_);
  std::erase_if(now, [&](const std::string& n) { return std::find(outer.begin(), outer.end(), n) == outer.end(); });
  return outer == now ? ok() : s_.reorder(outer);
}

Result<LoweredKernel> schedule_kernel(const Problem& p, const Template& t, Work work) {
  expr::Context& ctx = p.ctx;
  const std::optional<Space> space = t.match(work, p.target);
  PLIANT_CHECK(space) << "template " << t.name << " does not fit " << work.function.name;
  Point point;
  for (const Knob& k : *space) point.push_back(p.options.choose ? p.options.choose(k.name, k.domain) : k.domain.front());
  schedule::Schedule s(work.function, ctx, schedule::Verify::Statements);
  TRY(t.apply(s, point));
  TRY(s.verify());
  for (const schedule::Repack& r : s.repacks())
    if (s.function().params[r.param].is_constant) work.args[r.param].constant = TRY(work.lay_out(r));
  LoweredKernel k;
  k.provenance.push_back(provenance_of(t, *space, point, s.trace()));
  if (p.options.derivations) k.naive = print(*space) + print(work, ctx);
  k.function = loop::flatten(s.function(), ctx);
  k.args = std::move(work.args);
  k.tasks = ctx.constant(1);
  for (const loop::StmtPtr& l : perfect_nest(k.function.body))
    if (l->for_kind == loop::ForKind::Parallel) k.tasks = k.tasks * l->extent;
  return k;
}

}  // namespace pliant::lower
