// Recursive-descent parser of the texts of print.cc. Precedence in scalars, loosest first: || && comparisons +- */.
#include <charconv>

#include "expr/dim/polynomial.h"
#include "expr/scalar/arith.h"

namespace pliant::expr {
namespace {

constexpr int kMaxNesting = 400;

std::optional<DType> dtype_named(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (name == name_of(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  return std::nullopt;
}

struct Operator {
  std::string_view text;
  BinaryOp op;
  int level;
};
constexpr Operator kOperators[] = {
    {"||", BinaryOp::Or, 0}, {"&&", BinaryOp::And, 1}, {"==", BinaryOp::Eq, 2}, {"!=", BinaryOp::Ne, 2},
    {"<=", BinaryOp::Le, 2}, {">=", BinaryOp::Ge, 2},  {"<", BinaryOp::Lt, 2},  {">", BinaryOp::Gt, 2},
    {"+", BinaryOp::Add, 3}, {"-", BinaryOp::Sub, 3},  {"*", BinaryOp::Mul, 4}, {"/", BinaryOp::Div, 4},
};
constexpr int kLevels = 5;

class Parser {
 public:
  Parser(Context& ctx, std::string_view text, const Context::ResolveTensor& resolve, bool declare)
      : ctx_(ctx), text_(text), resolve_(resolve), declare_(declare) {}

  size_t position() const { return pos_; }
  bool at_end() {
    skip_space();
    return pos_ == text_.size();
  }
  Error error(const std::string& message) const {
    return make_error("bad-expression", "",
                      message + " at column " + std::to_string(pos_ + 1) + " of '" + std::string(text_) + "'");
  }

  Result<Dim> dim() {
    const Nesting nesting(*this);
    if (depth_ > kMaxNesting) return error("expression nests too deeply");
    Dim sum = TRY(product());
    while (true) {
      if (accept('+'))
        sum = sum + TRY(product());
      else if (accept('-'))
        sum = sum - TRY(product());
      else
        return sum;
    }
  }

  Result<Scalar> scalar(int level = 0) {
    if (level == kLevels) return primary();
    const Nesting nesting(*this);
    if (depth_ > kMaxNesting * kLevels) return error("expression nests too deeply");
    Scalar left = TRY(scalar(level + 1));
    while (const Operator* op = accept_operator(level)) {
      const Scalar right = TRY(scalar(level + 1));
      if (left.dtype() != right.dtype()) return error("operands of " + std::string(op->text) + " have two types");
      left = make_binary(op->op, left, right);
    }
    return left;
  }

 private:
  struct Nesting {
    explicit Nesting(Parser& parser) : p(parser) { ++p.depth_; }
    ~Nesting() { --p.depth_; }
    Parser& p;
  };

  void skip_space() {
    while (pos_ < text_.size() && (text_[pos_] == ' ' || text_[pos_] == '\t' || text_[pos_] == '\n')) ++pos_;
  }
  char peek() {
    skip_space();
    return pos_ < text_.size() ? text_[pos_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++pos_;
    return true;
  }
  const Operator* accept_operator(int level) {
    skip_space();
    for (const Operator& op : kOperators) {
      if (text_.substr(pos_, op.text.size()) != op.text) continue;
      if (op.level != level) return nullptr;
      pos_ += op.text.size();
      return &op;
    }
    return nullptr;
  }
  Status expect(char c) {
    if (accept(c)) return ok();
    return error(std::string("expected '") + c + "'");
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

  Result<std::string> name() {
    if (accept('`')) {
      std::string out;
      while (pos_ < text_.size()) {
        const char c = text_[pos_++];
        if (c != '`') {
          out += c;
        } else if (pos_ < text_.size() && text_[pos_] == '`') {
          out += text_[pos_++];
        } else {
          return out;
        }
      }
      return error("unfinished quoted name");
    }
    if (!is_letter(peek())) return error("expected a name");
    const size_t start = pos_;
    while (pos_ < text_.size() && (is_letter(text_[pos_]) || is_digit(text_[pos_]) || text_[pos_] == '.')) ++pos_;
    return std::string(text_.substr(start, pos_ - start));
  }

  Result<Dim> product() {
    Dim out = TRY(factor());
    while (accept('*')) out = out * TRY(factor());
    return out;
  }

  Result<Dim> factor() {
    const Nesting nesting(*this);
    if (depth_ > kMaxNesting) return error("expression nests too deeply");
    if (accept('-')) {
      constexpr std::string_view kBelowLowest = "9223372036854775808";  // negated it is an int64, by itself it is none
      if (is_digit(peek()) && text_.substr(pos_, kBelowLowest.size()) == kBelowLowest) {
        pos_ += kBelowLowest.size();
        if (pos_ < text_.size() && is_digit(text_[pos_])) return error("number out of range");
        return ctx_.constant(INT64_MIN);
      }
      return -TRY(factor());
    }
    if (accept('(')) {
      const Dim d = TRY(dim());
      TRY(expect(')'));
      return d;
    }
    if (is_digit(peek())) {
      int64_t v = 0;
      const auto r = std::from_chars(text_.data() + pos_, text_.data() + text_.size(), v);
      if (r.ec != std::errc()) return error("number out of range");
      pos_ = static_cast<size_t>(r.ptr - text_.data());
      return ctx_.constant(v);
    }
    const bool is_quoted = peek() == '`';
    const std::string word = TRY(name());
    if (!is_quoted && peek() == '(') return call(word);
    return symbol(word);
  }

  Result<Dim> symbol(const std::string& word) {
    if (std::optional<SymbolId> id = ctx_.find_symbol(word)) return ctx_.symbol_dim(*id);
    if (!declare_) return error("unknown symbol '" + word + "'");
    SymbolInfo info;
    info.name = word;
    return ctx_.symbol(std::move(info));
  }

  Result<Dim> call(const std::string& word) {
    TRY(expect('('));
    if (word == "value") {
      const Scalar s = TRY(scalar());
      if (is_float(s.dtype())) return error("value of a float");
      TRY(expect(')'));
      return value(s);
    }
    std::vector<Dim> args;
    do {
      args.push_back(TRY(dim()));
    } while (accept(','));
    TRY(expect(')'));
    const bool quotient = word == "floordiv" || word == "mod" || word == "ceildiv";
    if (args.size() < 2 || (quotient && args.size() != 2)) return error("wrong number of operands of " + word);
    if (word == "floordiv") return floordiv(args[0], args[1]);
    if (word == "ceildiv") return ceildiv(args[0], args[1]);
    if (word == "mod") return mod(args[0], args[1]);
    Dim out = args[0];
    for (size_t i = 1; i < args.size(); ++i) {
      if (word == "min")
        out = min(out, args[i]);
      else if (word == "max")
        out = max(out, args[i]);
      else if (word == "broadcast")
        out = broadcast(out, args[i]);
      else
        return error("unknown function '" + word + "'");
    }
    return out;
  }

  Result<Scalar> primary() {
    if (accept('(')) {
      const Scalar s = TRY(scalar());
      TRY(expect(')'));
      return s;
    }
    if (accept('-')) return make_unary(UnaryOp::Neg, TRY(primary()));
    if (accept('{')) return definitions();
    if (accept('%')) {
      const std::string shared = TRY(number());
      auto it = shared_.find(shared);
      if (it == shared_.end()) return error("%" + shared + " is not defined");
      return it->second;
    }
    const bool is_quoted = peek() == '`';
    const std::string word = TRY(name());
    if (peek() == '[') return load(word);
    if (is_quoted) return error("expected '[' after a tensor's name");
    if (std::optional<DType> t = dtype_named(word)) return constant(*t);
    if (word == "index") return index();
    if (word == "cast" || word == "bitcast") return conversion(word == "cast");
    return operation(word);
  }

  Result<std::string> number() {
    const size_t start = pos_;
    while (pos_ < text_.size() && is_digit(text_[pos_])) ++pos_;
    if (pos_ == start) return error("expected a number");
    return std::string(text_.substr(start, pos_ - start));
  }

  // `{%0 = …; %1 = …; value}`
  Result<Scalar> definitions() {
    while (peek() == '%') {
      const size_t start = pos_++;
      const std::string shared = TRY(number());
      skip_space();
      // The value may begin with a defined name too; `==` is no definition.
      if (peek() != '=' || text_.substr(pos_, 2) == "==") {
        pos_ = start;
        break;
      }
      ++pos_;
      const Scalar s = TRY(scalar());
      TRY(expect(';'));
      shared_[shared] = s;
    }
    const Scalar s = TRY(scalar());
    TRY(expect('}'));
    return s;
  }

  Result<Scalar> load(const std::string& word) {
    TRY(expect('['));
    std::vector<Dim> at;
    if (!accept(']')) {
      do {
        at.push_back(TRY(dim()));
      } while (accept(','));
      TRY(expect(']'));
    }
    const std::optional<Context::TensorRef> ref = resolve_ ? resolve_(word) : std::nullopt;
    if (!ref) return error("unknown tensor '" + word + "'");
    return make_load(ctx_, ref->id, ref->dtype, std::move(at));
  }

  // `i32(3)`, or the bits: `f32#7fc00000`.
  Result<Scalar> constant(DType t) {
    const auto token = [&] {
      skip_space();
      const size_t start = pos_;
      while (pos_ < text_.size() && (is_digit(text_[pos_]) || is_letter(text_[pos_]) || text_[pos_] == '.' ||
                                     text_[pos_] == '-' || text_[pos_] == '+')) {
        ++pos_;
      }
      return text_.substr(start, pos_ - start);
    };
    if (accept('#')) {
      const std::string_view digits = token();
      uint64_t bits = 0;
      const auto r = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
      if (r.ec != std::errc() || r.ptr != digits.data() + digits.size()) return error("bad constant");
      return make_const_bits(ctx_, t, bits);
    }
    TRY(expect('('));
    const std::string_view digits = token();
    TRY(expect(')'));
    if (t == DType::Bool) {
      if (digits != "true" && digits != "false") return error("bad constant");
      return make_const_bits(ctx_, t, digits == "true");
    }
    uint64_t bits = 0;
    const bool good = arith::with_type(t, [&](auto tag) {
      using T = decltype(tag);
      if constexpr (!std::is_same_v<T, bool>) {
        T v{};
        const auto r = std::from_chars(digits.data(), digits.data() + digits.size(), v);
        bits = arith::store_bits<T>(t, v);
        return r.ec == std::errc() && r.ptr == digits.data() + digits.size();
      }
      return false;
    });
    if (!good) return error("bad constant");
    return make_const_bits(ctx_, t, bits);
  }

  Result<Scalar> index() {
    TRY(expect('('));
    const Dim d = TRY(dim());
    TRY(expect(')'));
    if (!d.is_const()) return make_index(d);
    // A constant under `index` is an operand of an operation that must not fold (polynomial.cc).
    ScalarNode n{&ctx_, 0, ScalarKind::Index, DType::I64};
    n.index = {d};
    return Interner::scalar(std::move(n));
  }

  Result<Scalar> conversion(bool is_cast) {
    TRY(expect('<'));
    const std::string type = TRY(name());
    const std::optional<DType> t = dtype_named(type);
    if (!t) return error("unknown type '" + type + "'");
    TRY(expect('>'));
    TRY(expect('('));
    const Scalar x = TRY(scalar());
    TRY(expect(')'));
    if (is_cast) return make_cast(*t, x);
    if (byte_size(*t) != byte_size(x.dtype())) return error("bitcast between sizes");
    return make_bitcast(*t, x);
  }

  Result<Scalar> operation(const std::string& word) {
    TRY(expect('('));
    std::vector<Scalar> args;
    do {
      args.push_back(TRY(scalar()));
    } while (accept(','));
    TRY(expect(')'));
    const auto same = [&](size_t a, size_t b) { return args[a].dtype() == args[b].dtype(); };
    if (word == "select" && args.size() == 3 && args[0].dtype() == DType::Bool && same(1, 2)) {
      return make_select(args[0], args[1], args[2]);
    }
    if (word == "fma" && args.size() == 3 && same(0, 1) && same(0, 2)) return make_fma(args[0], args[1], args[2]);
    if (std::optional<UnaryOp> op = unary_op(word); op && args.size() == 1) {
      if (*op != UnaryOp::Not || args[0].dtype() == DType::Bool) return make_unary(*op, args[0]);
    }
    if (std::optional<BinaryOp> op = binary_op(word); op && args.size() == 2 && same(0, 1)) {
      return make_binary(*op, args[0], args[1]);
    }
    return error("no operation '" + word + "' of these operands");
  }

  Context& ctx_;
  std::string_view text_;
  const Context::ResolveTensor& resolve_;
  bool declare_;
  size_t pos_ = 0;
  int depth_ = 0;
  std::unordered_map<std::string, Scalar> shared_;
};

template <class T, class F>
Result<T> parse_all(Parser& parser, size_t* length, F&& parse) {
  T out = TRY(parse());
  if (length) {
    *length = parser.position();
  } else if (!parser.at_end()) {
    return parser.error("unexpected text");
  }
  return out;
}

}  // namespace

Result<Dim> Context::parse_dim(std::string_view text, bool declare) { return parse_dim(text, {}, declare); }

Result<Dim> Context::parse_dim(std::string_view text, const ResolveTensor& resolve, bool declare, size_t* length) {
  Parser parser(*this, text, resolve, declare);
  return parse_all<Dim>(parser, length, [&] { return parser.dim(); });
}

Result<Scalar> Context::parse_scalar(std::string_view text, const ResolveTensor& resolve, bool declare, size_t* length) {
  Parser parser(*this, text, resolve, declare);
  return parse_all<Scalar>(parser, length, [&] { return parser.scalar(); });
}

}  // namespace pliant::expr
