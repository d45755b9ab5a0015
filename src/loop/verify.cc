#include "loop/verify.h"

#include <map>
#include <set>
#include <utility>

#include "loop/walk.h"

namespace pliant::loop {
namespace {

class Verifier {
 public:
  Verifier(const Function& f, expr::Context& ctx, bool looks_inside) : f_(f), ctx_(ctx), looks_inside_(looks_inside) {}

  Status run() {
    for_each(f_.body, [&](const Stmt& s) {
      if (binds_variable(s)) loop_vars_.insert(s.var);
    });
    for (const Buffer& b : f_.params) {
      if (b.scope != Scope::Param) report("param %" + b.name + " has another scope");
      if (b.is_constant && b.is_output) report("param %" + b.name + " is constant and written");
      declare(b);
    }
    if (!f_.body) report("the kernel has no body");
    if (f_.body) statement(*f_.body, true);
    if (error_.diagnostics.empty()) return ok();
    return std::move(error_);
  }

 private:
  void report(const std::string& message) {
    error_.diagnostics.push_back({"loop-verify", "kernel \"" + f_.name + "\"", message});
  }

  void declare(const Buffer& b) {
    if (!buffers_.emplace(b.id, &b).second) report("buffer %" + b.name + " is declared twice");
    if (!b.strides.empty() && b.strides.size() != b.shape.size()) report("strides of %" + b.name + " have another rank");
    for (const auto* dims : {&b.shape, &b.strides})
      for (Dim d : *dims) {
        for (SymbolId s : expr::symbols_of(d))
          if (loop_vars_.count(s)) report("the shape of %" + b.name + " uses the loop variable " + ctx_.info(s).name);
        if (!expr::loads_of(expr::make_index(d)).empty()) report("the shape of %" + b.name + " reads memory");
        if (b.scope == Scope::Local && !d.is_const())
          report("local buffer %" + b.name + " has a shape that is not constant");
      }
  }

  void access(BufferId id, size_t rank, DType t, const char* what) {
    auto it = buffers_.find(id);
    if (it == buffers_.end()) return report(std::string("a ") + what + " is of a buffer that is not in scope");
    const Buffer& b = *it->second;
    if (b.shape.size() != rank)
      report(std::string("a ") + what + " of %" + b.name + " has " + std::to_string(rank) + " indices for rank " +
             std::to_string(b.shape.size()));
    if (b.dtype != t)
      report(std::string("a ") + what + " of %" + b.name + " has dtype " + name_of(t) + " for " + name_of(b.dtype));
  }

  void dim(Dim d) { scalar(expr::make_index(d)); }
  void scalar(Scalar s) {
    if (!looks_inside_) return;
    for (SymbolId id : expr::symbols_of(s))
      if (loop_vars_.count(id) && !active_.count(id)) report("variable " + ctx_.info(id).name + " is read outside its loop");
    for (Scalar l : expr::loads_of(s)) access(l->tensor, l->index.size(), l.dtype(), "load");
  }
  void condition(const Stmt& s, const char* what) {
    scalar(s.value);
    if (s.value.dtype() != DType::Bool) report(std::string("the condition of ") + what + " is not a bool");
  }

  // `outermost`: every enclosing statement is a Parallel loop that holds nothing else.
  void statement(const Stmt& s, bool outermost) {
    switch (s.kind) {
      case StmtKind::Block:
        for (const StmtPtr& child : s.body) statement(*child, false);
        break;
      case StmtKind::For: for_loop(s, outermost); break;
      case StmtKind::Store: store(s); break;
      case StmtKind::If:
        condition(s, "an if");
        for (const StmtPtr& child : s.body) statement(*child, false);
        break;
      case StmtKind::Alloc:
        if (s.alloc->scope == Scope::Param) report("buffer %" + s.alloc->name + " inside the body has the scope of a param");
        declare(*s.alloc);
        statement(*s.body[0], false);
        buffers_.erase(s.alloc->id);
        break;
      case StmtKind::Let:
        dim(s.extent);
        variable(s);
        break;
      case StmtKind::While: while_loop(s); break;
      case StmtKind::Check:
        condition(s, "a check");
        for (Dim d : s.index) dim(d);
        if (s.trap >= f_.traps.size()) report("a check names trap " + std::to_string(s.trap) + ", which does not exist");
        if (s.index.size() > 8) report("a check has more than 8 values");
        break;
    }
  }

  void store(const Stmt& s) {
    for (Dim d : s.index) dim(d);
    scalar(s.value);
    access(s.buffer, s.index.size(), s.value.dtype(), "store");
    auto it = buffers_.find(s.buffer);
    if (it != buffers_.end() && it->second->scope == Scope::Param && !it->second->is_output)
      report("param %" + it->second->name + " is written but is not an output");
    if (s.non_temporal && (s.store_kind != StoreKind::Assign || it == buffers_.end() || it->second->scope != Scope::Param))
      report("a non-temporal store updates, or is not to a param");
    bool logical = s.store_kind == StoreKind::And || s.store_kind == StoreKind::Or;
    if (logical && s.value.dtype() != DType::Bool) report("a logical store has a value that is not a bool");
  }

  void for_loop(const Stmt& s, bool outermost) {
    const std::string& name = ctx_.info(s.var).name;
    dim(s.extent);
    bool constant = s.for_kind == ForKind::Vector || s.for_kind == ForKind::Unroll || s.for_kind == ForKind::Tensor;
    if (constant && !s.extent.is_const())
      report(std::string(name_of(s.for_kind)) + " loop " + name + " has an extent that is not constant");
    if (s.for_kind == ForKind::Parallel) {
      if (!outermost) report("parallel loop " + name + " is not outermost");
      for (SymbolId id : expr::symbols_of(s.extent))
        if (loop_vars_.count(id)) report("the extent of parallel loop " + name + " depends on another loop");
      if (!expr::loads_of(expr::make_index(s.extent)).empty())
        report("the extent of parallel loop " + name + " reads memory");
    }
    bounded(s);
    if (s.for_kind == ForKind::Tensor) instruction(s);
    const bool in_vector = std::exchange(in_vector_, in_vector_ || s.for_kind == ForKind::Vector);
    variable(s, outermost && s.for_kind == ForKind::Parallel);
    in_vector_ = in_vector;
  }

  // What the instruction computes is not known here.
  void instruction(const Stmt& s) {
    const std::string what = "instruction " + s.instruction + " of loop " + ctx_.info(s.var).name;
    if (in_vector_) report(what + " is inside a vector loop");
    for (const StmtPtr& child : s.body)
      for_each(child, [&](const Stmt& inner) {
        const bool serial = inner.kind == StmtKind::For && inner.for_kind == ForKind::Serial;
        if (!serial && inner.kind != StmtKind::Store && inner.kind != StmtKind::Block)
          report(what + " holds more than serial loops and stores");
      });
  }

  // The condition sees the variable: before the first iteration it is 0, after the last the number of iterations.
  void while_loop(const Stmt& s) {
    if (s.extent) {
      dim(s.extent);
      bounded(s);
    }
    if (s.value) {
      bool added = active_.insert(s.var).second;
      condition(s, "a while");
      if (added) active_.erase(s.var);
    }
    variable(s);
  }

  void bounded(const Stmt& s) {
    const auto& upper = ctx_.info(s.var).upper;
    if (upper && ctx_.less_equal(s.extent - 1, *upper) == expr::Tri::No)
      report("loop " + ctx_.info(s.var).name + " runs past the bound that is known of its variable");
  }

  // The body, in which the variable is known.
  void variable(const Stmt& s, bool outermost = false) {
    if (!active_.insert(s.var).second) return report("variable " + ctx_.info(s.var).name + " is bound twice in one nest");
    statement(*s.body[0], outermost);
    active_.erase(s.var);
  }

  const Function& f_;
  expr::Context& ctx_;
  const bool looks_inside_;
  Error error_;
  std::set<SymbolId> loop_vars_, active_;
  bool in_vector_ = false;
  std::map<BufferId, const Buffer*> buffers_;
};

}  // namespace

Status verify(const Function& f, expr::Context& ctx) { return Verifier(f, ctx, true).run(); }
Status verify_statements(const Function& f, expr::Context& ctx) { return Verifier(f, ctx, false).run(); }

}  // namespace pliant::loop
