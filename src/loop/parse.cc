// Reads the text that print.cc describes.
#include <charconv>

#include "loop/loop.h"
#include "loop/parse_expr.h"

namespace pliant::loop {
namespace {

template <class T>
std::optional<T> number(std::string_view text) {
  T v{};
  auto r = std::from_chars(text.data(), text.data() + text.size(), v);
  if (r.ec != std::errc() || r.ptr != text.data() + text.size()) return std::nullopt;
  return v;
}

class Parser {
 public:
  Parser(std::string_view text, expr::Context& ctx) : in_(text, ctx), ctx_(ctx) {}

  Result<Function> run() {
    Function f;
    TRY(in_.expect("kernel"));
    f.name = TRY(in_.name());
    TRY(in_.expect("("));
    while (!in_.lex.accept(")")) {
      if (!f.params.empty()) TRY(in_.expect(","));
      Buffer b = TRY(declaration(Scope::Param));
      if (in_.lex.accept("const")) b.is_constant = true;
      if (in_.lex.accept("out")) b.is_output = true;
      f.params.push_back(std::move(b));
    }
    if (in_.lex.accept("flops")) {
      auto v = number<double>(in_.lex.take().text);
      if (!v) return in_.fail("`flops` needs a number");
      f.flops_hint = *v;
    }
    TRY(in_.expect("{"));
    while (in_.lex.accept("trap")) {
      if (in_.lex.peek().kind != TokenKind::String) return in_.fail("a trap needs a quoted message");
      f.traps.push_back({in_.lex.take().text, nullptr});
    }
    f.body = TRY(statements());
    if (in_.lex.peek().kind != TokenKind::End) return in_.fail("text follows the kernel");
    if (!in_.lex.fault().empty()) return in_.fail(in_.lex.fault());
    return f;
  }

 private:
  Result<Buffer> declaration(Scope scope) {
    if (in_.lex.peek().kind != TokenKind::Buffer) return in_.fail("expected a buffer");
    Buffer b{.id = ctx_.fresh_tensor(), .scope = scope};
    b.name = in_.lex.take().text;
    TRY(in_.expect(":"));
    auto t = dtype_of(in_.lex.peek().text);
    if (!t) return in_.fail("expected a dtype");
    in_.lex.take();
    b.dtype = *t;
    b.shape = TRY(in_.dims("[", "]"));
    if (in_.lex.accept("strides")) b.strides = TRY(in_.dims("[", "]"));
    in_.declare(b);
    return b;
  }

  // After an opening brace, through the closing one.
  Result<StmtPtr> statements() {
    TRY(in_.enter());
    std::vector<StmtPtr> out;
    while (!in_.lex.accept("}")) {
      in_.forget_lets();
      out.push_back(TRY(statement()));
    }
    in_.leave();
    return make_block(std::move(out));
  }

  Result<StmtPtr> statement() {
    while (in_.lex.accept("let")) {
      std::string n = TRY(in_.name());
      TRY(in_.expect("="));
      in_.set_let(n, TRY(in_.scalar()));
    }
    if (in_.lex.accept("for")) return for_loop();
    if (in_.lex.accept("if")) return if_statement();
    if (in_.lex.accept("bind")) return bind();
    if (in_.lex.accept("while")) return while_loop();
    if (in_.lex.is("local") || in_.lex.is("scratch")) return alloc();
    if (in_.lex.accept("check")) return check();
    if (in_.lex.accept("stream")) return non_temporal_store();
    if (in_.lex.peek().kind == TokenKind::Buffer) return store();
    return in_.fail("expected a statement");
  }

  Result<StmtPtr> for_loop() {
    ForKind kind = ForKind::Serial;
    for (ForKind k :
         {ForKind::Serial, ForKind::Parallel, ForKind::Vector, ForKind::Unroll, ForKind::Outline, ForKind::Tensor})
      if (in_.lex.accept(name_of(k))) kind = k;
    std::string instruction;
    if (kind == ForKind::Tensor) instruction = TRY(in_.name());
    std::string var = TRY(in_.name());
    TRY(in_.expect("in"));
    Dim extent = TRY(in_.dim());
    auto known = ctx_.find_symbol(var);
    SymbolId id = known ? *known : *ctx_.index_symbol(var, extent).as_symbol();
    TRY(in_.expect("{"));
    StmtPtr body = TRY(statements());
    if (kind == ForKind::Tensor) return make_tensor(id, extent, std::move(instruction), std::move(body));
    return make_for(id, extent, kind, std::move(body));
  }

  // The symbol of that name, which is declared with these facts where it is new.
  SymbolId variable(expr::SymbolInfo info) {
    auto known = ctx_.find_symbol(info.name);
    return known ? *known : *ctx_.symbol(std::move(info)).as_symbol();
  }

  Result<StmtPtr> bind() {
    std::string var = TRY(in_.name());
    TRY(in_.expect("="));
    Dim value = TRY(in_.dim());
    expr::Interval range = ctx_.range(value);
    SymbolId id = variable({.name = var, .lo = range.lo, .hi = range.hi});
    TRY(in_.expect("{"));
    StmtPtr body = TRY(statements());
    return make_let(id, value, std::move(body));
  }

  Result<StmtPtr> while_loop() {
    std::string var = TRY(in_.name());
    Dim limit;
    if (in_.lex.accept("in")) limit = TRY(in_.dim());
    expr::SymbolInfo info{.name = var};
    if (limit) info.upper = limit - 1;
    SymbolId id = variable(std::move(info));
    Scalar cond;
    if (in_.lex.accept("when")) cond = TRY(in_.condition());
    in_.forget_lets();
    TRY(in_.expect("{"));
    StmtPtr body = TRY(statements());
    return make_while(id, limit, cond, std::move(body));
  }

  Result<StmtPtr> if_statement() {
    Scalar cond = TRY(in_.condition());
    TRY(in_.expect("{"));
    StmtPtr then = TRY(statements());
    if (!in_.lex.accept("else")) return make_if(cond, then);
    in_.forget_lets();
    if (in_.lex.accept("if")) {
      TRY(in_.enter());
      StmtPtr otherwise = TRY(if_statement());
      in_.leave();
      return make_if(cond, then, otherwise);
    }
    TRY(in_.expect("{"));
    StmtPtr otherwise = TRY(statements());
    return make_if(cond, then, otherwise);
  }

  Result<StmtPtr> alloc() {
    Scope scope = in_.lex.take().text == "local" ? Scope::Local : Scope::Scratch;
    Buffer b = TRY(declaration(scope));
    TRY(in_.expect("{"));
    StmtPtr body = TRY(statements());
    in_.undeclare(b);
    return make_alloc(std::move(b), std::move(body));
  }

  Result<StmtPtr> check() {
    Scalar cond = TRY(in_.condition());
    TRY(in_.expect("trap"));
    auto trap = number<uint32_t>(in_.lex.peek().text);
    if (!trap) return in_.fail("expected the number of a trap");
    in_.lex.take();
    auto values = TRY(in_.dims("(", ")"));
    return make_check(cond, *trap, std::move(values));
  }

  Result<StmtPtr> store() {
    auto [id, dtype] = TRY(in_.buffer());
    auto index = TRY(in_.dims("[", "]"));
    auto kind = TRY(store_kind());
    Scalar value = TRY(in_.scalar());
    if (value.dtype() != dtype)
      return in_.fail(std::string("a store to a buffer of ") + name_of(dtype) + " has a value of " + name_of(value.dtype()));
    return make_store(id, std::move(index), value, kind);
  }

  Result<StmtPtr> non_temporal_store() {
    Stmt s = *TRY(store());
    s.non_temporal = true;
    return std::make_shared<const Stmt>(std::move(s));
  }

  Result<StoreKind> store_kind() {
    if (in_.lex.accept("=")) return StoreKind::Assign;
    if (in_.lex.accept("+=")) return StoreKind::Add;
    if (in_.lex.accept("*=")) return StoreKind::Mul;
    StoreKind kind = StoreKind::Assign;
    for (StoreKind k : {StoreKind::Max, StoreKind::Min, StoreKind::And, StoreKind::Or})
      if (in_.lex.accept(name_of(k))) kind = k;
    if (kind == StoreKind::Assign) return in_.fail("expected `=` or an updating store");
    TRY(in_.expect("="));
    return kind;
  }

  ExprParser in_;
  expr::Context& ctx_;
};

}  // namespace

Result<Function> parse(std::string_view text, expr::Context& ctx) { return Parser(text, ctx).run(); }

}  // namespace pliant::loop
