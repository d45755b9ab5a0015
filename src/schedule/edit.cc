#include "schedule/edit.h"

#include <algorithm>

#include "expr/indices.h"
#include "loop/lexer.h"
#include "loop/print_expr.h"
#include "loop/verify.h"

namespace pliant::schedule {

Edit::Edit(Schedule& s, std::string line)
    : ctx(s.ctx_),
      function(s.function_),
      symbols(s.symbols_),
      padded(s.padded_),
      tiles(s.tiles_),
      schedule_(s),
      line_(std::move(line)),
      vars_(s.vars_),
      buffers_(s.buffers_),
      body_(s.function_.body),
      padded_(s.padded_),
      tiles_(s.tiles_) {}

Edit::~Edit() {
  if (committed_) return;
  schedule_.function_.body = std::move(body_);
  if (params_) schedule_.function_.params = std::move(*params_);
  padded = std::move(padded_);
  tiles = std::move(tiles_);
  vars_.undo();
  buffers_.undo();
  for (SymbolId s : made_) schedule_.used_.erase(s);
}

void Edit::write(const char* word) {
  if (*word != 0) line_ += std::string(" ") + word;
}

void Edit::write(std::string_view name) { write(loop::quote_name(name).c_str()); }

void Edit::write(Dim size) {
  const std::string text = loop::ExprPrinter(ctx).dim(size);
  write((size.is_const() ? text : "[" + text + "]").c_str());
}

void Edit::write(const std::vector<int64_t>& list) {
  std::string text;
  for (int64_t v : list) text += (text.empty() ? "[" : ", ") + std::to_string(v);
  if (!list.empty()) write((text + "]").c_str());
}

void Edit::write(const std::vector<std::string>& names) {
  for (const std::string& n : names) write(std::string_view(n));
}

std::vector<Buffer>& Edit::params_to_change() {
  if (!params_) params_ = function.params;
  return schedule_.function_.params;
}

Error Edit::refuse(const std::string& why) const {
  return make_error("schedule", "kernel \"" + function.name + "\": `" + line_ + "`", why);
}

Result<StmtPtr> Edit::find_loop(std::string_view name) const {
  std::optional<SymbolId> var;
  if (auto it = vars_.map().find(name); it != vars_.map().end()) {
    var = it->second;
  } else {
    var = ctx.find_symbol(name);
  }
  const StmtPtr found =
      var ? find_first(function.body, [&](const Stmt& s) { return s.kind == StmtKind::For && s.var == *var; }) : nullptr;
  if (found) {
    std::vector<StmtPtr> nest = enclosing(found);
    nest.push_back(found);
    for (const StmtPtr& s : nest)
      if (s->kind == StmtKind::For && s->for_kind == ForKind::Tensor)
        return refuse("loop " + name_of(s->var) + " is the instruction " + s->instruction);
    return found;
  }
  std::string known;
  for (const LoopInfo& l : schedule_.loops()) known += (known.empty() ? "" : ", ") + l.name;
  return refuse("there is no loop " + std::string(name) + "; the loops are " + known);
}

Result<StmtPtr> Edit::find_serial_loop(std::string_view name) const {
  StmtPtr s = TRY(find_loop(name));
  if (s->for_kind != ForKind::Serial) return refuse("loop " + std::string(name) + " is " + loop::name_of(s->for_kind));
  return s;
}

Result<Buffer> Edit::find_buffer(std::string_view name) const {
  auto it = buffers_.map().find(name);
  const Buffer* b = it == buffers_.map().end() ? nullptr : loop::find_buffer(function, it->second);
  if (b) return *b;
  return refuse("there is no buffer " + std::string(name));
}

StmtPtr Edit::alloc_of(BufferId id) const {
  return find_first(function.body, [&](const Stmt& s) { return s.alloc && s.alloc->id == id; });
}

std::string Edit::name_of(SymbolId var) const {
  for (auto& [name, id] : vars_.map())
    if (id == var) return name;
  return ctx.info(var).name;
}

bool Edit::is_size(Dim d) const {
  auto is_axis = [&](const Buffer& b) { return std::find(b.shape.begin(), b.shape.end(), d) != b.shape.end(); };
  return ctx.proves_less_equal(ctx.constant(0), d) || std::any_of(function.params.begin(), function.params.end(), is_axis);
}

template <class Map>
std::string Edit::free_name(Journal<Map>& names, const std::string& base) {
  if (!names.map().count(base)) return base;
  // `i.2` and `i` both give i.1, i.2 …
  const size_t dot = base.rfind('.');
  const bool is_numbered = dot + 1 < base.size() && dot != std::string::npos &&
                           base.find_first_not_of("0123456789", dot + 1) == std::string::npos;
  const std::string stem = is_numbered ? base.substr(0, dot) : base;
  for (int& k = names.last_number(stem);;)
    if (std::string name = stem + "." + std::to_string(++k); !names.map().count(name)) return name;
}

// Symbols are taken from the Context where it already has one of this name with the same facts that this schedule has not
// used: then a replay gives the same function, and the Context does not grow with every kernel.
Dim Edit::make_index(const std::string& name, Dim extent, int64_t hi, int64_t lo) {
  expr::SymbolInfo info;
  info.name = name;
  info.lo = lo;
  info.hi = extent.is_const() ? extent.const_value() - 1 : hi;
  if (info.hi == expr::kNoLimit) info.upper = extent - 1;
  if (info.hi < lo) info.hi = lo;
  info.origin.kind = expr::Origin::Kind::LoopIndex;
  auto take = [&](SymbolId s) {
    if (!schedule_.used_.insert(s).second) return false;
    made_.push_back(s);
    return true;
  };
  for (SymbolId s : expr::find_indices(ctx, info)) {
    const expr::SymbolInfo& have = ctx.info(s);
    const bool same = have.lo == lo && have.hi == info.hi && have.upper == info.upper && have.multiple_of == 1;
    if (same && take(s)) return ctx.symbol_dim(s);
  }
  const Dim index = ctx.symbol(std::move(info));
  take(*index.as_symbol());
  return index;
}

Result<Dim> Edit::new_index(std::string_view name, Dim extent, int64_t hi) {
  std::string n(name);
  if (vars_.map().count(n)) return refuse("there already is a loop " + n);
  Dim index = make_index(n, extent, hi);
  vars_.set(n, *index.as_symbol());
  return index;
}

Result<Dim> Edit::new_size(std::string_view name, Dim value) {
  std::string n(name);
  if (vars_.map().count(n)) return refuse("there already is a loop " + n);
  const int64_t most = ctx.range(value).hi;
  const Dim size = make_index(n, value + 1, most == INT64_MAX ? expr::kNoLimit : most, 1);
  vars_.set(n, *size.as_symbol());
  return size;
}

Dim Edit::derived_index(const std::string& base, Dim extent, int64_t hi) {
  std::string name = free_name(vars_, base);
  Dim index = make_index(name, extent, hi);
  vars_.set(name, *index.as_symbol());
  return index;
}

StmtPtr Edit::derived_loop(const std::string& base, Dim extent, ForKind kind, const loop::MakeBody& body, int64_t hi) {
  const Dim index = derived_index(base, extent, hi);
  return make_for(index, extent, kind, body(index));
}

Result<BufferId> Edit::new_buffer(std::string_view name) {
  std::string n(name);
  if (buffers_.map().count(n)) return refuse("there already is a buffer " + n);
  const BufferId id = ctx.fresh_tensor();
  buffers_.set(n, id);
  return id;
}

Result<Buffer> Edit::new_buffer(std::string_view name, DType type, std::vector<Dim> shape, Scope scope) {
  const BufferId id = TRY(new_buffer(name));
  return Buffer{id, std::string(name), type, std::move(shape), {}, scope};
}

Status Edit::check_scope(const std::string& what, const std::vector<Dim>& shape, Scope scope) const {
  if (scope == Scope::Param) return refuse(what + " cannot be a param");
  const bool is_known = std::all_of(shape.begin(), shape.end(), [](Dim d) { return d.is_const(); });
  if (scope == Scope::Local && !is_known) return refuse(what + " has no constant size");
  return ok();
}

Buffer Edit::derived_buffer(const std::string& base, DType type, std::vector<Dim> shape) {
  Buffer b = loop::make_buffer(ctx, free_name(buffers_, base), type, std::move(shape), Scope::Local);
  buffers_.set(b.name, b.id);
  return b;
}

void Edit::copy_facts(SymbolId var, Dim fresh, const expr::DimMap& renamed) {
  if (auto it = padded.find(var); it != padded.end()) padded[*fresh.as_symbol()] = expr::substitute(it->second, renamed);
  for (size_t k = 0, n = tiles.size(); k < n; ++k) {
    LoopTile t = tiles[k];
    if (t.inner != var) continue;
    auto outer = renamed.find(t.outer);
    if (outer != renamed.end()) t.outer = *outer->second.as_symbol();
    t.inner = *fresh.as_symbol();
    t.start = expr::substitute(t.start, renamed);
    if (t.extent) t.extent = expr::substitute(t.extent, renamed);
    tiles.push_back(t);
  }
}

Dim Edit::copy_index(SymbolId var, Dim extent, expr::DimMap& renamed) {
  const expr::SymbolInfo& info = ctx.info(var);
  const Dim index = derived_index(name_of(var), extent, info.upper ? expr::kNoLimit : info.hi);
  renamed[var] = index;
  copy_facts(var, index, renamed);
  return index;
}

Dim Edit::rename(SymbolId var, Dim extent) {
  std::string name = name_of(var);
  Dim index = make_index(name, extent, expr::kNoLimit);
  vars_.set(name, *index.as_symbol());
  copy_facts(var, index, {{var, index}});
  return index;
}

StmtPtr Edit::substitute(const StmtPtr& body, const expr::DimMap& map) {
  for (auto& [var, extent] : loops_below(body)) {
    if (auto it = padded.find(var); it != padded.end()) it->second = expr::substitute(it->second, map);
    for (LoopTile& t : tiles) {
      if (t.inner != var) continue;
      t.start = expr::substitute(t.start, map);
      if (t.extent) t.extent = expr::substitute(t.extent, map);
      const auto outer = map.find(t.outer);
      if (outer == map.end()) continue;
      // One of the loops that the tile follows from.
      t.one_outer = t.one_outer && outer->second.as_symbol();
      for (SymbolId s : expr::symbols_of(outer->second))
        if (expr::uses_symbol(t.start, s)) t.outer = s;
    }
  }
  return loop::substitute(body, map);
}

StmtPtr Edit::copy(const StmtPtr& root) {
  loop::Renaming names;
  loop::for_each(root, [&](const Stmt& s) {
    if (s.kind == StmtKind::For) copy_index(s.var, expr::substitute(s.extent, names.vars), names.vars);
    if (s.kind == StmtKind::Let) {
      const expr::SymbolInfo& info = ctx.info(s.var);
      const std::string name = free_name(vars_, name_of(s.var));
      const Dim value = expr::substitute(s.extent, names.vars);
      names.vars[s.var] = make_index(name, value + 1, info.upper ? expr::kNoLimit : info.hi, info.lo);
      vars_.set(name, *names.vars[s.var].as_symbol());
    }
    if (s.alloc) {
      const Buffer fresh = derived_buffer(s.alloc->name, s.alloc->dtype, {});
      names.buffers[s.alloc->id] = {fresh.id, fresh.name};
    }
  });
  return loop::renamed(root, names, ctx);
}

void Edit::replace(const StmtPtr& old, StmtPtr now) {
  StmtPtr body = loop::rewrite(function.body, [&](const StmtPtr& s) { return s == old ? now : s; });
  set_body(body ? body : loop::make_block({}));
}

std::vector<StmtPtr> Edit::enclosing(const StmtPtr& target) const {
  std::vector<StmtPtr> path;
  auto search = [&](auto&& self, const StmtPtr& s) -> bool {
    if (s == target) return true;
    path.push_back(s);
    for (const StmtPtr& child : s->body)
      if (self(self, child)) return true;
    path.pop_back();
    return false;
  };
  search(search, function.body);
  return path;
}

Extents Edit::enclosing_loops(const StmtPtr& s) const {
  Extents out;
  for (const StmtPtr& e : enclosing(s))
    if (e->kind == StmtKind::For) out.emplace_back(e->var, e->extent);
  return out;
}

// What is known of a loop stays only while it speaks of symbols that have values there.
void Edit::drop_stale_facts() {
  if (padded.empty() && tiles.empty()) return;
  std::set<SymbolId> known = symbols, bound;
  auto speaks_of_known = [&](Dim d) {
    const auto used = expr::symbols_of(d);
    return std::all_of(used.begin(), used.end(), [&](SymbolId s) { return known.count(s) > 0; });
  };
  auto visit = [&](auto&& self, const StmtPtr& s) -> void {
    bool added = loop::binds_variable(*s) && known.insert(s->var).second;
    if (added) {
      bound.insert(s->var);
      if (auto it = padded.find(s->var); it != padded.end() && !speaks_of_known(it->second)) padded.erase(it);
      std::erase_if(tiles, [&](const LoopTile& t) {
        return t.inner == s->var && (!known.count(t.outer) || !speaks_of_known(t.start));
      });
    }
    for (const StmtPtr& child : s->body) self(self, child);
    if (added) known.erase(s->var);
  };
  visit(visit, function.body);
  std::erase_if(tiles, [&](const LoopTile& t) { return !bound.count(t.inner); });
  std::erase_if(padded, [&](auto& p) { return !bound.count(p.first); });
}

void Edit::drop_stale_names() {
  std::set<SymbolId> bound;
  std::set<BufferId> declared;
  for (const Buffer& b : function.params) declared.insert(b.id);
  loop::for_each(function.body, [&](const Stmt& s) {
    if (loop::binds_variable(s)) bound.insert(s.var);
    if (s.alloc) declared.insert(s.alloc->id);
  });
  std::erase_if(schedule_.vars_, [&](auto& v) { return !bound.count(v.second); });
  std::erase_if(schedule_.buffers_, [&](auto& b) { return !declared.count(b.second); });
}

Status Edit::commit() {
  const bool whole = schedule_.each_ == Verify::Whole;
  const Status verified = whole ? loop::verify(function, ctx) : loop::verify_statements(function, ctx);
  if (!verified.ok()) {
    // A primitive checks all that it can break, except that annotations may come in an order that does not fit.
    return refuse("the result would be malformed: " + verified.error().diagnostics[0].message);
  }
  TRY(check_instructions(*this));
  drop_stale_facts();
  drop_stale_names();
  schedule_.trace_ += line_ + "\n";
  committed_ = true;
  return ok();
}

Status check_known(const Edit& e, Dim size) {
  for (SymbolId s : expr::symbols_of(size))
    if (!e.symbols.count(s)) return e.refuse(e.ctx.info(s).name + " is no symbol of the kernel");
  if (!expr::loads_of(expr::make_index(size)).empty()) return e.refuse("the size reads memory");
  return ok();
}

bool is_permutation(std::vector<int64_t> order, size_t count) {
  std::sort(order.begin(), order.end());
  for (size_t k = 0; k < order.size(); ++k)
    if (order[k] != static_cast<int64_t>(k)) return false;
  return order.size() == count;
}

std::vector<StmtPtr> statements_of(const StmtPtr& body) {
  return body->kind == StmtKind::Block ? body->body : std::vector<StmtPtr>{body};
}

StmtPtr Inside::wrap(StmtPtr now) const {
  for (size_t k = allocs.size(); k-- > 0;) now = loop::make_alloc(*allocs[k], std::move(now));
  return now;
}

Inside inside_allocs(StmtPtr body) {
  Inside in;
  for (; body->kind == StmtKind::Alloc; body = body->body[0]) in.allocs.push_back(body->alloc);
  in.body = std::move(body);
  return in;
}

StmtPtr without_lets(const StmtPtr& root) {
  std::vector<const Stmt*> lets;
  loop::for_each(root, [&](const Stmt& s) {
    if (s.kind == StmtKind::Let) lets.push_back(&s);
  });
  if (lets.empty()) return root;
  // From the outermost inwards: the value of an inner one may use an outer one.
  expr::DimMap values;
  for (const Stmt* let : lets) values[let->var] = expr::substitute(let->extent, values);
  return loop::rewrite(loop::substitute(root, values),
                       [](const StmtPtr& s) { return s->kind == StmtKind::Let ? s->body[0] : s; });
}

StmtPtr without_known(const StmtPtr& root) {
  return loop::rewrite(root, [](const StmtPtr& s) -> StmtPtr {
    if (s->kind != StmtKind::If || s->value->kind != expr::ScalarKind::Const) return s;
    if (s->value->bits != 0) return s->body[0];
    return s->body.size() > 1 ? s->body[1] : nullptr;
  });
}

std::optional<SymbolId> uses_bound(Dim d, const StmtPtr& s) {
  std::optional<SymbolId> found;
  loop::for_each(s, [&](const Stmt& x) {
    if (loop::binds_variable(x) && expr::uses_symbol(d, x.var)) found = x.var;
  });
  return found;
}

Extents loops_below(const StmtPtr& root) {
  Extents out;
  const StmtPtr s = without_lets(root);
  loop::for_each(s, [&](const Stmt& f) {
    if (f.kind == StmtKind::For) out.emplace_back(f.var, f.extent);
  });
  return out;
}

}  // namespace pliant::schedule
