// The text of expressions inside loop functions; print.cc describes the syntax.
#pragma once
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "loop/loop.h"

namespace pliant::loop {

class ExprPrinter {
 public:
  explicit ExprPrinter(expr::Context& ctx) : ctx_(ctx) {}
  void set_name(BufferId id, std::string name) { names_[id] = std::move(name); }
  std::string buffer(BufferId id) const;
  std::string dim(Dim d);
  std::string list(const std::vector<Dim>& dims);  // `a, b`
  std::string bracketed(const std::vector<Dim>& dims) { return "[" + list(dims) + "]"; }
  // `strength`: what surrounds the text binds at least this tightly; 0 for nothing.
  std::string scalar(Scalar s, int strength = 0);
  // Names the subexpressions that statement `s` itself uses more than once, until the next call: (name, text), in the order
  // in which they build on each other.
  std::vector<std::pair<std::string, std::string>> name_shared(const Stmt& s);

 private:
  std::string atom(const expr::Atom& a);
  std::string call(const std::string& name, const std::vector<Scalar>& args);
  std::string scalar_body(Scalar s, int strength);
  void count(Scalar s);
  void count(Dim d);

  expr::Context& ctx_;
  std::map<BufferId, std::string> names_;
  std::unordered_map<const expr::ScalarNode*, std::string> lets_;
  // Of one statement: the parents of every node, and the nodes, children first.
  std::unordered_map<const expr::ScalarNode*, int> uses_;
  std::vector<Scalar> order_;
};

}  // namespace pliant::loop
