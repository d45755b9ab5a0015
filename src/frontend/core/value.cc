#include "frontend/core/value.h"

#include <algorithm>

#include "artifact/file.h"
#include "graph/list_type.h"
#include "ops/op.h"

namespace pliant::frontend {
namespace {

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

Status check_rank(size_t axes, const std::string& what, const LocPtr& loc) {
  if (axes <= artifact::kMaxRank) return ok();
  return make_error(
      "unsupported-shape", describe(loc),
      what + " has " + std::to_string(axes) + " axes, but at most " + std::to_string(artifact::kMaxRank) + " are supported");
}

Result<Values> append_nodes(ImportState& state, const std::string& op, Attrs attrs, Values inputs, size_t outputs,
                            const LocPtr& loc) {
  Values out = TRY(ops::append_node(state.builder, state.ctx, op, std::move(attrs), std::move(inputs), outputs, loc));
  for (ValueId v : out) {
    const TensorType* t = v == kNoValue ? nullptr : state.builder.peek().values[v].type.tensor();
    if (t != nullptr) TRY(check_rank(t->shape.size(), "its result", loc));
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

const Known* known_elements(Value& v, expr::Context& ctx) {
  if (!v.known && v.constant)
    if (auto k = known_of(*v.constant, ctx)) v.known = std::make_shared<Known>(std::move(*k));
  return v.known.get();
}

}  // namespace pliant::frontend
