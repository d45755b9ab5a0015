#include "loop/print_expr.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "base/half.h"
#include "loop/lexer.h"
#include "loop/walk.h"

namespace pliant::loop {
using expr::AtomKind;
using expr::BinaryOp;
using expr::ScalarKind;
using expr::ScalarNode;

namespace {

// Binding strength of the infix operators; 0 for operations that are written as calls.
struct Infix {
  const char* text;
  int strength;
};
Infix infix_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::Or: return {"||", 1};
    case BinaryOp::And: return {"&&", 2};
    case BinaryOp::Eq: return {"==", 3};
    case BinaryOp::Ne: return {"!=", 3};
    case BinaryOp::Lt: return {"<", 3};
    case BinaryOp::Le: return {"<=", 3};
    case BinaryOp::Gt: return {">", 3};
    case BinaryOp::Ge: return {">=", 3};
    case BinaryOp::Add: return {"+", 4};
    case BinaryOp::Sub: return {"-", 4};
    case BinaryOp::Mul: return {"*", 5};
    case BinaryOp::Div: return {"/", 5};
    default: return {"", 0};
  }
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
    case DType::Bool: return n.bits ? "true" : "false";
    case DType::F16: return floating(f16_to_f32(static_cast<uint16_t>(n.bits)));
    case DType::BF16: return floating(bf16_to_f32(static_cast<uint16_t>(n.bits)));
    case DType::F32: return floating(std::bit_cast<float>(static_cast<uint32_t>(n.bits)));
    case DType::F64: return floating(std::bit_cast<double>(n.bits));
    default:
      return (is_unsigned_int(n.dtype) ? shortest(n.bits) : shortest(static_cast<int64_t>(n.bits))) + name_of(n.dtype);
  }
}

}  // namespace

std::string ExprPrinter::buffer(BufferId id) const {
  auto it = names_.find(id);
  return "%" + (it == names_.end() ? "unknown." + std::to_string(id) : quote_name(it->second));
}

std::string ExprPrinter::list(const std::vector<Dim>& dims) {
  std::string s;
  for (size_t i = 0; i < dims.size(); ++i) s += (i ? ", " : "") + dim(dims[i]);
  return s;
}

std::string ExprPrinter::atom(const expr::Atom& a) {
  auto call = [&](const char* name) {
    std::vector<std::string> args;
    for (Dim d : a.args) args.push_back(dim(d));
    if (a.kind != AtomKind::FloorDiv && a.kind != AtomKind::Mod) std::sort(args.begin(), args.end());
    std::string s = std::string(name) + "(";
    for (size_t i = 0; i < args.size(); ++i) s += (i ? ", " : "") + args[i];
    return s + ")";
  };
  switch (a.kind) {
    case AtomKind::Symbol: return quote_name(ctx_.info(a.symbol).name);
    case AtomKind::FloorDiv: return call("floordiv");
    case AtomKind::Mod: return call("mod");
    case AtomKind::Min: return call("min");
    case AtomKind::Max: return call("max");
    case AtomKind::Broadcast: return call("broadcast");
    case AtomKind::Value: return "value(" + scalar(Scalar(a.scalar), 0) + ")";
  }
  return "?";
}

std::string ExprPrinter::dim(Dim d) {
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

std::string ExprPrinter::call(const std::string& name, const std::vector<Scalar>& args) {
  std::string s = name + "(";
  for (size_t i = 0; i < args.size(); ++i) s += (i ? ", " : "") + scalar(args[i], 0);
  return s + ")";
}

std::string ExprPrinter::scalar(Scalar s, int strength) {
  auto it = lets_.find(s.node());
  return it != lets_.end() ? it->second : scalar_body(s, strength);
}

std::string ExprPrinter::scalar_body(Scalar s, int strength) {
  const ScalarNode& n = *s.node();
  switch (n.kind) {
    case ScalarKind::Const: return constant_text(n);
    case ScalarKind::Index: return "index(" + dim(n.index[0]) + ")";
    case ScalarKind::Load: return buffer(n.tensor) + bracketed(n.index);
    case ScalarKind::Unary: return call(expr::name_of(n.unary()), n.args);
    case ScalarKind::Binary: {
      Infix op = infix_of(n.binary());
      if (!op.strength) return call(expr::name_of(n.binary()), n.args);
      // Comparisons do not chain; the others associate to the left.
      int left = op.strength == 3 ? 4 : op.strength;
      std::string t = scalar(n.args[0], left) + " " + op.text + " " + scalar(n.args[1], op.strength + 1);
      return op.strength < strength ? "(" + t + ")" : t;
    }
    case ScalarKind::Select: return call("select", n.args);
    case ScalarKind::Cast: return call(std::string("cast.") + name_of(n.dtype), n.args);
    case ScalarKind::Bitcast: return call(std::string("bitcast.") + name_of(n.dtype), n.args);
    case ScalarKind::Fma: return call("fma", n.args);
  }
  return "?";
}

void ExprPrinter::count(Scalar s) {
  if (++uses_[s.node()] > 1) return;
  for (Scalar a : s->args) count(a);
  for (Dim d : s->index) count(d);
  order_.push_back(s);
}

void ExprPrinter::count(Dim d) {
  for (auto& term : d->terms)
    for (auto& factor : term.first->factors) {
      if (factor.first->scalar) count(Scalar(factor.first->scalar));
      for (Dim arg : factor.first->args) count(arg);
    }
}

std::vector<std::pair<std::string, std::string>> ExprPrinter::name_shared(const Stmt& s) {
  lets_.clear();
  uses_.clear();
  order_.clear();
  for_each_dim(s, [&](Dim d) { count(d); });
  if (s.value) count(s.value);
  std::vector<std::pair<std::string, std::string>> named;
  for (Scalar n : order_) {
    bool leaf = n->kind == ScalarKind::Const || n->kind == ScalarKind::Index || n->kind == ScalarKind::Load;
    if (leaf || uses_[n.node()] < 2) continue;
    named.emplace_back("t" + std::to_string(named.size()), scalar_body(n, 0));
    lets_[n.node()] = named.back().first;
  }
  return named;
}

}  // namespace pliant::loop
