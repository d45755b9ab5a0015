// Writes a kernel down with symbols and buffers numbered by first occurrence. Facts about symbols take part: code depends
// on what can be proved from them.
#include "codegen/fingerprint.h"

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

  void dim(expr::Dim d) {
    word('(');
    for (const auto& [monomial, coefficient] : d->terms) {
      number(coefficient);
      for (const auto& [atom, power] : monomial->factors) {
        word(static_cast<char>('A' + static_cast<int>(atom->kind)));
        if (power != 1) number(power);
        if (atom->kind == expr::AtomKind::Symbol) symbol(atom->symbol);
        for (expr::Dim arg : atom->args) dim(arg);
        if (atom->scalar) scalar(expr::Scalar(atom->scalar));
      }
      word('+');
    }
    word(')');
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

  void buffer_id(loop::BufferId id) { number(static_cast<int64_t>(buffers_.try_emplace(id, buffers_.size()).first->second)); }

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
        dim(s.extent);
        symbol(s.var);
        break;
      case loop::StmtKind::Store:
        number(static_cast<int64_t>(s.store_kind));
        buffer_id(s.buffer);
        for (expr::Dim d : s.index) dim(d);
        scalar(s.value);
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
