// A text of loop functions in which loop variables and buffers are numbered by their place, so that the kernels of equal layers come
// out equal. Free symbols keep their names: they are the kernel's arguments.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "emit/emit.h"

namespace pliant::emit {

namespace {

using expr::Dim;
using expr::Scalar;

class Writer {
 public:
  explicit Writer(expr::Context& ctx) : ctx_(ctx) {}

  std::string write(const loop::Function& f) {
    for (const loop::Buffer& b : f.params) {
      buffer(b);
      out_ += b.is_output ? "o" : "i";
    }
    for (const loop::Fault& fault : f.faults) out_ += "!" + fault.message + "@" + describe(fault.loc);
    stmt(*f.body);
    return std::move(out_);
  }

 private:
  void buffer(const loop::Buffer& b) {
    std::string name = "b" + std::to_string(buffers_.size());
    buffers_[b.id] = name;
    out_ += name + ":" + name_of(b.dtype) + std::to_string(static_cast<int>(b.scope));
    for (Dim d : b.shape) out_ += "[" + dim(d) + "]";
    for (Dim d : b.strides) out_ += "{" + dim(d) + "}";
  }

  std::string atom(const expr::Atom& a) {
    if (a.kind == expr::AtomKind::Symbol) {
      auto it = vars_.find(a.symbol);
      return it != vars_.end() ? it->second : "$" + ctx_.info(a.symbol).name;
    }
    if (a.kind == expr::AtomKind::Value) return "v(" + scalar(Scalar(a.scalar)) + ")";
    std::vector<std::string> args;
    for (Dim d : a.args) args.push_back(dim(d));
    if (a.kind != expr::AtomKind::FloorDiv && a.kind != expr::AtomKind::Mod) std::sort(args.begin(), args.end());
    std::string s = "a" + std::to_string(static_cast<int>(a.kind)) + "(";
    for (const std::string& x : args) s += x + ",";
    return s + ")";
  }

  // Terms are sorted as texts: their order in the polynomial depends on when symbols were made.
  std::string dim(Dim d) {
    if (d.is_const()) return std::to_string(d.const_value());
    std::vector<std::string> terms;
    for (const auto& [mono, coefficient] : d->terms) {
      std::vector<std::string> factors;
      for (const auto& [a, power] : mono->factors) factors.push_back(atom(*a) + "^" + std::to_string(power));
      std::sort(factors.begin(), factors.end());
      std::string t = std::to_string(coefficient);
      for (const std::string& x : factors) t += "*" + x;
      terms.push_back(t);
    }
    std::sort(terms.begin(), terms.end());
    std::string s;
    for (const std::string& t : terms) s += "+" + t;
    return s;
  }

  // Shared parts of a Scalar are written once and then named by number.
  std::string scalar(Scalar s) {
    auto it = scalars_.find(s.node());
    if (it != scalars_.end()) return "#" + std::to_string(it->second);
    std::string t = "(" + std::to_string(static_cast<int>(s->kind)) + name_of(s->dtype) + std::to_string(s->op) + "," + std::to_string(s->bits);
    if (s->kind == expr::ScalarKind::Load) t += buffers_.at(s->tensor);
    for (Dim d : s->index) t += "[" + dim(d) + "]";
    for (Scalar a : s->args) t += scalar(a);
    scalars_[s.node()] = scalars_.size();
    return t + ")";
  }

  std::string scalar_in_scope(Scalar s) {
    // Numbers of shared parts do not outlive the statement: variables may be bound anew.
    scalars_.clear();
    return scalar(s);
  }

  void stmt(const loop::Stmt& s) {
    out_ += "\n" + std::to_string(static_cast<int>(s.kind));
    switch (s.kind) {
      case loop::StmtKind::For:
        out_ += "x" + std::to_string(static_cast<int>(s.for_kind)) + dim(s.extent);
        vars_[s.var] = "i" + std::to_string(next_var_++);
        break;
      case loop::StmtKind::Alloc: buffer(*s.alloc); break;
      case loop::StmtKind::Store:
        out_ += buffers_.at(s.buffer) + std::to_string(static_cast<int>(s.store_kind));
        for (Dim d : s.index) out_ += "[" + dim(d) + "]";
        out_ += scalar_in_scope(s.value);
        break;
      case loop::StmtKind::If: out_ += scalar_in_scope(s.value); break;
      case loop::StmtKind::Check:
        out_ += std::to_string(s.fault) + scalar_in_scope(s.value);
        for (Dim d : s.index) out_ += "[" + dim(d) + "]";
        break;
      case loop::StmtKind::Block: break;
    }
    out_ += "{";
    for (const loop::StmtPtr& b : s.body) stmt(*b);
    out_ += "}";
  }

  expr::Context& ctx_;
  std::string out_;
  std::unordered_map<expr::SymbolId, std::string> vars_;
  std::map<loop::BufferId, std::string> buffers_;
  std::unordered_map<const expr::ScalarNode*, size_t> scalars_;
  size_t next_var_ = 0;
};

}  // namespace

std::string canonical_text(const loop::Function& f, expr::Context& ctx) { return Writer(ctx).write(f); }

}  // namespace pliant::emit
