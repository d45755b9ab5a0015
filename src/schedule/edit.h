// One primitive at work on the schedule's state. Unless `commit` is reached, all that it changed is put back, so that a
// refused primitive changes nothing.
#pragma once
#include <set>

#include "loop/build.h"
#include "loop/walk.h"
#include "schedule/schedule.h"

namespace pliant::schedule {

using loop::Buffer;
using loop::BufferId;
using loop::ForKind;
using loop::make_for;
using loop::Scope;
using loop::Stmt;
using loop::StmtKind;
using loop::StmtPtr;
using loop::StoreKind;

// The loops, outermost first, with their extents.
using Extents = std::vector<std::pair<SymbolId, Dim>>;

// A map of the schedule's with the entries that were changed.
template <class Map>
class Journal {
 public:
  explicit Journal(Map& map) : map_(map) {}
  const Map& map() const { return map_; }
  // The last number that was taken behind this stem. Names are only added while a primitive is at work.
  int& last_number(const std::string& stem) { return numbers_[stem]; }
  void set(const std::string& key, typename Map::mapped_type value) {
    auto [at, added] = map_.try_emplace(key, value);
    before_.emplace_back(key, added ? std::nullopt : std::optional(at->second));
    at->second = value;
  }
  void undo() {
    for (; !before_.empty(); before_.pop_back())
      if (const auto& [key, value] = before_.back(); value)
        map_[key] = *value;
      else
        map_.erase(key);
  }

 private:
  Map& map_;
  std::map<std::string, int> numbers_;
  std::vector<std::pair<std::string, std::optional<typename Map::mapped_type>>> before_;
};

class Edit {
 public:
  // `line`: the primitive as the trace records it.
  Edit(Schedule& s, std::string line);
  // The line in parts: the verb, then names, sizes, numbers and, as literals, the words between them. An empty word or list
  // is left out.
  template <class... Parts>
  Edit(Schedule& s, const char* verb, const Parts&... parts) : Edit(s, std::string(verb)) {
    (write(parts), ...);
  }
  Edit(const Edit&) = delete;
  Edit& operator=(const Edit&) = delete;
  ~Edit();

  expr::Context& ctx;
  const loop::Function& function;
  const std::set<SymbolId>& symbols;  // the kernel's own: those that no loop binds
  std::map<SymbolId, Dim>& padded;
  std::vector<LoopTile>& tiles;

  void set_body(StmtPtr body) { schedule_.function_.body = std::move(body); }
  std::vector<Buffer>& params_to_change();

  Error refuse(const std::string& why) const;
  Result<StmtPtr> find_loop(std::string_view name) const;
  // Refuses a loop that is marked as well.
  Result<StmtPtr> find_serial_loop(std::string_view name) const;
  Result<Buffer> find_buffer(std::string_view name) const;
  // The Alloc of a buffer; null for a param.
  StmtPtr alloc_of(BufferId id) const;
  // `var`'s name in this schedule.
  std::string name_of(SymbolId var) const;

  // Whether `d` is at least 0: by proof, or as an axis of a param, which is memory that exists.
  bool is_size(Dim d) const;
  // A variable for a new loop of this name, which no other loop may have. `hi`: the highest value that it can take, where
  // that is known better than extent - 1.
  Result<Dim> new_index(std::string_view name, Dim extent, int64_t hi = expr::kNoLimit);
  // A name for a size of at least 1.
  Result<Dim> new_size(std::string_view name, Dim value);
  // As new_index, for a name of our own choice: `base`, or `base.1`, `base.2` … where that is taken.
  Dim derived_index(const std::string& base, Dim extent, int64_t hi = expr::kNoLimit);
  // A loop over such an index, which `body` gets.
  StmtPtr derived_loop(const std::string& base, Dim extent, ForKind kind, const loop::MakeBody& body,
                       int64_t hi = expr::kNoLimit);
  Result<BufferId> new_buffer(std::string_view name);
  Result<Buffer> new_buffer(std::string_view name, DType type, std::vector<Dim> shape, Scope scope);
  // Refuses to allocate `what`, which has this shape, where it cannot be.
  Status check_scope(const std::string& what, const std::vector<Dim>& shape, Scope scope) const;
  // A Local buffer of a name of our own choice.
  Buffer derived_buffer(const std::string& base, DType type, std::vector<Dim> shape);
  // Gives `fresh`, which stands for `var` in a copy, what is known of `var`.
  void copy_facts(SymbolId var, Dim fresh, const expr::DimMap& renamed);
  // A variable for a copy of the loop of `var`, of which the same is known; `renamed` is told of it.
  Dim copy_index(SymbolId var, Dim extent, expr::DimMap& renamed);
  // A variable that takes over the name of `var`, for a loop that may run further.
  Dim rename(SymbolId var, Dim extent);
  // `body` with symbols replaced, in what is known of its loops too.
  StmtPtr substitute(const StmtPtr& body, const expr::DimMap& map);
  // A copy whose loops and buffers have fresh names derived from the old ones.
  StmtPtr copy(const StmtPtr& s);

  void replace(const StmtPtr& old, StmtPtr now);
  // The statements that enclose `s`, outermost first; `s` itself is left out.
  std::vector<StmtPtr> enclosing(const StmtPtr& s) const;
  Extents enclosing_loops(const StmtPtr& s) const;

  Status commit();

 private:
  friend class Schedule;
  void write(const char* word);
  void write(std::string_view name);
  void write(int64_t number) { write(std::to_string(number).c_str()); }
  void write(Dim size);
  void write(Scope s) { write(s == Scope::Local ? "local" : s == Scope::Scratch ? "scratch" : "param"); }
  void write(const std::vector<int64_t>& list);
  void write(const std::vector<std::string>& names);
  template <class Map>
  static std::string free_name(Journal<Map>& names, const std::string& base);
  Dim make_index(const std::string& name, Dim extent, int64_t hi, int64_t lo = 0);
  void drop_stale_facts();
  void drop_stale_names();

  Schedule& schedule_;
  std::string line_;
  Journal<std::map<std::string, SymbolId, std::less<>>> vars_;
  Journal<std::map<std::string, BufferId, std::less<>>> buffers_;
  std::vector<SymbolId> made_;
  // As they were before.
  StmtPtr body_;
  std::optional<std::vector<Buffer>> params_;
  std::map<SymbolId, Dim> padded_;
  std::vector<LoopTile> tiles_;
  bool committed_ = false;
};

// Refuses a size that is not over the kernel's symbols alone.
Status check_known(const Edit& e, Dim size);
// Refuses unless loop `in` is all that loop `out` holds and the two may run as one.
Status check_fusable(const Edit& e, const StmtPtr& out, const StmtPtr& in);
// Refuses where a nest is no longer the instruction that it was made.
Status check_instructions(const Edit& e);

// Whether the list has each of 0 … count - 1 once.
bool is_permutation(std::vector<int64_t> order, size_t count);

// The first statement at or below `s`, in program order, that is wanted; null where there is none.
template <class Predicate>
StmtPtr find_first(const StmtPtr& s, Predicate is_wanted) {
  if (is_wanted(*s)) return s;
  for (const StmtPtr& child : s->body)
    if (StmtPtr found = find_first(child, is_wanted)) return found;
  return nullptr;
}
// The statements of a body: of a Block, or the one that it is.
std::vector<StmtPtr> statements_of(const StmtPtr& body);
// A body below the Allocs that it consists of.
struct Inside {
  std::vector<std::shared_ptr<const Buffer>> allocs;  // outermost first
  StmtPtr body;
  StmtPtr wrap(StmtPtr now) const;
};
Inside inside_allocs(StmtPtr body);
// What `s` does, without Lets: what they compute stands where it is used. Dependence is told between iterations of the loops
// that those values follow from.
StmtPtr without_lets(const StmtPtr& s);
// Without the branches that constants leave out.
StmtPtr without_known(const StmtPtr& s);
// A variable that a statement at or below `s` binds and `d` uses.
std::optional<SymbolId> uses_bound(Dim d, const StmtPtr& s);
// The loops at and below `s`, outermost first.
Extents loops_below(const StmtPtr& s);

}  // namespace pliant::schedule
