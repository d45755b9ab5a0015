// Reads the lines of a trace.
#include <algorithm>
#include <charconv>
#include <functional>
#include <tuple>

#include "loop/parse_expr.h"
#include "schedule/edit.h"

namespace pliant::schedule {
namespace {

using loop::Lexer;
using loop::TokenKind;

// The words of one line, taken from left to right. After a fault every further word is empty.
class Words {
 public:
  Words(std::string_view line, expr::Context& ctx) : line_(line), ctx_(ctx), parser_(line, ctx), lex_(parser_.lex) {}

  std::string name() {
    if (lex_.peek().kind != TokenKind::Name) return fail("a name");
    return lex_.take().text;
  }
  int64_t integer() {
    int64_t v = 0;
    const std::string& text = lex_.peek().text;
    auto r = std::from_chars(text.data(), text.data() + text.size(), v);
    bool whole = r.ec == std::errc() && r.ptr == text.data() + text.size() && lex_.peek().suffix.empty();
    if (lex_.peek().kind != TokenKind::Number || !whole) {
      fail("an integer");
      return 0;
    }
    lex_.take();
    return v;
  }
  // An integer, or a size in brackets.
  Dim size() {
    if (!lex_.is("[")) return ctx_.constant(integer());
    const Result<std::vector<Dim>> dims = parser_.dims("[", "]");
    if (dims.ok() && dims.value().size() == 1) return dims.value()[0];
    fail("a size");
    return ctx_.constant(1);
  }
  std::vector<int64_t> integers() {
    std::vector<int64_t> out;
    if (!lex_.accept("[")) return out;
    while (!fault_ && !lex_.accept("]")) {
      if (!out.empty() && !lex_.accept(",")) fail("`,`");
      out.push_back(integer());
    }
    return out;
  }
  std::vector<std::string> names() {
    std::vector<std::string> out;
    while (lex_.peek().kind == TokenKind::Name) out.push_back(lex_.take().text);
    return out;
  }
  void arrow() {
    if (!lex_.accept("-") || !lex_.accept(">")) fail("`->`");
  }
  void word(const char* w) {
    if (!lex_.accept(w)) fail(std::string("`") + w + "`");
  }
  bool accept(const char* w) { return lex_.accept(w); }
  bool is(const char* w) { return lex_.is(w); }
  bool has_more() const { return !fault_ && lex_.peek().kind != TokenKind::End; }
  Scope scope() {
    if (lex_.accept("local")) return Scope::Local;
    if (!lex_.accept("scratch")) fail("`local` or `scratch`");
    return Scope::Scratch;
  }
  // The fault of the line, if any; what is left over is one.
  Status finish() {
    if (!fault_ && lex_.peek().kind != TokenKind::End) fail("the end of the line");
    if (fault_) return std::move(*fault_);
    return ok();
  }

 private:
  std::string fail(const std::string& expected) {
    std::string found = lex_.peek().kind == TokenKind::End ? "the line ends" : "`" + lex_.peek().text + "` stands";
    if (!fault_)
      fault_ = make_error("schedule-syntax", "`" + std::string(line_) + "`", "expected " + expected + " where " + found);
    return "";
  }
  std::string_view line_;
  expr::Context& ctx_;
  loop::ExprParser parser_;
  Lexer& lex_;
  std::optional<Error> fault_;
};

// A primitive as a line: reads its operands, then applies it.
struct Verb {
  const char* name;
  Status (*apply)(Schedule& s, Words& w);
};

// ---- what stands in a line: each reads its words and gives the arguments that they are

template <auto word>
struct One {
  static auto read(Words& w) { return std::tuple{(w.*word)()}; }
};
using Name = One<&Words::name>;
using Names = One<&Words::names>;
using Integer = One<&Words::integer>;
using Integers = One<&Words::integers>;
using Size = One<&Words::size>;
using MemoryScope = One<&Words::scope>;
struct At {
  static std::tuple<> read(Words& w) { return w.word("at"), std::tuple{}; }
};
struct Arrow {
  static std::tuple<> read(Words& w) { return w.arrow(), std::tuple{}; }
};

// The primitive on what stands in the line, which are its arguments in their order.
template <auto primitive, class... Operands>
Status apply(Schedule& s, Words& w) {
  const std::tuple<decltype(Operands::read(w))...> parts{Operands::read(w)...};  // in braces: from left to right
  TRY(w.finish());
  const auto arguments = std::apply([](const auto&... part) { return std::tuple_cat(part...); }, parts);
  return std::apply([&](const auto&... a) { return std::invoke(primitive, s, a...); }, arguments);
}

// ---- primitives of several forms

constexpr Status (Schedule::*kSplit)(std::string_view, Dim, std::string_view, std::string_view) = &Schedule::split;

template <class F>
Status after(Words& w, F&& apply) {
  TRY(w.finish());
  return apply();
}

Status apply_vectorize(Schedule& s, Words& w) {
  auto l = w.name();
  if (!w.has_more()) return after(w, [&] { return s.vectorize(l); });
  auto lanes = w.integer();
  w.arrow();
  auto v = w.name(), i = w.name(), t = w.name();
  const Rest rest = w.accept("halving") ? Rest::Halving : w.accept("whole") ? Rest::Whole : Rest::Masked;
  return after(w, [&] { return s.vectorize(l, lanes, v, i, t, rest); });
}
Status apply_carry(Schedule& s, Words& w) {
  auto acc = w.name();
  w.word("at");
  auto l = w.name();
  auto block = w.integer();
  w.arrow();
  auto name = w.name();
  const Short how = w.accept("shared") ? Short::Shared : Short::Copied;
  return after(w, [&] { return s.carry(acc, l, block, name, how); });
}
Status apply_pad(Schedule& s, Words& w) {
  auto l = w.name();
  auto width = w.integer();
  const Beyond beyond = w.accept("zero") ? Beyond::Zero : w.accept("last") ? Beyond::Last : Beyond::Same;
  return after(w, [&] { return s.pad(l, width, beyond); });
}
Status apply_specialize(Schedule& s, Words& w) {
  auto l = w.name();
  w.word("at");
  auto at = w.name();
  const Constant mark = w.accept("unroll") ? Constant::Unroll : Constant::Keep;
  if (mark == Constant::Keep) w.word("keep");
  auto values = w.integers();
  return after(w, [&] { return s.specialize(l, at, mark, values); });
}
Status apply_partition(Schedule& s, Words& w) {
  auto l = w.name();
  std::optional<Dim> count;
  if (!w.is("-")) count = w.size();
  w.arrow();
  auto main = w.name(), tail = w.name();
  return after(w, [&] { return count ? s.partition(l, *count, main, tail) : s.partition(l, main, tail); });
}
Status apply_partition_widths(Schedule& s, Words& w) {
  auto l = w.name();
  const bool unrolls = w.accept("unroll");
  if (!unrolls) w.word("vectorize");
  const bool back = w.accept("back");
  return after(w, [&] { return s.partition_widths(l, unrolls ? loop::ForKind::Unroll : loop::ForKind::Vector, back); });
}

constexpr Verb kVerbs[] = {
    {"split", apply<kSplit, Name, Size, Arrow, Name, Name>},
    {"split_even", apply<&Schedule::split_even, Name, Integer, Arrow, Name, Name>},
    {"split_blocks", apply<&Schedule::split_blocks, Name, Size, Integer, Arrow, Name, Name>},
    {"split_widths", apply<&Schedule::split_widths, Name, Integers, Arrow, Name, Name>},
    {"partition_widths", apply_partition_widths},
    {"fuse", apply<&Schedule::fuse, Name, Name, Arrow, Name>},
    {"collapse", apply<&Schedule::collapse, Name, Name, Arrow, Name>},
    {"reorder", apply<&Schedule::reorder, Names>},
    {"fission", apply<&Schedule::fission, Name>},
    {"transpose", apply<&Schedule::transpose, Name, Name, Integer>},
    {"merge", apply<&Schedule::merge, Name, Name>},
    {"let", apply<&Schedule::let, Name, At, Name, Arrow, Name, Name>},
    {"version", apply<&Schedule::version, Name, Size, Integer>},
    {"cut", apply<&Schedule::cut, Name, Arrow, Name, Name, Name>},
    {"unswitch", apply<&Schedule::unswitch, Name>},
    {"interior", apply<&Schedule::interior, Name>},
    {"clip", apply<&Schedule::clip, Name, At, Name>},
    {"branch", apply<&Schedule::branch, Name>},
    {"rfactor", apply<&Schedule::rfactor, Name, Integer, At, Name, Arrow, Name, MemoryScope>},
    {"rfactor_arg", apply<&Schedule::rfactor_arg, Name, Integer, Arrow, Name>},
    {"scan", apply<&Schedule::scan, Name, Integer>},
    {"fold", apply<&Schedule::fold, Name, Name, Integer, Arrow, Name>},
    {"carry", apply_carry},
    {"unroll", apply<&Schedule::unroll, Name>},
    {"outline", apply<&Schedule::outline, Name>},
    {"vectorize", apply_vectorize},
    {"parallel", apply<&Schedule::parallel, Name>},
    {"tensorize", apply<&Schedule::tensorize, Name, Name>},
    {"mask", apply<&Schedule::mask, Name>},
    {"pad", apply_pad},
    {"specialize", apply_specialize},
    {"partition", apply_partition},
    {"cache_write", apply<&Schedule::cache_write, Name, At, Name, Arrow, Name, MemoryScope>},
    {"cache_read", apply<&Schedule::cache_read, Name, At, Name, Arrow, Name, MemoryScope, Integers>},
    {"repack", apply<&Schedule::repack, Name, Integer, Integer, Integers, Arrow, Name>},
    {"compute_at", apply<&Schedule::compute_at, Name, At, Name>},
    {"expand", apply<&Schedule::expand, Name, At, Name>},
    {"narrow", apply<&Schedule::narrow, Name, At, Name, MemoryScope>},
    {"in_place", apply<&Schedule::in_place, Name, Name>},
    {"bind", apply<&Schedule::bind, Name, MemoryScope>},
};

}  // namespace

Status Schedule::replay(std::string_view trace) {
  while (!trace.empty()) {
    size_t end = std::min(trace.find('\n'), trace.size());
    std::string_view line = trace.substr(0, end);
    trace.remove_prefix(std::min(end + 1, trace.size()));
    size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line[first] == '#') continue;
    Words words(line, ctx_);
    std::string verb = words.name();
    const Verb* found = nullptr;
    for (const Verb& v : kVerbs)
      if (verb == v.name) found = &v;
    if (!found) return make_error("schedule-syntax", "`" + std::string(line) + "`", "there is no primitive `" + verb + "`");
    TRY(found->apply(*this, words));
  }
  return ok();
}

}  // namespace pliant::schedule
