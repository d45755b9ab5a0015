// Text of expressions. Nothing in it depends on node ids, so equal programs print alike however they were built.
#include <algorithm>
#include <array>
#include <charconv>

#include "expr/dim/polynomial.h"
#include "expr/scalar/arith.h"

namespace pliant::expr {
namespace {

constexpr std::array kUnaryNames = {"neg",   "abs",     "not",   "bit_not", "sign",  "exp",   "log",    "log1p",
                                    "expm1", "sqrt",    "rsqrt", "recip",   "sin",   "cos",   "tan",    "asin",
                                    "acos",  "atan",    "sinh",  "cosh",    "tanh",  "asinh", "acosh",  "atanh",
                                    "erf",   "sigmoid", "floor", "ceil",    "round", "trunc", "is_nan", "is_inf"};
constexpr std::array kBinaryNames = {"add", "sub",   "mul", "div", "mod",     "rem",    "pow",     "min",
                                     "max", "and",   "or",  "xor", "bit_and", "bit_or", "bit_xor", "shl",
                                     "shr", "atan2", "eq",  "ne",  "lt",      "le",     "gt",      "ge"};
static_assert(kUnaryNames.size() == static_cast<size_t>(UnaryOp::IsInf) + 1);
static_assert(kBinaryNames.size() == static_cast<size_t>(BinaryOp::Ge) + 1);

const char* infix(BinaryOp op) {
  switch (op) {
    case BinaryOp::Add: return "+";
    case BinaryOp::Sub: return "-";
    case BinaryOp::Mul: return "*";
    case BinaryOp::Div: return "/";
    case BinaryOp::And: return "&&";
    case BinaryOp::Or: return "||";
    case BinaryOp::Eq: return "==";
    case BinaryOp::Ne: return "!=";
    case BinaryOp::Lt: return "<";
    case BinaryOp::Le: return "<=";
    case BinaryOp::Gt: return ">";
    case BinaryOp::Ge: return ">=";
    default: return nullptr;
  }
}

const char* atom_name(AtomKind kind) {
  switch (kind) {
    case AtomKind::FloorDiv: return "floordiv";
    case AtomKind::Mod: return "mod";
    case AtomKind::Min: return "min";
    case AtomKind::Max: return "max";
    case AtomKind::Broadcast: return "broadcast";
    case AtomKind::Value: return "value";
    case AtomKind::Symbol: break;
  }
  return "";
}

std::string join(const std::vector<std::string>& parts, const char* separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

std::string print_const(DType t, uint64_t bits) {
  std::array<char, 64> text;
  char* end = text.data();
  arith::with_type(t, [&](auto tag) {
    using T = decltype(tag);
    const T v = arith::load_bits<T>(t, bits);
    if constexpr (std::is_same_v<T, bool>) {
      end = std::copy_n(v ? "true " : "false", v ? 4 : 5, text.data());
    } else {
      end = std::to_chars(text.data(), text.data() + text.size(), v).ptr;
    }
  });
  const std::string digits(text.data(), end);
  // A NaN of any payload, in bits.
  if (digits.find("nan") != std::string::npos) {
    end = std::to_chars(text.data(), text.data() + text.size(), bits, 16).ptr;
    return std::string(name_of(t)) + "#" + std::string(text.data(), end);
  }
  return std::string(name_of(t)) + "(" + digits + ")";
}

class Printer {
 public:
  explicit Printer(const TensorNames& names) : names_(names) {}

  std::string print(Dim d) const {
    struct Piece {
      uint32_t degree;
      std::string text;
      int64_t coefficient;
    };
    std::vector<Piece> pieces;
    for (const auto& [m, k] : d->terms) {
      std::vector<std::string> factors;
      for (const auto& [atom, power] : m->factors) factors.insert(factors.end(), power, print(atom));
      std::sort(factors.begin(), factors.end());
      pieces.push_back({static_cast<uint32_t>(factors.size()), join(factors, "*"), k});
    }
    if (pieces.empty()) return "0";
    // Highest degree first; positive terms before negative ones, so that a text seldom starts with a sign.
    std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
      if (a.degree != b.degree) return a.degree > b.degree;
      if ((a.coefficient > 0) != (b.coefficient > 0)) return a.coefficient > 0;
      return a.text < b.text;
    });
    std::string out;
    for (const Piece& p : pieces) {
      const uint64_t magnitude =
          p.coefficient < 0 ? 0 - static_cast<uint64_t>(p.coefficient) : static_cast<uint64_t>(p.coefficient);
      if (out.empty()) {
        out += p.coefficient < 0 ? "-" : "";
      } else {
        out += p.coefficient < 0 ? " - " : " + ";
      }
      if (p.degree == 0) {
        out += std::to_string(magnitude);
      } else {
        out += p.text;
        if (magnitude != 1) out += "*" + std::to_string(magnitude);
      }
    }
    return out;
  }

  // A Scalar whose text would repeat much defines what it repeats first: `{%0 = exp(x[i]); (%0 * (%0 + f32(1)))}`.
  std::string print_shared(Scalar root) {
    std::vector<Scalar> order;
    std::unordered_map<const ScalarNode*, Sharing> nodes;
    measure(root, nodes, order);
    if (nodes.at(root.node()).size <= kPlainSize) return print(root);
    std::string out = "{";
    for (Scalar s : order) {
      const Sharing& n = nodes.at(s.node());
      if (s == root || n.uses < 2 || n.size < 2) continue;
      const std::string text = print(s);
      const std::string name = "%" + std::to_string(shared_.size());
      out += name + " = " + text + "; ";
      shared_.emplace(s.node(), name);
    }
    return out + print(root) + "}";
  }

  std::string print(Scalar s) const {
    if (auto it = shared_.find(s.node()); it != shared_.end()) return it->second;
    switch (s->kind) {
      case ScalarKind::Const: return print_const(s->dtype, s->bits);
      case ScalarKind::Index: return "index(" + print(s->index[0]) + ")";
      case ScalarKind::Load: return quoted(tensor_name(s->tensor)) + "[" + print_all(s->index) + "]";
      case ScalarKind::Unary: return call(name_of(s->unary()), s->args);
      case ScalarKind::Binary:
        if (const char* sign = infix(s->binary()))
          return "(" + print(s->args[0]) + " " + sign + " " + print(s->args[1]) + ")";
        return call(name_of(s->binary()), s->args);
      case ScalarKind::Select: return call("select", s->args);
      case ScalarKind::Cast: return call(std::string("cast<") + name_of(s->dtype) + ">", s->args);
      case ScalarKind::Bitcast: return call(std::string("bitcast<") + name_of(s->dtype) + ">", s->args);
      case ScalarKind::Fma: return call("fma", s->args);
    }
    return "";
  }

 private:
  std::string tensor_name(TensorId id) const { return names_ ? names_(id) : "t" + std::to_string(id); }

  std::string print(const Atom* atom) const {
    if (atom->kind == AtomKind::Symbol) return quoted(atom->info->name);
    if (atom->kind == AtomKind::Value) return "value(" + print(Scalar(atom->scalar)) + ")";
    std::vector<std::string> args;
    for (Dim arg : atom->args) args.push_back(print(arg));
    if (atom->kind != AtomKind::FloorDiv && atom->kind != AtomKind::Mod) std::sort(args.begin(), args.end());
    return std::string(atom_name(atom->kind)) + "(" + join(args, ", ") + ")";
  }

  std::string print_all(const std::vector<Dim>& dims) const {
    std::vector<std::string> texts;
    for (Dim d : dims) texts.push_back(print(d));
    return join(texts, ", ");
  }

  std::string call(const std::string& name, const std::vector<Scalar>& args) const {
    std::vector<std::string> texts;
    for (Scalar a : args) texts.push_back(print(a));
    return name + "(" + join(texts, ", ") + ")";
  }

  static constexpr uint64_t kPlainSize = 48;
  struct Sharing {
    uint64_t size = 1;  // nodes of the text without sharing, saturated
    int uses = 0;
  };
  // Operands before their users.
  static void measure(Scalar s, std::unordered_map<const ScalarNode*, Sharing>& nodes, std::vector<Scalar>& order) {
    auto [it, fresh] = nodes.try_emplace(s.node());
    ++it->second.uses;
    if (!fresh) return;
    uint64_t size = 1;
    for (Scalar a : s->args) {
      measure(a, nodes, order);
      size = std::min(size + nodes.at(a.node()).size, uint64_t{1} << 40);
    }
    nodes.at(s.node()).size = size;
    order.push_back(s);
  }

  const TensorNames& names_;
  std::unordered_map<const ScalarNode*, std::string> shared_;
};

}  // namespace

const char* name_of(UnaryOp op) { return kUnaryNames[static_cast<size_t>(op)]; }
const char* name_of(BinaryOp op) { return kBinaryNames[static_cast<size_t>(op)]; }
std::optional<UnaryOp> unary_op(std::string_view name) {
  for (size_t i = 0; i < kUnaryNames.size(); ++i) {
    if (name == kUnaryNames[i]) return static_cast<UnaryOp>(i);
  }
  return std::nullopt;
}
std::optional<BinaryOp> binary_op(std::string_view name) {
  for (size_t i = 0; i < kBinaryNames.size(); ++i) {
    if (name == kBinaryNames[i]) return static_cast<BinaryOp>(i);
  }
  return std::nullopt;
}

std::string quoted(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto plain = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.'; };
  bool keyword = false;
  for (AtomKind k :
       {AtomKind::FloorDiv, AtomKind::Mod, AtomKind::Min, AtomKind::Max, AtomKind::Broadcast, AtomKind::Value}) {
    keyword |= name == atom_name(k);
  }
  if (!name.empty() && letter(name[0]) && !keyword && std::all_of(name.begin(), name.end(), plain)) return name;
  std::string out = "`";
  for (char c : name) {
    if (c == '`') out += c;
    out += c;
  }
  return out + "`";
}

std::string print(Scalar s, const TensorNames& tensor_name) { return Printer(tensor_name).print_shared(s); }
std::string print(Dim d, const TensorNames& tensor_name) { return Printer(tensor_name).print(d); }

std::string Dim::str() const { return node_ ? print(*this) : "<null>"; }
std::string Scalar::str() const { return node_ ? print(*this) : "<null>"; }

}  // namespace pliant::expr
