// Reads the text that print.cc describes.
#include "host/kinds.h"
#include "host/parse_body.h"
#include "host/text_reader.h"

namespace pliant::host {
namespace {

class Parser {
 public:
  Parser(std::string_view text, expr::Context& ctx) : r_(text, ctx), body_(r_, kernels_), ctx_(ctx) {}

  Result<Module> run() {
    while (!r_.at_end()) TRY(declaration());
    if (!r_.in.lex.fault().empty()) return r_.fail(r_.in.lex.fault());
    for (Function& f : m_.functions) TRY(resolve_calls(f.body));
    return std::move(m_);
  }

 private:
  Status declaration() {
    if (r_.accept("device")) return device();
    if (r_.accept("symbol")) return symbol();
    if (r_.accept("kernel")) return kernel();
    if (r_.accept("constant")) return constant();
    if (r_.accept("input")) return tensor(m_.inputs);
    if (r_.accept("output")) return tensor(m_.outputs);
    if (r_.accept("bind")) return bind();
    if (r_.accept("key")) {
      TRY(number(m_.key_names.size(), TRY(r_.slot())));
      m_.key_names.push_back(TRY(r_.quoted()));
      return ok();
    }
    if (r_.accept("function")) return function();
    return r_.fail("expected a declaration");
  }
  // Tables are written in order.
  Status number(size_t expected, uint32_t found) {
    if (found == expected) return ok();
    return r_.fail("the number here must be " + std::to_string(expected));
  }
  Status device() {
    TRY(number(m_.devices.size(), TRY(r_.index())));
    m_.devices.push_back({TRY(r_.quoted())});
    return ok();
  }
  Status symbol() {
    expr::SymbolInfo info;
    info.name = TRY(r_.in.name());
    TRY(range(info.lo, info.hi, info.multiple_of));
    if (!ctx_.find_symbol(info.name)) ctx_.symbol(std::move(info));
    return ok();
  }
  Status range(int64_t& lo, int64_t& hi, int64_t& multiple) {
    TRY(r_.in.expect("in"));
    TRY(r_.in.expect("["));
    lo = TRY(r_.integer());
    TRY(r_.in.expect(","));
    hi = TRY(r_.integer());
    TRY(r_.in.expect("]"));
    if (r_.accept("multiple")) multiple = TRY(r_.integer());
    if (lo > hi || multiple < 1) return r_.fail("the range is empty");
    return ok();
  }
  Status kernel() {
    Kernel k;
    TRY(r_.in.expect("@"));
    k.name = TRY(r_.in.name());
    if (!kernels_.emplace(k.name, m_.kernels.size()).second) return r_.fail("there are two kernels " + k.name);
    TRY(r_.in.expect("on"));
    k.backend = TRY(r_.quoted());
    k.params = TRY(r_.list<Kernel::Param>("(", ")", [&]() -> Result<Kernel::Param> {
      const DType t = TRY(r_.dtype());
      return Kernel::Param{t, r_.accept("out")};
    }));
    if (r_.accept("ints")) k.ints = TRY(r_.list<expr::SymbolId>("(", ")", [&] { return r_.symbol(); }));
    while (r_.accept("trap")) {
      artifact::TrapDesc f;
      f.message = TRY(r_.quoted());
      f.where = TRY(r_.where());
      k.traps.push_back(std::move(f));
    }
    m_.kernels.push_back(std::move(k));
    return ok();
  }
  Status constant() {
    TRY(number(m_.constants.size(), TRY(r_.index())));
    TRY(r_.in.expect("bytes"));
    m_.constants.push_back(TRY(r_.integer()));
    return ok();
  }
  Status tensor(std::vector<artifact::TensorDesc>& to) {
    artifact::TensorDesc t;
    t.name = TRY(r_.quoted());
    if (auto kind = position_of(kTensorKinds, r_.in.lex.peek().text);
        kind && r_.in.lex.peek().kind == loop::TokenKind::Name) {
      r_.in.lex.take();
      t.kind = static_cast<artifact::TensorDesc::Kind>(*kind);
      t.list = TRY(r_.index());
    }
    t.dtype = TRY(r_.dtype());
    if (r_.accept("any_rank")) {
      t.any_rank = true;
    } else {
      t.axes = TRY(r_.list<artifact::Axis>("[", "]", [&] { return axis(); }));
    }
    if (r_.accept("default")) t.default_constant = static_cast<int32_t>(TRY(r_.index()));
    to.push_back(std::move(t));
    return ok();
  }
  Result<artifact::Axis> axis() {
    artifact::Axis a;
    a.size = TRY(r_.int_value());
    const bool quoted = r_.in.lex.peek().kind == loop::TokenKind::String;
    a.text = quoted ? r_.in.lex.take().text : (a.size.is_slot ? "s" : "") + std::to_string(a.size.value);
    return a;
  }
  Status bind() {
    artifact::Bind b;
    b.slot = TRY(r_.slot());
    b.symbol = TRY(r_.quoted());
    TRY(r_.in.expect("="));
    b.input = TRY(r_.index_after("input"));
    b.is_element = r_.in.lex.is("element");
    b.axis = TRY(r_.index_after(b.is_element ? "element" : "axis"));
    TRY(range(b.lo, b.hi, b.multiple_of));
    m_.binds.push_back(std::move(b));
    return ok();
  }

  Status function() {
    Function f;
    TRY(r_.in.expect("@"));
    f.name = TRY(r_.in.name());
    if (!functions_.emplace(f.name, m_.functions.size()).second) return r_.fail("there are two functions " + f.name);
    f.slot_count = TRY(r_.index_after("slots"));
    f.given_slots = TRY(r_.index_after("given"));
    f.grow_count = TRY(r_.index_after("grows"));
    f.list_count = TRY(r_.index_after("lists"));
    f.param_count = TRY(r_.index_after("params"));
    f.result_count = TRY(r_.index_after("results"));
    TRY(r_.in.expect("{"));
    while (r_.accept("epoch")) TRY(epoch(f));
    while (r_.accept("buffer")) {
      TRY(number(f.buffers.size(), TRY(r_.index())));
      Buffer b;
      TRY(r_.in.expect("bytes"));
      b.bytes = TRY(r_.int_value());
      b.epoch = TRY(r_.index_after("epoch"));
      if (r_.accept("device")) b.device = TRY(r_.index());
      f.buffers.push_back(b);
    }
    while (r_.accept("result")) {
      TRY(number(f.result_sizes.size(), TRY(r_.index())));
      TRY(r_.in.expect("sizes"));
      f.result_sizes.push_back(TRY(r_.ints()));
    }
    f.body = TRY(body_.block());
    m_.functions.push_back(std::move(f));
    return ok();
  }

  Status epoch(Function& f) {
    TRY(number(f.epochs.size(), TRY(r_.index())));
    Epoch e;
    if (r_.in.lex.is("(")) {
      auto known = TRY(r_.list<std::pair<expr::SymbolId, uint32_t>>("(", ")", [&] { return known_symbol(); }));
      e.shape.symbol_slots.insert(known.begin(), known.end());
    }
    TRY(r_.in.expect("{"));
    while (!r_.accept("}")) {
      if (r_.accept("check")) {
        e.checks.push_back(TRY(check()));
        continue;
      }
      loop::Assignment a{};
      a.is_size = r_.accept("size");
      a.slot = TRY(r_.slot());
      TRY(r_.in.expect("="));
      a.value = TRY(r_.in.dim());
      e.shape.assignments.push_back(a);
    }
    f.epochs.push_back(std::move(e));
    return ok();
  }
  Result<std::pair<expr::SymbolId, uint32_t>> known_symbol() {
    const expr::SymbolId s = TRY(r_.symbol());
    TRY(r_.in.expect("="));
    return std::pair{s, TRY(r_.slot())};
  }
  Result<artifact::Check> check() {
    artifact::Check c;
    c.a = TRY(r_.int_value());
    const auto kind = position_of(kCheckKinds, r_.in.lex.peek().text);
    if (!kind) return r_.fail("expected ==, <= or broadcasts");
    r_.in.lex.take();
    c.kind = static_cast<artifact::Check::Kind>(*kind);
    c.b = TRY(r_.int_value());
    c.message = TRY(r_.quoted());
    c.where = TRY(r_.where());
    return c;
  }

  // Functions may call those behind them: names become numbers at the end.
  Status resolve_calls(Block& b) {
    for (Instr& i : b) {
      if (auto* call = std::get_if<Call>(&i.op)) {
        const std::string& name = body_.callees()[call->function];
        const auto it = functions_.find(name);
        if (it == functions_.end()) return make_error("loop-syntax", "function " + name, "there is no such function");
        call->function = it->second;
      } else if (auto* branch = std::get_if<If>(&i.op)) {
        TRY(resolve_calls(branch->then));
        TRY(resolve_calls(branch->otherwise));
      } else if (auto* loop = std::get_if<Loop>(&i.op)) {
        TRY(resolve_calls(loop->preheader));
        TRY(resolve_calls(loop->body));
      }
    }
    return ok();
  }

  TextReader r_;
  std::map<std::string, uint32_t> kernels_, functions_;
  BodyParser body_;
  expr::Context& ctx_;
  Module m_;
};

}  // namespace

Result<Module> parse(std::string_view text, expr::Context& ctx) { return Parser(text, ctx).run(); }

}  // namespace pliant::host
