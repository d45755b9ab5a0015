// A position in a text with the lexical rules of the graph text: blanks and `//` comments between tokens are skipped.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace pliant::graph {

class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  bool at_end() { return peek() == '\0'; }
  // The next character that is not blank, or 0 at the end.
  char peek();
  // Consumes `token` if it comes next; a word must end where the token ends.
  bool accept(std::string_view token);
  Status expect(std::string_view token);
  // True when `word` comes next; nothing is consumed.
  bool looking_at(std::string_view word);
  Result<std::string> quoted();
  // A plain name or a quoted string.
  Result<std::string> name();
  Result<int64_t> integer();
  // Characters up to the next blank, ',', or closing bracket.
  std::string_view word();
  // Characters up to a ',' or a closing bracket that is not inside brackets or back quotes of its own: the text of one dim.
  std::string_view dim_text();
  // A symbol's name, without its back quotes.
  Result<std::string> symbol_name();
  Error fail(const std::string& message) const;

 private:
  void skip_blanks();
  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace pliant::graph
