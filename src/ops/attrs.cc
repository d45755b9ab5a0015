// Attributes of operators: their specification, defaults and typed reading.
#include <algorithm>

#include "ops/op.h"

namespace pliant::ops {

const char* name_of(AttrKind k) {
  constexpr const char* names[] = {
      "an integer",       "a float",           "a bool", "a string",       "a dtype",   "a list of integers",
      "a list of floats", "a list of strings", "a dim",  "a list of dims", "a constant"};
  return names[static_cast<int>(k)];
}

namespace {

AttrKind kind_of(const AttrValue& v) {
  return std::visit(
      [](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, int64_t>)
          return AttrKind::Int;
        else if constexpr (std::is_same_v<T, double>)
          return AttrKind::Float;
        else if constexpr (std::is_same_v<T, bool>)
          return AttrKind::Bool;
        else if constexpr (std::is_same_v<T, std::string>)
          return AttrKind::String;
        else if constexpr (std::is_same_v<T, DType>)
          return AttrKind::DType;
        else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
          return AttrKind::Ints;
        else if constexpr (std::is_same_v<T, std::vector<double>>)
          return AttrKind::Floats;
        else if constexpr (std::is_same_v<T, std::vector<std::string>>)
          return AttrKind::Strings;
        else if constexpr (std::is_same_v<T, Dim>)
          return AttrKind::Dim;
        else if constexpr (std::is_same_v<T, std::vector<Dim>>)
          return AttrKind::Dims;
        else
          return AttrKind::Const;
      },
      v);
}

AttrValue empty_list(AttrKind k) {
  switch (k) {
    case AttrKind::Floats: return std::vector<double>{};
    case AttrKind::Strings: return std::vector<std::string>{};
    case AttrKind::Dims: return std::vector<Dim>{};
    default: return std::vector<int64_t>{};
  }
}

bool is_list(AttrKind k) {
  return k == AttrKind::Ints || k == AttrKind::Floats || k == AttrKind::Strings || k == AttrKind::Dims;
}

// `v` as kind `want` where the text form or a frontend may give either; nothing when it is another kind.
std::optional<AttrValue> coerce(const AttrValue& v, AttrKind want, expr::Context& ctx) {
  AttrKind have = kind_of(v);
  if (have == want) return v;
  if (is_list(have) && is_list(want) && graph::is_empty_list(v)) return empty_list(want);
  if (want == AttrKind::Dim && have == AttrKind::Int) return ctx.constant(std::get<int64_t>(v));
  if (want == AttrKind::Dims && have == AttrKind::Ints) {
    std::vector<Dim> dims;
    for (int64_t i : std::get<std::vector<int64_t>>(v)) dims.push_back(ctx.constant(i));
    return dims;
  }
  if (want == AttrKind::Int && have == AttrKind::Dim && std::get<Dim>(v).is_const()) return std::get<Dim>(v).const_value();
  if (want == AttrKind::Ints && have == AttrKind::Dims) {
    std::vector<int64_t> ints;
    for (Dim d : std::get<std::vector<Dim>>(v)) {
      if (!d.is_const()) return std::nullopt;
      ints.push_back(d.const_value());
    }
    return ints;
  }
  return std::nullopt;
}

const AttrValue* find_default(const std::vector<AttrSpec>* defaults, const std::string& name) {
  if (defaults == nullptr) return nullptr;
  auto spec = std::find_if(defaults->begin(), defaults->end(), [&](const AttrSpec& s) { return s.name == name; });
  PLIANT_CHECK(spec != defaults->end()) << "no attribute " << name << " is specified";
  return spec->fallback ? &*spec->fallback : nullptr;
}

template <class T>
const T& read(const AttrReader& r, const std::string& name) {
  const AttrValue* v = r.attrs.find(name);
  if (v == nullptr) v = find_default(r.defaults, name);
  PLIANT_CHECK(v != nullptr) << "attribute " << name << " is missing";
  const T* t = std::get_if<T>(v);
  if constexpr (requires(T x) { x.clear(); } && !std::is_same_v<T, std::string>) {
    static const T empty;
    if (t == nullptr && graph::is_empty_list(*v)) return empty;
  }
  PLIANT_CHECK(t != nullptr) << "attribute " << name << " is " << name_of(kind_of(*v));
  return *t;
}

}  // namespace

AttrSpec attr(std::string name, AttrValue fallback, std::string doc) {
  AttrKind k = kind_of(fallback);
  return {std::move(name), std::move(fallback), std::move(doc), k, false};
}
AttrSpec required_attr(std::string name, AttrKind kind, std::string doc) {
  return {std::move(name), std::nullopt, std::move(doc), kind, false};
}
AttrSpec optional_attr(std::string name, AttrKind kind, std::string doc) {
  return {std::move(name), std::nullopt, std::move(doc), kind, true};
}

std::vector<AttrSpec> operator+(std::vector<AttrSpec> a, std::vector<AttrSpec> b) {
  a.insert(a.end(), std::make_move_iterator(b.begin()), std::make_move_iterator(b.end()));
  return a;
}

AttrReader attrs_of(const graph::Node& n) {
  const OpDef* op = find_op(n.op);
  PLIANT_CHECK(op != nullptr) << n.op << " is not an operator that specifies attributes";
  return {n.attrs, &op->attrs};
}

int64_t AttrReader::as_int(const std::string& name) const { return read<int64_t>(*this, name); }
double AttrReader::as_float(const std::string& name) const { return read<double>(*this, name); }
bool AttrReader::as_bool(const std::string& name) const { return read<bool>(*this, name); }
const std::string& AttrReader::as_string(const std::string& name) const { return read<std::string>(*this, name); }
DType AttrReader::as_dtype(const std::string& name) const { return read<DType>(*this, name); }
const std::vector<int64_t>& AttrReader::as_ints(const std::string& name) const {
  return read<std::vector<int64_t>>(*this, name);
}
const std::vector<double>& AttrReader::as_floats(const std::string& name) const {
  return read<std::vector<double>>(*this, name);
}
const std::vector<std::string>& AttrReader::as_strings(const std::string& name) const {
  return read<std::vector<std::string>>(*this, name);
}
Dim AttrReader::as_dim(const std::string& name) const { return read<Dim>(*this, name); }
const std::vector<Dim>& AttrReader::as_dims(const std::string& name) const { return read<std::vector<Dim>>(*this, name); }

Result<Attrs> normalise_attrs(const OpDef& op, const Attrs& attrs, expr::Context& ctx, const LocPtr& loc) {
  Attrs out;
  size_t used = 0;
  for (const AttrSpec& spec : op.attrs) {
    const AttrValue* v = attrs.find(spec.name);
    if (v == nullptr) {
      if (spec.fallback)
        out.set(spec.name, *spec.fallback);
      else if (!spec.may_be_absent)
        return make_error("missing-attribute", describe(loc), op.name + " needs the attribute '" + spec.name + "'");
      continue;
    }
    ++used;
    std::optional<AttrValue> fitted = coerce(*v, spec.kind, ctx);
    if (!fitted)
      return make_error("bad-attribute", describe(loc),
                        "attribute '" + spec.name + "' of " + op.name + " is " + name_of(kind_of(*v)) + " but must be " +
                            name_of(spec.kind));
    out.set(spec.name, std::move(*fitted));
  }
  if (used != attrs.all().size()) {
    for (const auto& [name, value] : attrs.all())
      if (!out.has(name))
        return make_error("unknown-attribute", describe(loc), op.name + " has no attribute '" + name + "'");
  }
  return out;
}

}  // namespace pliant::ops
