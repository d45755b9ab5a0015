#include "codegen/polls.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <unordered_set>

#include "loop/walk.h"
#include "machine/pages.h"

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

// What a store costs that meets new pages, in operations: a huge page is half a turn. Below a small page, the bytes of many
// iterations lie on one.
double work_of_pages(int64_t bytes) {
  if (bytes < machine::kPage) return 0;
  return kOperationsOfOneTurn * static_cast<double>(std::min(bytes, machine::kHugePage)) /
         static_cast<double>(kBytesOfOneTurn);
}

class Placement {
 public:
  Placement(const loop::Function& f, expr::Context& ctx) : ctx_(ctx) {
    loop::for_each(f.body, [&](const Stmt& s) {
      if (loop::binds_variable(s)) inside_.insert(s.var);
      if (s.kind == StmtKind::Alloc && s.alloc->scope == loop::Scope::Local) locals_.insert(s.alloc->id);
    });
  }

  // Lists the loops of a statement; gives the most that it does without a look at the flag.
  double place(const Stmt& s) {
    const size_t stores_before = stores_.size();
    if (s.kind == StmtKind::Store && locals_.count(s.buffer) == 0) stores_.push_back(&s);
    const bool has_lanes = s.kind == StmtKind::For && s.for_kind == ForKind::Vector;
    const bool is_known = loop::binds_variable(s) && !has_lanes;
    if (is_known) inside_.erase(s.var);
    vectors_ += has_lanes;
    double most = 0, sum = 0;
    Buffers written;
    for (const StmtPtr& child : s.body) {
      const size_t before = stores_.size();
      const double w = place(*child);
      most = std::max(most, w);
      sum += w;
      if (s.kind == StmtKind::Block && vectors_ == 0) look_between(*child, before, written);
    }
    vectors_ -= has_lanes;
    if (is_known) inside_.insert(s.var);
    double work = own_work(s) + (s.kind == StmtKind::If ? most : sum);
    if (s.kind != StmtKind::For) return work;
    switch (s.for_kind) {
      case ForKind::Vector: return work * std::max(1.0, static_cast<double>(s.extent.const_value()) / kLanes);
      case ForKind::Unroll: return work * static_cast<double>(s.extent.const_value());
      case ForKind::Tensor: return work;
      case ForKind::Parallel:
      case ForKind::Outline:
      case ForKind::Serial: break;
    }
    const Strides strides = strides_of(s, stores_before);
    work += strides.work;
    const double iterations = most_iterations(s);
    if (iterations * work <= kOperationsOfOneTurn) return iterations * work;
    polls_.loops[&s] = {turn_of(work), strides.open};
    return std::max(work, kOperationsOfOneTurn);
  }
  Polls take() { return std::move(polls_); }

 private:
  using Buffers = std::unordered_set<loop::BufferId>;
  // `written`: the buffers that the statements since the last look write to, and then those of `child` as well.
  void look_between(const Stmt& child, size_t first_store, Buffers& written) {
    Buffers own, all = written;
    for (size_t i = first_store; i < stores_.size(); ++i) own.insert(stores_[i]->buffer);
    all.insert(own.begin(), own.end());
    if (!written.empty() && all.size() > kBuffersBetweenLooks) {
      polls_.before.insert(&child);
      all = own;
    }
    written = std::move(all);
  }
  double most_iterations(const Stmt& s) {
    const int64_t last = ctx_.info(s.var).hi;
    const int64_t most = std::min(ctx_.range(s.extent).hi, last == INT64_MAX ? last : last + 1);
    return most == INT64_MAX ? std::numeric_limits<double>::infinity() : static_cast<double>(std::max<int64_t>(most, 0));
  }
  static int64_t turn_of(double work) {
    return std::max<int64_t>(1, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(kOperationsOfOneTurn / work))));
  }

  // How far apart the iterations of a loop write: work where that is a known number, the largest of the first few others
  // that are known where the loop begins.
  struct Strides {
    double work = 0;
    Dim open;
  };
  Strides strides_of(const Stmt& s, size_t first_store) const {
    constexpr size_t kMostOpen = 4;
    Strides out;
    std::vector<Dim> open;
    for (size_t i = first_store; i < stores_.size(); ++i) {
      const Stmt& store = *stores_[i];
      const std::optional<Dim> apart = expr::coefficient_of(store.index[0], s.var);
      if (!apart) continue;
      const Dim bytes = *apart * byte_size(store.value->dtype);
      if (bytes.is_const()) {
        out.work += work_of_pages(std::abs(bytes.const_value()));
      } else if (open.size() < kMostOpen && std::find(open.begin(), open.end(), bytes) == open.end() &&
                 is_known_before(bytes)) {
        open.push_back(bytes);
        const Dim distance = expr::max(expr::max(bytes, -bytes), ctx_.constant(1));
        out.open = out.open ? expr::max(out.open, distance) : distance;
      }
    }
    return out;
  }
  bool is_known_before(Dim d) const {
    for (expr::SymbolId symbol : expr::symbols_of(d))
      if (inside_.count(symbol)) return false;
    return expr::loads_of(expr::make_index(d)).empty();
  }

  expr::Context& ctx_;
  Polls polls_;
  std::vector<const Stmt*> stores_;            // to memory, so far
  std::unordered_set<expr::SymbolId> inside_;  // bound by statements that do not stand around this one, or by lanes
  std::unordered_set<loop::BufferId> locals_;
  int vectors_ = 0;  // vector loops around
};

}  // namespace

Polls place_polls(const loop::Function& f, expr::Context& ctx) {
  Placement placement(f, ctx);
  if (f.body) placement.place(*f.body);
  return placement.take();
}

}  // namespace pliant::codegen
