// Reads the lines of a trace.
#include <algorithm>
#include <charconv>

#include "loop/parse_expr.h"
#include "schedule/edit.h"

namespace pliant::schedule {
namespace {

using loop::Lexer;
using loop::TokenKind;

// The words of one line, taken from left to right. After a fault every further word is empty.
class Words {
 public:
  Words(std::string_view line, expr::Context& ctx) : line_(line), parser_(line, ctx), lex_(parser_.lex) {}

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
  Dim size(expr::Context& ctx) {
    if (!lex_.is("[")) return ctx.constant(integer());
    const Result<std::vector<Dim>> dims = parser_.dims("[", "]");
    if (dims.ok() && dims.value().size() == 1) return dims.value()[0];
    fail("a size");
    return ctx.constant(1);
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
  bool at_arrow() { return lex_.is("-"); }
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
  loop::ExprParser parser_;
  Lexer& lex_;
  std::optional<Error> fault_;
};

// A primitive as a line: reads its operands, then applies it.
struct Verb {
  const char* name;
  Status (*apply)(Schedule& s, Words& w);
};

template <class F>
Status after(Words& w, F&& apply) {
  TRY(w.finish());
  return apply();
}

Status apply_split(Schedule& s, Words& w) {
  auto l = w.name();
  auto f = w.size(s.ctx());
  w.arrow();
  auto o = w.name(), i = w.name();
  return after(w, [&] { return s.split(l, f, o, i); });
}
Status apply_split_even(Schedule& s, Words& w) {
  auto l = w.name();
  auto f = w.integer();
  w.arrow();
  auto o = w.name(), i = w.name();
  return after(w, [&] { return s.split_even(l, f, o, i); });
}
Status apply_split_blocks(Schedule& s, Words& w) {
  auto l = w.name();
  auto most = w.size(s.ctx());
  auto f = w.integer();
  w.arrow();
  auto o = w.name(), i = w.name();
  return after(w, [&] { return s.split_blocks(l, most, f, o, i); });
}
Status apply_fuse(Schedule& s, Words& w) {
  auto o = w.name(), i = w.name();
  w.arrow();
  auto f = w.name();
  return after(w, [&] { return s.fuse(o, i, f); });
}
Status apply_reorder(Schedule& s, Words& w) {
  auto l = w.names();
  return after(w, [&] { return s.reorder(l); });
}
Status apply_fission(Schedule& s, Words& w) {
  auto l = w.name();
  return after(w, [&] { return s.fission(l); });
}
Status apply_transpose(Schedule& s, Words& w) {
  auto k = w.name(), j = w.name();
  auto n = w.integer();
  return after(w, [&] { return s.transpose(k, j, n); });
}
Status apply_merge(Schedule& s, Words& w) {
  auto a = w.name(), b = w.name();
  return after(w, [&] { return s.merge(a, b); });
}
Status apply_collapse(Schedule& s, Words& w) {
  auto o = w.name(), i = w.name();
  w.arrow();
  auto f = w.name();
  return after(w, [&] { return s.collapse(o, i, f); });
}
Status apply_unroll(Schedule& s, Words& w) {
  auto l = w.name();
  return after(w, [&] { return s.unroll(l); });
}
Status apply_vectorize(Schedule& s, Words& w) {
  auto l = w.name();
  if (!w.has_more()) return after(w, [&] { return s.vectorize(l); });
  auto lanes = w.integer();
  w.arrow();
  auto v = w.name(), i = w.name(), t = w.name();
  const Rest rest = w.accept("halving") ? Rest::Halving : Rest::Masked;
  return after(w, [&] { return s.vectorize(l, lanes, v, i, t, rest); });
}
Status apply_let(Schedule& s, Words& w) {
  auto l = w.name();
  w.word("at");
  auto at = w.name();
  w.arrow();
  auto f = w.name(), n = w.name();
  return after(w, [&] { return s.let(l, at, f, n); });
}
Status apply_branch(Schedule& s, Words& w) {
  auto l = w.name();
  return after(w, [&] { return s.branch(l); });
}
Status apply_tensorize(Schedule& s, Words& w) {
  auto l = w.name(), i = w.name();
  return after(w, [&] { return s.tensorize(l, i); });
}
Status apply_parallel(Schedule& s, Words& w) {
  auto l = w.name();
  return after(w, [&] { return s.parallel(l); });
}
Status apply_mask(Schedule& s, Words& w) {
  auto l = w.name();
  return after(w, [&] { return s.mask(l); });
}
Status apply_pad(Schedule& s, Words& w) {
  auto l = w.name();
  if (w.has_more()) {
    auto width = w.integer();
    const Beyond beyond = w.accept("zero") ? Beyond::Zero : w.accept("last") ? Beyond::Last : Beyond::Same;
    return after(w, [&] { return s.pad(l, width, beyond); });
  }
  return after(w, [&] { return s.pad(l); });
}
Status apply_specialize(Schedule& s, Words& w) {
  auto l = w.name();
  w.word("at");
  auto at = w.name();
  Constant mark = Constant::Keep;
  if (w.accept("unroll")) {
    mark = Constant::Unroll;
  } else if (w.accept("vectorize")) {
    mark = Constant::Vectorize;
  } else {
    w.word("keep");
  }
  auto values = w.integers();
  return after(w, [&] { return s.specialize(l, at, mark, values); });
}
Status apply_partition(Schedule& s, Words& w) {
  auto l = w.name();
  if (w.has_more() && !w.at_arrow()) {
    auto count = w.size(s.ctx());
    w.arrow();
    auto m = w.name(), t = w.name();
    return after(w, [&] { return s.partition(l, count, m, t); });
  }
  w.arrow();
  auto m = w.name(), t = w.name();
  return after(w, [&] { return s.partition(l, m, t); });
}
Status apply_cache_write(Schedule& s, Words& w) {
  auto b = w.name();
  w.word("at");
  auto l = w.name();
  w.arrow();
  auto n = w.name();
  auto scope = w.scope();
  return after(w, [&] { return s.cache_write(b, l, n, scope); });
}
Status apply_cache_read(Schedule& s, Words& w) {
  auto b = w.name();
  w.word("at");
  auto l = w.name();
  w.arrow();
  auto n = w.name();
  auto scope = w.scope();
  auto order = w.integers();
  return after(w, [&] { return s.cache_read(b, l, n, scope, order); });
}
Status apply_repack(Schedule& s, Words& w) {
  auto b = w.name();
  auto d = w.integer(), f = w.integer();
  auto order = w.integers();
  w.arrow();
  auto n = w.name();
  return after(w, [&] { return s.repack(b, d, f, order, n); });
}
Status apply_rfactor(Schedule& s, Words& w) {
  auto i = w.name();
  auto lanes = w.integer();
  w.word("at");
  auto o = w.name();
  w.arrow();
  auto n = w.name();
  auto scope = w.scope();
  return after(w, [&] { return s.rfactor(i, lanes, o, n, scope); });
}
Status apply_inline(Schedule& s, Words& w) {
  auto b = w.name();
  return after(w, [&] { return s.inline_buffer(b); });
}
Status apply_compute_at(Schedule& s, Words& w) {
  auto b = w.name();
  w.word("at");
  auto l = w.name();
  return after(w, [&] { return s.compute_at(b, l); });
}
Status apply_expand(Schedule& s, Words& w) {
  auto b = w.name();
  w.word("at");
  auto l = w.name();
  return after(w, [&] { return s.expand(b, l); });
}
Status apply_rfactor_arg(Schedule& s, Words& w) {
  auto k = w.name();
  auto lanes = w.integer();
  w.arrow();
  auto n = w.name();
  return after(w, [&] { return s.rfactor_arg(k, lanes, n); });
}
Status apply_carry(Schedule& s, Words& w) {
  auto b = w.name();
  w.word("at");
  auto l = w.name();
  auto block = w.integer();
  w.arrow();
  auto n = w.name();
  return after(w, [&] { return s.carry(b, l, block, n); });
}
Status apply_narrow(Schedule& s, Words& w) {
  auto b = w.name();
  w.word("at");
  auto l = w.name();
  auto scope = w.scope();
  return after(w, [&] { return s.narrow(b, l, scope); });
}
Status apply_bind(Schedule& s, Words& w) {
  auto b = w.name();
  auto scope = w.scope();
  return after(w, [&] { return s.bind(b, scope); });
}

constexpr Verb kVerbs[] = {{"split", apply_split},
                           {"split_even", apply_split_even},
                           {"split_blocks", apply_split_blocks},
                           {"fuse", apply_fuse},
                           {"collapse", apply_collapse},
                           {"reorder", apply_reorder},
                           {"fission", apply_fission},
                           {"transpose", apply_transpose},
                           {"merge", apply_merge},
                           {"let", apply_let},
                           {"branch", apply_branch},
                           {"rfactor", apply_rfactor},
                           {"rfactor_arg", apply_rfactor_arg},
                           {"carry", apply_carry},
                           {"unroll", apply_unroll},
                           {"vectorize", apply_vectorize},
                           {"parallel", apply_parallel},
                           {"tensorize", apply_tensorize},
                           {"mask", apply_mask},
                           {"pad", apply_pad},
                           {"specialize", apply_specialize},
                           {"partition", apply_partition},
                           {"cache_write", apply_cache_write},
                           {"cache_read", apply_cache_read},
                           {"repack", apply_repack},
                           {"inline", apply_inline},
                           {"compute_at", apply_compute_at},
                           {"expand", apply_expand},
                           {"narrow", apply_narrow},
                           {"bind", apply_bind}};

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
