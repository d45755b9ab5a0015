// The text of a loop function:
//
//   kernel matmul(%a: f32[m, k] const, %c: f32[m, n] strides [ld, 1] out) {
//     trap "row {0} is out of bounds"
//     for parallel i in m {
//       for tensor dot4 v in 16 { … }
//       for vector j in 16 {
//         let t0 = %a[i, j] * 2f32
//         %c[i, j] += exp(t0) + t0
//         if index(j) < index(n) { … } else { … }
//         check index(i) < index(m) trap 0 (i, m)
//         local %t: f32[14, 32] { … }
//         bind k = value(%n[0]) { … }
//         while i in m when %c[] { … }
//
// Inside brackets and after `in` stand Dims; elsewhere stand Scalars, whose literals carry their dtype. A `let` names a
// subexpression that the next statement uses more than once. The text does not depend on ids: terms and factors of a Dim are
// sorted by how they read, as expr::print does.
#include <charconv>
#include <set>

#include "loop/lexer.h"
#include "loop/loop.h"
#include "loop/print_expr.h"
#include "loop/walk.h"

namespace pliant::loop {
namespace {

const char* store_text(StoreKind k) {
  switch (k) {
    case StoreKind::Assign: return "=";
    case StoreKind::Add: return "+=";
    case StoreKind::Mul: return "*=";
    case StoreKind::Max: return "max=";
    case StoreKind::Min: return "min=";
    case StoreKind::And: return "and=";
    case StoreKind::Or: return "or=";
  }
  return "?";
}

std::string number_text(double v) {
  char buf[64];
  return {buf, std::to_chars(buf, buf + sizeof buf, v).ptr};
}

class Printer {
 public:
  Printer(const Function& f, expr::Context& ctx) : f_(f), ctx_(ctx), expr_(ctx) {
    for (const Buffer& b : f.params) add_name(b);
    for_each(f.body, [&](const Stmt& s) {
      if (s.alloc) add_name(*s.alloc);
    });
  }

  std::string run() {
    out_ = "kernel " + quote_name(f_.name) + "(";
    for (size_t i = 0; i < f_.params.size(); ++i) {
      const Buffer& b = f_.params[i];
      out_ += (i ? ", " : "") + declaration(b) + (b.is_constant ? " const" : "") + (b.is_output ? " out" : "");
    }
    out_ += ")";
    if (f_.flops_hint != 0) out_ += " flops " + number_text(f_.flops_hint);
    out_ += " {\n";
    for (const Trap& trap : f_.traps) line(1, "trap " + quote_string(trap.message));
    statement(f_.body, 1);
    return out_ + "}\n";
  }

 private:
  void add_name(const Buffer& b) {
    if (!seen_.insert(b.id).second) return;
    std::string base = b.name.empty() ? "b" : b.name, name = base;
    for (int k = 1; !taken_.insert(name).second; ++k) name = base + "." + std::to_string(k);
    expr_.set_name(b.id, name);
  }
  std::string declaration(const Buffer& b) {
    std::string s = expr_.buffer(b.id) + ": " + name_of(b.dtype) + expr_.bracketed(b.shape);
    if (!b.strides.empty()) s += " strides " + expr_.bracketed(b.strides);
    return s;
  }
  void line(int depth, const std::string& text) { out_ += std::string(2 * depth, ' ') + text + "\n"; }

  void print_lets(const StmtPtr& s, int depth) {
    for (auto& [name, text] : expr_.name_shared(*s)) line(depth, "let " + name + " = " + text);
  }

  void statement(const StmtPtr& s, int depth) {
    if (s->kind == StmtKind::Block) {
      for (const StmtPtr& child : s->body) statement(child, depth);
      return;
    }
    print_lets(s, depth);
    std::string indent(2 * depth, ' ');
    switch (s->kind) {
      case StmtKind::Block: break;
      case StmtKind::For: {
        std::string kind = s->for_kind == ForKind::Serial ? "" : std::string(name_of(s->for_kind)) + " ";
        if (s->for_kind == ForKind::Tensor) kind += quote_name(s->instruction) + " ";
        line(depth, "for " + kind + quote_name(ctx_.info(s->var).name) + " in " + expr_.dim(s->extent) + " {");
        braces(s->body[0], depth);
        out_ += "\n";
        break;
      }
      case StmtKind::Store:
        line(depth, std::string(s->non_temporal ? "stream " : "") + expr_.buffer(s->buffer) + expr_.bracketed(s->index) +
                        " " + store_text(s->store_kind) + " " + expr_.scalar(s->value));
        break;
      case StmtKind::If:
        out_ += indent;
        if_chain(s, depth);
        break;
      case StmtKind::Alloc:
        line(depth, std::string(s->alloc->scope == Scope::Local ? "local " : "scratch ") + declaration(*s->alloc) + " {");
        braces(s->body[0], depth);
        out_ += "\n";
        break;
      case StmtKind::Let:
        line(depth, "bind " + quote_name(ctx_.info(s->var).name) + " = " + expr_.dim(s->extent) + " {");
        braces(s->body[0], depth);
        out_ += "\n";
        break;
      case StmtKind::While: {
        std::string limit = s->extent ? " in " + expr_.dim(s->extent) : "";
        std::string condition = s->value ? " when " + expr_.scalar(s->value) : "";
        line(depth, "while " + quote_name(ctx_.info(s->var).name) + limit + condition + " {");
        braces(s->body[0], depth);
        out_ += "\n";
        break;
      }
      case StmtKind::Check:
        line(depth,
             "check " + expr_.scalar(s->value) + " trap " + std::to_string(s->trap) + " (" + expr_.list(s->index) + ")");
        break;
    }
  }

  // The statements of a body and the closing brace, after a line that opened it.
  void braces(const StmtPtr& body, int depth) {
    statement(body, depth + 1);
    out_ += std::string(2 * depth, ' ') + "}";
  }

  void if_chain(const StmtPtr& s, int depth) {
    out_ += "if " + expr_.scalar(s->value) + " {\n";
    braces(s->body[0], depth);
    if (s->body.size() == 1) {
      out_ += "\n";
      return;
    }
    const StmtPtr& otherwise = s->body[1];
    if (otherwise->kind == StmtKind::If) {
      std::string before = std::exchange(out_, "");
      print_lets(otherwise, depth + 1);
      bool has_lets = !out_.empty();
      out_ = before;
      if (!has_lets) {
        out_ += " else ";
        if_chain(otherwise, depth);
        return;
      }
    }
    out_ += " else {\n";
    braces(otherwise, depth);
    out_ += "\n";
  }

  const Function& f_;
  expr::Context& ctx_;
  ExprPrinter expr_;
  std::string out_;
  std::set<BufferId> seen_;
  std::set<std::string> taken_;
};

}  // namespace

std::string print(const Function& f, expr::Context& ctx) { return Printer(f, ctx).run(); }

}  // namespace pliant::loop
