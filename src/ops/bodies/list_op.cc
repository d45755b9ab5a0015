#include "ops/bodies/list_op.h"

#include "ops/evaluate/reference.h"

namespace pliant::ops {

using graph::Rank;

Result<TensorType> ListContext::tensor(size_t i) const {
  if (!has(i) || inputs[i].tensor() == nullptr)
    return fail("type-mismatch", "input " + std::to_string(i) + " must be a tensor");
  return *inputs[i].tensor();
}

Result<Type> ListContext::sequence(size_t i) const {
  const Type* element = has(i) ? graph::sequence_element(inputs[i]) : nullptr;
  if (element == nullptr)
    return fail("type-mismatch",
                "input " + std::to_string(i) + " must be a sequence, not " + (has(i) ? print(inputs[i]) : "absent"));
  return *element;
}

Result<Type> ListContext::optional(size_t i) const {
  const Type* element = has(i) ? graph::optional_element(inputs[i]) : nullptr;
  if (element == nullptr)
    return fail("type-mismatch",
                "input " + std::to_string(i) + " must be an optional, not " + (has(i) ? print(inputs[i]) : "absent"));
  return *element;
}

Status ListContext::check_position(size_t i) const {
  if (!has(i)) return ok();
  TensorType t = TRY(tensor(i));
  Dim count = expr::product(ctx, t.shape);
  if (!is_int(t.dtype) || !count.is_const(1))
    return fail("type-mismatch", "a position is one integer, not " + print(Type{t}));
  if (attrs.has("position")) return fail("wrong-attribute", "the position is given twice");
  return ok();
}

Dim ListContext::fresh_dim() const {
  std::vector<std::string> nodes = model_nodes(loc);
  expr::SymbolInfo info;
  info.name = "element";
  info.origin.kind = expr::Origin::Kind::Data;
  info.origin.name = nodes.empty() ? std::string() : nodes.front();
  return ctx.symbol(std::move(info));
}

Result<TensorType> ListContext::read(const TensorType& element) const {
  TensorType out = element;
  if (out.rank != Rank::Known && attrs.has("rank")) {
    int64_t rank = attr().as_int("rank");
    if (rank < 0) return fail("wrong-attribute", "a tensor cannot have " + std::to_string(rank) + " axes");
    out = {element.dtype, graph::Shape(static_cast<size_t>(rank), graph::any_size(ctx))};
  }
  if (out.rank == Rank::None)
    return fail("unknown-rank", "how many axes an element has cannot be told: nothing is ever put into the list");
  if (out.rank == Rank::Any)
    return fail("unknown-rank",
                "how many axes an element has is not known; declare the shape of the list's tensors, or of "
                "this output, in the model");
  for (Dim& d : out.shape)
    if (graph::is_any_size(d)) d = fresh_dim();
  return out;
}

Result<size_t> ListContext::axis(int64_t axis, size_t rank) const {
  auto n = static_cast<int64_t>(rank);
  if (axis < -n || axis >= n)
    return fail("axis-out-of-range", "axis " + std::to_string(axis) + " of a tensor with " + std::to_string(n) + " axes");
  return static_cast<size_t>(axis < 0 ? axis + n : axis);
}

AttrSpec position_attr(const std::string& doc) { return optional_attr("position", AttrKind::Dim, doc); }

AttrSpec rank_attr() {
  return optional_attr("rank", AttrKind::Int, "how many axes the element has, where the list's type does not say");
}

Datum make_list(Elements elements) { return {{}, std::make_shared<ListValue>(ListValue{true, std::move(elements)})}; }
Datum make_absent() { return {{}, std::make_shared<ListValue>(ListValue{false, {}})}; }
Datum make_tensor(te::Array a) { return {std::move(a), nullptr}; }

std::optional<int64_t> position_of(const Attrs& attrs, const std::vector<Datum>& in, size_t i) {
  if (const AttrValue* v = attrs.find("position")) return std::get<Dim>(*v).const_value();
  if (i >= in.size() || in[i].array.data.empty()) return std::nullopt;
  return static_cast<int64_t>(number_at(view_of(in[i].array), 0));
}

Error run_fault(const std::string& message) { return make_error("run-time-check", "", message); }

Result<size_t> place_in(int64_t position, size_t count) {
  auto n = static_cast<int64_t>(count);
  if (position < -n || position >= n)
    return run_fault("position " + std::to_string(position) + " is outside a sequence of length " + std::to_string(n));
  return static_cast<size_t>(position < 0 ? position + n : position);
}

}  // namespace pliant::ops
