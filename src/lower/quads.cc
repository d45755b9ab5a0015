// With x as unsigned bytes u, where x - x_zero = u - u_zero, and w = q + o, where q are signed bytes and o depends on the
// column, the sum over k of (x - x_zero) * w is
//   sum u * q  -  u_zero * sum w  +  o * sum u.
// The first sum goes by quads, the second is known when the model is compiled, the third is only needed where w does not fit
// signed bytes. Outside the tensor u is u_zero.
#include "lower/quads.h"

#include <algorithm>

#include "expr/quad.h"
#include "lower/byte_weights.h"
#include "lower/contraction.h"
#include "lower/stage_kernels.h"

namespace pliant::lower {

namespace {

constexpr int64_t kQuad = 4;
constexpr int64_t kFlip = 128;  // from signed to unsigned bytes

struct QuadStages {
  Problem p;                  // with the constants
  StageList list;             // with them and the stages
  std::vector<Stage> before;  // the copy and the sums of rows, where they are needed
  Stage sum;
  Epilogue epilogue;
};

// A byte of x, or its zero point, as u8.
Scalar as_unsigned(Scalar byte) {
  if (byte->dtype == DType::U8) return byte;
  Scalar bits = expr::make_bitcast(DType::U8, byte);
  return expr::make_binary(expr::BinaryOp::BitXor, bits, expr::make_const_int(*byte->ctx, DType::U8, kFlip));
}
// The zero point in u8: null for 0.
Scalar unsigned_zero(expr::Context& ctx, const ByteProduct& f) {
  if (Scalar zero = f.x_zero()) return as_unsigned(zero->args[0]);
  return f.load->dtype == DType::U8 ? Scalar() : expr::make_const_int(ctx, DType::U8, kFlip);
}

// The bytes of x, as `u` reads them for the sum: at(map of the sum's loops, position along the tap).
using ByteAt = std::function<Scalar(const expr::DimMap&, Dim)>;

class Maker {
 public:
  Maker(const Problem& p, const StageList& list, const ByteProduct& f) : f_(f), out_{p, list, {}, {}, {}} {}

  std::optional<QuadStages> make() {
    const te::TensorDef& t = *out_.list.stages[f_.root].tensor;
    auto weights = byte_weights(out_.p, out_.list, f_);
    if (!weights) return std::nullopt;
    auto at = bytes();
    if (!at) return std::nullopt;
    const te::Tensor quads = constant("quads", weights->quads), totals = constant("totals", weights->totals);
    std::vector<Dim> extent = t.reduce_extent;
    extent[f_.tap] = ceildiv(extent[f_.tap], kQuad);
    te::Tensor sum =
        te().reduce(t.name + "_quads", t.shape, extent, te::Combiner::Sum, [&](const te::Index& o, const te::Index& r) {
          const expr::DimMap map = index_map(t, o, r);
          std::array<Scalar, 4> four;
          for (int64_t n = 0; n < kQuad; ++n) four[static_cast<size_t>(n)] = (*at)(map, r[f_.tap] * kQuad + n);
          te::Index where;
          for (size_t a : weights->axes) where.push_back(o[a]);
          where.insert(where.end(), r.begin(), r.end());
          return expr::make_quad(four) * (*quads)(where);
        });
    te::Tensor rows, offsets;
    if (weights->offsets) {
      rows = sums_of_rows(t, *at);
      offsets = constant("offsets", weights->offsets);
    }
    out_.sum = add(sum);
    const Scalar zero = unsigned_zero(ctx(), f_);
    out_.epilogue = move_epilogue(out_.p, out_.list, f_.root, sum, [&](const expr::DimMap& map, Scalar value) {
      te::Index column, row;
      for (size_t a : weights->axes) column.push_back(map.at(t.index[a]));
      for (size_t a : row_axes_) row.push_back(map.at(t.index[a]));
      if (zero) value = value - expr::make_cast(DType::I32, expr::substitute(zero, map)) * (*totals)(column);
      if (rows) value = value + (*offsets)(column) * (*rows)(row);
      return value;
    });
    return std::move(out_);
  }

 private:
  expr::Context& ctx() { return out_.p.ctx; }
  te::Builder& te() { return out_.p.te; }

  Stage add(const te::Tensor& t) {
    out_.list.add(t);
    return {t, t->body, {}, {}, false};
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

  // Where they are, if they are unsigned and make whole quads; else from a copy.
  std::optional<ByteAt> bytes() {
    const te::TensorDef& t = *out_.list.stages[f_.root].tensor;
    const Dim taps = t.reduce_extent[f_.tap];
    const SymbolId tap = t.reduce_index[f_.tap];
    const bool whole = ctx().divisible(taps, kQuad);
    const bool has_border = std::find(f_.guarded.begin(), f_.guarded.end(), true) != f_.guarded.end();
    if (whole && !has_border && f_.load->dtype == DType::U8)
      return [this, tap](const expr::DimMap& map, Dim k) {
        expr::DimMap moved = map;
        moved[tap] = k;
        return expr::substitute(f_.load, moved);
      };
    auto border = bordered_copy(out_.p, out_.list, f_);
    if (!border) return std::nullopt;
    border->shape.back() = ceildiv(taps, kQuad) * kQuad;
    Scalar outside = unsigned_zero(ctx(), f_);
    if (!outside) outside = expr::make_const_int(ctx(), DType::U8, 0);
    if (has_border && std::any_of(t.index.begin(), t.index.end(), [&](SymbolId v) { return expr::uses_symbol(outside, v); }))
      return std::nullopt;
    te::Tensor copy = te().map(f_.tensor->name + "_bytes", border->shape, [&](const te::Index& i) {
      const te::Index from = border->source(i);
      Scalar byte = as_unsigned((*f_.tensor)(from));
      if (!whole) byte = expr::make_select(expr::less(i.back(), taps), byte, expr::make_const_int(ctx(), DType::U8, 0));
      Scalar exists = border->exists(f_, from);
      return exists ? expr::make_select(exists, byte, outside) : byte;
    });
    out_.before.push_back(add(copy));
    return [this, copy, border = *border](const expr::DimMap& map, Dim k) { return (*copy)(border.read_at(f_, map, k)); };
  }

  te::Tensor sums_of_rows(const te::TensorDef& t, const ByteAt& at) {
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
    out_.before.push_back(add(rows));
    return rows;
  }

  const ByteProduct& f_;
  QuadStages out_;
  std::vector<size_t> row_axes_;  // of the sum, those that x varies along; set by sums_of_rows
};

std::optional<QuadStages> make_quad_stages(const Problem& p, const StageList& list, const ByteProduct& f) {
  return Maker(p, list, f).make();
}

}  // namespace

bool has_quads(const Problem& p, const StageList& list) {
  if (!p.target.adds_quads) return false;
  auto f = find_byte_product(p, list);
  if (!f) return false;
  auto stages = make_quad_stages(p, list, *f);
  return stages && is_packed_product(stages->p, stages->list, stages->sum, stages->epilogue);
}

Result<LoweredNode> lower_quads(const Problem& p, const StageList& list) {
  const ByteProduct f = *find_byte_product(p, list);
  LoweredNode out;
  Temporaries temporaries;
  auto add_temporary = [&](const te::Tensor& t) {
    temporaries[t->id] = static_cast<int32_t>(out.temporaries.size());
    out.temporaries.push_back({t->dtype, t->shape});
  };
  for (size_t i = 0; i < f.root; ++i) {
    if (!list.stages[i].is_output) add_temporary(list.stages[i].tensor);
    out.kernels.push_back(TRY(lower_single_stage(p, list, list.stages[i], temporaries)));
  }
  const QuadStages s = *make_quad_stages(p, list, f);
  for (const Stage& stage : s.before) {
    add_temporary(stage.tensor);
    out.kernels.push_back(TRY(lower_single_stage(s.p, s.list, stage, temporaries)));
  }
  TRY(lower_packed_product(s.p, s.list, s.sum, s.epilogue, Step::Quad, temporaries, out));
  return out;
}

}  // namespace pliant::lower
