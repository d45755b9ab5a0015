#include "loop/lexer.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace pliant::loop {
namespace {

constexpr std::array<std::string_view, 32> kWords = {
    "kernel", "for",  "in",     "if",     "else",   "check",    "trap",  "let",      "local",     "scratch", "bind",
    "while",  "when", "serial", "vector", "unroll", "parallel", "const", "out",      "strides",   "flops",   "true",
    "false",  "inf",  "nan",    "min",    "max",    "mod",      "value", "floordiv", "broadcast", "index"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string quote(std::string_view text, char mark) {
  std::string out(1, mark);
  for (char c : text) {
    if (c == mark || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + mark;
}

bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

bool is_name_char(char c) { return is_name_start(c) || is_digit(c) || c == '.'; }

std::string quote_name(std::string_view name) {
  bool plain = !name.empty() && is_name_start(name[0]) && std::all_of(name.begin(), name.end(), is_name_char) &&
               std::find(kWords.begin(), kWords.end(), name) == kWords.end();
  return plain ? std::string(name) : quote(name, '`');
}
std::string quote_string(std::string_view text) { return quote(text, '"'); }

Token Lexer::take() {
  Token t = token_;
  next();
  return t;
}

bool Lexer::is(std::string_view s) const {
  return (token_.kind == TokenKind::Punct || (token_.kind == TokenKind::Name && !token_.quoted)) && token_.text == s;
}

bool Lexer::accept(std::string_view s) {
  if (!is(s)) return false;
  next();
  return true;
}

void Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    if (text_[at_] == '\n') ++line_;
    if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

void Lexer::lex_quoted(char mark) {
  token_.quoted = true;
  for (++at_; at_ < text_.size() && text_[at_] != mark; ++at_) {
    char c = text_[at_];
    if (c == '\\' && at_ + 1 < text_.size()) {
      c = text_[++at_];
      if (c == 'n') c = '\n';
    }
    token_.text += c;
  }
  if (at_ == text_.size()) {
    fault_ = "a quoted text does not end";
  } else {
    ++at_;
  }
}

void Lexer::lex_number() {
  size_t from = at_;
  auto digits = [&] {
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  };
  auto at = [&](size_t k) { return at_ + k < text_.size() ? text_[at_ + k] : '\0'; };
  if (at(0) == '0' && at(1) == 'x') {
    for (at_ += 2; std::isxdigit(static_cast<unsigned char>(at(0)));) ++at_;
    token_.text = text_.substr(from, at_ - from);
    return;
  }
  digits();
  if (at(0) == '.') {
    ++at_;
    digits();
  }
  if (at(0) == 'e' && (is_digit(at(1)) || ((at(1) == '+' || at(1) == '-') && is_digit(at(2))))) {
    at_ += 2;
    digits();
  }
  token_.text = text_.substr(from, at_ - from);
  size_t suffix = at_;
  while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
  token_.suffix = text_.substr(suffix, at_ - suffix);
}

void Lexer::next() {
  skip_blanks();
  token_ = Token{.line = line_};
  if (at_ == text_.size()) return;
  char c = text_[at_];
  if (c == '`' || c == '"') {
    token_.kind = c == '`' ? TokenKind::Name : TokenKind::String;
    lex_quoted(c);
  } else if (c == '%') {
    ++at_;
    token_.kind = TokenKind::Buffer;
    if (at_ < text_.size() && text_[at_] == '`') {
      lex_quoted('`');
    } else {
      while (at_ < text_.size() && is_name_char(text_[at_])) token_.text += text_[at_++];
    }
    if (token_.text.empty()) fault_ = "a buffer has no name";
  } else if (is_name_start(c)) {
    token_.kind = TokenKind::Name;
    while (at_ < text_.size() && is_name_char(text_[at_])) token_.text += text_[at_++];
  } else if (is_digit(c)) {
    token_.kind = TokenKind::Number;
    lex_number();
  } else {
    token_.kind = TokenKind::Punct;
    std::string_view two = text_.substr(at_, 2);
    for (std::string_view op : {"==", "!=", "<=", ">=", "&&", "||", "+=", "*="}) {
      if (two == op) token_.text = op;
    }
    if (token_.text.empty()) token_.text = c;
    at_ += token_.text.size();
  }
}

}  // namespace pliant::loop
