#include "graph/cursor.h"

#include <algorithm>
#include <charconv>

namespace pliant::graph {
namespace {

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}
bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

Error Cursor::fail(const std::string& message) const {
  auto line = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size())), '\n') + 1;
  return make_error("parse-error", "line " + std::to_string(line), message);
}

void Cursor::skip_blanks() {
  while (at_ < text_.size()) {
    if (is_blank(text_[at_])) {
      ++at_;
    } else if (text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

char Cursor::peek() {
  skip_blanks();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool Cursor::looking_at(std::string_view word) {
  skip_blanks();
  if (text_.substr(at_, word.size()) != word) return false;
  size_t end = at_ + word.size();
  return !is_word_char(word.back()) || end >= text_.size() || !is_word_char(text_[end]);
}

bool Cursor::accept(std::string_view token) {
  if (!looking_at(token)) return false;
  at_ += token.size();
  return true;
}

Status Cursor::expect(std::string_view token) {
  if (accept(token)) return ok();
  std::string found = at_end() ? "the end" : "'" + std::string(text_.substr(at_, 12)) + "'";
  return fail("expected '" + std::string(token) + "' but found " + found);
}

Result<std::string> Cursor::quoted() {
  if (peek() != '"') return fail("expected a quoted string");
  std::string out;
  for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
    if (text_[at_] != '\\') {
      out += text_[at_];
      continue;
    }
    ++at_;
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\\')) {
      out += text_[at_];
    } else if (at_ + 2 < text_.size() && text_[at_] == 'x' && hex_digit(text_[at_ + 1]) >= 0 &&
               hex_digit(text_[at_ + 2]) >= 0) {
      out += static_cast<char>(hex_digit(text_[at_ + 1]) * 16 + hex_digit(text_[at_ + 2]));
      at_ += 2;
    } else {
      return fail("unknown escape in a string");
    }
  }
  if (at_ >= text_.size()) return fail("a string is not closed");
  ++at_;
  return out;
}

Result<std::string> Cursor::name() {
  if (peek() == '"') return quoted();
  size_t begin = at_;
  while (at_ < text_.size() && is_word_char(text_[at_])) ++at_;
  if (at_ == begin) return fail("expected a name");
  return std::string(text_.substr(begin, at_ - begin));
}

Result<int64_t> Cursor::integer() {
  skip_blanks();
  int64_t v = 0;
  auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
  if (error != std::errc()) return fail("expected an integer");
  at_ = static_cast<size_t>(end - text_.data());
  return v;
}

std::string_view Cursor::word() {
  skip_blanks();
  size_t begin = at_;
  while (at_ < text_.size() && !is_blank(text_[at_]) && std::string_view(",)]}>").find(text_[at_]) == std::string_view::npos)
    ++at_;
  return text_.substr(begin, at_ - begin);
}

std::string_view Cursor::dim_text() {
  skip_blanks();
  size_t begin = at_;
  int depth = 0;
  bool in_quotes = false;
  for (; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
    char c = text_[at_];
    if (c == '`') in_quotes = !in_quotes;
    if (in_quotes) continue;
    if (depth == 0 && (c == ',' || c == ')' || c == ']')) break;
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
  }
  return text_.substr(begin, at_ - begin);
}

Result<std::string> Cursor::symbol_name() {
  if (peek() != '`') return name();
  size_t end = text_.find('`', at_ + 1);
  if (end == std::string_view::npos) return fail("a symbol's name is not closed");
  std::string out(text_.substr(at_ + 1, end - at_ - 1));
  at_ = end + 1;
  return out;
}

}  // namespace pliant::graph
