#include "host/text_reader.h"

#include <charconv>

#include "host/kinds.h"

namespace pliant::host {

using loop::Token;
using loop::TokenKind;

namespace {

template <class T>
std::optional<T> number(std::string_view text) {
  T v{};
  const std::from_chars_result r = std::from_chars(text.data(), text.data() + text.size(), v);
  if (r.ec != std::errc() || r.ptr != text.data() + text.size()) return std::nullopt;
  return v;
}

// The number behind `prefix` in `text`.
std::optional<uint32_t> numbered(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return number<uint32_t>(text.substr(prefix.size()));
}

}  // namespace

Result<int64_t> TextReader::integer() {
  const std::string sign = accept("-") ? "-" : "";
  const Token& t = in.lex.peek();
  const auto v = t.kind == TokenKind::Number && t.suffix.empty() ? number<int64_t>(sign + t.text) : std::nullopt;
  if (!v) return fail("expected an integer");
  in.lex.take();
  return *v;
}

Result<uint32_t> TextReader::index() {
  const Token& t = in.lex.peek();
  const auto v = t.kind == TokenKind::Number && t.suffix.empty() ? number<uint32_t>(t.text) : std::nullopt;
  if (!v) return fail("expected a number");
  in.lex.take();
  return *v;
}

Result<uint32_t> TextReader::index_after(const char* word) {
  TRY(in.expect(word));
  return index();
}

bool TextReader::is_slot() const {
  const Token& t = in.lex.peek();
  return t.kind == TokenKind::Name && !t.quoted && numbered(t.text, "s");
}

Result<uint32_t> TextReader::slot() {
  if (!is_slot()) return fail("expected a slot");
  return *numbered(in.lex.take().text, "s");
}

Result<Int> TextReader::int_value() {
  if (is_slot()) return artifact::slot(TRY(slot()));
  return artifact::imm(TRY(integer()));
}

Result<Arg> TextReader::arg() {
  const Token& t = in.lex.peek();
  for (size_t k = 0; t.kind == TokenKind::Buffer && k < std::size(kArgKinds); ++k) {
    const auto number = numbered(t.text, kArgKinds[k]);
    if (!number) continue;
    in.lex.take();
    Arg a{static_cast<Arg::Kind>(k), *number, artifact::imm(0)};
    if (accept("+")) a.byte_offset = TRY(int_value());
    return a;
  }
  return fail("expected memory, as in %buffer0");
}

Result<std::string> TextReader::quoted() {
  if (in.lex.peek().kind != TokenKind::String) return fail("expected a quoted text");
  return in.lex.take().text;
}

Result<DType> TextReader::dtype() {
  const auto t = loop::dtype_of(in.lex.peek().text);
  if (!t) return fail("expected a dtype");
  in.lex.take();
  return *t;
}

Result<std::string> TextReader::where() {
  if (!accept("at")) return std::string();
  return quoted();
}

Result<expr::SymbolId> TextReader::symbol() {
  const std::string name = TRY(in.name());
  if (auto known = ctx_.find_symbol(name)) return *known;
  return *ctx_.symbol({.name = name}).as_symbol();
}

Result<std::vector<Int>> TextReader::ints() {
  return list<Int>("(", ")", [&] { return int_value(); });
}
Result<std::vector<Arg>> TextReader::args() {
  return list<Arg>("(", ")", [&] { return arg(); });
}

}  // namespace pliant::host
