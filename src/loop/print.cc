// The text of a loop function:
//
//   kernel matmul(%a: f32[m, k] const, %c: f32[m, n] strides [ld, 1] out) {
//     fault "row {0} is out of bounds"
//     for parallel i in m {
//       for vector j in 16 {
//         let t0 = %a[i, j] * 2f32
//         %c[i, j] += exp(t0) + t0
//         if index(j) < index(n) { … } else { … }
//         check index(i) < index(m) fault 0 (i, m)
//         local %t: f32[14, 32] { … }
//
// Inside brackets and after `in` stand Dims; elsewhere stand Scalars, whose literals carry their dtype. A `let` names a
// subexpression that the next statement uses more than once. The text does not depend on ids: terms and factors of a Dim are
// sorted by how they read, as expr::print does.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "base/half.h"
#include "loop/lexer.h"
#include "loop/loop.h"
#include "loop/walk.h"

namespace pliant::loop {
namespace {

using expr::AtomKind;
using expr::BinaryOp;
using expr::ScalarKind;
using expr::ScalarNode;

// Binding strength of the infix operators; 0 for operations that are written as calls.
struct Infix {
  const char* text;
  int strength;
};
Infix infix_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::Or:
      return {"||", 1};
    case BinaryOp::And:
      return {"&&", 2};
    case BinaryOp::Eq:
      return {"==", 3};
    case BinaryOp::Ne:
      return {"!=", 3};
    case BinaryOp::Lt:
      return {"<", 3};
    case BinaryOp::Le:
      return {"<=", 3};
    case BinaryOp::Gt:
      return {">", 3};
    case BinaryOp::Ge:
      return {">=", 3};
    case BinaryOp::Add:
      return {"+", 4};
    case BinaryOp::Sub:
      return {"-", 4};
    case BinaryOp::Mul:
      return {"*", 5};
    case BinaryOp::Div:
      return {"/", 5};
    default:
      return {"", 0};
  }
}

const char* store_text(StoreKind k) {
  switch (k) {
    case StoreKind::Assign:
      return "=";
    case StoreKind::Add:
      return "+=";
    case StoreKind::Mul:
      return "*=";
    case StoreKind::Max:
      return "max=";
    case StoreKind::Min:
      return "min=";
    case StoreKind::And:
      return "and=";
    case StoreKind::Or:
      return "or=";
  }
  return "?";
}

template <class T>
std::string shortest(T v) {
  char buf[64];
  return {buf, std::to_chars(buf, buf + sizeof buf, v).ptr};
}

std::string constant_text(const ScalarNode& n) {
  auto floating = [&](auto v) -> std::string {
    if (std::isnan(v)) {
      char buf[32];
      char* end = std::to_chars(buf, buf + sizeof buf, n.bits, 16).ptr;
      return std::string("nan(0x") + std::string(buf, end) + ")" + name_of(n.dtype);
    }
    if (std::isinf(v)) return std::string(v < 0 ? "-inf." : "inf.") + name_of(n.dtype);
    return shortest(v) + name_of(n.dtype);
  };
  switch (n.dtype) {
    case DType::Bool:
      return n.bits ? "true" : "false";
    case DType::F16:
      return floating(f16_to_f32(static_cast<uint16_t>(n.bits)));
    case DType::BF16:
      return floating(bf16_to_f32(static_cast<uint16_t>(n.bits)));
    case DType::F32:
      return floating(std::bit_cast<float>(static_cast<uint32_t>(n.bits)));
    case DType::F64:
      return floating(std::bit_cast<double>(n.bits));
    default:
      return (is_unsigned_int(n.dtype) ? shortest(n.bits) : shortest(static_cast<int64_t>(n.bits))) + name_of(n.dtype);
  }
}

class Printer {
 public:
  Printer(const Function& f, expr::Context& ctx) : f_(f), ctx_(ctx) {
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
    if (f_.flops_hint != 0) out_ += " flops " + shortest(f_.flops_hint);
    out_ += " {\n";
    for (const Fault& fault : f_.faults) line(1, "fault " + quote_string(fault.message));
    statement(f_.body, 1);
    return out_ + "}\n";
  }

 private:
  void add_name(const Buffer& b) {
    if (names_.count(b.id)) return;
    std::string name = b.name.empty() ? "b" : b.name;
    for (int k = 1; !taken_.insert(name).second; ++k) name = b.name + "." + std::to_string(k);
    names_[b.id] = name;
  }
  std::string buffer(BufferId id) const {
    auto it = names_.find(id);
    return "%" + (it == names_.end() ? "unknown." + std::to_string(id) : quote_name(it->second));
  }
  std::string declaration(const Buffer& b) {
    std::string s = buffer(b.id) + ": " + name_of(b.dtype) + bracketed(b.shape);
    if (!b.strides.empty()) s += " strides " + bracketed(b.strides);
    return s;
  }
  void line(int depth, const std::string& text) { out_ += std::string(2 * depth, ' ') + text + "\n"; }

  std::string bracketed(const std::vector<Dim>& dims) { return "[" + list(dims) + "]"; }
  std::string list(const std::vector<Dim>& dims) {
    std::string s;
    for (size_t i = 0; i < dims.size(); ++i) s += (i ? ", " : "") + dim(dims[i]);
    return s;
  }

  std::string atom(const expr::Atom& a) {
    auto call = [&](const char* name) {
      std::vector<std::string> args;
      for (Dim d : a.args) args.push_back(dim(d));
      if (a.kind != AtomKind::FloorDiv && a.kind != AtomKind::Mod) std::sort(args.begin(), args.end());
      std::string s = std::string(name) + "(";
      for (size_t i = 0; i < args.size(); ++i) s += (i ? ", " : "") + args[i];
      return s + ")";
    };
    switch (a.kind) {
      case AtomKind::Symbol:
        return quote_name(ctx_.info(a.symbol).name);
      case AtomKind::FloorDiv:
        return call("floordiv");
      case AtomKind::Mod:
        return call("mod");
      case AtomKind::Min:
        return call("min");
      case AtomKind::Max:
        return call("max");
      case AtomKind::Broadcast:
        return call("broadcast");
      case AtomKind::Value:
        return "value(" + scalar(Scalar(a.scalar), 0) + ")";
    }
    return "?";
  }

  std::string dim(Dim d) {
    struct Term {
      uint32_t degree = 0;
      std::string text;
      int64_t coefficient;
    };
    std::vector<Term> terms;
    for (auto [monomial, coefficient] : d->terms) {
      Term t{.coefficient = coefficient};
      std::vector<std::string> factors;
      for (auto [a, power] : monomial->factors) {
        factors.insert(factors.end(), power, atom(*a));
        t.degree += power;
      }
      std::sort(factors.begin(), factors.end());
      for (const std::string& factor : factors) t.text += (t.text.empty() ? "" : "*") + factor;
      terms.push_back(std::move(t));
    }
    std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
      if (a.degree != b.degree) return a.degree > b.degree;
      if ((a.coefficient > 0) != (b.coefficient > 0)) return a.coefficient > 0;
      return a.text < b.text;
    });
    std::string s;
    for (const Term& t : terms) {
      bool negative = t.coefficient < 0;
      uint64_t magnitude = negative ? -static_cast<uint64_t>(t.coefficient) : static_cast<uint64_t>(t.coefficient);
      s += s.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
      if (t.text.empty()) {
        s += std::to_string(magnitude);
      } else {
        s += t.text + (magnitude == 1 ? "" : "*" + std::to_string(magnitude));
      }
    }
    return s.empty() ? "0" : s;
  }

  std::string call(const std::string& name, const std::vector<Scalar>& args) {
    std::string s = name + "(";
    for (size_t i = 0; i < args.size(); ++i) s += (i ? ", " : "") + scalar(args[i], 0);
    return s + ")";
  }

  // `strength`: what surrounds the text binds at least this tightly.
  std::string scalar(Scalar s, int strength) {
    auto it = lets_.find(s.node());
    return it != lets_.end() ? it->second : scalar_body(s, strength);
  }

  std::string scalar_body(Scalar s, int strength) {
    const ScalarNode& n = *s.node();
    switch (n.kind) {
      case ScalarKind::Const:
        return constant_text(n);
      case ScalarKind::Index:
        return "index(" + dim(n.index[0]) + ")";
      case ScalarKind::Load:
        return buffer(n.tensor) + bracketed(n.index);
      case ScalarKind::Unary:
        return call(expr::name_of(n.unary()), n.args);
      case ScalarKind::Binary: {
        Infix op = infix_of(n.binary());
        if (!op.strength) return call(expr::name_of(n.binary()), n.args);
        // Comparisons do not chain; the others associate to the left.
        int left = op.strength == 3 ? 4 : op.strength;
        std::string t = scalar(n.args[0], left) + " " + op.text + " " + scalar(n.args[1], op.strength + 1);
        return op.strength < strength ? "(" + t + ")" : t;
      }
      case ScalarKind::Select:
        return call("select", n.args);
      case ScalarKind::Cast:
        return call(std::string("cast.") + name_of(n.dtype), n.args);
      case ScalarKind::Bitcast:
        return call(std::string("bitcast.") + name_of(n.dtype), n.args);
      case ScalarKind::Fma:
        return call("fma", n.args);
    }
    return "?";
  }

  // Counts the parents of every node below `s` and lists the nodes children first.
  void count(Scalar s) {
    if (++uses_[s.node()] > 1) return;
    for (Scalar a : s->args) count(a);
    for (Dim d : s->index) count(d);
    order_.push_back(s);
  }
  void count(Dim d) {
    for (auto& term : d->terms)
      for (auto& factor : term.first->factors) {
        if (factor.first->scalar) count(Scalar(factor.first->scalar));
        for (Dim arg : factor.first->args) count(arg);
      }
  }

  void print_lets(const StmtPtr& s, int depth) {
    lets_.clear();
    uses_.clear();
    order_.clear();
    for_each_dim(*s, [&](Dim d) { count(d); });
    if (s->value) count(s->value);
    int k = 0;
    for (Scalar n : order_) {
      bool leaf = n->kind == ScalarKind::Const || n->kind == ScalarKind::Index || n->kind == ScalarKind::Load;
      if (leaf || uses_[n.node()] < 2) continue;
      std::string name = "t" + std::to_string(k++);
      line(depth, "let " + name + " = " + scalar_body(n, 0));
      lets_[n.node()] = name;
    }
  }

  void statement(const StmtPtr& s, int depth) {
    if (s->kind == StmtKind::Block) {
      for (const StmtPtr& child : s->body) statement(child, depth);
      return;
    }
    print_lets(s, depth);
    std::string indent(2 * depth, ' ');
    switch (s->kind) {
      case StmtKind::Block:
        break;
      case StmtKind::For: {
        std::string kind = s->for_kind == ForKind::Serial ? "" : std::string(name_of(s->for_kind)) + " ";
        line(depth, "for " + kind + quote_name(ctx_.info(s->var).name) + " in " + dim(s->extent) + " {");
        braces(s->body[0], depth);
        out_ += "\n";
        break;
      }
      case StmtKind::Store:
        line(depth, buffer(s->buffer) + bracketed(s->index) + " " + store_text(s->store_kind) + " " + scalar(s->value, 0));
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
      case StmtKind::Check:
        line(depth, "check " + scalar(s->value, 0) + " fault " + std::to_string(s->fault) + " (" + list(s->index) + ")");
        break;
    }
  }

  // The statements of a body and the closing brace, after a line that opened it.
  void braces(const StmtPtr& body, int depth) {
    statement(body, depth + 1);
    out_ += std::string(2 * depth, ' ') + "}";
  }

  void if_chain(const StmtPtr& s, int depth) {
    out_ += "if " + scalar(s->value, 0) + " {\n";
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
  std::string out_;
  std::map<BufferId, std::string> names_;
  std::set<std::string> taken_;
  std::unordered_map<const ScalarNode*, std::string> lets_;
  std::unordered_map<const ScalarNode*, int> uses_;
  std::vector<Scalar> order_;
};

}  // namespace

std::string print(const Function& f, expr::Context& ctx) { return Printer(f, ctx).run(); }

}  // namespace pliant::loop
