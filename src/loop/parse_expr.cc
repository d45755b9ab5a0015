#include "loop/parse_expr.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace pliant::loop {

using expr::BinaryOp;

namespace {

constexpr int kMaxDepth = 600;

template <class T>
std::optional<T> number(std::string_view text, int base = 10) {
  T v{};
  std::from_chars_result r{};
  if constexpr (std::is_floating_point_v<T>) {
    r = std::from_chars(text.data(), text.data() + text.size(), v);
  } else {
    r = std::from_chars(text.data(), text.data() + text.size(), v, base);
  }
  if (r.ec != std::errc() || r.ptr != text.data() + text.size()) return std::nullopt;
  return v;
}

struct Infix {
  const char* text;
  int strength;
  BinaryOp op;
};
std::optional<Infix> infix_at(const Lexer& lex) {
  static constexpr Infix kInfix[] = {{"||", 1, BinaryOp::Or}, {"&&", 2, BinaryOp::And}, {"==", 3, BinaryOp::Eq},
                                     {"!=", 3, BinaryOp::Ne}, {"<", 3, BinaryOp::Lt},   {"<=", 3, BinaryOp::Le},
                                     {">", 3, BinaryOp::Gt},  {">=", 3, BinaryOp::Ge},  {"+", 4, BinaryOp::Add},
                                     {"-", 4, BinaryOp::Sub}, {"*", 5, BinaryOp::Mul},  {"/", 5, BinaryOp::Div}};
  for (const Infix& i : kInfix)
    if (lex.is(i.text)) return i;
  return std::nullopt;
}

}  // namespace

std::optional<DType> dtype_of(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (name == name_of(static_cast<DType>(i))) return static_cast<DType>(i);
  return std::nullopt;
}

Error ExprParser::fail(const std::string& message) const {
  std::string found = lex.peek().kind == TokenKind::End ? "the end" : "`" + lex.peek().text + "`";
  return make_error("loop-syntax", "line " + std::to_string(lex.peek().line),
                    (lex.fault().empty() ? message : lex.fault()) + " at " + found);
}
Status ExprParser::expect(const char* text) {
  if (lex.accept(text)) return ok();
  return fail(std::string("expected `") + text + "`");
}
Result<std::string> ExprParser::name() {
  if (lex.peek().kind != TokenKind::Name) return fail("expected a name");
  return lex.take().text;
}

Status ExprParser::enter() {
  if (++depth_ > kMaxDepth) return fail("the text nests too deeply");
  return ok();
}

Result<ExprParser::BufferUse> ExprParser::buffer() {
  auto it = buffers_.find(lex.peek().text);
  if (lex.peek().kind != TokenKind::Buffer || it == buffers_.end() || it->second.empty())
    return fail("expected a buffer in scope");
  lex.take();
  return it->second.back();
}

Result<std::vector<Dim>> ExprParser::dims(const char* open, const char* close) {
  TRY(expect(open));
  std::vector<Dim> out;
  while (!lex.accept(close)) {
    if (!out.empty()) TRY(expect(","));
    out.push_back(TRY(dim()));
  }
  return out;
}

Result<Dim> ExprParser::dim() {
  TRY(enter());
  Dim sum = TRY(dim_product());
  while (lex.is("+") || lex.is("-")) {
    bool minus = lex.take().text == "-";
    Dim right = TRY(dim_product());
    sum = minus ? sum - right : sum + right;
  }
  leave();
  return sum;
}

Result<Dim> ExprParser::dim_product() {
  bool negative = lex.accept("-");
  Dim product = TRY(dim_factor());
  while (lex.accept("*")) product = product * TRY(dim_factor());
  return negative ? -product : product;
}

Result<Dim> ExprParser::dim_factor() {
  if (lex.accept("(")) {
    Dim d = TRY(dim());
    TRY(expect(")"));
    return d;
  }
  const Token& t = lex.peek();
  if (t.kind == TokenKind::Number && t.suffix.empty()) {
    auto v = number<int64_t>(t.text);
    if (!v) return fail("expected an integer");
    lex.take();
    return ctx_.constant(*v);
  }
  if (t.kind != TokenKind::Name) return fail("expected a size or an index");
  bool quoted = t.quoted;
  std::string n = lex.take().text;
  if (!quoted && lex.is("(")) return dim_call(n);
  auto known = ctx_.find_symbol(n);
  return known ? ctx_.symbol_dim(*known) : ctx_.symbol({.name = n});
}

Result<Dim> ExprParser::dim_call(const std::string& n) {
  if (n == "value") {
    TRY(expect("("));
    Scalar s = TRY(scalar(0));
    TRY(expect(")"));
    if (!is_int(s.dtype())) return fail("value() needs an integer");
    return expr::value(s);
  }
  std::vector<Dim> args = TRY(dims("(", ")"));
  if (args.size() < 2) return fail("`" + n + "` needs two operands");
  if (n == "floordiv" || n == "mod") {
    if (args.size() > 2 || (args[1].is_const() && args[1].const_value() < 1))
      return fail("`" + n + "` needs a positive divisor");
    return n == "mod" ? expr::mod(args[0], args[1]) : expr::floordiv(args[0], args[1]);
  }
  Dim d = args[0];
  for (size_t i = 1; i < args.size(); ++i) {
    if (n == "min") {
      d = expr::min(d, args[i]);
    } else if (n == "max") {
      d = expr::max(d, args[i]);
    } else if (n == "broadcast") {
      d = expr::broadcast(d, args[i]);
    } else {
      return fail("unknown function `" + n + "` of sizes");
    }
  }
  return d;
}

Result<Scalar> ExprParser::condition() {
  Scalar s = TRY(scalar(0));
  if (s.dtype() != DType::Bool) return fail("the condition is not a bool");
  return s;
}

Result<Scalar> ExprParser::scalar(int strength) {
  TRY(enter());
  Scalar left = TRY(primary());
  while (auto op = infix_at(lex)) {
    if (op->strength < strength) break;
    lex.take();
    Scalar right = TRY(scalar(op->strength + 1));
    left = TRY(binary(op->op, left, right));
  }
  leave();
  return left;
}

Result<Scalar> ExprParser::binary(BinaryOp op, Scalar a, Scalar b) {
  if (a.dtype() != b.dtype())
    return fail(std::string("`") + expr::name_of(op) + "` has operands of " + name_of(a.dtype()) + " and " +
                name_of(b.dtype()));
  return expr::make_binary(op, a, b);
}

Result<Scalar> ExprParser::primary() {
  if (lex.accept("(")) {
    Scalar s = TRY(scalar(0));
    TRY(expect(")"));
    return s;
  }
  bool negative = lex.accept("-");
  const Token& t = lex.peek();
  if (t.kind == TokenKind::Number) return literal(negative);
  if (t.kind == TokenKind::Name && t.text.starts_with("inf.")) {
    auto dtype = dtype_of(t.text.substr(4));
    if (!dtype || !is_float(*dtype)) return fail("infinity needs a float dtype");
    lex.take();
    return expr::make_const(ctx_, *dtype, negative ? -INFINITY : INFINITY);
  }
  if (negative) return fail("`-` stands only before literals and between operands");
  if (t.kind == TokenKind::Buffer) {
    auto [id, dtype] = TRY(buffer());
    return expr::make_load(ctx_, id, dtype, TRY(dims("[", "]")));
  }
  if (t.kind == TokenKind::Name) return named();
  return fail("expected a value");
}

Result<Scalar> ExprParser::literal(bool negative) {
  Token t = lex.peek();
  auto dtype = dtype_of(t.suffix);
  if (!dtype || *dtype == DType::Bool) return fail("a literal needs its dtype, as in 1f32");
  std::string text = (negative ? "-" : "") + t.text;
  std::optional<uint64_t> bits;
  if (*dtype == DType::F32) {
    if (auto v = number<float>(text)) bits = std::bit_cast<uint32_t>(*v);
  } else if (*dtype == DType::F64) {
    if (auto v = number<double>(text)) bits = std::bit_cast<uint64_t>(*v);
  } else if (is_float(*dtype)) {
    auto v = number<double>(text);
    if (!v) return fail("malformed number");
    lex.take();
    return expr::make_const(ctx_, *dtype, *v);
  } else if (is_unsigned_int(*dtype)) {
    bits = number<uint64_t>(text);
    if (bits && byte_size(*dtype) < 8 && *bits >> (8 * byte_size(*dtype))) bits.reset();
  } else if (auto v = number<int64_t>(text)) {
    int64_t limit = std::numeric_limits<int64_t>::max() >> (64 - 8 * byte_size(*dtype));
    if (*v <= limit && *v >= -limit - 1) bits = static_cast<uint64_t>(*v);
  }
  if (!bits) return fail("the literal does not fit its dtype");
  lex.take();
  return expr::make_const_bits(ctx_, *dtype, *bits);
}

Result<std::vector<Scalar>> ExprParser::arguments(size_t count) {
  TRY(expect("("));
  std::vector<Scalar> args;
  for (size_t i = 0; i < count; ++i) {
    if (i) TRY(expect(","));
    args.push_back(TRY(scalar(0)));
  }
  TRY(expect(")"));
  return args;
}

Result<Scalar> ExprParser::named() {
  std::string n = lex.take().text;
  if (n == "true" || n == "false") return expr::make_const_bits(ctx_, DType::Bool, n == "true");
  if (!lex.is("(")) {
    auto it = lets_.find(n);
    if (it == lets_.end()) return fail("unknown name `" + n + "`");
    return it->second;
  }
  if (n == "index") {
    auto d = TRY(dims("(", ")"));
    if (d.size() != 1) return fail("index() takes one operand");
    return expr::make_index(d[0]);
  }
  if (n == "nan") return nan_literal();
  if (n == "select") return select();
  if (n == "fma") {
    auto a = TRY(arguments(3));
    if (a[0].dtype() != a[1].dtype() || a[0].dtype() != a[2].dtype()) return fail("fma() has operands of several dtypes");
    return expr::make_fma(a[0], a[1], a[2]);
  }
  if (n.starts_with("cast.") || n.starts_with("bitcast.")) return cast(n);
  if (auto op = expr::unary_op(n)) {
    Scalar x = TRY(arguments(1))[0];
    if (*op == expr::UnaryOp::Not && x.dtype() != DType::Bool) return fail("not() needs a bool");
    return expr::make_unary(*op, x);
  }
  if (auto op = expr::binary_op(n)) {
    auto a = TRY(arguments(2));
    return binary(*op, a[0], a[1]);
  }
  return fail("unknown operation `" + n + "`");
}

// nan(0x7fc00000)f32
Result<Scalar> ExprParser::nan_literal() {
  TRY(expect("("));
  std::string text = lex.take().text;
  auto bits = text.starts_with("0x") ? number<uint64_t>(std::string_view(text).substr(2), 16) : std::nullopt;
  if (!bits) return fail("nan() needs its bits");
  TRY(expect(")"));
  auto dtype = dtype_of(TRY(name()));
  if (!dtype || !is_float(*dtype)) return fail("nan() needs a float dtype");
  return expr::make_const_bits(ctx_, *dtype, *bits);
}

Result<Scalar> ExprParser::select() {
  auto a = TRY(arguments(3));
  if (a[0].dtype() != DType::Bool || a[1].dtype() != a[2].dtype()) return fail("select() has operands of wrong dtypes");
  return expr::make_select(a[0], a[1], a[2]);
}

Result<Scalar> ExprParser::cast(const std::string& n) {
  bool bits = n.starts_with("bitcast.");
  auto dtype = dtype_of(n.substr(n.find('.') + 1));
  if (!dtype) return fail("unknown dtype in `" + n + "`");
  Scalar s = TRY(arguments(1))[0];
  if (bits && byte_size(s.dtype()) != byte_size(*dtype)) return fail("bitcast changes the size of the value");
  return bits ? expr::make_bitcast(*dtype, s) : expr::make_cast(*dtype, s);
}

}  // namespace pliant::loop
