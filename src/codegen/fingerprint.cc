// Writes a kernel down with symbols and buffers numbered by first occurrence. Facts about symbols take part: code depends
// on what can be proved from them.
#include "codegen/fingerprint.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace pliant::codegen {

namespace {

class Writer {
 public:
  explicit Writer(expr::Context& ctx) : ctx_(ctx) {}

  std::string run(const KernelSource& source) {
    const loop::Function& f = *source.function;
    for (expr::SymbolId s : source.ints) symbol(s);
    word('|');
    for (const loop::Buffer& b : f.params) buffer(b);
    statement(*f.body);
    return std::move(out_);
  }

 private:
  void word(char c) { out_ += c; }
  void number(int64_t n) {
    out_ += std::to_string(n);
    out_ += ' ';
  }

  void symbol(expr::SymbolId s) {
    auto [it, is_new] = symbols_.try_emplace(s, symbols_.size());
    word('s');
    number(static_cast<int64_t>(it->second));
    if (!is_new) return;
    const expr::SymbolInfo& info = ctx_.info(s);
    number(info.lo);
    number(info.hi);
    number(info.multiple_of);
    if (info.upper) dim(*info.upper);
  }

  // Terms and factors are kept in the order of their making, which differs between equal kernels: they are written sorted.
  void dim(expr::Dim d) {
    std::vector<std::string> terms;
    std::string outer = std::move(out_);
    for (const auto& [monomial, coefficient] : d->terms) {
      std::vector<std::string> factors;
      for (const auto& [factor, power] : monomial->factors) {
        out_.clear();
        atom(*factor);
        if (power != 1) number(power);
        factors.push_back(std::move(out_));
      }
      out_.clear();
      number(coefficient);
      std::sort(factors.begin(), factors.end());
      for (const std::string& f : factors) out_ += f;
      terms.push_back(std::move(out_));
    }
    std::sort(terms.begin(), terms.end());
    out_ = std::move(outer);
    word('(');
    for (const std::string& t : terms) {
      out_ += t;
      word('+');
    }
    word(')');
  }

  void atom(const expr::Atom& a) {
    word(static_cast<char>('A' + static_cast<int>(a.kind)));
    if (a.kind == expr::AtomKind::Symbol) symbol(a.symbol);
    for (expr::Dim arg : a.args) dim(arg);
    if (a.scalar) scalar(expr::Scalar(a.scalar));
  }

  void scalar(expr::Scalar s) {
    auto [it, is_new] = scalars_.try_emplace(s.node(), scalars_.size());
    word('#');
    number(static_cast<int64_t>(it->second));
    if (!is_new) return;
    number(static_cast<int64_t>(s->kind));
    number(static_cast<int64_t>(s.dtype()));
    number(s->op);
    if (s->kind == expr::ScalarKind::Const) number(static_cast<int64_t>(s->bits));
    if (s->kind == expr::ScalarKind::Load) buffer_id(s->tensor);
    for (expr::Scalar a : s->args) scalar(a);
    for (expr::Dim d : s->index) dim(d);
  }

  void buffer_id(loop::BufferId id) {
    number(static_cast<int64_t>(buffers_.try_emplace(id, buffers_.size()).first->second));
  }

  void buffer(const loop::Buffer& b) {
    word('b');
    buffer_id(b.id);
    number(static_cast<int64_t>(b.dtype));
    number(static_cast<int64_t>(b.scope));
    number(b.is_output);
    for (expr::Dim d : b.shape) dim(d);
    word(':');
    for (expr::Dim d : b.strides) dim(d);
  }

  void statement(const loop::Stmt& s) {
    word('{');
    number(static_cast<int64_t>(s.kind));
    switch (s.kind) {
      case loop::StmtKind::Block: break;
      case loop::StmtKind::For:
        number(static_cast<int64_t>(s.for_kind));
        symbol(s.var);
        dim(s.extent);
        break;
      case loop::StmtKind::Store:
        number(static_cast<int64_t>(s.store_kind));
        buffer_id(s.buffer);
        for (expr::Dim d : s.index) dim(d);
        scalar(s.value);
        break;
      case loop::StmtKind::Let:
        symbol(s.var);
        dim(s.extent);
        break;
      case loop::StmtKind::While:
        symbol(s.var);
        number(s.extent ? 1 : 0);
        if (s.extent) dim(s.extent);
        if (s.value) scalar(s.value);
        break;
      case loop::StmtKind::If: scalar(s.value); break;
      case loop::StmtKind::Alloc: buffer(*s.alloc); break;
      case loop::StmtKind::Check:
        scalar(s.value);
        number(s.fault);
        for (expr::Dim d : s.index) dim(d);
        break;
    }
    for (const loop::StmtPtr& child : s.body) statement(*child);
    word('}');
  }

  expr::Context& ctx_;
  std::string out_;
  std::map<expr::SymbolId, size_t> symbols_;
  std::map<loop::BufferId, size_t> buffers_;
  std::unordered_map<const expr::ScalarNode*, size_t> scalars_;
};

}  // namespace

std::string fingerprint(const KernelSource& source, expr::Context& ctx) { return Writer(ctx).run(source); }

}  // namespace pliant::codegen
