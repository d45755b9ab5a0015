// Tokens of the loop text.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace pliant::loop {

enum class TokenKind : uint8_t {
  End,
  Name,    // `text`: the identifier; quoted ones without their backticks
  Buffer,  // `%name`
  Number,  // `text`: digits, fraction and exponent; `suffix`: the dtype that follows without a space
  String,  // `text`: unescaped
  Punct,   // `text`: one of the operators
};
struct Token {
  TokenKind kind = TokenKind::End;
  std::string text;
  std::string suffix;
  bool quoted = false;
  int line = 1;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { next(); }
  const Token& peek() const { return token_; }
  Token take();
  bool is(std::string_view punct_or_keyword) const;
  bool accept(std::string_view punct_or_keyword);
  const std::string& fault() const { return fault_; }

 private:
  void next();
  void skip_blanks();
  void lex_number();
  void lex_quoted(char quote);
  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  Token token_;
  std::string fault_;
};

bool is_name_char(char c);
// The name as it is written: in backticks when it is not an identifier or is a word of the syntax.
std::string quote_name(std::string_view name);
std::string quote_string(std::string_view text);

}  // namespace pliant::loop
