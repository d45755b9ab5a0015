#include "ops/samples.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "base/half.h"

namespace pliant::ops {
namespace {

Error bad(const OpDef& op, const std::string& text, const std::string& why) {
  return make_error("bad-sample", op.name, "sample '" + text + "': " + why);
}

std::optional<DType> dtype_named(const std::string& name) {
  for (int t = 0; t < kDTypeCount; ++t)
    if (name == name_of(static_cast<DType>(t))) return static_cast<DType>(t);
  return std::nullopt;
}

// The parts of `a,b,c` outside brackets.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::string part;
  int depth = 0;
  for (char ch : text) {
    depth += ch == '(' ? 1 : ch == ')' ? -1 : 0;
    if (ch == ',' && depth == 0) {
      out.push_back(part);
      part.clear();
    } else {
      part += ch;
    }
  }
  if (!part.empty()) out.push_back(part);
  return out;
}

bool is_symbol_name(const std::string& name) {
  for (char ch : name)
    if (ch < 'A' || ch > 'Z') return false;
  return !name.empty();
}

Result<SampleInput> parse_input(const OpDef& op, const std::string& text, const std::string& word) {
  SampleInput in;
  if (word == "_") {
    in.present = false;
    return in;
  }
  size_t open = word.find('['), close = word.find(']');
  if (open == std::string::npos || close == std::string::npos) return bad(op, text, "'" + word + "' is not a type");
  std::optional<DType> t = dtype_named(word.substr(0, open));
  if (!t) return bad(op, text, "'" + word + "' has no element type");
  in.dtype = *t;
  in.axes = split(word.substr(open + 1, close - open - 1));
  size_t at = word.find('@', close), dots = word.find("..", close);
  if (at != std::string::npos && dots != std::string::npos) {
    in.bounded = true;
    in.low = std::stod(word.substr(at + 1, dots - at - 1));
    in.high = std::stod(word.substr(dots + 2));
  }
  return in;
}

// A size that may use symbols; those become constants when `concrete` is set.
Result<Dim> parse_size(const std::string& text, const Sample& s, expr::Context& ctx, bool concrete) {
  Dim d = TRY(ctx.parse_dim(text));
  if (!concrete) return d;
  expr::DimMap map;
  for (expr::SymbolId id : expr::symbols_of(d)) {
    auto at = s.symbols.find(ctx.info(id).name);
    if (at != s.symbols.end()) map[id] = ctx.constant(at->second);
  }
  return expr::substitute(d, map);
}

Result<AttrValue> parse_attr(const AttrSpec& spec, const std::string& text, const Sample& s, expr::Context& ctx,
                             bool concrete) {
  auto list = [&] { return split(text.size() >= 2 && text.front() == '[' ? text.substr(1, text.size() - 2) : text); };
  switch (spec.kind) {
    case AttrKind::Int: return AttrValue(static_cast<int64_t>(std::stoll(text)));
    case AttrKind::Float: return AttrValue(std::stod(text));
    case AttrKind::Bool: return AttrValue(text == "true");
    case AttrKind::String: return AttrValue(text);
    case AttrKind::DType: {
      std::optional<DType> t = dtype_named(text);
      if (!t) return make_error("bad-sample", spec.name, "'" + text + "' is not an element type");
      return AttrValue(*t);
    }
    case AttrKind::Ints: {
      std::vector<int64_t> v;
      for (const std::string& p : list()) v.push_back(std::stoll(p));
      return AttrValue(v);
    }
    case AttrKind::Floats: {
      std::vector<double> v;
      for (const std::string& p : list()) v.push_back(std::stod(p));
      return AttrValue(v);
    }
    case AttrKind::Strings: return AttrValue(list());
    case AttrKind::Dim: return AttrValue(TRY(parse_size(text, s, ctx, concrete)));
    case AttrKind::Dims: {
      std::vector<Dim> v;
      for (const std::string& p : list()) v.push_back(TRY(parse_size(p, s, ctx, concrete)));
      return AttrValue(v);
    }
    case AttrKind::Const: break;
  }
  return make_error("bad-sample", spec.name, "constants cannot be given in a sample");
}

void store(DType t, std::byte* at, double v) {
  auto put = [&](auto x) { std::memcpy(at, &x, sizeof x); };
  switch (t) {
    case DType::Bool: return put(static_cast<uint8_t>(v != 0));
    case DType::I8: return put(static_cast<int8_t>(v));
    case DType::U8: return put(static_cast<uint8_t>(v));
    case DType::I16: return put(static_cast<int16_t>(v));
    case DType::U16: return put(static_cast<uint16_t>(v));
    case DType::I32: return put(static_cast<int32_t>(v));
    case DType::U32: return put(static_cast<uint32_t>(v));
    case DType::I64: return put(static_cast<int64_t>(v));
    case DType::U64: return put(static_cast<uint64_t>(v));
    case DType::F64: return put(v);
    case DType::F32: return put(static_cast<float>(v));
    case DType::F16: return put(f32_to_f16(static_cast<float>(v)));
    case DType::BF16: return put(f32_to_bf16(static_cast<float>(v)));
  }
}

// Symbols that no input has as an axis: their values come in a further input `sizes`, in order.
std::vector<std::string> free_symbols(const Sample& s) {
  std::vector<std::string> out;
  for (const auto& [name, value] : s.symbols) {
    bool bound = false;
    for (const SampleInput& in : s.inputs)
      for (const std::string& axis : in.axes) bound = bound || axis == name;
    if (!bound) out.push_back(name);
  }
  return out;
}

}  // namespace

Result<Sample> parse_sample(const OpDef& op, const std::string& text) {
  Sample s;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    size_t eq = word.find('=');
    if (eq == std::string::npos) {
      s.inputs.push_back(TRY(parse_input(op, text, word)));
      continue;
    }
    std::string key = word.substr(0, eq), value = word.substr(eq + 1);
    if (key == "outputs")
      s.outputs = std::stoul(value);
    else if (is_symbol_name(key))
      s.symbols[key] = std::stoll(value);
    else
      s.attrs[key] = value;
  }
  return s;
}

Result<graph::FunctionPtr> build_sample(const OpDef& op, const Sample& sample, expr::Context& ctx, bool concrete) {
  graph::FunctionBuilder b("sample");
  std::vector<ValueId> inputs;
  std::vector<std::string> free = free_symbols(sample);
  for (const auto& [name, value] : sample.symbols) {
    if (ctx.find_symbol(name)) continue;
    expr::SymbolInfo info;
    info.name = name;
    auto at = std::find(free.begin(), free.end(), name);
    if (at == free.end())
      info.origin = {expr::Origin::Kind::InputAxis, name, 0};
    else
      info.origin = {expr::Origin::Kind::InputValue, "sizes", at - free.begin()};
    info.lo = std::min<int64_t>(0, value);
    ctx.symbol(info);
  }
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    const SampleInput& in = sample.inputs[i];
    if (!in.present) {
      inputs.push_back(graph::kNoValue);
      continue;
    }
    graph::Shape shape;
    for (const std::string& axis : in.axes) shape.push_back(TRY(parse_size(axis, sample, ctx, concrete)));
    inputs.push_back(b.add_param(graph::make_tensor_type(in.dtype, std::move(shape)), "x" + std::to_string(i)));
  }
  if (!free.empty())
    b.add_param(graph::make_tensor_type(DType::I64, {ctx.constant(static_cast<int64_t>(free.size()))}), "sizes");
  Attrs attrs;
  for (const auto& [name, text] : sample.attrs) {
    const AttrSpec* spec = nullptr;
    for (const AttrSpec& a : op.attrs)
      if (a.name == name) spec = &a;
    if (spec == nullptr) return make_error("bad-sample", op.name, "there is no attribute '" + name + "'");
    attrs.set(name, TRY(parse_attr(*spec, text, sample, ctx, concrete)));
  }
  LocPtr loc = Loc::make_named("sample", op.name);
  std::vector<std::string> names;
  std::vector<ValueId> results = TRY(append_node(b, ctx, op.name, std::move(attrs), std::move(inputs), sample.outputs, loc));
  for (size_t i = 0; i < results.size(); ++i) names.push_back("y" + std::to_string(i));
  b.set_results(std::move(results), std::move(names));
  return b.finish();
}

std::vector<te::Array> sample_data(const Sample& sample, uint64_t seed) {
  std::vector<te::Array> out;
  uint64_t state = seed * 6364136223846793005u + 1442695040888963407u;
  auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 40) / static_cast<double>(uint64_t{1} << 24);
  };
  for (const SampleInput& in : sample.inputs) {
    if (!in.present) continue;
    te::Array a{in.dtype, {}, {}};
    int64_t count = 1;
    for (const std::string& axis : in.axes) {
      auto at = sample.symbols.find(axis);
      a.shape.push_back(at != sample.symbols.end() ? at->second : std::stoll(axis));
      count *= a.shape.back();
    }
    a.data.resize(static_cast<size_t>(count * byte_size(in.dtype)));
    bool whole = !is_float(in.dtype);
    double low = in.bounded ? in.low : is_unsigned_int(in.dtype) || in.dtype == DType::Bool ? 0 : whole ? -4 : -2;
    double high = in.bounded ? in.high : in.dtype == DType::Bool ? 2 : whole ? 8 : 2;
    for (int64_t i = 0; i < count; ++i) {
      double v = low + (high - low) * next();
      if (whole) v = std::max(low, std::min(high - 1, std::floor(v)));
      store(in.dtype, a.data.data() + i * byte_size(in.dtype), v);
    }
    out.push_back(std::move(a));
  }
  std::vector<std::string> free = free_symbols(sample);
  if (!free.empty()) {
    te::Array sizes{DType::I64, {static_cast<int64_t>(free.size())}, std::vector<std::byte>(free.size() * 8)};
    for (size_t i = 0; i < free.size(); ++i)
      store(DType::I64, sizes.data.data() + 8 * i, static_cast<double>(sample.symbols.at(free[i])));
    out.push_back(std::move(sizes));
  }
  return out;
}

}  // namespace pliant::ops
