#include "lower/reduction/long_sum.h"

#include "loop/walk.h"

namespace pliant::lower {

LongSum::LongSum(expr::Context& ctx, const MemorySums& acc, int64_t lanes, std::vector<Dim> extents, int64_t block)
    : ctx_(ctx), acc_(acc), lanes_(lanes), block_(block), extents_(std::move(extents)) {
  const auto most = const_upper(ctx, terms());
  is_long_ = (acc.type == DType::F32 || acc.type == DType::F64) && (!most || *most > block);
}

Dim LongSum::terms() const {
  Dim all = ctx_.constant(1);
  for (Dim e : extents_) all = all * e;
  return all;
}

Dim LongSum::period(size_t level) const {
  Dim inner = ctx_.constant(1);
  for (size_t k = level + 1; k < extents_.size(); ++k) inner = inner * extents_[k];
  return max(ctx_.constant(1), floordiv(ctx_.constant(block_), max(ctx_.constant(1), inner)));
}

loop::StmtPtr LongSum::at_level(size_t level, const Loop& l, loop::StmtPtr body) const {
  const Dim step = period(level);
  if (!is_long_ || ctx_.proves_less_equal(extents_[level], step))
    return loop::make_for(l.var, l.extent, loop::ForKind::Serial, std::move(body));
  // What only long sums need is computed where they are, and keeps no register elsewhere.
  std::vector<std::pair<SymbolId, Dim>> lets;
  auto once = [&](const char* name, Dim value, expr::SymbolInfo info) {
    if (value.is_const()) return value;
    info.name = name;
    const Dim s = ctx_.symbol(std::move(info));
    lets.emplace_back(*s.as_symbol(), value);
    return s;
  };
  const Dim size = once("step", step, {.lo = 1, .hi = block_}), blocks = once("blocks", ceildiv(l.extent, size), {});
  const Dim b = ctx_.index_symbol("sb", blocks), first = ctx_.symbol({.name = "first", .upper = l.extent - 1});
  const Dim count = min(size, l.extent - first), i = ctx_.index_symbol(ctx_.info(l.var).name, count);
  body = loop::make_for(*i.as_symbol(), count, loop::ForKind::Serial, loop::substitute(body, {{l.var, first + i}}));
  // What the last block leaves is taken by the loop around, or in the end.
  body = loop::make_block({body, loop::make_if(expr::less(first + size, l.extent), carry())});
  body = loop::make_let(*first.as_symbol(), b * size, body);
  body = loop::make_for(*b.as_symbol(), blocks, loop::ForKind::Serial, body);
  for (size_t k = lets.size(); k-- > 0;) body = loop::make_let(lets[k].first, lets[k].second, body);
  return body;
}

loop::StmtPtr LongSum::for_sums(const Body& body) const {
  Dim vectors = ceildiv(acc_.columns, lanes_);
  Dim r = ctx_.index_symbol("r", acc_.rows), v = ctx_.index_symbol("v", vectors);
  Dim l = ctx_.index_symbol("l", ctx_.constant(lanes_));
  loop::StmtPtr s = body(r * acc_.row_stride + v * lanes_ + l);
  s = loop::make_for(*l.as_symbol(), ctx_.constant(lanes_), loop::ForKind::Vector, s);
  s = loop::make_for(*v.as_symbol(), vectors, loop::ForKind::Serial, s);
  return loop::make_for(*r.as_symbol(), acc_.rows, loop::ForKind::Serial, s);
}

Scalar LongSum::wide(loop::BufferId from, Dim i) const {
  const DType t = from == acc_.totals ? DType::F64 : acc_.type;
  return expr::make_cast(DType::F64, expr::make_load(ctx_, from, t, {i}));
}

loop::StmtPtr LongSum::carry() const {
  const Scalar zero = expr::make_const(ctx_, acc_.type, 0);
  auto add = [&](Dim i) { return loop::make_store(acc_.totals, {i}, wide(acc_.sums, i), loop::StoreKind::Add); };
  auto clear = [&](Dim i) { return loop::make_store(acc_.sums, {i}, zero); };
  return loop::make_block({for_sums(add), for_sums(clear)});
}

loop::StmtPtr LongSum::when_long(loop::StmtPtr s) const {
  return loop::make_if(expr::less(ctx_.constant(block_), terms()), std::move(s));
}

loop::StmtPtr LongSum::begin() const {
  if (!is_long_) return loop::make_block({});
  const Scalar zero = expr::make_const(ctx_, DType::F64, 0);
  return when_long(for_sums([&](Dim i) { return loop::make_store(acc_.totals, {i}, zero); }));
}

loop::StmtPtr LongSum::finish() const {
  if (!is_long_) return loop::make_block({});
  return when_long(for_sums([&](Dim i) {
    return loop::make_store(acc_.sums, {i}, expr::make_cast(acc_.type, wide(acc_.totals, i) + wide(acc_.sums, i)));
  }));
}

}  // namespace pliant::lower
