// Reads the text that print.cc describes.
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include "loop/lexer.h"
#include "loop/loop.h"

namespace pliant::loop {
namespace {

using expr::BinaryOp;

// Nesting beyond this is refused, so that no text exhausts the stack.
constexpr int kMaxDepth = 600;

std::optional<DType> dtype_of(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (name == name_of(static_cast<DType>(i))) return static_cast<DType>(i);
  return std::nullopt;
}

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

class Parser {
 public:
  Parser(std::string_view text, expr::Context& ctx) : lex_(text), ctx_(ctx) {}

  Result<Function> run() {
    Function f;
    TRY(expect("kernel"));
    f.name = TRY(name());
    TRY(expect("("));
    while (!lex_.accept(")")) {
      if (!f.params.empty()) TRY(expect(","));
      Buffer b = TRY(declaration(Scope::Param));
      if (lex_.accept("const")) b.is_constant = true;
      if (lex_.accept("out")) b.is_output = true;
      f.params.push_back(std::move(b));
    }
    if (lex_.accept("flops")) {
      auto v = number<double>(lex_.take().text);
      if (!v) return fail("`flops` needs a number");
      f.flops_hint = *v;
    }
    TRY(expect("{"));
    while (lex_.accept("fault")) {
      if (lex_.peek().kind != TokenKind::String) return fail("a fault needs a quoted message");
      f.faults.push_back({lex_.take().text, nullptr});
    }
    f.body = TRY(statements());
    if (lex_.peek().kind != TokenKind::End) return fail("text follows the kernel");
    if (!lex_.fault().empty()) return fail(lex_.fault());
    return f;
  }

 private:
  Error fail(const std::string& message) const {
    std::string found = lex_.peek().kind == TokenKind::End ? "the end" : "`" + lex_.peek().text + "`";
    return make_error("loop-syntax", "line " + std::to_string(lex_.peek().line),
                      (lex_.fault().empty() ? message : lex_.fault()) + " at " + found);
  }
  Status expect(const char* text) {
    if (lex_.accept(text)) return ok();
    return fail(std::string("expected `") + text + "`");
  }
  Result<std::string> name() {
    if (lex_.peek().kind != TokenKind::Name) return fail("expected a name");
    return lex_.take().text;
  }

  Result<Buffer> declaration(Scope scope) {
    if (lex_.peek().kind != TokenKind::Buffer) return fail("expected a buffer");
    Buffer b{.id = ctx_.fresh_tensor(), .scope = scope};
    b.name = lex_.take().text;
    TRY(expect(":"));
    auto t = dtype_of(lex_.peek().text);
    if (!t) return fail("expected a dtype");
    lex_.take();
    b.dtype = *t;
    b.shape = TRY(dims("[", "]"));
    if (lex_.accept("strides")) b.strides = TRY(dims("[", "]"));
    buffers_[b.name].push_back({b.id, b.dtype});
    return b;
  }

  // ---- statements

  // After an opening brace, through the closing one.
  Result<StmtPtr> statements() {
    if (++depth_ > kMaxDepth) return fail("the text nests too deeply");
    std::vector<StmtPtr> out;
    while (!lex_.accept("}")) {
      lets_.clear();
      out.push_back(TRY(statement()));
    }
    --depth_;
    return make_block(std::move(out));
  }

  Result<StmtPtr> statement() {
    while (lex_.accept("let")) {
      std::string n = TRY(name());
      TRY(expect("="));
      lets_[n] = TRY(scalar(0));
    }
    if (lex_.accept("for")) return for_loop();
    if (lex_.accept("if")) return if_statement();
    if (lex_.is("local") || lex_.is("scratch")) return alloc();
    if (lex_.accept("check")) return check();
    if (lex_.peek().kind == TokenKind::Buffer) return store();
    return fail("expected a statement");
  }

  Result<StmtPtr> for_loop() {
    ForKind kind = ForKind::Serial;
    for (ForKind k : {ForKind::Serial, ForKind::Parallel, ForKind::Vector, ForKind::Unroll})
      if (lex_.accept(name_of(k))) kind = k;
    std::string var = TRY(name());
    TRY(expect("in"));
    Dim extent = TRY(dim());
    auto known = ctx_.find_symbol(var);
    SymbolId id = known ? *known : *ctx_.index_symbol(var, extent).as_symbol();
    TRY(expect("{"));
    StmtPtr body = TRY(statements());
    return make_for(id, extent, kind, std::move(body));
  }

  Result<StmtPtr> if_statement() {
    Scalar cond = TRY(condition());
    TRY(expect("{"));
    StmtPtr then = TRY(statements());
    if (!lex_.accept("else")) return make_if(cond, then);
    lets_.clear();
    if (lex_.accept("if")) {
      if (++depth_ > kMaxDepth) return fail("the text nests too deeply");
      StmtPtr otherwise = TRY(if_statement());
      --depth_;
      return make_if(cond, then, otherwise);
    }
    TRY(expect("{"));
    StmtPtr otherwise = TRY(statements());
    return make_if(cond, then, otherwise);
  }

  Result<StmtPtr> alloc() {
    Scope scope = lex_.take().text == "local" ? Scope::Local : Scope::Scratch;
    Buffer b = TRY(declaration(scope));
    TRY(expect("{"));
    StmtPtr body = TRY(statements());
    buffers_[b.name].pop_back();
    return make_alloc(std::move(b), std::move(body));
  }

  Result<StmtPtr> check() {
    Scalar cond = TRY(condition());
    TRY(expect("fault"));
    auto fault = number<uint32_t>(lex_.peek().text);
    if (!fault) return fail("expected the number of a fault");
    lex_.take();
    auto values = TRY(dims("(", ")"));
    return make_check(cond, *fault, std::move(values));
  }

  Result<StmtPtr> store() {
    auto [id, dtype] = TRY(buffer());
    auto index = TRY(dims("[", "]"));
    auto kind = TRY(store_kind());
    Scalar value = TRY(scalar(0));
    if (value.dtype() != dtype)
      return fail(std::string("a store to a buffer of ") + name_of(dtype) + " has a value of " + name_of(value.dtype()));
    return make_store(id, std::move(index), value, kind);
  }

  Result<StoreKind> store_kind() {
    if (lex_.accept("=")) return StoreKind::Assign;
    if (lex_.accept("+=")) return StoreKind::Add;
    if (lex_.accept("*=")) return StoreKind::Mul;
    StoreKind kind = StoreKind::Assign;
    for (StoreKind k : {StoreKind::Max, StoreKind::Min, StoreKind::And, StoreKind::Or})
      if (lex_.accept(name_of(k))) kind = k;
    if (kind == StoreKind::Assign) return fail("expected `=` or an updating store");
    TRY(expect("="));
    return kind;
  }

  using BufferUse = std::pair<BufferId, DType>;
  Result<BufferUse> buffer() {
    auto it = buffers_.find(lex_.peek().text);
    if (lex_.peek().kind != TokenKind::Buffer || it == buffers_.end() || it->second.empty())
      return fail("expected a buffer in scope");
    lex_.take();
    return it->second.back();
  }

  // ---- dims

  Result<std::vector<Dim>> dims(const char* open, const char* close) {
    TRY(expect(open));
    std::vector<Dim> out;
    while (!lex_.accept(close)) {
      if (!out.empty()) TRY(expect(","));
      out.push_back(TRY(dim()));
    }
    return out;
  }

  Result<Dim> dim() {
    if (++depth_ > kMaxDepth) return fail("the text nests too deeply");
    Dim sum = TRY(dim_product());
    while (lex_.is("+") || lex_.is("-")) {
      bool minus = lex_.take().text == "-";
      Dim right = TRY(dim_product());
      sum = minus ? sum - right : sum + right;
    }
    --depth_;
    return sum;
  }

  Result<Dim> dim_product() {
    bool negative = lex_.accept("-");
    Dim product = TRY(dim_factor());
    while (lex_.accept("*")) product = product * TRY(dim_factor());
    return negative ? -product : product;
  }

  Result<Dim> dim_factor() {
    if (lex_.accept("(")) {
      Dim d = TRY(dim());
      TRY(expect(")"));
      return d;
    }
    const Token& t = lex_.peek();
    if (t.kind == TokenKind::Number && t.suffix.empty()) {
      auto v = number<int64_t>(t.text);
      if (!v) return fail("expected an integer");
      lex_.take();
      return ctx_.constant(*v);
    }
    if (t.kind != TokenKind::Name) return fail("expected a size or an index");
    bool quoted = t.quoted;
    std::string n = lex_.take().text;
    if (!quoted && lex_.is("(")) return dim_call(n);
    auto known = ctx_.find_symbol(n);
    return known ? ctx_.symbol_dim(*known) : ctx_.symbol({.name = n});
  }

  Result<Dim> dim_call(const std::string& n) {
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

  // ---- scalars

  Result<Scalar> condition() {
    Scalar s = TRY(scalar(0));
    if (s.dtype() != DType::Bool) return fail("the condition is not a bool");
    return s;
  }

  struct Infix {
    const char* text;
    int strength;
    BinaryOp op;
  };
  std::optional<Infix> infix() const {
    static constexpr Infix kInfix[] = {{"||", 1, BinaryOp::Or}, {"&&", 2, BinaryOp::And}, {"==", 3, BinaryOp::Eq},
                                       {"!=", 3, BinaryOp::Ne}, {"<", 3, BinaryOp::Lt},   {"<=", 3, BinaryOp::Le},
                                       {">", 3, BinaryOp::Gt},  {">=", 3, BinaryOp::Ge},  {"+", 4, BinaryOp::Add},
                                       {"-", 4, BinaryOp::Sub}, {"*", 5, BinaryOp::Mul},  {"/", 5, BinaryOp::Div}};
    for (const Infix& i : kInfix)
      if (lex_.is(i.text)) return i;
    return std::nullopt;
  }

  // Operators that bind at least as tightly as `strength`.
  Result<Scalar> scalar(int strength) {
    if (++depth_ > kMaxDepth) return fail("the text nests too deeply");
    Scalar left = TRY(primary());
    while (auto op = infix()) {
      if (op->strength < strength) break;
      lex_.take();
      Scalar right = TRY(scalar(op->strength + 1));
      left = TRY(binary(op->op, left, right));
    }
    --depth_;
    return left;
  }

  Result<Scalar> binary(BinaryOp op, Scalar a, Scalar b) {
    if (a.dtype() != b.dtype())
      return fail(std::string("`") + expr::name_of(op) + "` has operands of " + name_of(a.dtype()) + " and " +
                  name_of(b.dtype()));
    return expr::make_binary(op, a, b);
  }

  Result<Scalar> primary() {
    if (lex_.accept("(")) {
      Scalar s = TRY(scalar(0));
      TRY(expect(")"));
      return s;
    }
    bool negative = lex_.accept("-");
    const Token& t = lex_.peek();
    if (t.kind == TokenKind::Number) return literal(negative);
    if (t.kind == TokenKind::Name && t.text.starts_with("inf.")) {
      auto dtype = dtype_of(t.text.substr(4));
      if (!dtype || !is_float(*dtype)) return fail("infinity needs a float dtype");
      lex_.take();
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

  Result<Scalar> literal(bool negative) {
    Token t = lex_.peek();
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
      lex_.take();
      return expr::make_const(ctx_, *dtype, *v);
    } else if (is_unsigned_int(*dtype)) {
      bits = number<uint64_t>(text);
      if (bits && byte_size(*dtype) < 8 && *bits >> (8 * byte_size(*dtype))) bits.reset();
    } else if (auto v = number<int64_t>(text)) {
      int64_t limit = std::numeric_limits<int64_t>::max() >> (64 - 8 * byte_size(*dtype));
      if (*v <= limit && *v >= -limit - 1) bits = static_cast<uint64_t>(*v);
    }
    if (!bits) return fail("the literal does not fit its dtype");
    lex_.take();
    return expr::make_const_bits(ctx_, *dtype, *bits);
  }

  Result<std::vector<Scalar>> arguments(size_t count) {
    TRY(expect("("));
    std::vector<Scalar> args;
    for (size_t i = 0; i < count; ++i) {
      if (i) TRY(expect(","));
      args.push_back(TRY(scalar(0)));
    }
    TRY(expect(")"));
    return args;
  }

  Result<Scalar> named() {
    std::string n = lex_.take().text;
    if (n == "true" || n == "false") return expr::make_const_bits(ctx_, DType::Bool, n == "true");
    if (!lex_.is("(")) {
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
  Result<Scalar> nan_literal() {
    TRY(expect("("));
    std::string text = lex_.take().text;
    auto bits = text.starts_with("0x") ? number<uint64_t>(std::string_view(text).substr(2), 16) : std::nullopt;
    if (!bits) return fail("nan() needs its bits");
    TRY(expect(")"));
    auto dtype = dtype_of(TRY(name()));
    if (!dtype || !is_float(*dtype)) return fail("nan() needs a float dtype");
    return expr::make_const_bits(ctx_, *dtype, *bits);
  }

  Result<Scalar> select() {
    auto a = TRY(arguments(3));
    if (a[0].dtype() != DType::Bool || a[1].dtype() != a[2].dtype()) return fail("select() has operands of wrong dtypes");
    return expr::make_select(a[0], a[1], a[2]);
  }

  Result<Scalar> cast(const std::string& n) {
    bool bits = n.starts_with("bitcast.");
    auto dtype = dtype_of(n.substr(n.find('.') + 1));
    if (!dtype) return fail("unknown dtype in `" + n + "`");
    Scalar s = TRY(arguments(1))[0];
    if (bits && byte_size(s.dtype()) != byte_size(*dtype)) return fail("bitcast changes the size of the value");
    return bits ? expr::make_bitcast(*dtype, s) : expr::make_cast(*dtype, s);
  }

  Lexer lex_;
  expr::Context& ctx_;
  int depth_ = 0;
  std::map<std::string, std::vector<BufferUse>> buffers_;
  std::map<std::string, Scalar> lets_;
};

}  // namespace

Result<Function> parse(std::string_view text, expr::Context& ctx) { return Parser(text, ctx).run(); }

}  // namespace pliant::loop
