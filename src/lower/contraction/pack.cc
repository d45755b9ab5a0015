// Constant operands of contractions, laid out at compile time in the order in which the inner loop reads them.
#include <cstring>

#include "lower/contraction/contraction.h"

namespace pliant::lower {

namespace {

template <class T>
void copy_panels(const T* src, T* dst, const std::vector<int64_t>& extent, const std::vector<int64_t>& stride,
                 int64_t col_extent, int64_t col_stride, int64_t outer_loops, int64_t columns) {
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < extent.size(); ++i) (static_cast<int64_t>(i) < outer_loops ? outer : inner) *= extent[i];
  auto offset_of = [&](int64_t flat, size_t first, size_t last) {
    int64_t at = 0;
    for (size_t i = last; i-- > first;) {
      at += flat % extent[i] * stride[i];
      flat /= extent[i];
    }
    return at;
  };
  std::vector<int64_t> k_offset(static_cast<size_t>(inner));
  for (int64_t k = 0; k < inner; ++k)
    k_offset[static_cast<size_t>(k)] = offset_of(k, static_cast<size_t>(outer_loops), extent.size());
  int64_t panels = (col_extent + columns - 1) / columns;
  for (int64_t o = 0; o < outer; ++o) {
    int64_t base = offset_of(o, 0, static_cast<size_t>(outer_loops));
    for (int64_t n = 0; n < panels; ++n) {
      T* panel = dst + (o * panels + n) * inner * columns;
      int64_t width = std::min(columns, col_extent - n * columns);
      if (col_stride == 1) {
        for (int64_t k = 0; k < inner; ++k)
          std::memcpy(panel + k * columns, src + base + k_offset[static_cast<size_t>(k)] + n * columns,
                      static_cast<size_t>(width) * sizeof(T));
        continue;
      }
      // Columns outermost: each is read along the reduction, where the source is contiguous.
      for (int64_t j = 0; j < width; ++j) {
        const T* column = src + base + (n * columns + j) * col_stride;
        for (int64_t k = 0; k < inner; ++k) panel[k * columns + j] = column[k_offset[static_cast<size_t>(k)]];
      }
    }
  }
}

// A plain load of a constant with constant strides: false where `b` is anything else.
bool copy_load(const Problem& p, Scalar b, const std::vector<Loop>& outer, Loop col, const std::vector<Loop>& reduce,
               int64_t columns, std::byte* to) {
  if (b->kind != expr::ScalarKind::Load) return false;
  std::vector<Loop> loops = outer;
  loops.insert(loops.end(), reduce.begin(), reduce.end());
  std::vector<int64_t> extent;
  for (const Loop& l : loops) extent.push_back(l.extent.const_value());
  loops.push_back(col);
  int64_t start = 0;
  auto strides = const_strides(p.ctx, b->index[0], loops, start);
  if (!strides) return false;
  const int64_t col_stride = strides->back();
  strides->pop_back();
  const std::byte* from = constant_of(p, b->tensor)->data + start * byte_size(b->dtype);
  auto copy = [&](auto* typed) {
    using T = std::remove_pointer_t<decltype(typed)>;
    copy_panels(reinterpret_cast<const T*>(from), typed, extent, *strides, col.extent.const_value(), col_stride,
                static_cast<int64_t>(outer.size()), columns);
  };
  switch (byte_size(b->dtype)) {
    case 1: copy(reinterpret_cast<uint8_t*>(to)); break;
    case 2: copy(reinterpret_cast<uint16_t*>(to)); break;
    case 4: copy(reinterpret_cast<uint32_t*>(to)); break;
    default: copy(reinterpret_cast<uint64_t*>(to)); break;
  }
  return true;
}

// Any expression of constants, by the reference evaluator: a map over the panel layout.
Result<te::Array> evaluate_panels(const Problem& p, Scalar b, const std::vector<Loop>& outer, Loop col,
                                  const std::vector<Loop>& reduce, int64_t panels, int64_t columns) {
  expr::Context& ctx = p.ctx;
  te::Builder builder(ctx);
  std::vector<std::pair<expr::TensorId, te::ArrayView>> inputs;
  std::map<expr::TensorId, te::Tensor> flat;
  for (Scalar l : expr::loads_of(b)) {
    if (flat.count(l->tensor)) continue;
    const graph::ConstantPtr value = constant_of(p, l->tensor);
    PLIANT_CHECK(value) << "a constant operand that is not an input of " << p.name;
    const int64_t elements = graph::element_count(*value);
    const te::Tensor f = flat[l->tensor] = builder.input("constant", l->dtype, {ctx.constant(elements)});
    inputs.push_back({f->id, te::ArrayView{l->dtype, {elements}, value->data}});
  }
  std::vector<Dim> shape;
  for (const Loop& l : outer) shape.push_back(l.extent);
  shape.push_back(ctx.constant(panels));
  for (const Loop& l : reduce) shape.push_back(l.extent);
  shape.push_back(ctx.constant(columns));
  te::Tensor out = builder.map("packed", shape, [&](const te::Index& i) {
    expr::DimMap map;
    for (size_t k = 0; k < outer.size(); ++k) map[outer[k].var] = i[k];
    for (size_t k = 0; k < reduce.size(); ++k) map[reduce[k].var] = i[outer.size() + 1 + k];
    Dim column = i[outer.size()] * columns + i.back();
    map[col.var] = column;
    Scalar value = expr::substitute(b, map, [&](Scalar l) { return (*flat.at(l->tensor))({l->index[0]}); });
    return expr::make_select(expr::less(column, col.extent), value, expr::make_const(ctx, b->dtype, 0));
  });
  return std::move(TRY(te::evaluate({out}, inputs, {}))[0]);
}

}  // namespace

Result<graph::ConstantPtr> pack_constant(const Problem& p, Scalar b, const std::vector<Loop>& outer, Loop col,
                                         const std::vector<Loop>& reduce, int64_t columns) {
  int64_t total = 1;
  for (const auto* loops : {&outer, &reduce})
    for (const Loop& l : *loops) {
      PLIANT_CHECK(l.extent.is_const()) << "a constant operand with a symbolic axis in " << p.name;
      total *= l.extent.const_value();
    }
  PLIANT_CHECK(col.extent.is_const()) << "a constant operand with symbolic columns in " << p.name;
  // No columns have no panels, whatever their width.
  const int64_t n = col.extent.const_value(), panels = n == 0 ? 0 : (n + columns - 1) / columns;
  auto [packed, bytes] = graph::make_blank_constant(b->dtype, {total * panels * columns});
  if (total == 0 || n == 0 || copy_load(p, b, outer, col, reduce, columns, bytes)) return packed;
  const te::Array array = TRY(evaluate_panels(p, b, outer, col, reduce, panels, columns));
  PLIANT_CHECK(array.data.size() == packed->bytes) << "a packed operand of another size";
  std::memcpy(bytes, array.data.data(), array.data.size());
  return packed;
}

}  // namespace pliant::lower
