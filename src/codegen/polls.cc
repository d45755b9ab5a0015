#include "codegen/polls.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <unordered_set>

#include "loop/walk.h"

namespace pliant::codegen {

using expr::Dim;
using expr::Scalar;
using loop::ForKind;
using loop::Stmt;
using loop::StmtKind;
using loop::StmtPtr;

namespace {

constexpr double kLanes = 16;          // a vector of up to so many elements is one operation
constexpr double kLongOperation = 16;  // a division, a root, a call of a mathematical function

// Operations in expressions, those that occur in several places once.
class Work {
 public:
  void add(Scalar s) {
    if (!seen_.insert(s.node()).second) return;
    total_ += is_long(s) ? kLongOperation : 1;
    for (Scalar a : s->args) add(a);
    for (Dim d : s->index) add(d);
  }
  void add(Dim d) {
    if (!d || !seen_.insert(d.node()).second) return;
    for (const auto& [monomial, coefficient] : d->terms) {
      total_ += 1;
      for (const auto& [atom, power] : monomial->factors) add(*atom);
    }
  }
  double total() const { return total_; }

 private:
  void add(const expr::Atom& a) {
    if (a.kind == expr::AtomKind::Value) return add(Scalar(a.scalar));
    if (a.kind == expr::AtomKind::FloorDiv || a.kind == expr::AtomKind::Mod) total_ += kLongOperation;
    for (Dim d : a.args) add(d);
  }
  static bool is_long(Scalar s) {
    if (s->kind == expr::ScalarKind::Unary) return s->unary() >= expr::UnaryOp::Exp && s->unary() <= expr::UnaryOp::Sigmoid;
    if (s->kind != expr::ScalarKind::Binary) return false;
    const expr::BinaryOp op = s->binary();
    return op == expr::BinaryOp::Div || op == expr::BinaryOp::Mod || op == expr::BinaryOp::Rem ||
           op == expr::BinaryOp::Pow || op == expr::BinaryOp::Atan2;
  }

  std::unordered_set<const void*> seen_;
  double total_ = 0;
};

// What a statement does by itself: its own expressions.
double own_work(const Stmt& s) {
  Work work;
  if (s.value) work.add(s.value);
  loop::for_each_dim(s, [&](Dim d) { work.add(d); });
  return work.total() + 1;
}

class Placement {
 public:
  explicit Placement(expr::Context& ctx) : ctx_(ctx) {}

  // Lists the loops of a statement; gives the most that it does without a look at the flag.
  double place(const Stmt& s) {
    double most = 0, sum = 0;
    for (const StmtPtr& child : s.body) {
      const double w = place(*child);
      most = std::max(most, w);
      sum += w;
    }
    const double work = own_work(s) + (s.kind == StmtKind::If ? most : sum);
    if (s.kind != StmtKind::For) return work;
    switch (s.for_kind) {
      case ForKind::Vector: return work * std::max(1.0, static_cast<double>(s.extent.const_value()) / kLanes);
      case ForKind::Unroll: return work * static_cast<double>(s.extent.const_value());
      case ForKind::Tensor: return work;
      case ForKind::Parallel:
      case ForKind::Serial: break;
    }
    const double iterations = most_iterations(s);
    if (iterations * work <= kOperationsOfOneTurn) return iterations * work;
    polls_[&s] = turn_of(work);
    return std::max(work, kOperationsOfOneTurn);
  }
  Polls take() { return std::move(polls_); }

 private:
  double most_iterations(const Stmt& s) {
    const int64_t most = ctx_.range(s.extent).hi;
    return most == INT64_MAX ? std::numeric_limits<double>::infinity() : static_cast<double>(std::max<int64_t>(most, 0));
  }
  static int64_t turn_of(double work) {
    return std::max<int64_t>(1, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(kOperationsOfOneTurn / work))));
  }

  expr::Context& ctx_;
  Polls polls_;
};

}  // namespace

Polls place_polls(const loop::Function& f, expr::Context& ctx) {
  Placement placement(ctx);
  if (f.body) placement.place(*f.body);
  return placement.take();
}

}  // namespace pliant::codegen
