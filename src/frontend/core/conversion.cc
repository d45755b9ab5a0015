#include "frontend/core/conversion.h"

#include <algorithm>

#include "expr/dim/weight.h"
#include "ops/op.h"

namespace pliant::frontend {
namespace {

// Tensors of sizes of no fixed length are taken apart for as many lengths.
constexpr int64_t kMostCounts = 8;

}  // namespace

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

ValueId Conversion::in(size_t i) { return has(i) ? materialise(state_, *inputs_[i]) : kNoValue; }

Values Conversion::all_inputs() {
  Values out;
  for (size_t i = 0; i < inputs_.size(); ++i) out.push_back(in(i));
  return out;
}

const Known* Conversion::known(size_t i) { return has(i) ? known_elements(*inputs_[i], ctx()) : nullptr; }

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
    all = k->elements[j].kind == Element::Kind::Real;
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

Error Conversion::undecided(Dim condition, DiagnosticId id, const std::string& message) {
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

Result<ValueId> Conversion::append(const std::string& op, Attrs attrs, Values inputs) {
  Values out = TRY(append_multi(op, std::move(attrs), std::move(inputs), 1));
  return op == "array.from_dims" || op == "array.reshape" ? out[0] : with_named_sizes(out[0]);
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
  Result<ValueId> typed = cast(c, t);
  PLIANT_CHECK(typed.ok()) << typed.error().text();
  return typed.value();
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

Result<Dim> Conversion::named(Dim d) {
  if (expr::weight_of(d) <= expr::kMostWeight) return d;
  auto it = state_.named_sizes.find(d);
  if (it != state_.named_sizes.end()) return it->second;
  const Dim s = TRY(read_dims(TRY(from_dims({d})), "a size", ctx().range(d)))[0];
  state_.named_sizes.emplace(d, s);
  return s;
}

Result<ValueId> Conversion::with_named_sizes(ValueId v) {
  const TensorType* t = state_.builder.peek().value(v).type.tensor();
  if (t == nullptr) return v;
  std::vector<Dim> sizes = t->shape;
  for (Dim& d : sizes) d = TRY(named(d));
  return reshape(v, std::move(sizes));
}

Result<ValueId> Conversion::from_dims(std::vector<Dim> values) {
  return append("array.from_dims", Attrs{{"values", std::move(values)}}, {});
}

void Conversion::require_equal(Dim a, Dim b, const std::string& message) {
  if (ctx().proves_equal(a, b)) return;
  state_.builder.add_constraint({graph::ShapeConstraint::Kind::Equal, a, b, message, loc});
}

void Conversion::require_less_equal(Dim a, Dim b, const std::string& message) {
  if (ctx().proves_less_equal(a, b)) return;
  state_.builder.add_constraint({graph::ShapeConstraint::Kind::LessEqual, a, b, message, loc});
}

Error Conversion::fail(DiagnosticId id, const std::string& message) const { return make_error(id, describe(loc), message); }

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

}  // namespace pliant::frontend
