#include "frontend/onnx/conversion.h"

#include <algorithm>

#include "artifact/file.h"
#include "expr/weight.h"
#include "graph/list_type.h"

namespace pliant::frontend::onnx {
namespace {

using AttrType = AttributeProto::Type;

bool is_scalar_real(const Element& e) { return e.kind == Element::Kind::Real; }

// One node that cannot fail: its operands were made to fit.
ValueId append_sure(ImportState& state, const std::string& op, Attrs attrs, Values inputs, const LocPtr& loc) {
  auto r = append_nodes(state, op, std::move(attrs), std::move(inputs), 1, loc);
  PLIANT_CHECK(r.ok()) << r.error().text();
  return r.value()[0];
}

ValueId cast_sure(ImportState& state, ValueId v, DType to, const LocPtr& loc) {
  if (state.builder.peek().tensor_type(v).dtype == to) return v;
  return append_sure(state, "math.cast", Attrs{{"to", to}}, {v}, loc);
}

ValueId append_dims(ImportState& state, std::vector<Dim> values, DType t, const LocPtr& loc) {
  return cast_sure(state, append_sure(state, "array.from_dims", Attrs{{"values", std::move(values)}}, {}, loc), t, loc);
}

// A tensor whose elements are sizes: made from the sizes, then given its type and shape. Constant floats among them are
// chosen by a mask.
ValueId append_known(ImportState& state, const Known& k, const LocPtr& loc) {
  const Dim zero = state.ctx.constant(0), one = state.ctx.constant(1);
  int64_t n = static_cast<int64_t>(k.elements.size());
  std::vector<Dim> nums, dens;
  Known constants{k.dtype, {n}, {}}, mask{DType::Bool, {n}, {}};
  bool is_ratio = false, has_real = false;
  for (const Element& e : k.elements) {
    bool is_real = e.kind == Element::Kind::Real;
    nums.push_back(is_real ? zero : e.num);
    dens.push_back(e.kind == Element::Kind::Ratio ? e.den : one);
    constants.elements.push_back(is_real ? e : Element::make_real(0));
    mask.elements.push_back(Element::make_int(is_real ? one : zero));
    is_ratio = is_ratio || !dens.back().is_const(1);
    has_real = has_real || is_real;
  }
  ValueId v = append_dims(state, nums, k.dtype, loc);
  if (is_ratio) v = append_sure(state, "math.div", {}, {v, append_dims(state, dens, k.dtype, loc)}, loc);
  if (has_real) {
    ValueId is_constant = state.builder.append_const(constant_of(mask), loc);
    v = append_sure(state, "math.where", {}, {is_constant, state.builder.append_const(constant_of(constants), loc), v}, loc);
  }
  if (k.shape.size() == 1) return v;
  std::vector<Dim> dims;
  for (int64_t d : k.shape) dims.push_back(state.ctx.constant(d));
  return append_sure(state, "array.reshape", Attrs{{"shape", dims}}, {v}, loc);
}

}  // namespace

Result<Values> append_nodes(ImportState& state, const std::string& op, Attrs attrs, Values inputs, size_t outputs,
                            const LocPtr& loc) {
  Values out = TRY(ops::append_node(state.builder, state.ctx, op, std::move(attrs), std::move(inputs), outputs, loc));
  for (ValueId v : out) {
    const TensorType* t = v == kNoValue ? nullptr : state.builder.peek().values[v].type.tensor();
    if (t != nullptr && t->shape.size() > artifact::kMaxRank)
      return make_error("unsupported-shape", describe(loc),
                        "its result has " + std::to_string(t->shape.size()) + " axes, but at most " +
                            std::to_string(artifact::kMaxRank) + " are supported");
  }
  return out;
}

// A list from its parts.
static ValueId append_parts(ImportState& state, const Value& v) {
  Values elements;
  for (const ValueRef& e : v.parts->elements) elements.push_back(materialise(state, *e));
  bool is_optional = graph::optional_element(v.type) != nullptr;
  DType dtype = graph::element_of(v.type).dtype;
  if (is_optional && !v.parts->is_present) {
    bool holds_sequence = graph::sequence_element(*graph::optional_element(v.type)) != nullptr;
    return append_sure(state, "opt.none", Attrs{{"dtype", dtype}, {"sequence", holds_sequence}}, {}, v.loc);
  }
  if (is_optional) return append_sure(state, "opt.some", {}, elements, v.loc);
  if (elements.empty()) return append_sure(state, "seq.empty", Attrs{{"dtype", dtype}}, {}, v.loc);
  return append_sure(state, "seq.construct", {}, std::move(elements), v.loc);
}

namespace {

ValueId append_value(ImportState& state, const Value& v) {
  if (v.parts) return append_parts(state, v);
  if (v.constant) return state.builder.append_const(v.constant, v.loc);
  PLIANT_CHECK(v.known != nullptr) << "value " << v.name << " has nothing to be made from";
  return append_known(state, *v.known, v.loc);
}

// Tensors of sizes of no fixed length are taken apart for as many lengths.
constexpr int64_t kMostCounts = 8;

// Constants of more elements stand once, outside of all regions; others where they are used.
constexpr int64_t kSmallConstant = 16;

}  // namespace

bool ImportState::is_open(uint32_t region) const {
  return std::any_of(regions.begin(), regions.end(), [&](const OpenRegion& r) { return r.number == region; });
}

void ImportState::leave_region() {
  auto& learned = regions.back().learned;
  for (; !learned.empty(); learned.pop_back()) learned.back().first->known = std::move(learned.back().second);
  named_sizes = std::move(regions.back().named_outside);
  regions.pop_back();
}

void ImportState::learn(const ValueRef& v, Known k) {
  if (!regions.empty()) regions.back().learned.emplace_back(v, v->known);
  v->known = std::make_shared<Known>(std::move(k));
}

ValueRef value_of(Conversion& c, ValueId id, std::string_view name) {
  auto v = std::make_shared<Value>();
  v->name = name;
  v->id = id;
  v->type = c.state().builder.peek().value(id).type;
  v->loc = c.loc;
  return v;
}

ValueRef known_value(Conversion& c, Known k, std::string_view name) {
  auto v = std::make_shared<Value>();
  v->name = name;
  graph::Shape shape;
  for (int64_t d : k.shape) shape.push_back(c.num(d));
  v->type = graph::make_tensor_type(k.dtype, std::move(shape));
  v->known = std::make_shared<Known>(std::move(k));
  v->loc = c.loc;
  return v;
}

ValueId materialise(ImportState& state, Value& v) {
  if (v.id != kNoValue) return v.id;
  for (const auto& [region, id] : v.made)
    if (state.is_open(region)) return id;
  if (!v.constant && v.known && v.known->is_const()) v.constant = constant_of(*v.known);
  if (state.regions.empty()) return v.id = append_value(state, v);
  if (v.constant && graph::element_count(*v.constant) > kSmallConstant)
    return v.id = state.builder.append_outer_const(v.constant, v.loc);
  ValueId id = append_value(state, v);
  v.made.emplace_back(state.regions.back().number, id);
  return id;
}

ValueId Conversion::in(size_t i) { return has(i) ? materialise(state_, *inputs_[i]) : kNoValue; }

Values Conversion::all_inputs() {
  Values out;
  for (size_t i = 0; i < inputs_.size(); ++i) out.push_back(in(i));
  return out;
}

const Known* Conversion::known(size_t i) {
  if (!has(i)) return nullptr;
  Value& v = *inputs_[i];
  if (!v.known && v.constant) {
    if (auto k = known_of(*v.constant, ctx())) v.known = std::make_shared<Known>(std::move(*k));
  }
  return v.known.get();
}

Result<std::vector<int64_t>> Conversion::const_ints(size_t i, const std::string& what) {
  if (const Known* k = known(i)) {
    if (auto v = k->ints()) return *v;
  }
  return fail("not-constant", what + " ('" + value(i).name + "') must be constant integers");
}

Result<int64_t> Conversion::const_int(size_t i, const std::string& what) {
  std::vector<int64_t> v = TRY(const_ints(i, what));
  if (v.size() != 1) return fail("wrong-count", what + " must be one number but has " + std::to_string(v.size()));
  return v[0];
}

Result<std::vector<double>> Conversion::const_reals(size_t i, const std::string& what) {
  const Known* k = known(i);
  std::vector<double> out;
  bool all = k != nullptr;
  for (size_t j = 0; all && j < k->elements.size(); ++j) {
    all = is_scalar_real(k->elements[j]);
    out.push_back(k->elements[j].real);
  }
  if (!all) return fail("not-constant", what + " ('" + value(i).name + "') must be constant numbers");
  return out;
}

Result<int64_t> Conversion::size_count(size_t i, const std::string& what, SizeCount count) {
  const Dim n = this->count(shape(i));
  auto is = [&](int64_t v) { return is_zero(n - v, ctx()); };
  if (n.is_const()) return n.const_value();
  if (count.expected) {
    require_equal(n, num(*count.expected), what + " must have {b} elements but has {a}");
    return *count.expected;
  }
  const expr::Interval range = ctx().range(n);
  const int64_t first = std::max<int64_t>(0, range.lo), last = std::min(range.hi, count.most);
  if (last - first < kMostCounts) {
    for (int64_t v = first; v <= last; ++v) {
      const std::optional<bool> holds = v == last ? true : decide(is(v));
      if (!holds)
        return undecided(
            is(v), "unknown-count",
            what + " ('" + value(i).name + "') has " + n.str() + " elements, and how many decides the rank of the result");
      if (!*holds) continue;
      require_equal(n, num(v), what + " must have at most {b} elements but has {a}");
      return v;
    }
  }
  return fail("unknown-count", what + " ('" + value(i).name + "') has " + n.str() +
                                   " elements; declare the rank of the result, or bound that size");
}

Result<std::vector<Dim>> Conversion::dims(size_t i, const std::string& what, SizeCount size_count_known) {
  if (!has(i)) return fail("missing-input", what + " are missing");
  if (value(i).type.tensor() == nullptr) return fail("wrong-type", what + " ('" + value(i).name + "') must be a tensor");
  if (const Known* k = known(i)) {
    if (auto d = k->dims()) return *d;
  }
  Known k{dtype(i), {}, {}};
  const bool is_fixed = std::all_of(shape(i).begin(), shape(i).end(), [](Dim d) { return d.is_const(); });
  if (is_fixed)
    for (Dim d : shape(i)) k.shape.push_back(d.const_value());
  else
    k.shape = {TRY(size_count(i, what, size_count_known))};
  const ValueId flat = is_fixed ? in(i) : TRY(reshape(in(i), {num(k.shape[0])}));
  std::vector<Dim> out = TRY(read_dims(flat, what));
  for (Dim d : out) k.elements.push_back(Element::make_int(d));
  state_.learn(inputs_[i], std::move(k));
  return out;
}

Error Conversion::undecided(Dim condition, const std::string& id, const std::string& message) {
  state_.undecided = condition;
  return fail(id, message);
}

Error Conversion::always_fails(const std::string& message) {
  state_.failing[describe(loc)] = loc;
  return fail("always-fails", message);
}

bool always_fails(const Error& e) {
  return !e.diagnostics.empty() &&
         std::all_of(e.diagnostics.begin(), e.diagnostics.end(), [](const Diagnostic& d) { return d.id == "always-fails"; });
}

Result<Dim> Conversion::dim(size_t i, const std::string& what) {
  std::vector<Dim> v = TRY(dims(i, what, {.expected = 1}));
  if (v.size() != 1) return fail("wrong-count", what + " must be one number but has " + std::to_string(v.size()));
  return v[0];
}

Result<std::vector<Dim>> Conversion::read_dims(ValueId v, const std::string& what, expr::Interval range) {
  const TensorType& t = type_of(v);
  if (is_float(t.dtype)) return fail("wrong-type", what + " must be integers, not " + name_of(t.dtype));
  Dim n = count(t.shape);
  if (!n.is_const() || n.const_value() > kMaxKnown) {
    return fail("unknown-count", what + " has " + n.str() + " elements; how many sizes it gives must be known and at most " +
                                     std::to_string(kMaxKnown));
  }
  std::vector<Dim> symbols;
  for (int64_t k = 0; k < n.const_value(); ++k) {
    expr::SymbolInfo info;
    info.name = loc->name + "_" + std::to_string(k);
    info.lo = range.lo;
    info.hi = range.hi;
    info.origin = {expr::Origin::Kind::Data, loc->name, k};
    symbols.push_back(ctx().symbol(std::move(info)));
  }
  if (!symbols.empty()) TRY(append_multi("core.read_dims", Attrs{{"symbols", symbols}}, {v}, 0));
  return symbols;
}

const AttributeProto* Conversion::attr(std::string_view name) const {
  const AttributeProto* a = node.attribute(name);
  if (a == nullptr || a->ref_attr_name.empty()) return a;
  if (env_ == nullptr) return nullptr;
  auto it = env_->find(a->ref_attr_name);
  return it == env_->end() ? nullptr : it->second;
}

void Conversion::wrong_kind(std::string_view name, const char* wanted) {
  if (!attr_error_) attr_error_ = fail("wrong-attribute", "attribute '" + std::string(name) + "' must be " + wanted);
}

int64_t Conversion::int_attr(std::string_view name, int64_t fallback) {
  const AttributeProto* a = attr(name);
  if (a == nullptr) return fallback;
  if (a->type != AttrType::Int) wrong_kind(name, "an integer");
  return a->i;
}

double Conversion::float_attr(std::string_view name, double fallback) {
  const AttributeProto* a = attr(name);
  if (a == nullptr) return fallback;
  if (a->type != AttrType::Float) wrong_kind(name, "a float");
  return static_cast<double>(a->f);
}

std::string Conversion::string_attr(std::string_view name, const std::string& fallback) {
  const AttributeProto* a = attr(name);
  if (a == nullptr) return fallback;
  if (a->type != AttrType::String) wrong_kind(name, "a string");
  return std::string(a->s);
}

std::vector<int64_t> Conversion::ints_attr(std::string_view name, std::vector<int64_t> fallback) {
  const AttributeProto* a = attr(name);
  if (a == nullptr) return fallback;
  if (a->type != AttrType::Ints) wrong_kind(name, "a list of integers");
  return a->ints;
}

std::vector<double> Conversion::floats_attr(std::string_view name, std::vector<double> fallback) {
  const AttributeProto* a = attr(name);
  if (a == nullptr) return fallback;
  if (a->type != AttrType::Floats) wrong_kind(name, "a list of floats");
  return {a->floats.begin(), a->floats.end()};
}

std::vector<std::string> Conversion::strings_attr(std::string_view name) {
  const AttributeProto* a = attr(name);
  if (a == nullptr) return {};
  if (a->type != AttrType::Strings) wrong_kind(name, "a list of strings");
  return {a->strings.begin(), a->strings.end()};
}

Result<DType> Conversion::dtype_attr(std::string_view name, DType fallback) {
  const AttributeProto* a = attr(name);
  if (a == nullptr) return fallback;
  if (a->type != AttrType::Int) wrong_kind(name, "an element type");
  const bool is_code = a->i >= 0 && a->i <= INT32_MAX;
  auto t = is_code ? dtype_of(static_cast<int32_t>(a->i)) : std::nullopt;
  if (!is_code) return fail("unsupported-type", "there is no element type " + std::to_string(a->i));
  if (!t)
    return fail("unsupported-type", "elements of type " + elem_type_name(static_cast<int32_t>(a->i)) + " are not supported");
  return *t;
}

Result<graph::ConstantPtr> Conversion::tensor_attr(std::string_view name) {
  const AttributeProto* a = attr(name);
  if (a == nullptr || a->type != AttrType::Tensor || a->tensors.size() != 1) {
    return fail("wrong-attribute", "attribute '" + std::string(name) + "' must be a tensor");
  }
  return state_.loader.load(a->tensors[0], describe(loc) + " attribute '" + std::string(name) + "'");
}

Result<ValueId> Conversion::append(const std::string& op, Attrs attrs, Values inputs) {
  Values out = TRY(append_multi(op, std::move(attrs), std::move(inputs), 1));
  return op == "array.from_dims" || op == "array.reshape" ? out[0] : with_settled_sizes(out[0]);
}

Result<Values> Conversion::append_multi(const std::string& op, Attrs attrs, Values inputs, size_t outputs) {
  while (!inputs.empty() && inputs.back() == kNoValue) inputs.pop_back();
  return append_nodes(state_, op, std::move(attrs), std::move(inputs), outputs, loc);
}

ValueId Conversion::constant(graph::ConstantPtr c) { return state_.builder.append_const(std::move(c), loc); }

ValueId Conversion::scalar(DType t, double v) {
  DType made = is_float(t) ? DType::F64 : DType::I64;
  Element e = is_float(t) ? Element::make_real(v) : Element::make_int(num(static_cast<int64_t>(v)));
  ValueId c = constant(constant_of(Known{t == DType::F32 ? t : made, {}, {e}}));
  return cast_sure(state_, c, t, loc);
}

Result<ValueId> Conversion::cast(ValueId v, DType to) {
  if (type_of(v).dtype == to) return v;
  return append("math.cast", Attrs{{"to", to}}, {v});
}

Result<ValueId> Conversion::reshape(ValueId v, std::vector<Dim> dims_of_result) {
  if (shape_of(v) == dims_of_result) return v;
  return append("array.reshape", Attrs{{"shape", std::move(dims_of_result)}}, {v});
}

Result<ValueId> Conversion::one_element(ValueId v, const std::string& message) {
  const graph::Shape shape = shape_of(v);
  if (std::all_of(shape.begin(), shape.end(), [](Dim d) { return d.is_const(1); })) return v;
  require_equal(count(shape), num(1), message);
  return reshape(v, {});
}

Result<Dim> Conversion::settled(Dim d) {
  if (expr::weight_of(d) <= expr::kMostWeight) return d;
  auto it = state_.named_sizes.find(d);
  if (it != state_.named_sizes.end()) return it->second;
  const Dim s = TRY(read_dims(TRY(from_dims({d})), "a size", ctx().range(d)))[0];
  state_.named_sizes.emplace(d, s);
  return s;
}

Result<ValueId> Conversion::with_settled_sizes(ValueId v) {
  const TensorType* t = state_.builder.peek().value(v).type.tensor();
  if (t == nullptr) return v;
  std::vector<Dim> sizes = t->shape;
  for (Dim& d : sizes) d = TRY(settled(d));
  return reshape(v, std::move(sizes));
}

Result<ValueId> Conversion::from_dims(std::vector<Dim> values) {
  return append("array.from_dims", Attrs{{"values", std::move(values)}}, {});
}

void Conversion::require_equal(Dim a, Dim b, const std::string& message) {
  if (ctx().proves_equal(a, b)) return;
  state_.builder.add_obligation({graph::Obligation::Kind::Equal, a, b, message, loc});
}

void Conversion::require_less_equal(Dim a, Dim b, const std::string& message) {
  if (ctx().proves_less_equal(a, b)) return;
  state_.builder.add_obligation({graph::Obligation::Kind::LessEqual, a, b, message, loc});
}

Error Conversion::fail(const std::string& id, const std::string& message) const {
  return make_error(id, describe(loc), message);
}

Result<int64_t> Conversion::axis(int64_t a, int64_t of_rank) const {
  if (a < -of_rank || a >= of_rank) {
    return fail("axis-out-of-range", "axis " + std::to_string(a) + " is out of range for rank " + std::to_string(of_rank));
  }
  return a < 0 ? a + of_rank : a;
}

Result<std::vector<int64_t>> Conversion::axes(std::vector<int64_t> a, int64_t of_rank) const {
  for (int64_t& v : a) v = TRY(axis(v, of_rank));
  return a;
}

}  // namespace pliant::frontend::onnx
