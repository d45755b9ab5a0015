#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "graph/cursor.h"
#include "graph/list_type.h"
#include "graph/parse_constant.h"
#include "graph/text.h"

namespace pliant::graph {
namespace {

std::optional<DType> dtype_named(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (name == name_of(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  return std::nullopt;
}

class Parser {
 public:
  Parser(std::string_view text, expr::Context& ctx, const ConstantTable& constants)
      : in_(text), ctx_(ctx), constants_(constants) {}

  Cursor& in() { return in_; }
  Status parse_symbols();
  Result<FunctionPtr> parse_function();

 private:
  Result<Dim> parse_dim();
  Result<std::vector<Dim>> parse_dims(std::string_view close);
  Result<Type> parse_type();
  Result<AttrValue> parse_attr();
  Result<AttrValue> parse_list();
  Result<AttrValue> parse_number();
  Result<Attrs> parse_attrs();
  Result<LocPtr> parse_loc();
  Result<LocPtr> parse_optional_loc();
  Status parse_fact(expr::SymbolInfo& info, std::string& upper);
  Result<expr::Origin> parse_origin();
  Result<ValueId> define();
  Result<ValueId> use();
  Status parse_params();
  Status parse_constraint();
  Result<Node> parse_node();
  Result<std::shared_ptr<const Region>> parse_region();
  Status parse_results();

  Cursor in_;
  expr::Context& ctx_;
  const ConstantTable& constants_;
  Function f_;
  std::unordered_map<int64_t, ValueId> values_;
};

Result<Dim> Parser::parse_dim() {
  std::string text(in_.dim_text());
  if (text == "?") return any_size(ctx_);
  auto dim = ctx_.parse_dim(text);
  if (!dim.ok()) return in_.fail("in dim '" + text + "': " + dim.error().diagnostics.at(0).message);
  return dim.take();
}

Result<std::vector<Dim>> Parser::parse_dims(std::string_view close) {
  std::vector<Dim> dims;
  while (!in_.accept(close)) {
    if (!dims.empty()) TRY(in_.expect(","));
    dims.push_back(TRY(parse_dim()));
  }
  return dims;
}

Result<Type> Parser::parse_type() {
  if (in_.accept("(")) {
    TupleType tuple;
    while (!in_.accept(")")) {
      if (!tuple.elements.empty()) TRY(in_.expect(","));
      tuple.elements.push_back(TRY(parse_type()));
    }
    return Type{std::move(tuple)};
  }
  std::string name = TRY(in_.name());
  if (name == "seq" || name == "opt") {
    TRY(in_.expect("<"));
    auto element = std::make_shared<Type>(TRY(parse_type()));
    TRY(in_.expect(">"));
    if (name == "seq") return Type{SequenceType{std::move(element)}};
    return Type{OptionalType{std::move(element)}};
  }
  auto dtype = dtype_named(name);
  if (!dtype) return in_.fail("'" + name + "' is no type");
  TRY(in_.expect("["));
  if (in_.accept("*]")) return Type{TensorType{*dtype, {}, Rank::Any}};
  if (in_.accept("-]")) return Type{TensorType{*dtype, {}, Rank::None}};
  return make_tensor_type(*dtype, TRY(parse_dims("]")));
}

// Integers have neither point nor exponent; everything else is a float.
Result<AttrValue> Parser::parse_number() {
  std::string_view word = in_.word();
  const char* end = word.data() + word.size();
  int64_t integer = 0;
  if (auto r = std::from_chars(word.data(), end, integer); r.ec == std::errc() && r.ptr == end) return AttrValue(integer);
  double real = 0;
  if (auto r = std::from_chars(word.data(), end, real); r.ec == std::errc() && r.ptr == end) return AttrValue(real);
  if (word.substr(0, 8) == "float(0x") {
    uint64_t bits = 0;
    auto r = std::from_chars(word.data() + 8, end, bits, 16);
    if (r.ec == std::errc() && r.ptr == end) {
      TRY(in_.expect(")"));
      return AttrValue(std::bit_cast<double>(bits));
    }
  }
  return in_.fail("'" + std::string(word) + "' is no value");
}

Result<AttrValue> Parser::parse_list() {
  if (in_.accept("]")) return AttrValue(std::vector<int64_t>{});
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::vector<std::string> strings;
  do {
    if (in_.peek() == '"') {
      strings.push_back(TRY(in_.quoted()));
      continue;
    }
    AttrValue v = TRY(parse_number());
    if (const auto* i = std::get_if<int64_t>(&v)) integers.push_back(*i);
    if (const auto* d = std::get_if<double>(&v)) reals.push_back(*d);
  } while (in_.accept(","));
  TRY(in_.expect("]"));
  if (!integers.empty() + !reals.empty() + !strings.empty() != 1) return in_.fail("a list mixes kinds");
  if (!strings.empty()) return AttrValue(std::move(strings));
  if (!reals.empty()) return AttrValue(std::move(reals));
  return AttrValue(std::move(integers));
}

Result<AttrValue> Parser::parse_attr() {
  if (in_.peek() == '"') return AttrValue(TRY(in_.quoted()));
  if (in_.accept("[")) return parse_list();
  if (in_.accept("true")) return AttrValue(true);
  if (in_.accept("false")) return AttrValue(false);
  if (in_.accept("dim(")) {
    Dim d = TRY(parse_dim());
    TRY(in_.expect(")"));
    return AttrValue(d);
  }
  if (in_.accept("dims(")) return AttrValue(TRY(parse_dims(")")));
  if (in_.accept("floats[")) {
    TRY(in_.expect("]"));
    return AttrValue(std::vector<double>{});
  }
  if (in_.accept("strings[")) {
    TRY(in_.expect("]"));
    return AttrValue(std::vector<std::string>{});
  }
  for (int i = 0; i < kDTypeCount; ++i) {
    auto t = static_cast<DType>(i);
    if (!in_.accept(name_of(t))) continue;
    if (in_.peek() == '[') return AttrValue(TRY(parse_constant(in_, t, constants_)));
    return AttrValue(t);
  }
  return parse_number();
}

Result<Attrs> Parser::parse_attrs() {
  Attrs attrs;
  if (!in_.accept("{")) return attrs;
  do {
    std::string name = TRY(in_.name());
    TRY(in_.expect("="));
    if (attrs.has(name)) return in_.fail("attribute " + name + " is given twice");
    attrs.set(name, TRY(parse_attr()));
  } while (in_.accept(","));
  TRY(in_.expect("}"));
  return attrs;
}

Result<LocPtr> Parser::parse_loc() {
  if (in_.accept("named(")) {
    std::string name = TRY(in_.quoted());
    TRY(in_.expect(","));
    std::string op = TRY(in_.quoted());
    TRY(in_.expect(")"));
    return Loc::make_named(std::move(name), std::move(op));
  }
  auto loc = std::make_shared<Loc>();
  if (in_.accept("derived(")) {
    loc->kind = Loc::Kind::Derived;
    loc->name = TRY(in_.quoted());
    if (in_.peek() != ')') TRY(in_.expect(","));
  } else {
    TRY(in_.expect("fused("));
    loc->kind = Loc::Kind::Fused;
  }
  while (!in_.accept(")")) {
    loc->children.push_back(TRY(parse_loc()));
    if (in_.peek() != ')') TRY(in_.expect(","));
  }
  return LocPtr(std::move(loc));
}

Result<LocPtr> Parser::parse_optional_loc() {
  if (!in_.accept("loc(")) return LocPtr();
  LocPtr loc = TRY(parse_loc());
  TRY(in_.expect(")"));
  return loc;
}

Result<expr::Origin> Parser::parse_origin() {
  using Kind = expr::Origin::Kind;
  std::string kind = TRY(in_.name());
  expr::Origin origin;
  if (kind == "input_axis")
    origin.kind = Kind::InputAxis;
  else if (kind == "input_value")
    origin.kind = Kind::InputValue;
  else if (kind == "data")
    origin.kind = Kind::Data;
  else if (kind == "loop_index")
    origin.kind = Kind::LoopIndex;
  else
    return in_.fail("'" + kind + "' is no origin of a symbol");
  TRY(in_.expect("("));
  origin.name = TRY(in_.quoted());
  TRY(in_.expect(","));
  origin.axis = TRY(in_.integer());
  TRY(in_.expect(")"));
  return origin;
}

Status Parser::parse_fact(expr::SymbolInfo& info, std::string& upper) {
  std::string fact = TRY(in_.name());
  TRY(in_.expect("="));
  if (fact == "lo") {
    info.lo = TRY(in_.integer());
  } else if (fact == "hi") {
    info.hi = TRY(in_.integer());
  } else if (fact == "multiple_of") {
    info.multiple_of = TRY(in_.integer());
  } else if (fact == "upper") {
    TRY(in_.expect("dim("));
    upper = in_.dim_text();
    TRY(in_.expect(")"));
  } else if (fact == "origin") {
    info.origin = TRY(parse_origin());
  } else if (fact == "likely") {
    AttrValue v = TRY(parse_attr());
    const auto* list = std::get_if<std::vector<int64_t>>(&v);
    if (list == nullptr) return in_.fail("likely values are integers");
    info.likely = *list;
  } else {
    return in_.fail("'" + fact + "' is no fact of a symbol");
  }
  return ok();
}

// Upper bounds may use symbols that are declared later, so they are read once every name is known.
Status Parser::parse_symbols() {
  struct Declared {
    expr::SymbolId id;
    expr::SymbolInfo info;
    std::string upper;
    bool is_new;
  };
  std::vector<Declared> declared;
  while (in_.accept("symbol")) {
    Declared d{};
    d.info.name = TRY(in_.symbol_name());
    if (in_.accept("{")) {
      do TRY(parse_fact(d.info, d.upper));
      while (in_.accept(","));
      TRY(in_.expect("}"));
    }
    auto known = ctx_.find_symbol(d.info.name);
    d.is_new = !known;
    d.id = known ? *known : *ctx_.symbol(d.info).as_symbol();
    declared.push_back(std::move(d));
  }
  for (Declared& d : declared) {
    if (!d.upper.empty()) d.info.upper = TRY(ctx_.parse_dim(d.upper));
    if (d.is_new) ctx_.mutable_info(d.id).upper = d.info.upper;
    std::string there = print_facts(ctx_.info(d.id)), here = print_facts(d.info);
    if (there != here) {
      return make_error("symbol-conflict", "symbol " + d.info.name,
                        "the text says '" + here + "' but the context '" + there + "'");
    }
  }
  return ok();
}

Result<ValueId> Parser::define() {
  TRY(in_.expect("%"));
  int64_t number = TRY(in_.integer());
  auto id = static_cast<ValueId>(f_.values.size());
  if (!values_.emplace(number, id).second) return in_.fail("value %" + std::to_string(number) + " is defined twice");
  Value v;
  if (in_.peek() == '"') v.name = TRY(in_.quoted());
  f_.values.push_back(std::move(v));
  return id;
}

Result<ValueId> Parser::use() {
  if (in_.accept("_")) return kNoValue;
  TRY(in_.expect("%"));
  int64_t number = TRY(in_.integer());
  auto it = values_.find(number);
  if (it == values_.end()) return in_.fail("value %" + std::to_string(number) + " is not defined");
  return it->second;
}

Status Parser::parse_params() {
  TRY(in_.expect("("));
  while (!in_.accept(")")) {
    if (!f_.params.empty()) TRY(in_.expect(","));
    ValueId v = TRY(define());
    f_.params.push_back(v);
    TRY(in_.expect(":"));
    f_.values[v].type = TRY(parse_type());
    f_.default_values.emplace_back();
    if (!in_.accept("=")) continue;
    AttrValue value = TRY(parse_attr());
    const auto* constant = std::get_if<ConstantPtr>(&value);
    if (constant == nullptr) return in_.fail("a default value is a constant");
    f_.default_values.back() = *constant;
  }
  return ok();
}

Status Parser::parse_constraint() {
  ShapeConstraint o;
  TRY(in_.expect("dim("));
  o.a = TRY(parse_dim());
  TRY(in_.expect(")"));
  if (in_.accept("==")) {
    o.kind = ShapeConstraint::Kind::Equal;
  } else if (in_.accept("<=")) {
    o.kind = ShapeConstraint::Kind::LessEqual;
  } else {
    TRY(in_.expect("broadcasts"));
    o.kind = ShapeConstraint::Kind::Broadcast;
  }
  TRY(in_.expect("dim("));
  o.b = TRY(parse_dim());
  TRY(in_.expect(")"));
  o.message = TRY(in_.quoted());
  o.loc = TRY(parse_optional_loc());
  f_.constraints.push_back(std::move(o));
  return ok();
}

Result<std::shared_ptr<const Region>> Parser::parse_region() {
  auto region = std::make_shared<Region>();
  TRY(in_.expect("("));
  while (!in_.accept(")")) {
    if (!region->params.empty()) TRY(in_.expect(","));
    region->params.push_back(TRY(define()));
    TRY(in_.expect(":"));
    f_.values[region->params.back()].type = TRY(parse_type());
  }
  TRY(in_.expect("{"));
  while (!in_.accept("yield")) region->nodes.push_back(TRY(parse_node()));
  if (!in_.accept("}")) {
    do region->results.push_back(TRY(use()));
    while (in_.accept(","));
    TRY(in_.expect("}"));
  }
  return std::shared_ptr<const Region>(std::move(region));
}

Result<Node> Parser::parse_node() {
  Node n;
  std::string label;
  if (in_.peek() == '%') {
    do n.outputs.push_back(TRY(define()));
    while (in_.accept(","));
    TRY(in_.expect("="));
  }
  n.op = TRY(in_.name());
  TRY(in_.expect("("));
  while (!in_.accept(")")) {
    if (!n.inputs.empty()) TRY(in_.expect(","));
    n.inputs.push_back(TRY(use()));
  }
  n.attrs = TRY(parse_attrs());
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    TRY(in_.expect(i == 0 ? ":" : ","));
    f_.values[n.outputs[i]].type = TRY(parse_type());
  }
  n.loc = TRY(parse_optional_loc());
  if (!n.loc) {
    std::string name = n.outputs.empty() ? n.op : f_.values[n.outputs[0]].name;
    n.loc = Loc::make_named(name.empty() ? "%" + std::to_string(n.outputs[0]) : name, n.op);
  }
  while (in_.accept("region")) n.regions.push_back(TRY(parse_region()));
  return n;
}

Status Parser::parse_results() {
  if (in_.accept("}")) return ok();
  do {
    f_.results.push_back(TRY(use()));
    f_.result_names.push_back(TRY(in_.quoted()));
  } while (in_.accept(","));
  return in_.expect("}");
}

Result<FunctionPtr> Parser::parse_function() {
  f_ = Function();
  values_.clear();
  TRY(in_.expect("func"));
  TRY(in_.expect("@"));
  f_.name = TRY(in_.name());
  TRY(parse_params());
  TRY(in_.expect("{"));
  while (in_.accept("require")) TRY(parse_constraint());
  while (!in_.accept("return")) f_.nodes.push_back(TRY(parse_node()));
  TRY(parse_results());
  return FunctionPtr(std::make_shared<Function>(std::move(f_)));
}

}  // namespace

Result<FunctionPtr> parse_function(std::string_view text, expr::Context& ctx, const ConstantTable& constants) {
  Parser p(text, ctx, constants);
  TRY(p.parse_symbols());
  FunctionPtr f = TRY(p.parse_function());
  if (!p.in().at_end()) return p.in().fail("text after the function");
  return f;
}

Result<Module> parse_module(std::string_view text, const ConstantTable& constants) {
  Module m;
  m.ctx = std::make_shared<expr::Context>();
  Parser p(text, *m.ctx, constants);
  if (p.in().accept("module")) m.source = TRY(p.in().quoted());
  TRY(p.parse_symbols());
  do m.functions.push_back(TRY(p.parse_function()));
  while (!p.in().at_end());
  return m;
}

}  // namespace pliant::graph
