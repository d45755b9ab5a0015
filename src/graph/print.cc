#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <set>

#include "base/half.h"
#include "graph/text.h"
#include "graph/visit.h"

namespace pliant::graph {
namespace {

template <class T>
std::string shortest(T v) {
  char buffer[40];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, v);
  return {buffer, end};
}

// A NaN other than the default one keeps its bits.
template <class T, class Bits>
std::string print_float(T v) {
  if (!std::isnan(v)) return shortest(v);
  Bits bits;
  std::memcpy(&bits, &v, sizeof bits);
  T quiet = std::numeric_limits<T>::quiet_NaN();
  if (std::memcmp(&quiet, &v, sizeof v) == 0) return "nan";
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "0x%llx", static_cast<unsigned long long>(bits));
  return buffer;
}

std::string print_half(uint16_t bits, float (*widen)(uint16_t)) {
  float v = widen(bits);
  if (!std::isnan(v)) return shortest(v);
  char buffer[8];
  std::snprintf(buffer, sizeof buffer, "0x%04x", bits);
  return buffer;
}

template <class T>
T element_at(const ConstantData& c, int64_t i) {
  T v;
  std::memcpy(&v, c.data + i * static_cast<int64_t>(sizeof(T)), sizeof v);
  return v;
}

std::string print_element(const ConstantData& c, int64_t i) {
  switch (c.dtype) {
    case DType::Bool: return element_at<uint8_t>(c, i) ? "true" : "false";
    case DType::I8: return std::to_string(element_at<int8_t>(c, i));
    case DType::I16: return std::to_string(element_at<int16_t>(c, i));
    case DType::I32: return std::to_string(element_at<int32_t>(c, i));
    case DType::I64: return std::to_string(element_at<int64_t>(c, i));
    case DType::U8: return std::to_string(element_at<uint8_t>(c, i));
    case DType::U16: return std::to_string(element_at<uint16_t>(c, i));
    case DType::U32: return std::to_string(element_at<uint32_t>(c, i));
    case DType::U64: return std::to_string(element_at<uint64_t>(c, i));
    case DType::F16: return print_half(element_at<uint16_t>(c, i), f16_to_f32);
    case DType::BF16: return print_half(element_at<uint16_t>(c, i), bf16_to_f32);
    case DType::F32: return print_float<float, uint32_t>(element_at<float>(c, i));
    case DType::F64: return print_float<double, uint64_t>(element_at<double>(c, i));
  }
  PLIANT_CHECK(false) << "dtype " << static_cast<int>(c.dtype);
  return {};
}

// Always with a point, an exponent or a word, so that it is not read as an integer.
std::string print_double(double v) {
  std::string text = print_float<double, uint64_t>(v);
  if (text.rfind("0x", 0) == 0) return "float(" + text + ")";
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

template <class T, class F>
std::string join(const std::vector<T>& items, F&& text) {
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) out += (i ? ", " : "") + text(items[i]);
  return out;
}

std::string print_dims(const std::vector<Dim>& dims) {
  return join(dims, [](Dim d) { return d.str(); });
}

std::string print_loc(const LocPtr& loc) {
  switch (loc->kind) {
    case Loc::Kind::Named: return "named(" + quote(loc->name) + ", " + quote(loc->op) + ")";
    case Loc::Kind::Fused: return "fused(" + join(loc->children, print_loc) + ")";
    case Loc::Kind::Derived: return "derived(" + quote(loc->name) + ", " + join(loc->children, print_loc) + ")";
  }
  PLIANT_CHECK(false) << "location kind " << static_cast<int>(loc->kind);
  return {};
}

class Printer {
 public:
  Printer(const Function& f, expr::Context& ctx, PrintOptions options)
      : f_(f), ctx_(ctx), options_(options), numbers_(f.values.size(), -1) {}

  std::string run() {
    for (ValueId v : f_.params) number(v);
    out_ = "func @" + print_name(f_.name) + "(";
    for (size_t i = 0; i < f_.params.size(); ++i) {
      out_ += (i ? ", " : "") + definition(f_.params[i]) + ": " + print_type(f_.params[i]);
      if (i < f_.default_values.size() && f_.default_values[i]) out_ += " = " + print(AttrValue(f_.default_values[i]));
    }
    out_ += ") {\n";
    for (const ShapeConstraint& o : f_.constraints) print_constraint(o);
    print_nodes(f_.nodes, 1);
    out_ += "  return";
    for (size_t i = 0; i < f_.results.size(); ++i) {
      out_ += (i ? ", " : " ") + use(f_.results[i]) + " " + quote(f_.result_names[i]);
    }
    return std::move(out_) + "\n}\n";
  }

 private:
  void number(ValueId v) {
    PLIANT_CHECK(v < numbers_.size()) << "value " << v << " is not in function " << f_.name;
    numbers_[v] = next_number_++;
  }
  std::string use(ValueId v) const {
    if (v == kNoValue) return "_";
    // A function that does not verify still prints, for the message about it.
    if (v >= numbers_.size() || numbers_[v] < 0) return "%undefined" + std::to_string(v);
    return "%" + std::to_string(numbers_[v]);
  }
  std::string definition(ValueId v) const {
    const std::string& name = f_.values[v].name;
    return name.empty() ? use(v) : use(v) + " " + quote(name);
  }
  std::string print_type(ValueId v) const { return graph::print(f_.values[v].type); }
  std::string print_location(const LocPtr& loc) const {
    return options_.with_locations && loc ? " loc(" + print_loc(loc) + ")" : "";
  }

  void print_constraint(const ShapeConstraint& o) {
    const char* relation = o.kind == ShapeConstraint::Kind::Equal       ? " == "
                           : o.kind == ShapeConstraint::Kind::LessEqual ? " <= "
                                                                        : " broadcasts ";
    out_ += "  require dim(" + o.a.str() + ")" + relation + "dim(" + o.b.str() + ") " + quote(o.message) +
            print_location(o.loc) + "\n";
  }

  void print_nodes(const std::vector<Node>& nodes, int depth) {
    for (const Node& n : nodes) print_node(n, depth);
  }

  void print_node(const Node& n, int depth) {
    std::string indent(static_cast<size_t>(depth) * 2, ' ');
    for (ValueId v : n.outputs) number(v);
    out_ += indent;
    if (!n.outputs.empty()) out_ += join(n.outputs, [&](ValueId v) { return definition(v); }) + " = ";
    out_ += print_name(n.op) + "(" + join(n.inputs, [&](ValueId v) { return use(v); }) + ")";
    if (!n.attrs.all().empty()) {
      out_ += " {";
      bool first = true;
      for (const auto& [name, value] : n.attrs.all()) {
        out_ += (first ? "" : ", ") + print_name(name) + "=" + print(value);
        first = false;
      }
      out_ += "}";
    }
    if (!n.outputs.empty()) out_ += " : " + join(n.outputs, [&](ValueId v) { return print_type(v); });
    out_ += print_location(n.loc) + "\n";
    for (const auto& region : n.regions) print_region(*region, depth + 1);
  }

  void print_region(const Region& r, int depth) {
    std::string indent(static_cast<size_t>(depth) * 2, ' ');
    for (ValueId v : r.params) number(v);
    out_ += indent + "region(" + join(r.params, [&](ValueId v) { return definition(v) + ": " + print_type(v); }) + ") {\n";
    print_nodes(r.nodes, depth + 1);
    out_ += indent + "  yield" + (r.results.empty() ? "" : " ") + join(r.results, [&](ValueId v) { return use(v); }) + "\n";
    out_ += indent + "}\n";
  }

  const Function& f_;
  expr::Context& ctx_;
  PrintOptions options_;
  std::vector<int64_t> numbers_;  // by value; -1: not defined yet
  int64_t next_number_ = 0;
  std::string out_;
};

std::string print_symbols(const std::vector<expr::SymbolId>& symbols, expr::Context& ctx) {
  std::string out;
  for (expr::SymbolId s : symbols) out += "symbol " + ctx.symbol_dim(s).str() + print_facts(ctx.info(s)) + "\n";
  return out;
}

}  // namespace

bool is_plain_name(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
}

std::string print_name(const std::string& name) { return is_plain_name(name) ? name : quote(name); }

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\x%02x", static_cast<unsigned char>(c));
      out += buffer;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string print(const AttrValue& v) {
  struct Visitor {
    std::string operator()(int64_t x) const { return std::to_string(x); }
    std::string operator()(double x) const { return print_double(x); }
    std::string operator()(bool x) const { return x ? "true" : "false"; }
    std::string operator()(const std::string& x) const { return quote(x); }
    std::string operator()(DType x) const { return name_of(x); }
    std::string operator()(const std::vector<int64_t>& x) const {
      return "[" + join(x, [](int64_t i) { return std::to_string(i); }) + "]";
    }
    std::string operator()(const std::vector<double>& x) const {
      return (x.empty() ? "floats[" : "[") + join(x, print_double) + "]";
    }
    std::string operator()(const std::vector<std::string>& x) const {
      return (x.empty() ? "strings[" : "[") + join(x, quote) + "]";
    }
    std::string operator()(Dim x) const { return "dim(" + x.str() + ")"; }
    std::string operator()(const std::vector<Dim>& x) const { return "dims(" + print_dims(x) + ")"; }
    std::string operator()(const ConstantPtr& c) const {
      std::string out =
          std::string(name_of(c->dtype)) + "[" + join(c->shape, [](int64_t d) { return std::to_string(d); }) + "] dense<";
      int64_t n = element_count(*c);
      if (n > kInlineElements) {
        out += hash_of(*c);
      } else {
        for (int64_t i = 0; i < n; ++i) out += (i ? ", " : "") + print_element(*c, i);
      }
      return out + ">" + (c->name.empty() ? "" : " " + quote(c->name));
    }
  };
  return std::visit(Visitor{}, v);
}

std::string print_facts(const expr::SymbolInfo& info) {
  std::vector<std::string> facts;
  if (info.lo != 0) facts.push_back("lo=" + std::to_string(info.lo));
  if (info.hi != expr::kNoLimit) facts.push_back("hi=" + std::to_string(info.hi));
  if (info.multiple_of != 1) facts.push_back("multiple_of=" + std::to_string(info.multiple_of));
  if (info.upper) facts.push_back("upper=dim(" + info.upper->str() + ")");
  std::string where = "(" + quote(info.origin.name) + ", " + std::to_string(info.origin.axis) + ")";
  switch (info.origin.kind) {
    case expr::Origin::Kind::InputAxis: facts.push_back("origin=input_axis" + where); break;
    case expr::Origin::Kind::InputValue: facts.push_back("origin=input_value" + where); break;
    case expr::Origin::Kind::Data: facts.push_back("origin=data" + where); break;
    case expr::Origin::Kind::LoopIndex: facts.push_back("origin=loop_index" + where); break;
    case expr::Origin::Kind::Anonymous: break;
  }
  if (!info.likely.empty()) facts.push_back("likely=" + print(AttrValue(info.likely)));
  return facts.empty() ? "" : " {" + join(facts, [](const std::string& s) { return s; }) + "}";
}

std::string print(const Function& f, expr::Context& ctx, PrintOptions options) {
  return print_symbols(symbols_of(f, ctx), ctx) + Printer(f, ctx, options).run();
}

std::string print(const Module& m, PrintOptions options) {
  std::set<expr::SymbolId> symbols;
  for (const FunctionPtr& f : m.functions)
    symbols.merge([&] {
      std::vector<expr::SymbolId> s = symbols_of(*f, *m.ctx);
      return std::set<expr::SymbolId>(s.begin(), s.end());
    }());
  std::string out = m.source.empty() ? "" : "module " + quote(m.source) + "\n";
  out += print_symbols({symbols.begin(), symbols.end()}, *m.ctx);
  for (const FunctionPtr& f : m.functions) out += Printer(*f, *m.ctx, options).run();
  return out;
}

}  // namespace pliant::graph
