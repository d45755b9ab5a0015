// Walking and rewriting loop statements.
#pragma once
#include <functional>
#include <map>

#include "loop/loop.h"

namespace pliant::loop {

// Every statement of the tree, parents before children, in program order.
void for_each(const StmtPtr& root, const std::function<void(const Stmt&)>& f);
// The Dims that the statement itself holds: the extent of a For or While, the value of a Let, the indices of a Store, the
// values of a Check.
void for_each_dim(const Stmt& s, const std::function<void(Dim)>& f);

// Every Load in those Dims, then in the value that is stored or asked for.
void for_each_load(const Stmt& s, const std::function<void(Scalar load)>& f);

// The statement with what `change` does to a copy of it.
template <class Change>
StmtPtr changed(const StmtPtr& s, Change change) {
  auto copy = std::make_shared<Stmt>(*s);
  change(*copy);
  return copy;
}
// Rebuilds the tree bottom up: `f` gets each statement with its children already rewritten and returns what replaces it
// (null drops it). Subtrees in which nothing changes are shared with the input.
StmtPtr rewrite(const StmtPtr& root, const std::function<StmtPtr(const StmtPtr&)>& f);
// The same statement over other children; gives `s` back when they are the same. Null children leave a Block; any other
// statement that loses its body becomes null.
StmtPtr with_body(const StmtPtr& s, std::vector<StmtPtr> body);

// Replaces symbols in every Dim and Scalar, and Loads through `load` where given (see expr::substitute). Variables that
// loops below `root` bind are not renamed: `map` must not name them, except through substitute_vars.
StmtPtr substitute(const StmtPtr& root, const expr::DimMap& map, const std::function<Scalar(Scalar load)>& load = {});
// The loads and stores of a buffer at the elements that `to` gives for them; where it gives nothing, they stay.
struct Element {
  BufferId buffer;
  std::vector<Dim> index;
};
StmtPtr redirect(const StmtPtr& root, expr::Context& ctx,
                 const std::function<std::optional<Element>(BufferId buffer, const std::vector<Dim>& index)>& to);
// A copy in which what `root` binds and declares has other symbols and names: every one of them.
struct Renaming {
  expr::DimMap vars;
  struct Declared {
    BufferId id;
    std::string name;
  };
  std::map<BufferId, Declared> buffers;
};
StmtPtr renamed(const StmtPtr& root, const Renaming& names, expr::Context& ctx);
// A copy whose loops bind fresh variables (named after the old ones) and whose Allocs declare fresh buffers.
StmtPtr fresh_copy(const StmtPtr& root, expr::Context& ctx);

}  // namespace pliant::loop
