// Writes a kernel down with symbols and buffers numbered by first occurrence. Facts about symbols take part: code depends
// on what can be proved from them.
#include "loop/compare/fingerprint.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "loop/walk.h"

namespace pliant::loop {

namespace {

class Writer {
 public:
  Writer(expr::Context& ctx, const BoundTrees* bounds) : ctx_(ctx), bounds_(bounds) {}

  std::string run(const Function& f, const std::vector<SymbolId>& ints) {
    own_ = ints;
    for_each(f.body, [&](const Stmt& s) {
      if (binds_variable(s)) own_.push_back(s.var);
    });
    for (expr::SymbolId s : ints) symbol(s);
    word('|');
    for (const Buffer& b : f.params) buffer(b);
    statement(*f.body);
    return std::move(out_);
  }

 private:
  void word(char c) { out_ += c; }
  template <class T>
  void number(T n) {
    out_ += std::to_string(static_cast<int64_t>(n));
    out_ += ' ';
  }
  void all(const std::vector<expr::Dim>& dims) {
    for (expr::Dim d : dims) dim(d);
    word(':');
  }

  bool is_own(expr::SymbolId s) const { return std::find(own_.begin(), own_.end(), s) != own_.end(); }

  void symbol(expr::SymbolId s) {
    if (!bounds_ && !is_own(s)) return free_symbol(s);
    auto [it, is_new] = symbols_.try_emplace(s, symbols_.size());
    word('s');
    number(it->second);
    if (!is_new) return;
    const expr::SymbolInfo& info = ctx_.info(s);
    number(info.lo);
    number(info.hi);
    number(info.multiple_of);
    if (info.upper && bounds_) bound(s);
    if (info.upper && !bounds_) dim(*info.upper);
  }

  // The symbol itself, and what is known of it at present.
  void free_symbol(expr::SymbolId s) {
    word('S');
    number(s);
    if (!symbols_.try_emplace(s, symbols_.size()).second) return;
    const expr::SymbolInfo& info = ctx_.info(s);
    const expr::Interval range = ctx_.range(ctx_.symbol_dim(s));
    for (int64_t fact : {range.lo, range.hi, info.multiple_of}) number(fact);
    if (info.upper) number((*info.upper)->id);
  }

  // Of bounds of bounds, what they tell about the kernel's own symbols. Beyond kMostBounds the symbol itself stands for all
  // that is known of it.
  void bound(expr::SymbolId s) {
    number(ctx_.range(ctx_.symbol_dim(s)).hi);
    const std::optional<expr::Dim> upper = bounds_->nearest(s, own_);
    if (!upper) return;
    if (depth_ == kMostBounds) {
      word('!');
      number(s);
      return;
    }
    ++depth_;
    dim(*upper);
    --depth_;
  }

  // Terms, factors and the arguments of min and max are kept in the order of their making, which differs between equal
  // kernels: they are written sorted. What is long is written once: sizes made of sizes share parts.
  void dim(expr::Dim d) {
    if (auto it = dims_.find(d.node()); it != dims_.end()) {
      word('@');
      number(it->second);
      return;
    }
    const size_t before = out_.size();
    dim_at_length(d);
    if (out_.size() - before > kShort) dims_.emplace(d.node(), dims_.size());
  }

  // The parts that `write` writes one by one for the elements of `of`, sorted.
  template <class Range, class Write>
  void sorted(const Range& of, char after, Write&& write) {
    std::vector<std::string> parts;
    std::string outer = std::exchange(out_, {});
    for (const auto& x : of) {
      write(x);
      parts.push_back(std::exchange(out_, {}));
    }
    out_ = std::move(outer);
    std::sort(parts.begin(), parts.end());
    for (const std::string& part : parts) {
      out_ += part;
      if (after) word(after);
    }
  }

  void dim_at_length(expr::Dim d) {
    word('(');
    sorted(d->terms, '+', [&](const auto& term) {
      number(term.second);
      sorted(term.first->factors, 0, [&](const auto& factor) {
        atom(*factor.first);
        if (factor.second != 1) number(factor.second);
      });
    });
    word(')');
  }

  void atom(const expr::Atom& a) {
    word(static_cast<char>('A' + static_cast<int>(a.kind)));
    if (a.kind == expr::AtomKind::Symbol) symbol(a.symbol);
    if (a.kind == expr::AtomKind::FloorDiv || a.kind == expr::AtomKind::Mod)
      for (expr::Dim arg : a.args) dim(arg);
    else
      sorted(a.args, 0, [&](expr::Dim arg) { dim(arg); });
    if (a.scalar) scalar(expr::Scalar(a.scalar));
  }

  void scalar(expr::Scalar s) {
    auto [it, is_new] = scalars_.try_emplace(s.node(), scalars_.size());
    word('#');
    number(it->second);
    if (!is_new) return;
    number(s->kind);
    number(s.dtype());
    number(s->op);
    if (s->kind == expr::ScalarKind::Const) number(s->bits);
    if (s->kind == expr::ScalarKind::Load) buffer_id(s->tensor);
    for (expr::Scalar a : s->args) scalar(a);
    for (expr::Dim d : s->index) dim(d);
  }

  void buffer_id(BufferId id) { number(buffers_.try_emplace(id, buffers_.size()).first->second); }

  void buffer(const Buffer& b) {
    word('b');
    buffer_id(b.id);
    number(b.dtype);
    number(b.scope);
    number(b.is_output);
    if (!bounds_) number(b.is_constant);
    if (!bounds_ && b.scope != Scope::Param) {
      number(b.name.size());
      out_ += b.name;
    }
    all(b.shape);
    all(b.strides);
  }

  void statement(const Stmt& s) {
    word('{');
    number(s.kind);
    number(s.for_kind);
    number(s.store_kind);
    number(s.non_temporal);
    number(s.trap);
    out_ += s.instruction;
    if (binds_variable(s)) symbol(s.var);
    number(bool(s.extent));
    if (s.extent) dim(s.extent);
    if (s.kind == StmtKind::Store) buffer_id(s.buffer);
    all(s.index);
    if (s.value) scalar(s.value);
    if (s.alloc) buffer(*s.alloc);
    for (const StmtPtr& child : s.body) statement(*child);
    word('}');
  }

  static constexpr int kMostBounds = 16;
  static constexpr size_t kShort = 256;
  expr::Context& ctx_;
  const BoundTrees* bounds_;  // null: free symbols are themselves, and what is allocated has a name
  std::string out_;
  int depth_ = 0;                    // of bounds that are being written
  std::vector<expr::SymbolId> own_;  // the kernel's symbols
  std::map<expr::SymbolId, size_t> symbols_;
  std::map<BufferId, size_t> buffers_;
  std::unordered_map<const expr::ScalarNode*, size_t> scalars_;
  std::unordered_map<const expr::DimNode*, size_t> dims_;
};

}  // namespace

BoundTrees::BoundTrees(expr::Context& ctx) : ctx_(ctx) {
  const uint32_t n = ctx.symbol_count();
  constexpr uint32_t kNone = UINT32_MAX;
  // Children as lists through `sibling`, then numbered parents first.
  std::vector<uint32_t> parent(n, kNone), child(n, kNone), sibling(n, kNone), roots;
  for (uint32_t s = 0; s < n; ++s) {
    const std::optional<expr::Dim>& upper = ctx.info(s).upper;
    const std::optional<expr::SymbolId> by = upper ? upper->as_symbol() : std::nullopt;
    if (!by) {
      roots.push_back(s);
      continue;
    }
    parent[s] = *by;
    sibling[s] = std::exchange(child[*by], s);
  }
  root_.assign(n, kNone);
  begin_.assign(n, 0);
  end_.assign(n, 0);
  uint32_t next = 0;
  for (uint32_t root : roots) {
    for (uint32_t s = root; s != kNone;) {
      root_[s] = root;
      begin_[s] = next++;
      if (child[s] != kNone) {
        s = child[s];
        continue;
      }
      for (end_[s] = next; s != root && sibling[s] == kNone;) {
        s = parent[s];
        end_[s] = next;
      }
      s = s == root ? kNone : sibling[s];
    }
  }
}

std::optional<expr::Dim> BoundTrees::nearest(expr::SymbolId s, const std::vector<expr::SymbolId>& symbols) const {
  std::optional<expr::SymbolId> found;
  for (expr::SymbolId t : symbols)
    if (t != s && begin_[t] < begin_[s] && begin_[s] < end_[t] && (!found || begin_[t] > begin_[*found])) found = t;
  return found ? ctx_.symbol_dim(*found) : ctx_.info(root_[s]).upper;
}

std::string fingerprint(const Function& f, const std::vector<SymbolId>& ints, const BoundTrees& bounds, expr::Context& ctx) {
  return Writer(ctx, &bounds).run(f, ints);
}

std::string fingerprint_over_symbols(const Function& f, expr::Context& ctx) { return Writer(ctx, nullptr).run(f, {}); }

}  // namespace pliant::loop
