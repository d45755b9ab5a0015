// Reads what the lines of a host module are made of; print.cc describes the syntax.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "host/host.h"
#include "loop/parse_expr.h"

namespace pliant::host {

class TextReader {
 public:
  TextReader(std::string_view text, expr::Context& ctx) : in(text, ctx), ctx_(ctx) {}
  loop::ExprParser in;

  bool accept(std::string_view word) { return in.lex.accept(word); }
  Error fail(const std::string& message) const { return in.fail(message); }
  bool at_end() const { return in.lex.peek().kind == loop::TokenKind::End; }

  Result<int64_t> integer();
  Result<uint32_t> index();
  // `word`, then an index.
  Result<uint32_t> index_after(const char* word);
  Result<uint32_t> slot();
  bool is_slot() const;
  Result<Int> int_value();
  Result<Arg> arg();
  Result<std::string> quoted();
  Result<DType> dtype();
  // `at "…"`, or nothing.
  Result<std::string> where();
  Result<expr::SymbolId> symbol();
  // Items between `open` and `close`, with commas between them; `item` reads one.
  template <class T, class F>
  Result<std::vector<T>> list(const char* open, const char* close, F&& item) {
    TRY(in.expect(open));
    std::vector<T> out;
    while (!accept(close)) {
      if (!out.empty()) TRY(in.expect(","));
      out.push_back(TRY(item()));
    }
    return out;
  }
  Result<std::vector<Int>> ints();
  Result<std::vector<Arg>> args();

 private:
  expr::Context& ctx_;
};

// The position of `word` among `words`.
template <size_t N>
std::optional<size_t> position_of(const char* const (&words)[N], std::string_view word) {
  const auto* it = std::find(std::begin(words), std::end(words), word);
  return it == std::end(words) ? std::nullopt : std::optional<size_t>(it - std::begin(words));
}

}  // namespace pliant::host
