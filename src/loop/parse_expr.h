// Reads expressions inside loop functions; print.cc describes the syntax.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "loop/lexer.h"
#include "loop/loop.h"

namespace pliant::loop {

std::optional<DType> dtype_of(std::string_view name);

class ExprParser {
 public:
  ExprParser(std::string_view text, expr::Context& ctx) : lex(text), ctx_(ctx) {}
  Lexer lex;

  // The error that says what is wrong at the next token.
  Error fail(const std::string& message) const;
  Status expect(const char* text);
  Result<std::string> name();
  // Counts nesting; refuses texts so deep that they would exhaust the stack.
  Status enter();
  void leave() { --depth_; }

  struct BufferUse {
    BufferId id;
    DType dtype;
  };
  // Declarations nest: the last of a name counts.
  void declare(const Buffer& b) { buffers_[b.name].push_back({b.id, b.dtype}); }
  void undeclare(const Buffer& b) { buffers_[b.name].pop_back(); }
  Result<BufferUse> buffer();

  void forget_lets() { lets_.clear(); }
  void set_let(const std::string& name, Scalar s) { lets_[name] = s; }

  Result<Dim> dim();
  Result<std::vector<Dim>> dims(const char* open, const char* close);
  // Operators that bind at least as tightly as `strength`; 0 for all.
  Result<Scalar> scalar(int strength = 0);
  Result<Scalar> condition();

 private:
  Result<Dim> dim_product();
  Result<Dim> dim_factor();
  Result<Dim> dim_call(const std::string& function);
  Result<Scalar> binary(expr::BinaryOp op, Scalar a, Scalar b);
  Result<Scalar> primary();
  Result<Scalar> literal(bool negative);
  Result<std::vector<Scalar>> arguments(size_t count);
  Result<Scalar> named();
  Result<Scalar> nan_literal();
  Result<Scalar> select();
  Result<Scalar> cast(const std::string& function);

  expr::Context& ctx_;
  int depth_ = 0;
  std::map<std::string, std::vector<BufferUse>> buffers_;
  std::map<std::string, Scalar> lets_;
};

}  // namespace pliant::loop
