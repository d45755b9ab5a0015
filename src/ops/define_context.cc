// What an operator's definition may ask for: axes, equal sizes, broadcasting, checks of data.
#include "ops/op.h"

namespace pliant::ops {

using expr::Scalar;
using expr::Tri;

namespace {
std::string size_text(Dim d) { return d.str(); }
}  // namespace

Error DefineContext::fail(DiagnosticId id, const std::string& message) const {
  return make_error(id, describe(loc_), message);
}

Result<size_t> DefineContext::axis(int64_t axis, size_t rank) const {
  int64_t r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r)
    return fail("axis-out-of-range", "axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank));
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

Status DefineContext::require_equal(Dim a, Dim b, const std::string& what) {
  switch (ctx().equal(a, b)) {
    case Tri::Yes: return ok();
    case Tri::No: return fail("shape-mismatch", what + ": " + size_text(a) + " and " + size_text(b) + " are different");
    case Tri::Unknown: break;
  }
  constraints_.push_back({graph::ShapeConstraint::Kind::Equal, a, b, what + ": {a} and {b} are different", loc_});
  return ok();
}

Status DefineContext::require_less_equal(Dim a, Dim b, const std::string& what) {
  const bool is_sign = a.is_const(0);
  switch (ctx().less_equal(a, b)) {
    case Tri::Yes: return ok();
    case Tri::No:
      return fail("shape-mismatch",
                  what + ": " + (is_sign ? size_text(b) + " is negative" : size_text(a) + " is more than " + size_text(b)));
    case Tri::Unknown: break;
  }
  constraints_.push_back({graph::ShapeConstraint::Kind::LessEqual, a, b,
                          what + (is_sign ? ": {b} is negative" : ": {a} is more than {b}"), loc_});
  return ok();
}

Result<std::vector<Dim>> DefineContext::broadcast(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  size_t rank = std::max(a.size(), b.size());
  std::vector<Dim> out(rank);
  for (size_t k = 0; k < rank; ++k) {
    Dim x = k + a.size() < rank ? dim(1) : a[k + a.size() - rank];
    Dim y = k + b.size() < rank ? dim(1) : b[k + b.size() - rank];
    if (y.is_const(1) || x == y) {
      out[k] = x;
    } else if (x.is_const(1)) {
      out[k] = y;
    } else {
      Tri same = ctx().equal(x, y);
      bool x_is_not_one = ctx().equal(x, dim(1)) == Tri::No;
      bool y_is_not_one = ctx().equal(y, dim(1)) == Tri::No;
      if (same == Tri::Yes) {
        out[k] = x;
        continue;
      }
      if (same == Tri::No && x_is_not_one && y_is_not_one)
        return fail("shape-mismatch", "sizes " + size_text(x) + " and " + size_text(y) + " of axis " +
                                          std::to_string(static_cast<int64_t>(k) - static_cast<int64_t>(rank)) +
                                          " do not broadcast");
      out[k] = x_is_not_one ? x : y_is_not_one ? y : expr::broadcast(x, y);
      std::string message = "size {a} of axis " + std::to_string(static_cast<int64_t>(k) - static_cast<int64_t>(rank)) +
                            " does not broadcast to {b}";
      if (out[k] != x) constraints_.push_back({graph::ShapeConstraint::Kind::Broadcast, x, out[k], message, loc_});
      if (out[k] != y) constraints_.push_back({graph::ShapeConstraint::Kind::Broadcast, y, out[k], message, loc_});
    }
  }
  return out;
}

Scalar DefineContext::at_broadcast(const te::Tensor& t, const te::Index& index) {
  PLIANT_CHECK(t->rank() <= index.size()) << "at_broadcast from rank " << t->rank() << " to " << index.size();
  te::Index at(t->rank());
  for (size_t k = 0; k < t->rank(); ++k) {
    Dim i = index[k + index.size() - t->rank()], size = t->shape[k];
    if (size.is_const(1)) {
      at[k] = dim(0);
      continue;
    }
    std::optional<expr::SymbolId> s = i.as_symbol();
    bool inside = s && ctx().info(*s).upper && *ctx().info(*s).upper == size - 1;
    // Linear in the index, so that strides of such a tensor are values: 0 or the size of what lies inside.
    at[k] = inside || ctx().proves_less(i, size) ? i : i * expr::max(dim(0), expr::min(dim(1), size - 1));
  }
  return (*t)(at);
}

Status DefineContext::require_same_dtype(size_t a, size_t b) const {
  if (in(a)->dtype == in(b)->dtype) return ok();
  return fail("type-mismatch", "input " + std::to_string(a) + " is " + name_of(in(a)->dtype) + " but input " +
                                   std::to_string(b) + " is " + name_of(in(b)->dtype));
}

Dim DefineContext::fresh_dim(const std::string& name, Dim upper) {
  expr::SymbolInfo info;
  info.name = name;
  info.upper = upper;
  info.hi = ctx().range(upper).hi;
  info.origin.kind = expr::Origin::Kind::Data;
  std::vector<std::string> nodes = model_nodes(loc_);
  info.origin.name = nodes.empty() ? std::string() : nodes.front();
  return ctx().symbol(std::move(info));
}

void DefineContext::check_index(const te::Tensor& indices, Dim limit, const std::string& what) {
  std::vector<Dim> values;
  te::Tensor good = te().map("in_range", indices->shape, [&](const te::Index& i) {
    Dim v = expr::value(expr::make_cast(DType::I64, (*indices)(i)));
    values = {v, limit};
    return expr::logical_and(expr::less_equal(-limit, v), expr::less(v, limit));
  });
  add_check({good, "index {0} is out of range for " + what + " of size {1}", std::move(values)});
}

}  // namespace pliant::ops
