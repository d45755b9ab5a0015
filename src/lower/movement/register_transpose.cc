// A transpose exchanges the bits of row and column numbers. Every round moves some of them, so that each vector is made from
// two others: units of 16 bytes first, by rounds whose two sources lie in two rows each, then the elements inside the
// units, by the interleaving of halves that vector units do in one instruction.
#include "lower/movement/register_transpose.h"

#include <algorithm>
#include <bit>

#include "lower/stage_kernels.h"

namespace pliant::lower {

using loop::ForKind;
using loop::StmtPtr;

namespace {

constexpr int64_t kUnitBytes = 16;

int64_t log2_of(int64_t n) { return std::bit_width(static_cast<uint64_t>(n)) - 1; }

// For each bit of a new row and column, low bits first, which bit of the old position it is: column bits count from 0, row
// bits from log2(lanes).
struct Round {
  std::vector<int64_t> row, column;
};

Round unmoved(int64_t bits) {
  Round r;
  for (int64_t b = 0; b < bits; ++b) {
    r.column.push_back(b);
    r.row.push_back(bits + b);
  }
  return r;
}

std::vector<Round> rounds_of(int64_t bits, int64_t unit_bits) {
  std::vector<Round> rounds;
  const int64_t units = bits - unit_bits;
  PLIANT_CHECK(units <= 2) << "blocks of more than four units a row";
  const int64_t u0 = unit_bits, u1 = unit_bits + 1, r0 = bits + unit_bits, r1 = r0 + 1;
  auto at = [&](Round& r, int64_t high) -> int64_t& {
    return high >= bits ? r.row[static_cast<size_t>(high - bits)] : r.column[static_cast<size_t>(high)];
  };
  if (units == 1) {
    Round r = unmoved(bits);
    at(r, r0) = u0;
    at(r, u0) = r0;
    rounds.push_back(r);
  }
  if (units == 2) {
    // Row (r1 r0), unit (u1 u0) goes to row (r1 u1), unit (r0 u0), and then to row (u1 u0), unit (r1 r0).
    Round a = unmoved(bits), b = unmoved(bits);
    at(a, r0) = u1;
    at(a, u1) = r0;
    rounds.push_back(a);
    at(b, r1) = r0;
    at(b, r0) = u0;
    at(b, u1) = r1;
    at(b, u0) = u1;
    rounds.push_back(b);
  }
  // Row (t r'), column (h c') goes to row (r' h), column (c' t), as often as there are bits.
  for (int64_t k = 0; k < unit_bits; ++k) {
    Round r = unmoved(bits);
    for (int64_t b = 1; b < unit_bits; ++b) {
      at(r, bits + b) = bits + b - 1;
      at(r, b) = b - 1;
    }
    at(r, bits) = unit_bits - 1;
    at(r, 0) = bits + unit_bits - 1;
    rounds.push_back(r);
  }
  return rounds;
}

Dim bit_of(Dim d, int64_t b) { return expr::mod(expr::floordiv(d, int64_t{1} << b), 2); }

}  // namespace

DType moved_type(DType t) {
  switch (t) {
    case DType::Bool: return DType::U8;
    case DType::F16:
    case DType::BF16: return DType::U16;
    default: return t;
  }
}

Scalar as_moved(Scalar s) {
  const DType to = moved_type(s->dtype);
  return s->dtype == DType::Bool ? expr::make_cast(to, s) : to == s->dtype ? s : expr::make_bitcast(to, s);
}

Scalar from_moved(Scalar s, DType t) {
  return t == DType::Bool ? expr::make_cast(t, s) : t == s->dtype ? s : expr::make_bitcast(t, s);
}

StmtPtr for_square(expr::Context& ctx, int64_t n, const std::function<StmtPtr(Dim, Dim)>& body) {
  return loop::make_for(ctx, "r", n, ForKind::Unroll, [&](Dim row) {
    return loop::make_for(ctx, "c", n, ForKind::Vector, [&](Dim column) { return body(row, column); });
  });
}

RegisterTranspose make_register_transpose(expr::Context& ctx, DType moved, int64_t lanes) {
  RegisterTranspose out;
  const int64_t bits = log2_of(lanes), unit_bits = std::min(bits, log2_of(kUnitBytes / byte_size(moved)));
  out.buffers.push_back(make_local(ctx, "block", moved, lanes * lanes));
  for (const Round& round : rounds_of(bits, unit_bits)) {
    const loop::Buffer from = out.buffers.back(), to = make_local(ctx, "block", moved, lanes * lanes);
    out.steps.push_back(for_square(ctx, lanes, [&](Dim r, Dim c) {
      Dim at = ctx.constant(0);
      for (int64_t b = 0; b < bits; ++b) {
        at = at + bit_of(r, b) * (int64_t{1} << round.row[static_cast<size_t>(b)]);
        at = at + bit_of(c, b) * (int64_t{1} << round.column[static_cast<size_t>(b)]);
      }
      return loop::make_store(to.id, {r * lanes + c}, expr::make_load(ctx, from.id, moved, {at}));
    }));
    out.buffers.push_back(to);
  }
  return out;
}

Dim interleaved(Dim at, int64_t parts, int64_t lanes) { return expr::mod(at, parts) * lanes + expr::floordiv(at, parts); }

StmtPtr make_interleaved(expr::Context& ctx, DType t, int64_t parts, int64_t lanes,
                         const std::function<Scalar(Dim, Dim)>& value, const std::function<StmtPtr(Dim, Scalar)>& store) {
  const DType moved = moved_type(t);
  const loop::Buffer block = make_local(ctx, "parts", moved, parts * lanes);
  std::vector<StmtPtr> steps;
  auto over_lanes = [&](const loop::MakeBody& body) {
    steps.push_back(loop::make_for(ctx, "l", lanes, ForKind::Vector, body));
  };
  for (int64_t n = 0; n < parts; ++n)
    over_lanes([&](Dim l) { return loop::make_store(block.id, {l + n * lanes}, as_moved(value(ctx.constant(n), l))); });
  for (int64_t n = 0; n < parts; ++n)
    over_lanes([&](Dim l) {
      const Dim at = l + n * lanes;
      return store(at, from_moved(expr::make_load(ctx, block.id, moved, {interleaved(at, parts, lanes)}), t));
    });
  return loop::make_alloc(block, loop::make_block(std::move(steps)));
}

}  // namespace pliant::lower
