#include "lower/movement/vector_rows.h"

#include <algorithm>

namespace pliant::lower {

namespace {

constexpr int64_t kChunkBytes = 16384;  // of the widest type, for one task along the vector loop

// A function that is a polynomial, not an instruction.
bool has_function(Scalar s) {
  bool found = false;
  for_each_scalar(s, [&](Scalar x) {
    using expr::BinaryOp;
    using expr::UnaryOp;
    if (x->kind == expr::ScalarKind::Unary && is_float(x->dtype)) {
      const UnaryOp op = x->unary();
      const bool is_instruction = op == UnaryOp::Sqrt || op == UnaryOp::Rsqrt || op == UnaryOp::Recip;
      found = found || (op >= UnaryOp::Exp && op <= UnaryOp::Sigmoid && !is_instruction);
    }
    if (x->kind == expr::ScalarKind::Binary && is_float(x->dtype)) {
      const BinaryOp op = x->binary();
      found = found || op == BinaryOp::Pow || op == BinaryOp::Rem || op == BinaryOp::Mod || op == BinaryOp::Atan2;
    }
  });
  return found;
}

// Bytes of the widest type that is computed in.
int64_t width_of(const std::vector<Scalar>& scalars) {
  int64_t width = 1;
  for (Scalar s : scalars)
    for_each_scalar(s, [&](Scalar t) {
      const bool is_half = t->dtype == DType::F16 || t->dtype == DType::BF16;
      width = std::max(width, is_half && t->kind != expr::ScalarKind::Load ? 4 : byte_size(t->dtype));
    });
  return width;
}

}  // namespace

int64_t chunk_of(const std::vector<Scalar>& scalars) { return kChunkBytes / std::min<int64_t>(4, width_of(scalars)); }

int64_t lanes_of(expr::Context& ctx, const target::Target& target, const std::vector<Scalar>& scalars, Dim inner) {
  int64_t lanes = lanes_for(target, scalars);
  // Two registers at a time through the long chains of a function: one works while the other waits for results.
  const bool waits = std::any_of(scalars.begin(), scalars.end(), [](Scalar s) { return has_function(s); });
  if (waits && !(const_upper(ctx, inner).value_or(INT64_MAX) < 4 * lanes)) lanes *= 2;
  const int64_t width = width_of(scalars);
  if (width >= 4) return lanes;
  const int64_t wide = target.vector_bytes / width;
  return inner.is_const() && inner.const_value() < 2 * wide ? lanes : wide;
}

bool is_few(Dim extent, int64_t lanes) { return extent.is_const() && extent.const_value() <= lanes / 2; }

std::optional<size_t> loop_of_shared_places(expr::Context& ctx, const std::vector<Loop>& loops,
                                            const std::vector<Scalar>& scalars) {
  constexpr size_t kLeastLoads = 2;
  std::vector<Scalar> finding;
  std::vector<Dim> gathers;
  for (Dim d : all_offsets({loops, scalars, {}})) {
    const std::vector<Scalar> loads = expr::loads_of(expr::make_index(d));
    if (loads.empty()) continue;
    gathers.push_back(d);
    for (Scalar s : loads)
      if (std::find(finding.begin(), finding.end(), s) == finding.end()) finding.push_back(s);
  }
  const SymbolId inner = loops.back().var;
  auto uses = [](const std::vector<Scalar>& all, SymbolId var) {
    return std::any_of(all.begin(), all.end(), [&](Scalar s) { return expr::uses_symbol(s, var); });
  };
  if (finding.size() < kLeastLoads || !uses(finding, inner)) return std::nullopt;
  for (size_t j = loops.size() - 1; j-- > 1;) {
    const Loop& l = loops[j - 1];
    const bool strides = std::all_of(gathers.begin(), gathers.end(), [&](Dim d) { return stride_in(ctx, d, l.var); });
    if (strides && !uses(finding, l.var)) return j - 1;
  }
  return std::nullopt;
}

}  // namespace pliant::lower
