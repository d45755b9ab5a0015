#include "lower/movement/segments.h"

#include <optional>

#include "expr/parts.h"

namespace pliant::lower {

namespace {

constexpr int64_t kFewElements = 4096;

// `i < end` for an axis of the stage: the axis and the end.
std::optional<std::pair<size_t, Dim>> bound_of(const Stage& s, Scalar cond) {
  if (cond->kind != expr::ScalarKind::Binary || cond->binary() != expr::BinaryOp::Lt) return std::nullopt;
  std::optional<Dim> position = expr::as_index(cond->args[0]), end = expr::as_index(cond->args[1]);
  if (!position || !end || !position->as_symbol()) return std::nullopt;
  std::optional<size_t> axis;
  for (size_t k = 0; k < s.tensor->index.size(); ++k) {
    if (s.tensor->index[k] == *position->as_symbol()) axis = k;
    if (expr::uses_symbol(*end, s.tensor->index[k])) return std::nullopt;
  }
  return axis ? std::optional(std::pair{*axis, *end}) : std::nullopt;
}

}  // namespace

std::vector<Segment> segments_of(expr::Context& ctx, const Stage& s) {
  std::vector<Segment> segments;
  Scalar rest = s.body;
  Dim begin = ctx.constant(0);
  while (rest->kind == expr::ScalarKind::Select) {
    const auto bound = bound_of(s, rest->args[0]);
    if (!bound) break;
    const auto [axis, end] = *bound;
    if ((!segments.empty() && axis != segments[0].axis) || !ctx.proves_less_equal(begin, end)) break;
    segments.push_back({axis, begin, end - begin, rest->args[1]});
    begin = end;
    rest = rest->args[2];
  }
  if (segments.empty()) return {};
  const size_t axis = segments[0].axis;
  const Dim size = s.tensor->shape[axis];
  if (!ctx.proves_less_equal(begin, size)) return {};
  segments.push_back({axis, begin, size - begin, rest});
  const Dim elements = product(ctx, s.tensor->shape);
  const bool few = elements.is_const() && elements.const_value() <= kFewElements;
  if (segments.size() == 2 && few) return {};
  return segments;
}

}  // namespace pliant::lower
