// With x as unsigned bytes u, where x - x_zero = u - u_zero, and w = q + o, where q are signed bytes and o depends on the
// column, the sum over k of (x - x_zero) * w is
//   sum u * q  -  u_zero * sum w  +  o * sum u.
// The first sum goes by dot4, the second is known when the model is compiled if w is, the third is only needed where w does
// not fit signed bytes. Outside the tensor u is u_zero.
#include <algorithm>

#include "expr/scalar/packed.h"
#include "lower/rewrites/byte_weights.h"
#include "lower/rewrites/rewrite.h"
#include "target/instruction.h"

namespace pliant::lower {

namespace {

constexpr int64_t kFlip = 128;  // from signed to unsigned bytes

// A byte of x, or its zero point, as u8.
Scalar as_unsigned(Scalar byte) {
  if (byte->dtype == DType::U8) return byte;
  Scalar bits = expr::make_bitcast(DType::U8, byte);
  return expr::make_binary(expr::BinaryOp::BitXor, bits, expr::make_const_int(*byte->ctx, DType::U8, kFlip));
}
// A byte of w as i8, in the bits of a u8.
Scalar as_signed_bits(Scalar byte) {
  if (byte->dtype == DType::I8) return expr::make_bitcast(DType::U8, byte);
  return expr::make_binary(expr::BinaryOp::BitXor, byte, expr::make_const_int(*byte->ctx, DType::U8, kFlip));
}
// The zero point in u8: null for 0.
Scalar unsigned_zero(expr::Context& ctx, const ByteProduct& f) {
  if (Scalar zero = f.x_zero()) return as_unsigned(zero->args[0]);
  return f.load->dtype == DType::U8 ? Scalar() : expr::make_const_int(ctx, DType::U8, kFlip);
}

// The bytes of x, as `u` reads them for the sum: at(map of the sum's loops, position along the tap).
using ByteAt = std::function<Scalar(const expr::DimMap&, Dim)>;

// The other factor, at a map of the root's loops to the sum's.
struct Weights {
  std::function<Scalar(const expr::DimMap&, const te::Index& reduce)> word;  // at the sum's reductions
  std::function<Scalar(const expr::DimMap&)> total;
  std::function<Scalar(const expr::DimMap&)> offset;  // null where w fits signed bytes
};

class Maker {
 public:
  Maker(const Problem& p, const StageList& list, const ByteProduct& f) : f_(f), out_{p, list, f.root} {}

  std::optional<Rewritten> make() {
    const te::TensorDef& t = root();
    auto weights = f_.is_constant ? constant_weights() : computed_weights();
    if (!weights) return std::nullopt;
    auto at = bytes();
    if (!at) return std::nullopt;
    std::vector<Dim> extent = t.reduce_extent;
    extent[f_.tap] = ceildiv(extent[f_.tap], kWordBytes);
    te::Tensor sum =
        te().reduce(t.name + "_words", t.shape, extent, te::Combiner::Sum, [&](const te::Index& o, const te::Index& r) {
          const expr::DimMap map = index_map(t, o, r);
          std::array<Scalar, 4> four;
          for (int64_t n = 0; n < kWordBytes; ++n) four[static_cast<size_t>(n)] = (*at)(map, r[f_.tap] * kWordBytes + n);
          return expr::pack4(four) * weights->word(map, r);
        });
    te::Tensor rows;
    if (weights->offset) rows = sums_of_rows(*at);
    out_.add(sum);
    const Scalar zero = unsigned_zero(ctx(), f_);
    auto map_of = [&](const te::Index& o) { return index_map(t, o, {}); };
    Recast whole =
        recast(ctx(), t, sum, *make_epilogue(ctx(), out_.list, f_.root), map_of, [&](const expr::DimMap& map, Scalar value) {
          te::Index row;
          for (size_t a : row_axes_) row.push_back(map.at(t.index[a]));
          if (zero) value = value - expr::make_cast(DType::I32, expr::substitute(zero, map)) * weights->total(map);
          if (rows) value = value + weights->offset(map) * (*rows)(row);
          return value;
        });
    const auto& [stage, epilogue] = whole;
    if (!(f_.is_constant ? is_packed_product(out_.p, out_.list, stage, epilogue)
                         : is_padded_product(out_.p, out_.list, stage, epilogue, padded_)))
      return std::nullopt;
    using Kernel = RewrittenSum::Kernel;
    out_.sums.push_back({std::move(whole), f_.is_constant ? Kernel::Packed : Kernel::Padded, Step::Dot4});
    return std::move(out_);
  }

 private:
  expr::Context& ctx() { return out_.p.ctx; }
  te::Builder& te() { return out_.p.te; }
  const te::TensorDef& root() { return *out_.list.stages[f_.root].tensor; }
  Dim axis_of(SymbolId v) {
    const te::TensorDef& t = root();
    return t.shape[static_cast<size_t>(std::find(t.index.begin(), t.index.end(), v) - t.index.begin())];
  }

  te::Tensor constant(const char* name, const graph::ConstantPtr& value) {
    std::vector<Dim> shape;
    for (int64_t d : value->shape) shape.push_back(ctx().constant(d));
    te::Tensor t = te().input(name, DType::I32, shape);
    out_.list.add(t);
    out_.p.inputs.push_back(t);
    out_.p.constants.push_back(value);
    return t;
  }

  std::optional<Weights> constant_weights() {
    auto weights = byte_weights(out_.p, out_.list, f_);
    if (!weights) return std::nullopt;
    const te::Tensor words = constant("words", weights->words), totals = constant("totals", weights->totals);
    auto at = [this, axes = weights->axes](const expr::DimMap& map) {
      te::Index out;
      for (size_t a : axes) out.push_back(map.at(root().index[a]));
      return out;
    };
    Weights out;
    out.word = [words, at](const expr::DimMap& map, const te::Index& reduce) {
      te::Index where = at(map);
      where.insert(where.end(), reduce.begin(), reduce.end());
      return (*words)(where);
    };
    out.total = [totals, at](const expr::DimMap& map) { return (*totals)(at(map)); };
    if (weights->offsets) {
      const te::Tensor offsets = constant("offsets", weights->offsets);
      out.offset = [offsets, at](const expr::DimMap& map) { return (*offsets)(at(map)); };
    }
    return out;
  }

  // The same of a matrix that the run computes: words of four rows, in columns for whole panels.
  std::optional<Weights> computed_weights() {
    const Scalar load = f_.w_load(), zero = f_.w_zero();
    const te::Tensor w = out_.list.tensors.at(load->tensor);
    const size_t row = w->rank() - 2;
    const Dim rows = root().reduce_extent[0], columns = root().shape.back();
    // For one row it is not worth it.
    if (std::none_of(root().index.begin(), root().index.end() - 1, [&](SymbolId v) {
          return expr::uses_symbol(f_.load, v) && !expr::uses_symbol(load, v) && !axis_of(v).is_const(1);
        }))
      return std::nullopt;
    std::vector<Dim> shape = w->shape, of_totals = w->shape;
    shape[row] = ceildiv(rows, kWordBytes);
    shape.back() = ceildiv(columns, kWidestPanel) * kWidestPanel;
    te::Tensor words = te().map(w->name + "_words", shape, [&](const te::Index& i) {
      std::array<Scalar, 4> four;
      for (int64_t n = 0; n < kWordBytes; ++n) {
        te::Index at = i;
        at[row] = i[row] * kWordBytes + n;
        four[static_cast<size_t>(n)] =
            expr::make_select(expr::logical_and(expr::less(at[row], rows), expr::less(i.back(), columns)),
                              as_signed_bits((*w)(at)), expr::make_const_int(ctx(), DType::U8, 0));
      }
      return expr::pack4(four);
    });
    out_.before.push_back(out_.add(words));
    padded_ = words->id;
    // The sums of bytes; the zero point is taken off where they are used.
    of_totals.erase(of_totals.begin() + static_cast<long>(row));
    te::Tensor sums =
        te().reduce(w->name + "_totals", of_totals, {rows}, te::Combiner::Sum, [&](const te::Index& o, const te::Index& r) {
          te::Index at = o;
          at.insert(at.begin() + static_cast<long>(row), r[0]);
          return expr::make_cast(DType::I32, (*w)(at));
        });
    if (unsigned_zero(ctx(), f_)) out_.before.push_back(out_.add(sums));
    Weights out;
    out.word = [=](const expr::DimMap& map, const te::Index& reduce) {
      te::Index at;
      for (Dim d : load->index) at.push_back(expr::substitute(d, map));
      at[row] = reduce[0];
      return (*words)(at);
    };
    out.total = [=](const expr::DimMap& map) {
      te::Index at;
      for (size_t a = 0; a < load->index.size(); ++a)
        if (a != row) at.push_back(expr::substitute(load->index[a], map));
      const Scalar sum = (*sums)(at);
      return zero ? sum - expr::substitute(zero, map) * expr::make_cast(DType::I32, expr::make_index(rows)) : sum;
    };
    const int64_t flip = load->dtype == DType::U8 ? kFlip : 0;
    if (flip != 0 || zero)
      out.offset = [=, &c = ctx()](const expr::DimMap& map) {
        const Scalar shift = expr::make_const_int(c, DType::I32, flip);
        return zero ? shift - expr::substitute(zero, map) : shift;
      };
    return out;
  }

  // Where they are, if they are unsigned and make whole words; else from a copy.
  std::optional<ByteAt> bytes() {
    const te::TensorDef& t = root();
    const Dim taps = t.reduce_extent[f_.tap];
    const SymbolId tap = t.reduce_index[f_.tap];
    const bool whole = ctx().divisible(taps, kWordBytes);
    const bool has_border = std::find(f_.guarded.begin(), f_.guarded.end(), true) != f_.guarded.end();
    if (whole && !has_border && f_.load->dtype == DType::U8)
      return [this, tap](const expr::DimMap& map, Dim k) {
        expr::DimMap moved = map;
        moved[tap] = k;
        return expr::substitute(f_.load, moved);
      };
    auto border = bordered_copy(f_.load, f_.tensor->shape, f_.guarded, loops_of(t));
    if (!border) return std::nullopt;
    border->shape.back() = ceildiv(taps, kWordBytes) * kWordBytes;
    Scalar outside = unsigned_zero(ctx(), f_);
    if (!outside) outside = expr::make_const_int(ctx(), DType::U8, 0);
    if (has_border && std::any_of(t.index.begin(), t.index.end(), [&](SymbolId v) { return expr::uses_symbol(outside, v); }))
      return std::nullopt;
    te::Tensor copy = te().map(f_.tensor->name + "_bytes", border->shape, [&](const te::Index& i) {
      const te::Index from = border->source(i);
      Scalar byte = as_unsigned((*f_.tensor)(from));
      if (!whole) byte = expr::make_select(expr::less(i.back(), taps), byte, expr::make_const_int(ctx(), DType::U8, 0));
      Scalar exists = border->exists(f_.tensor->shape, from);
      return exists ? expr::make_select(exists, byte, outside) : byte;
    });
    out_.before.push_back(out_.add(copy));
    return [this, copy, border = *border](const expr::DimMap& map, Dim k) { return (*copy)(read_at(border, f_, map, k)); };
  }

  te::Tensor sums_of_rows(const ByteAt& at) {
    const te::TensorDef& t = root();
    std::vector<Dim> shape;
    for (size_t a = 0; a < t.index.size(); ++a) {
      if (!expr::uses_symbol(f_.load, t.index[a])) continue;
      row_axes_.push_back(a);
      shape.push_back(t.shape[a]);
    }
    te::Tensor rows =
        te().reduce("rows", shape, t.reduce_extent, te::Combiner::Sum, [&](const te::Index& o, const te::Index& r) {
          expr::DimMap map = index_map(t, {}, r);
          for (size_t k = 0; k < o.size(); ++k) map[t.index[row_axes_[k]]] = o[k];
          return expr::make_cast(DType::I32, at(map, r[f_.tap]));
        });
    out_.before.push_back(out_.add(rows));
    return rows;
  }

  const ByteProduct& f_;
  Rewritten out_;
  expr::TensorId padded_ = 0;     // the words of w where the run computes them
  std::vector<size_t> row_axes_;  // of the sum, those that x varies along; set by sums_of_rows
};

std::optional<Rewritten> find(const Problem& p, const StageList& list) {
  if (!target::has_instruction(p.target, "dot4")) return std::nullopt;
  const std::optional<ByteProduct> f = find_byte_product(p, list);
  return f ? Maker(p, list, *f).make() : std::nullopt;
}

}  // namespace

Rewrite rewrite_dot4() { return {.name = "dot4", .before = "contraction", .find = find}; }

}  // namespace pliant::lower
