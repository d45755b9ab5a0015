#include "lower/templates/template.h"

#include <algorithm>

#include "loop/compare/fingerprint.h"
#include "loop/lexer.h"
#include "loop/pass/flatten.h"
#include "loop/walk.h"
#include "lower/memo.h"

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

namespace {

// What the template and the primitives of its schedule look at, except the names of params.
std::string key_of(const Template& t, const Work& work, const schedule::Schedule& s) {
  std::string key = t.name;
  for (const std::string& name : loop_names(s)) key += " " + name;
  loop::for_each(work.function.body, [&](const loop::Stmt& l) {
    if (l.kind == loop::StmtKind::For) key += static_cast<char>('0' + static_cast<int>(work.loops.at(l.var)));
  });
  return key + loop::fingerprint_over_symbols(work.function, s.ctx());
}

Result<Scheduled> schedule_work(const Problem& p, const Template& t, const Work& work, schedule::Schedule s) {
  const std::optional<Space> space = t.match(work, p.target);
  PLIANT_CHECK(space) << "template " << t.name << " does not fit " << work.function.name;
  Point point;
  for (const Knob& k : *space) point.push_back(p.options.choose ? p.options.choose(k.name, k.domain) : k.domain.front());
  TRY(t.apply(s, point));
  TRY(s.verify());
  Scheduled out{.function = loop::flatten(s.function(), p.ctx),
                .repacks = s.repacks(),
                .provenance = provenance_of(t, *space, point, s.trace())};
  if (p.options.derivations) out.domains = print(*space);
  out.naive_params = work.function.params;
  return out;
}

// A name and the number behind it, by which a schedule tells its own names from those that are taken.
std::pair<std::string, int64_t> stem_of(const std::string& name) {
  const size_t end = name.find_last_not_of("0123456789") + 1, digits = name.size() - end;
  const bool has_dot = digits > 0 && end > 0 && name[end - 1] == '.';
  return {name.substr(0, end - (has_dot ? 1 : 0)), digits == 0 || digits > 9 ? 0 : std::stoll(name.substr(end))};
}

// Whether the trace has the param's name, or one that it has because that one is taken.
bool speaks_of(const std::string& trace, const std::string& param) {
  const auto [stem, number] = stem_of(param);
  if (loop::quote_name(param) != param) return trace.find(stem) != std::string::npos;
  constexpr const char* kOfNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
  for (size_t at = trace.find_first_of(kOfNames), end = 0; at != std::string::npos;
       at = trace.find_first_of(kOfNames, end)) {
    end = std::min(trace.find_first_not_of(kOfNames, at), trace.size());
    if (trace.compare(at, stem.size(), stem) != 0) continue;
    const auto word = stem_of(trace.substr(at, end - at));
    if (word.first == stem && word.second >= number) return true;
  }
  return false;
}

// Whether the schedule would be the same with these params.
bool fits(const Scheduled& made, const std::vector<loop::Buffer>& params) {
  return std::equal(params.begin(), params.end(), made.naive_params.begin(), [&](const auto& a, const auto& b) {
    const std::string& trace = made.provenance.trace;
    return a.name == b.name || (!speaks_of(trace, a.name) && !speaks_of(trace, b.name));
  });
}

// The function for an equal naive one.
loop::Function function_for(const loop::Function& naive, const Scheduled& made, expr::Context& ctx) {
  loop::Function f = made.function;
  f.name = naive.name;
  f.loc = naive.loc;
  f.traps = naive.traps;
  std::map<loop::BufferId, loop::BufferId> ids;
  for (size_t k = 0; k < naive.params.size(); ++k) {
    ids[made.naive_params[k].id] = naive.params[k].id;
    if (f.params[k].id != made.naive_params[k].id) continue;  // it has another layout
    f.params[k].id = naive.params[k].id;
    f.params[k].name = naive.params[k].name;
  }
  f.body = loop::redirect(f.body, ctx, [&](loop::BufferId b, const std::vector<Dim>& index) -> std::optional<loop::Element> {
    const auto it = ids.find(b);
    if (it == ids.end()) return std::nullopt;
    return loop::Element{it->second, index};
  });
  return f;
}

}  // namespace

Result<LoweredKernel> schedule_kernel(const Problem& p, const Template& t, Work work) {
  expr::Context& ctx = p.ctx;
  schedule::Schedule s(work.function, ctx, schedule::Verify::Statements);
  LoweredKernel k;
  ScheduleMemo once;
  // Choices may differ from one kernel to the next.
  auto& made = p.memo && !p.options.choose ? p.memo->made : once.made;
  std::vector<Scheduled>& equal = made[key_of(t, work, s)];
  auto found = std::find_if(equal.begin(), equal.end(), [&](const auto& e) { return fits(e, work.function.params); });
  if (found != equal.end()) {
    k.function = function_for(work.function, *found, ctx);
  } else {
    found = equal.insert(equal.end(), TRY(schedule_work(p, t, work, std::move(s))));
    k.function = found->function;
  }
  const Scheduled& of = *found;
  k.provenance.push_back(of.provenance);
  if (p.options.derivations) k.naive = of.domains + print(work, ctx);
  for (const schedule::Repack& r : of.repacks)
    if (k.function.params[r.param].is_constant) work.args[r.param].constant = TRY(work.lay_out(r));
  k.args = std::move(work.args);
  k.tasks = ctx.constant(1);
  for (const loop::StmtPtr& l : perfect_nest(k.function.body))
    if (l->for_kind == loop::ForKind::Parallel) k.tasks = k.tasks * l->extent;
  return k;
}

}  // namespace pliant::lower
