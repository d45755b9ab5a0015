#include "shapes.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "expr/expr.h"

namespace pliant::cli {
namespace {

using Symbols = std::map<std::string, int64_t>;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::optional<int64_t> parse_int(std::string_view text) {
  int64_t v = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return v;
}

Error bad_argument(const std::string& option, const std::string& text, const std::string& want) {
  return make_error("bad-argument", option, "'" + text + "' is not of the form " + want);
}

Result<IntShape> parse_int_shape(const std::string& text) {
  IntShape shape;
  if (text.empty()) return shape;
  for (const std::string& part : split(text, 'x')) {
    std::optional<int64_t> v = parse_int(part);
    if (!v || *v < 0) return bad_argument("--shape", text, "4x3x224x224");
    shape.push_back(*v);
  }
  return shape;
}

const InputSpec* find_input(const std::vector<InputSpec>& inputs, const std::string& name) {
  auto it = std::find_if(inputs.begin(), inputs.end(), [&](const InputSpec& i) { return i.name == name; });
  return it == inputs.end() ? nullptr : &*it;
}

Error unknown_input(const std::vector<InputSpec>& inputs, const std::string& name) {
  std::string known;
  for (const InputSpec& i : inputs) known += (known.empty() ? "" : ", ") + i.name;
  return make_error("unknown-input", "--shape", "the model has no input '" + name + "'", {"its inputs are " + known});
}

// The alternatives of each input. A name may hold '=' only if it is an input's whole name.
Result<std::map<std::string, std::vector<IntShape>>> alternatives(const std::vector<InputSpec>& inputs,
                                                                  const std::vector<std::string>& shape_args) {
  std::map<std::string, std::vector<IntShape>> result;
  for (const std::string& arg : shape_args) {
    std::string input;
    for (const std::string& part : split(arg, ';')) {
      size_t at = part.rfind('=');
      if (at != std::string::npos) input = part.substr(0, at);
      if (input.empty()) return bad_argument("--shape", arg, "NAME=4x3x224x224");
      if (!find_input(inputs, input)) return unknown_input(inputs, input);
      result[input].push_back(TRY(parse_int_shape(at == std::string::npos ? part : part.substr(at + 1))));
    }
  }
  return result;
}

// Symbols whose value a given shape shows: axes that are a symbol alone.
void bind_symbols(const InputSpec& input, const IntShape& shape, Symbols& symbols) {
  for (size_t k = 0; k < input.axes.size() && k < shape.size(); ++k) {
    if (!parse_int(input.axes[k])) symbols.emplace(input.axes[k], shape[k]);
  }
}

Result<IntShape> shape_from_symbols(const InputSpec& input, const Symbols& symbols) {
  expr::Context ctx;
  IntShape shape;
  for (size_t k = 0; k < input.axes.size(); ++k) {
    const std::string& text = input.axes[k];
    auto known = symbols.find(text);
    if (known != symbols.end()) {
      shape.push_back(known->second);
      continue;
    }
    Result<expr::Dim> dim = ctx.parse_dim(text, true);
    std::optional<int64_t> v;
    if (dim.ok()) {
      v = expr::evaluate(dim.value(), [&](expr::SymbolId s) -> std::optional<int64_t> {
        auto it = symbols.find(ctx.info(s).name);
        return it == symbols.end() ? std::nullopt : std::optional(it->second);
      });
    }
    if (!v) {
      return make_error("unknown-size", "input \"" + input.name + "\"",
                        "the size of axis " + std::to_string(k) + " is " + text + ", which is not given; say --shape '" +
                            input.name + "=…' or --dim " + text + "=N");
    }
    shape.push_back(*v);
  }
  return shape;
}

Result<Case> complete(const std::vector<InputSpec>& inputs, Case given, Symbols symbols) {
  for (const auto& [name, shape] : given)
    if (const InputSpec& input = *find_input(inputs, name); !input.is_list()) bind_symbols(input, shape, symbols);
  for (const InputSpec& input : inputs) {
    if (given.count(input.name) || input.is_list()) continue;
    Result<IntShape> shape = shape_from_symbols(input, symbols);
    if (!shape.ok()) {
      if (input.optional) continue;
      return shape.error();
    }
    given[input.name] = shape.take();
  }
  return given;
}

Result<Symbols> parse_dims(const std::string& arg, const std::vector<std::string>& known) {
  Symbols symbols;
  for (const std::string& part : split(arg, ',')) {
    size_t at = part.rfind('=');
    std::optional<int64_t> v = at == std::string::npos ? std::nullopt : parse_int(std::string_view(part).substr(at + 1));
    if (!v || at == 0 || *v < 0) return bad_argument("--dim", arg, "batch=1,seq=37");
    std::string name = part.substr(0, at);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      std::string list;
      for (const std::string& s : known) list += (list.empty() ? "" : ", ") + s;
      return make_error("unknown-symbol", "--dim", "no input's shape has the symbol '" + name + "'",
                        {list.empty() ? "every shape is constant" : "the symbols are " + list});
    }
    symbols[name] = *v;
  }
  return symbols;
}

}  // namespace

std::vector<std::string> symbols_of(const std::vector<InputSpec>& inputs) {
  std::vector<std::string> names;
  auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const InputSpec& input : inputs) {
    if (input.is_list()) continue;
    for (const std::string& axis : input.axes) {
      if (parse_int(axis)) continue;
      expr::Context ctx;
      Result<expr::Dim> dim = ctx.parse_dim(axis, true);
      if (!dim.ok()) {
        add(axis);
        continue;
      }
      for (expr::SymbolId s : expr::symbols_of(dim.value())) add(ctx.info(s).name);
    }
  }
  return names;
}

Result<std::vector<Case>> shape_cases(const std::vector<InputSpec>& inputs, const std::vector<std::string>& shape_args,
                                      const std::vector<std::string>& dim_args, const Case& fixed) {
  std::map<std::string, std::vector<IntShape>> given = TRY(alternatives(inputs, shape_args));
  size_t count = 0;
  for (const auto& [name, shapes] : given) count = std::max(count, shapes.size());
  std::vector<Case> cases;
  for (size_t k = 0; k < count; ++k) {
    Case c = fixed;
    for (const auto& [name, shapes] : given) {
      if (shapes.size() != 1 && shapes.size() != count) {
        return make_error("bad-argument", "--shape",
                          "input '" + name + "' has " + std::to_string(shapes.size()) + " alternatives where another has " +
                              std::to_string(count));
      }
      c.emplace(name, shapes[shapes.size() == 1 ? 0 : k]);
    }
    cases.push_back(TRY(complete(inputs, std::move(c), {})));
  }
  std::vector<std::string> known = symbols_of(inputs);
  for (const std::string& arg : dim_args) {
    Symbols symbols = TRY(parse_dims(arg, known));
    cases.push_back(TRY(complete(inputs, fixed, std::move(symbols))));
  }
  if (cases.empty()) cases.push_back(TRY(complete(inputs, fixed, {})));
  return cases;
}

std::string print_case(const Case& c) {
  std::string text;
  for (const auto& [name, shape] : c) {
    text += (text.empty() ? "" : ";") + name + "=";
    for (size_t k = 0; k < shape.size(); ++k) text += (k ? "x" : "") + std::to_string(shape[k]);
  }
  return text;
}

Result<std::pair<std::string, std::vector<std::string>>> parse_symbolic_shape(const std::string& text) {
  size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0) return bad_argument("--shape", text, "data=batch,3,224,224");
  std::string axes = text.substr(at + 1);
  std::vector<std::string> parts = axes.empty() ? std::vector<std::string>{} : split(axes, ',');
  if (std::find(parts.begin(), parts.end(), "") != parts.end()) return bad_argument("--shape", text, "data=batch,3,224,224");
  return std::pair(text.substr(0, at), parts);
}

Result<std::pair<std::string, std::pair<int64_t, int64_t>>> parse_bound(const std::string& text) {
  size_t at = text.rfind('=');
  size_t dots = text.find("..", at == std::string::npos ? 0 : at);
  if (at == std::string::npos || at == 0 || dots == std::string::npos) return bad_argument("--bound", text, "batch=1..64");
  std::string_view view = text;
  std::optional<int64_t> lo = parse_int(view.substr(at + 1, dots - at - 1));
  std::optional<int64_t> hi = parse_int(view.substr(dots + 2));
  if (!lo || !hi || *lo < 0 || *hi < *lo) return bad_argument("--bound", text, "batch=1..64");
  return std::pair(text.substr(0, at), std::pair(*lo, *hi));
}

Result<std::map<std::string, std::vector<int64_t>>> parse_values(const std::string& text) {
  std::map<std::string, std::vector<int64_t>> result;
  for (const std::string& part : split(text, ';')) {
    size_t at = part.rfind('=');
    if (at == std::string::npos || at == 0) return bad_argument("--likely", text, "batch=1,4");
    for (const std::string& number : split(std::string_view(part).substr(at + 1), ',')) {
      std::optional<int64_t> v = parse_int(number);
      if (!v || *v < 0) return bad_argument("--likely", text, "batch=1,4");
      result[part.substr(0, at)].push_back(*v);
    }
  }
  return result;
}

}  // namespace pliant::cli
